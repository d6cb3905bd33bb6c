//! Who may use the admin listener.

use std::fmt;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::request::Peer;

/// The token of the admin listener. Never printed.
#[derive(Clone, Eq, PartialEq)]
pub struct Token(Zeroizing<Vec<u8>>);

impl Token {
    /// Takes the token's bytes.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }

    /// Whether the headers present it as `Authorization: Bearer ...`, once. Takes the same time for every wrong token of its length.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let mut lines = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return false };
        let Some((scheme, token)) = line.as_bytes().split_at_checked(BEARER.len()) else { return false };
        scheme.eq_ignore_ascii_case(BEARER) && bool::from(token.ct_eq(&self.0))
    }
}

const BEARER: &[u8] = b"Bearer ";

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

/// Whether the request names this machine, by address or as `localhost`. On a unix socket, which no page can reach, any name will do.
pub(super) fn names_this_machine(request: &Request) -> bool {
    if request.extensions().get() == Some(&Peer::Unix) {
        return true;
    }
    let named = request.uri().authority().map(|a| a.as_str().as_bytes());
    let Some(host) = named.or_else(|| request.headers().get(header::HOST).map(|h| h.as_bytes())) else {
        return true;
    };
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || literal.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn only_the_whole_token_in_one_line_is_let_in() {
        let token = Token::new(Zeroizing::new(b"0123456789abcdef".to_vec()));
        let admits = |lines: &[&str]| {
            let headers = lines.iter().map(|l| (header::AUTHORIZATION, l.parse().unwrap())).collect();
            token.admits(&headers)
        };
        assert!(admits(&["Bearer 0123456789abcdef"]) && admits(&["bearer 0123456789abcdef"]));
        for lines in [
            &[][..],
            &["Bearer "],
            &["Bearer 0123456789abcde"],
            &["Bearer 0123456789abcdef0"],
            &["0123456789abcdef"],
            &["Basic 0123456789abcdef"],
            &["Bearer 0123456789abcdef", "Bearer 0123456789abcdef"],
        ] {
            assert!(!admits(lines), "{lines:?}");
        }
        assert_eq!(format!("{token:?}"), "Token(redacted)");
    }

    #[test]
    fn a_rebound_name_is_not_this_machine() {
        for (host, local) in [
            ("localhost:9003", true),
            ("127.0.0.1:9003", true),
            ("[::1]:9003", true),
            ("evil.example:9003", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let request =
                Request::builder().uri("/metrics").header("host", host).body(Body::empty()).unwrap();
            assert_eq!(names_this_machine(&request), local, "{host}");
        }
    }
}
