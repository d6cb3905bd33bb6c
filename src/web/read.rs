//! Reads a question of the http listener, as it was received.

use std::error::Error;
use std::time::Duration;

use axum::body::HttpBody;
use axum::http::Method;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::request::{Headers, Single};

/// The largest form that is read, in bytes: an answer of 16 puzzles has 160.
const MAX_FORM: usize = 1024;

/// How long a form may take to arrive. A proxy that buffers sends it at once, a browser on a bad line within seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// The target as received, without a fragment, which hyper cuts; empty for a tunnel's.
pub(super) fn target(parts: &Parts) -> &[u8] {
    parts.uri.path_and_query().map_or(&[], |target| target.as_str().as_bytes())
}

/// The headers that count.
pub(super) fn headers(parts: &Parts) -> Headers<'_> {
    parts.headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect()
}

/// The host of the question: `Host`, or what HTTP/2 calls its authority. Where several disagree it is empty, which is no host.
pub(super) fn host<'a>(parts: &'a Parts, headers: &Headers<'a>) -> &'a [u8] {
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    match (headers.single("host"), authority) {
        (Single::One(host), None) => host,
        (Single::Absent, Some(authority)) => authority,
        (Single::One(host), Some(authority)) if host == authority => host,
        _ => &[],
    }
}

/// Whether the visitor can read gzip (RFC 9110, 12.5.3): named, and not by `q=0`.
pub(super) fn accepts_gzip(headers: &Headers<'_>) -> bool {
    let accepted = headers.joined("accept-encoding").unwrap_or_default();
    accepted.split(|b| *b == b',').any(|coding| {
        let mut parts = coding.split(|b| *b == b';').map(<[u8]>::trim_ascii);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"gzip"));
        let refused = parts.any(|weight| {
            let value = weight.strip_prefix(b"q=").or_else(|| weight.strip_prefix(b"Q="));
            value.is_some_and(|value| value.iter().all(|b| matches!(b, b'0' | b'.')))
        });
        named && !refused
    })
}

/// Whether a body is to be read: a form that is sent to the endpoint for answers. No other body ever is.
pub(super) fn brings_form(parts: &Parts, prefix: &str) -> bool {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    let answer = parts.uri.path().strip_prefix(prefix) == Some("answer");
    let content = parts.headers.get("content-type").map_or(&b""[..], |value| value.as_bytes());
    let kind = content.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    parts.method == Method::POST && answer && kind.eq_ignore_ascii_case(FORM)
}

/// Reads a form, or says with which status it is refused.
pub(super) async fn form<B>(body: B) -> Result<Bytes, u16>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    if body.size_hint().lower() > MAX_FORM as u64 {
        return Err(413);
    }
    match timeout(PATIENCE, Limited::new(body, MAX_FORM).collect()).await {
        Ok(Ok(form)) => Ok(form.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(413),
        Ok(Err(_)) => Err(400),
        Err(_) => Err(408),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(method: &str, uri: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_target_is_what_was_received() {
        for uri in ["/a/../b//c?d=%20e", "//evil.test/x", "/%2e%2e/\\;x", "*", "/?"] {
            assert_eq!(target(&parts("GET", uri, &[])), uri.as_bytes());
        }
        assert_eq!(target(&parts("GET", "http://h/a?b", &[])), b"/a?b");
        assert_eq!(target(&parts("CONNECT", "h:443", &[])), b"");
    }

    #[test]
    fn hosts_that_disagree_are_no_host() {
        let check = |uri: &str, lines: &[(&str, &str)], want: &str| {
            let parts = parts("GET", uri, lines);
            assert_eq!(host(&parts, &headers(&parts)), want.as_bytes(), "{uri} {lines:?}");
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
    fn gzip_must_be_named_and_not_refused() {
        let check = |accepted: &str, want: bool| {
            let parts = parts("GET", "/", &[("accept-encoding", accepted)]);
            assert_eq!(accepts_gzip(&headers(&parts)), want, "{accepted}");
        };
        for accepted in ["gzip", "br, GZIP", "br;q=1.0, gzip;q=0.8", "gzip;q=0.001", "deflate,gzip ; q=1"] {
            check(accepted, true);
        }
        for accepted in ["", "br", "gzip;q=0", "gzip; Q=0.000", "x-gzip2", "*", "identity"] {
            check(accepted, false);
        }
    }

    #[test]
    fn only_a_form_for_the_answer_endpoint_is_read() {
        const FORM: &str = "application/x-www-form-urlencoded";
        let check = |method: &str, uri: &str, kind: &str, want: bool| {
            let parts = parts(method, uri, &[("content-type", kind)]);
            assert_eq!(brings_form(&parts, "/.tollgate/"), want, "{method} {uri} {kind}");
        };
        check("POST", "/.tollgate/answer", FORM, true);
        check("POST", "/.tollgate/answer?x", "Application/X-WWW-Form-Urlencoded; charset=utf-8", true);
        check("PUT", "/.tollgate/answer", FORM, false);
        check("POST", "/.tollgate/answer", "multipart/form-data", false);
        check("POST", "/.tollgate/page", FORM, false);
        check("POST", "/.tollgate/answer/", FORM, false);
        check("POST", "/auth/nginx", FORM, false);
        check("POST", "/check/.tollgate/answer", FORM, false);
    }
}
