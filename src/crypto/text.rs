//! Token text: base64url without padding, strictly, so that a token has exactly one spelling.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Writes bytes as token text.
pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads token text into `buffer`; `None` when it is longer than the buffer, holds anything but the alphabet, or leaves
/// spare bits set in its last character.
pub fn decode<'b>(text: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let length = URL_SAFE_NO_PAD.decode_slice(text, buffer).ok()?;
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Option<&[u8]>) {
        assert_eq!(decode(text.as_bytes(), &mut [0; 4]), want, "{text:?}");
    }

    #[test]
    fn bytes_have_exactly_one_spelling() {
        check("", Some(&[]));
        check("_-A", Some(&[0xff, 0xe0]));
        check("AAAAAA", Some(&[0; 4]));
        for other in [
            "A", "AB", "AAB", "AA==", "AA=", "+/A", "AA A", " AA", "AA\n", "AA\0", "\u{e9}AA", "AAAAA",
            "AAAAAB",
        ] {
            check(other, None);
        }
        check("AAAAAAA", None);
        check(&encode(&[1, 2, 3, 4]), Some(&[1, 2, 3, 4]));
    }
}
