//! Writes the answers of the http listener. Which statuses a proxy takes for what differs by family, so each face has one
//! function that chooses them, and none can let a refusal out as that family's success.

use axum::body::{Body, HttpBody};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, ETAG, VARY};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;

use super::route::Route;
use crate::gate::{self, Answer, Decision, Verdict};

/// The longest value of a header of ours that nginx gets, in bytes: all headers of an answer must fit its buffer of 4 KiB.
const MAX_VALUE: usize = 512;

/// For Envoy's HTTP service: exactly 200 allows, anything else below 500 refuses, 500 and above is an error.
pub(super) fn check(answer: Answer<'_>) -> Response {
    match answer {
        Answer::Allow(decision) => verdict_only(StatusCode::OK, &decision),
        // A refusal in Envoy's eyes, and still a success in the browser's: "transformed by a proxy on the way".
        Answer::Public(response) if response.status() == 200 => write(203, &response),
        Answer::Public(response) | Answer::Refuse(_, response) => {
            write(if matches!(response.status(), 200 | 500..) { 403 } else { response.status() }, &response)
        }
        Answer::Undecided(_, response) => write(503, &response),
    }
}

/// For Traefik, Caddy and their like: any 2xx allows, all else goes to the visitor as it is.
pub(super) fn forward(answer: Answer<'_>) -> Response {
    match answer {
        Answer::Allow(decision) => verdict_only(StatusCode::OK, &decision),
        Answer::Public(response) | Answer::Refuse(_, response) => {
            write(if response.status() < 300 { 403 } else { response.status() }, &response)
        }
        Answer::Undecided(_, response) => write(503, &response),
    }
}

/// For nginx `auth_request`: 2xx allows, 401 and 403 refuse, all else is an error. Never a body: nginx would close the connection.
pub(super) fn nginx(decision: &Decision<'_>) -> Response {
    let status = match decision.verdict {
        Verdict::Allow => StatusCode::OK,
        Verdict::Challenge => StatusCode::UNAUTHORIZED,
        Verdict::Deny | Verdict::Limit => StatusCode::FORBIDDEN,
        Verdict::Undecided => StatusCode::INTERNAL_SERVER_ERROR,
    };
    verdict_only(status, decision)
}

/// For a visitor whom a proxy routed to the public prefix.
pub(super) fn public(response: &gate::Response, accepts_gzip: bool) -> Response {
    let mut out = write(response.status(), response);
    if let Some(gzip) = response.gzip() {
        out.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
        if accepts_gzip {
            out.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            // Other bytes than those the strong tag names (RFC 9110, 8.8.3.3).
            if let Some(weak) =
                response.headers().iter().find(|(name, _)| *name == "etag").map(|(_, tag)| format!("W/{tag}"))
            {
                out.headers_mut().insert(ETAG, value(weak.into()));
            }
            *out.body_mut() = Body::from(gzip.clone());
        }
    }
    out
}

/// What a proxy hears when not even the gate could be asked: undecided.
pub(super) fn failure(route: Route<'_>) -> Response {
    write(if matches!(route, Route::Nginx(_)) { 500 } else { 503 }, &gate::Response::empty(503))
}

/// A status in words, for what is no question at all.
pub(super) fn plain(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let text = format!("{}\n", status.canonical_reason().unwrap_or_default().to_ascii_lowercase());
    let text = gate::Response::text(status.as_u16(), "text/plain; charset=utf-8", text);
    write(status.as_u16(), &text.header("cache-control", "no-store"))
}

/// Takes the body out of an answer to HEAD, which says all the same how long it would be (RFC 9110, 9.3.2). Over HTTP/2 nobody
/// else does.
pub(super) fn without_body(mut out: Response) -> Response {
    if let Some(length) = out.body().size_hint().exact().filter(|length| *length > 0) {
        out.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
    }
    *out.body_mut() = Body::empty();
    out
}

/// For a method that `/auth/*` does not have.
pub(super) fn method_not_allowed() -> Response {
    let mut out = plain(405);
    out.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    out
}

/// An answer for the proxy alone: no body, and what was decided in headers.
fn verdict_only(status: StatusCode, decision: &Decision<'_>) -> Response {
    let mut out = Response::new(Body::empty());
    *out.status_mut() = status;
    decision.each_header(|name, text| {
        let text = Bytes::copy_from_slice(&text.as_bytes()[..text.len().min(MAX_VALUE)]);
        out.headers_mut().insert(HeaderName::from_static(name), value(text));
    });
    out.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    out.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    out
}

/// Writes what a visitor gets, under the status that the face makes of it.
fn write(status: u16, response: &gate::Response) -> Response {
    let body = response.body();
    let none = body.is_empty() || matches!(status, 204 | 304);
    let mut out = Response::new(if none { Body::empty() } else { Body::from(body.clone()) });
    *out.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, text) in response.headers() {
        out.headers_mut()
            .append(HeaderName::from_static(name), value(Bytes::copy_from_slice(text.as_bytes())));
    }
    out
}

/// A value without control bytes, as the gate gives them, always is one.
fn value(text: Bytes) -> HeaderValue {
    HeaderValue::from_maybe_shared(text).unwrap_or(HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests;
