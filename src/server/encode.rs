//! Writes an answer of HTTP/1.1, with the lines that hyper would add to it.

use std::cell::Cell;
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use axum::http::StatusCode;
use httpdate::HttpDate;

use crate::clock::Timestamp;
use crate::gate::Response;

/// The last second that such a date can name, since 1970.
const LAST: u64 = 253_402_300_799;

/// Writes an answer behind what is there already. `last` says that none will follow on this connection.
pub(super) fn encode(response: &Response, now: Timestamp, last: bool, out: &mut Vec<u8>) {
    let status = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for text in ["HTTP/1.1 ", status.as_str(), " ", status.canonical_reason().unwrap_or_default(), "\r\n"] {
        out.extend_from_slice(text.as_bytes());
    }
    for (name, value) in response.headers() {
        for text in [name, ": ", value, "\r\n"] {
            out.extend_from_slice(text.as_bytes());
        }
    }
    if response.get("content-length").is_none() && !matches!(response.status(), 204 | 304) {
        // Memory takes all that is written to it.
        drop(write!(out, "content-length: {}\r\n", response.body().len()));
    }
    if last {
        out.extend_from_slice(b"connection: close\r\n");
    }
    out.extend_from_slice(b"date: ");
    out.extend_from_slice(&date(now));
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(response.body());
}

/// The date as answers bear it (RFC 9110, 5.6.7), written once a second.
fn date(now: Timestamp) -> [u8; 29] {
    thread_local! {
        static WRITTEN: Cell<(Option<u64>, [u8; 29])> = const { Cell::new((None, [b' '; 29])) };
    }
    let now = now.seconds().min(LAST);
    let (when, mut text) = WRITTEN.get();
    if when != Some(now) {
        drop(write!(&mut text[..], "{}", HttpDate::from(UNIX_EPOCH + Duration::from_secs(now))));
        WRITTEN.set((Some(now), text));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(response: &Response, second: u64, last: bool) -> String {
        let mut out = b"before".to_vec();
        encode(response, Timestamp::from_seconds(second), last, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn answers_are_written_to_the_byte() {
        let text = Response::text(403, "text/plain", "no").header("x-a", "1").header("x-a", "2");
        let given = Response::text(200, "text/plain", "yes").without_body();
        for (response, last, want) in [
            (Response::empty(200), false, "200 OK\r\ncontent-length: 0\r\n*"),
            (
                text,
                true,
                "403 Forbidden\r\ncontent-type: text/plain\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\nconnection: close\r\n*no",
            ),
            (given, false, "200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n*"),
            (Response::empty(204), false, "204 No Content\r\n*"),
            (Response::empty(304), false, "304 Not Modified\r\n*"),
            (Response::empty(599), false, "599 \r\ncontent-length: 0\r\n*"),
        ] {
            let want = want.replace('*', "date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n");
            assert_eq!(encoded(&response, 0, last), format!("beforeHTTP/1.1 {want}"));
        }
    }

    #[test]
    fn the_date_goes_on_and_has_an_end() {
        for (second, want) in [
            (1_800_000_000, "Fri, 15 Jan 2027 08:00:00 GMT"),
            (1_800_000_001, "Fri, 15 Jan 2027 08:00:01 GMT"),
            (1_800_000_001, "Fri, 15 Jan 2027 08:00:01 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (LAST, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (u64::MAX / 1000, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(date(Timestamp::from_seconds(second)), want.as_bytes(), "{second}");
        }
    }
}
