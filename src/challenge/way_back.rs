//! The way back of the no-script lane: the path that a visitor returns to after a wait, signed together with the token,
//! so that no redirect target ever comes from a client.

use super::Token;
use crate::crypto::{Refusal, Ring, Tag};

/// The longest way back, in bytes: an address that browsers and proxies still carry twice in one URL.
pub const MAX_PATH: usize = 2048;

/// Signs path and query for a token. When the token's key has been retired since, another signs: nobody will accept that token.
pub fn sign(ring: &Ring, token: &Token, path: &[u8]) -> Tag {
    let key = ring.key(token.key_id()).unwrap_or_else(|| ring.signing());
    key.way_back.tag(&[token.as_bytes(), path])
}

/// Whether this way back was signed for this token: path and query, the 16 bytes of the tag.
/// Refuses with `version`, `key`, or `forged`; the last also for a path that is not safe, since none is signed.
pub fn verify(ring: &Ring, token: &Token, path: &[u8], tag: &[u8]) -> Result<(), Refusal> {
    let key = ring.named(token.as_bytes()[0])?;
    if key.way_back.verify(&[token.as_bytes(), path], tag) && is_safe(path) {
        Ok(())
    } else {
        Err(Refusal::Forged)
    }
}

/// Whether a path is one that a browser keeps on this host: it starts with one slash that is not followed by another or by
/// `\`, holds no control byte, and has at most [`MAX_PATH`] bytes. For any other, `/` is signed in its place.
pub fn is_safe(path: &[u8]) -> bool {
    path.len() <= MAX_PATH
        && path.first() == Some(&b'/')
        && !matches!(path.get(1), Some(b'/' | b'\\'))
        && !path.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Secret;

    #[test]
    fn only_paths_that_stay_on_this_host_are_safe() {
        let long = format!("/{}", "a".repeat(MAX_PATH - 1));
        for path in ["/", "/a", "/a//b", "/a?x=1&y=%2F", "/?//evil.example", "/a\\b", "/ü", &long] {
            assert!(is_safe(path.as_bytes()), "{path}");
        }
        let longer = format!("{long}a");
        let evil = [
            "",
            "a",
            "//evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "https://evil.example",
            " /",
            "/\t/evil.example",
        ];
        for path in evil.into_iter().chain(["/a\r\nset-cookie: x=1", "/\0", "/a\x7f", "*", &longer]) {
            assert!(!is_safe(path.as_bytes()), "{path:?}");
        }
    }

    #[test]
    fn a_way_back_belongs_to_one_token_and_one_path() {
        let ring = Ring::single(Secret::new([7; 32]));
        let token = |last| {
            let mut bytes = [0; 56];
            (bytes[0], bytes[55]) = (0x10, last);
            Token::from_bytes(bytes)
        };
        let tag = sign(&ring, &token(1), b"/a");
        let check = |token: Token, path: &[u8], tag: &[u8]| verify(&ring, &token, path, tag);
        assert_eq!(check(token(1), b"/a", &tag), Ok(()));
        assert_eq!(check(token(2), b"/a", &tag), Err(Refusal::Forged));
        assert_eq!(check(token(1), b"/b", &tag), Err(Refusal::Forged));
        assert_eq!(check(token(1), b"/a", &tag[..15]), Err(Refusal::Forged));
        assert_eq!(check(token(1), b"/a", b""), Err(Refusal::Forged));
        let evil = sign(&ring, &token(1), b"//evil.example");
        assert_eq!(check(token(1), b"//evil.example", &evil), Err(Refusal::Forged), "even if it were signed");
    }
}
