//! Reads of a question what goes beyond the request that it describes: whether its answer may be squeezed, and a form.

use std::error::Error;
use std::time::Duration;

use axum::body::HttpBody;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::timeout;

use super::question::Question;
use crate::request::{Headers, name};

/// The largest form that is read, in bytes: an answer of 16 puzzles has 160.
const MAX_FORM: usize = 1024;

/// How long a form may take to arrive. A proxy that buffers sends it at once, a browser on a bad line within seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the visitor can read gzip (RFC 9110, 12.5.3): named, and not by `q=0`.
pub(super) fn accepts_gzip(headers: &Headers<'_>) -> bool {
    let accepted = headers.joined(name::ACCEPT_ENCODING).unwrap_or_default();
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
pub(super) fn brings_form(question: &impl Question, prefix: &str) -> bool {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    if question.method() != b"POST" {
        return false;
    }
    let path = question.target().split(|b| *b == b'?').next().unwrap_or_default();
    let content = question.all("content-type").next().unwrap_or_default();
    let kind = content.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    path.strip_prefix(prefix.as_bytes()) == Some(b"answer") && kind.eq_ignore_ascii_case(FORM)
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
    use axum::http::request::Parts;

    use super::*;

    fn parts(method: &str, uri: &str, lines: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn gzip_must_be_named_and_not_refused() {
        let check = |accepted: &str, want: bool| {
            let parts = parts("GET", "/", &[("accept-encoding", accepted)]);
            assert_eq!(accepts_gzip(&parts.headers()), want, "{accepted}");
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
