//! A question of the http listener as it was received, whoever took it off the connection.

use axum::http::request::Parts;

use crate::request::{Headers, Single, name};

/// The head of a request.
pub trait Question {
    /// The method.
    fn method(&self) -> &[u8];

    /// The target as received, without a fragment; empty for a tunnel's.
    fn target(&self) -> &[u8];

    /// What HTTP/2 calls its authority, or the host of a target that names one.
    fn authority(&self) -> Option<&[u8]>;

    /// Every header line, in an order that keeps that of the lines of one name.
    fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8])>;

    /// The headers that count.
    fn headers(&self) -> Headers<'_> {
        self.lines().collect()
    }

    /// The values of every line with this name.
    fn all<'q>(&'q self, name: &'static str) -> impl Iterator<Item = &'q [u8]> {
        let named = move |(line, _): &(&[u8], _)| line.eq_ignore_ascii_case(name.as_bytes());
        self.lines().filter(named).map(|(_, value)| value)
    }

    /// The host: `Host`, or the authority. Where several disagree it is empty, which is no host.
    fn host<'q>(&'q self, headers: &Headers<'q>) -> &'q [u8] {
        match (headers.single(name::HOST), self.authority()) {
            (Single::One(host), None) => host,
            (Single::Absent, Some(authority)) => authority,
            (Single::One(host), Some(authority)) if host == authority => host,
            _ => &[],
        }
    }
}

impl Question for Parts {
    fn method(&self) -> &[u8] {
        self.method.as_str().as_bytes()
    }

    // hyper cuts the fragment.
    fn target(&self) -> &[u8] {
        self.uri.path_and_query().map_or(&[], |target| target.as_str().as_bytes())
    }

    fn authority(&self) -> Option<&[u8]> {
        self.uri.authority().map(|authority| authority.as_str().as_bytes())
    }

    fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(uri: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_target_is_what_was_received() {
        for uri in ["/a/../b//c?d=%20e", "//evil.test/x", "/%2e%2e/\\;x", "*", "/?"] {
            assert_eq!(parts(uri, &[]).target(), uri.as_bytes());
        }
        assert_eq!(parts("http://h/a?b", &[]).target(), b"/a?b");
        assert_eq!(parts("h:443", &[]).target(), b"");
    }

    #[test]
    fn hosts_that_disagree_are_no_host() {
        let check = |uri: &str, lines: &[(&str, &str)], want: &str| {
            let parts = parts(uri, lines);
            assert_eq!(parts.host(&parts.headers()), want.as_bytes(), "{uri} {lines:?}");
        };
        check("/", &[("host", "a")], "a");
        check("/", &[("host", "a"), ("host", "a")], "a");
        check("/", &[("host", "a"), ("host", "b")], "");
        check("/", &[], "");
        check("http://a/", &[], "a");
        check("http://a/", &[("host", "a")], "a");
        check("http://a/", &[("host", "b")], "");
    }

    #[test]
    fn lines_are_found_without_case() {
        let parts = parts("/", &[("a", "1"), ("b", "2"), ("A", "3")]);
        assert_eq!(parts.all("A").collect::<Vec<_>>(), [b"1", b"3"]);
        assert_eq!(parts.all("c").count(), 0);
    }
}
