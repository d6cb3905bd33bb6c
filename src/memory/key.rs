//! Keys of cells: hashes under a secret, so that nobody outside can choose two that meet, or aim at a bucket or a bit.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// What a key is of. Keys of different kinds never meet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Agent = 1,
    Asn,
    Clearance,
    Client,
    Fingerprint,
    Limit,
    Network,
    Site,
    Stem,
    Target,
}

/// Makes keys. The secret lives as long as the process.
#[derive(Clone)]
pub(super) struct Keys(SipHasher13);

impl Keys {
    pub(super) fn new(secret: &[u8; 16]) -> Self {
        Self(SipHasher13::new_with_key(secret))
    }

    /// The key of some bytes.
    pub(super) fn of(&self, kind: Kind, bytes: &[u8]) -> u64 {
        let mut hasher = self.0;
        hasher.write_u8(kind as u8);
        hasher.write(bytes);
        hasher.finish()
    }

    /// The key of a number and some bytes.
    pub(super) fn with(&self, kind: Kind, number: u64, bytes: &[u8]) -> u64 {
        let mut hasher = self.0;
        hasher.write_u64(number ^ (kind as u64) << 56);
        hasher.write(bytes);
        hasher.finish()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_texts_and_secrets_keep_keys_apart() {
        let (a, b) = (Keys::new(&[1; 16]), Keys::new(&[2; 16]));
        let keys = [
            a.of(Kind::Client, b"x"),
            a.of(Kind::Network, b"x"),
            a.of(Kind::Client, b"y"),
            a.with(Kind::Limit, 1, b"x"),
            a.with(Kind::Limit, 2, b"x"),
            b.of(Kind::Client, b"x"),
        ];
        assert!(keys.iter().enumerate().all(|(at, key)| !keys[..at].contains(key)));
        assert_eq!(a.of(Kind::Client, b"x"), keys[0]);
        assert!(!format!("{a:?}").contains('1'));
    }
}
