//! Writes the answers of the http listener. Which statuses a proxy takes for what differs by family, so each face has one
//! function that chooses them, and none can let a refusal out as that family's success.

use axum::http::{self, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;

use super::route::Route;
use crate::gate::{Answer, Decision, Response, Verdict};

/// The longest value of a header of ours that nginx gets, in bytes: all headers of an answer must fit its buffer of 4 KiB.
const MAX_VALUE: usize = 512;

/// For Envoy's HTTP service: exactly 200 allows, anything else below 500 refuses, 500 and above is an error.
pub(super) fn check(answer: Answer<'_>) -> Response {
    match answer {
        Answer::Allow(decision) => verdict_only(200, &decision),
        // A refusal in Envoy's eyes, and still a success in the browser's: "transformed by a proxy on the way".
        Answer::Public(response) if response.status() == 200 => response.with_status(203),
        Answer::Public(response) | Answer::Refuse(_, response) => match response.status() {
            200 | 500.. => response.with_status(403),
            _ => response,
        },
        Answer::Undecided(_, response) => response.with_status(503),
    }
}

/// For Traefik, Caddy and their like: any 2xx allows, all else goes to the visitor as it is.
pub(super) fn forward(answer: Answer<'_>) -> Response {
    match answer {
        Answer::Allow(decision) => verdict_only(200, &decision),
        Answer::Public(response) | Answer::Refuse(_, response) => match response.status() {
            ..300 => response.with_status(403),
            _ => response,
        },
        Answer::Undecided(_, response) => response.with_status(503),
    }
}

/// For nginx `auth_request`: 2xx allows, 401 and 403 refuse, all else is an error. Never a body: nginx would close the connection.
pub(super) fn nginx(decision: &Decision<'_>) -> Response {
    let status = match decision.verdict {
        Verdict::Allow => 200,
        Verdict::Challenge => 401,
        Verdict::Deny | Verdict::Limit => 403,
        Verdict::Undecided => 500,
    };
    verdict_only(status, decision)
}

/// For a visitor whom a proxy routed to the public prefix.
pub(super) fn public(response: Response, accepts_gzip: bool) -> Response {
    if response.gzip().is_none() {
        return response;
    }
    let response = response.header("vary", "accept-encoding");
    if accepts_gzip { response.gzipped() } else { response }
}

/// What a proxy hears when not even the gate could be asked: undecided.
pub(super) fn failure(route: Route<'_>) -> Response {
    Response::empty(if matches!(route, Route::Nginx(_)) { 500 } else { 503 })
}

/// A status in words, for what is no question at all.
pub(super) fn plain(status: u16) -> Response {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let text = format!("{}\n", reason.unwrap_or_default().to_ascii_lowercase());
    Response::text(status, "text/plain; charset=utf-8", text).header("cache-control", "no-store")
}

/// For a method that `/auth/*` does not have.
pub(super) fn method_not_allowed() -> Response {
    plain(405).header("allow", "GET, HEAD")
}

/// An answer for the proxy alone: no body, and what was decided in headers.
fn verdict_only(status: u16, decision: &Decision<'_>) -> Response {
    let mut out = Response::empty(status);
    decision.each_header(|name, text| {
        let end = (0..=MAX_VALUE.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        out.add(name, text[..end.unwrap_or(0)].to_owned());
    });
    out.header("cache-control", "private, no-store").header("content-length", "0")
}

/// An answer as hyper takes it.
pub(super) fn http(response: Response) -> http::Response<Bytes> {
    let mut out = http::Response::new(response.body().clone());
    *out.status_mut() = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, text) in response.headers() {
        // A value without control bytes, as the gate gives them, always is one.
        let value = HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("-"));
        out.headers_mut().append(HeaderName::from_static(name), value);
    }
    out
}

#[cfg(test)]
mod tests;
