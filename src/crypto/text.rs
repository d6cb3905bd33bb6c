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
