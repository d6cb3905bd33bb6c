//! Tells the endpoints of the http listener apart, by the raw bytes of the target and nothing else.

use crate::gate::Face;

/// An endpoint, with what its target says beyond its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route<'t> {
    /// Envoy's HTTP service: the visitor's target follows.
    Check(&'t [u8]),
    /// Traefik, Caddy and their like, with the policy asked for.
    Forward(Option<&'t str>),
    /// nginx `auth_request`, with the policy asked for.
    Nginx(Option<&'t str>),
    /// The public prefix: the visitor's target as it stands.
    Public(&'t [u8]),
    /// Nothing of ours.
    Unknown,
}

impl<'t> Route<'t> {
    /// The word in logs.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Check(_) => Face::Check.as_str(),
            Self::Forward(_) => Face::Forward.as_str(),
            Self::Nginx(_) => Face::Nginx.as_str(),
            Self::Public(_) => "public",
            Self::Unknown => "unknown",
        }
    }

    /// The endpoint of a target. `prefix` is the public prefix, which starts and ends with `/`.
    pub(super) fn of(target: &'t [u8], prefix: &[u8]) -> Self {
        if let Some(rest) = target.strip_prefix(b"/check")
            && matches!(rest, [] | [b'/' | b'?', ..])
        {
            return Self::Check(rest);
        }
        // The visitor's query may hang on our endpoint (Caddy), so the path alone names a policy.
        let path = target.split(|b| *b == b'?').next().unwrap_or_default();
        if let Some(rest) = path.strip_prefix(b"/auth/nginx") {
            return policy(rest).map_or(Self::Unknown, Self::Nginx);
        }
        if let Some(rest) = path.strip_prefix(b"/auth/forward") {
            return policy(rest).map_or(Self::Unknown, Self::Forward);
        }
        if target.starts_with(prefix) { Self::Public(target) } else { Self::Unknown }
    }
}

/// The policy behind an endpoint's name: nothing, or one segment.
fn policy(rest: &[u8]) -> Option<Option<&str>> {
    match rest {
        [] => Some(None),
        [b'/', name @ ..] if !name.is_empty() && !name.contains(&b'/') => {
            std::str::from_utf8(name).ok().map(Some)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(target: &str, want: Route<'_>) {
        assert_eq!(Route::of(target.as_bytes(), b"/.tollgate/"), want, "{target}");
    }

    #[test]
    fn the_check_prefix_is_cut_byte_exactly() {
        for (target, rest) in [
            ("/check/a?b=%20c", "/a?b=%20c"),
            ("/check/", "/"),
            ("/check", ""),
            ("/check?a", "?a"),
            ("/check//a", "//a"),
            ("/check/../auth/nginx", "/../auth/nginx"),
            ("/check/check/a", "/check/a"),
            ("/check/.tollgate/page", "/.tollgate/page"),
        ] {
            check(target, Route::Check(rest.as_bytes()));
        }
    }

    #[test]
    fn a_policy_is_one_segment_of_the_path_and_never_of_the_query() {
        check("/auth/nginx", Route::Nginx(None));
        check("/auth/nginx?/api", Route::Nginx(None));
        check("/auth/nginx/api", Route::Nginx(Some("api")));
        check("/auth/forward?policy=x", Route::Forward(None));
        check("/auth/forward/api?x=/y", Route::Forward(Some("api")));
        for target in
            ["/auth/nginx/", "/auth/nginx/a/b", "/auth/nginxx", "/auth/forward//", "/auth", "/auth/"]
        {
            check(target, Route::Unknown);
        }
    }

    #[test]
    fn the_public_prefix_is_compared_raw() {
        check("/.tollgate/page?x", Route::Public(b"/.tollgate/page?x"));
        check("/.tollgate/../x", Route::Public(b"/.tollgate/../x"));
        for target in
            ["/.tollgate", "/.tollgatex/", "/%2etollgate/page", "//.tollgate/page", "/.TOLLGATE/page"]
        {
            check(target, Route::Unknown);
        }
    }

    #[test]
    fn nothing_else_is_ours() {
        for target in ["", "/", "*", "/checkx", "/Check/a", "/metrics", "/healthz", "//check/a", "/x/check/a"]
        {
            check(target, Route::Unknown);
        }
    }
}
