//! A 32-byte secret that is never printed and is wiped when dropped.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Key material.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes raw key material.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 32 bytes written as hex (64 digits) or base64 (either alphabet, padding optional).
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        let mut bytes = [0; 32];
        let hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if hex {
            for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
                *byte = pair.iter().fold(0, |n, d| {
                    n << 4 | u8::try_from(char::from(*d).to_digit(16).unwrap_or(0)).unwrap_or(0)
                });
            }
            return Ok(Self(bytes));
        }
        let mut decoded = STANDARD
            .decode(text)
            .or_else(|_| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')))
            .map_err(|_| SecretError)?;
        let fits = decoded.len() == 32;
        if fits {
            bytes.copy_from_slice(&decoded);
        }
        decoded.zeroize();
        fits.then_some(Self(bytes)).ok_or(SecretError)
    }

    /// The key material, for the few places that compute with it or write a key file.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// A text that is no secret. Says nothing about the text, which may be a mistyped secret.
#[derive(Clone, Copy, Debug, Error, Eq, PartialEq)]
#[error("a secret is 32 bytes, written as 64 hex digits or as base64; make one with `tollgate keygen`")]
pub struct SecretError;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: Option<[u8; 32]>) {
        assert_eq!(Secret::parse(text).ok().map(|secret| *secret.expose()), want, "{text}");
    }

    #[test]
    fn a_secret_is_hex_or_base64_of_32_bytes() {
        let bytes: [u8; 32] = std::array::from_fn(|i| u8::try_from(i).unwrap().wrapping_mul(37));
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        for text in [
            hex.clone(),
            hex.to_uppercase(),
            format!(" {hex}\n"),
            STANDARD.encode(bytes),
            URL_SAFE_NO_PAD.encode(bytes),
        ] {
            check(&text, Some(bytes));
        }
        for text in [
            "",
            "secret",
            &hex[1..],
            &hex[2..],
            &format!("{hex}00"),
            &"g".repeat(64),
            &STANDARD.encode([0; 31]),
        ] {
            check(text, None);
        }
    }

    #[test]
    fn no_secret_is_printed() {
        assert_eq!(format!("{:?}", Secret::new([1; 32])), "Secret(redacted)");
        assert!(!SecretError.to_string().contains("01"));
    }
}
