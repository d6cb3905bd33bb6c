//! The key ring: up to sixteen keys, one of which signs.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;
use thiserror::Error;

use super::{Mac, Refusal, Secret};

/// The version of every token, in the high nibble of its first byte.
const VERSION: u8 = 1;

/// What a key is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    /// As if it were not there.
    Retired,
    /// Makes and checks tokens. Exactly one key does.
    Sign,
    /// Checks tokens that were made with it.
    Verify,
}

/// One line of a key ring.
#[derive(Clone, Debug)]
pub struct Entry {
    /// 0 to 15; travels in every token.
    pub id: u8,
    /// What the key is for.
    pub state: State,
    /// The key material that every sub-key is derived from.
    pub secret: Secret,
}

/// A key with its sub-keys, one for each purpose, so that no token of one kind verifies as another.
#[derive(Clone)]
pub struct Key {
    /// 0 to 15.
    pub id: u8,
    /// Signs challenge tokens.
    pub challenge: Mac,
    /// Signs clearances.
    pub clearance: Mac,
    /// Makes the binding bytes.
    pub binding: Mac,
    /// Signs the canaries of challenge pages.
    pub canary: Mac,
    /// Names what replicas tell each other, and what is written to a file.
    pub memory: Mac,
    /// Signs the way back of the no-script lane.
    pub way_back: Mac,
}

impl Key {
    /// The first byte of every token made with this key: the version and the key's id.
    pub const fn first_byte(&self) -> u8 {
        VERSION << 4 | self.id
    }

    fn derive(id: u8, secret: &Secret) -> Self {
        let hkdf = Hkdf::<Sha256>::new(Some(b"tollgate/v1"), secret.expose());
        let sub = |purpose: &str| {
            let mut key = zeroize::Zeroizing::new([0; 32]);
            hkdf.expand(purpose.as_bytes(), &mut *key).expect("32 bytes are one block of HKDF-SHA256");
            Mac::new(&key)
        };
        Self {
            id,
            challenge: sub("challenge"),
            clearance: sub("clearance"),
            binding: sub("binding"),
            canary: sub("canary"),
            memory: sub("memory"),
            way_back: sub("return"),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, redacted)", self.id)
    }
}

/// The keys that tokens are made and checked with.
#[derive(Clone, Debug)]
pub struct Ring {
    keys: [Option<Box<Key>>; 16],
    signing: Box<Key>,
}

impl Ring {
    /// Builds a ring from its entries.
    pub fn new(entries: &[Entry]) -> Result<Self, RingError> {
        let mut keys = [const { None }; 16];
        let (mut seen, mut signing) = ([false; 16], None);
        for entry in entries {
            let at = usize::from(entry.id);
            if at >= keys.len() {
                return Err(RingError::Id(entry.id));
            }
            if std::mem::replace(&mut seen[at], true) {
                return Err(RingError::Twice(entry.id));
            }
            if entry.state == State::Retired {
                continue;
            }
            let key = Box::new(Key::derive(entry.id, &entry.secret));
            if entry.state == State::Sign && signing.replace(key.clone()).is_some() {
                return Err(RingError::Signers);
            }
            keys[at] = Some(key);
        }
        Ok(Self { keys, signing: signing.ok_or(RingError::NoSigner)? })
    }

    /// A ring of one key with id 0.
    pub fn single(secret: Secret) -> Self {
        let signing = Box::new(Key::derive(0, &secret));
        let mut keys = [const { None }; 16];
        keys[0] = Some(signing.clone());
        Self { keys, signing }
    }

    /// The key that new tokens are made with.
    pub fn signing(&self) -> &Key {
        &self.signing
    }

    /// Every key that tokens are checked with, the one that signs first.
    pub fn valid(&self) -> impl Iterator<Item = &Key> {
        let others = self.keys.iter().flatten().filter(|key| key.id != self.signing.id);
        std::iter::once(&self.signing).chain(others).map(|key| &**key)
    }

    /// The key with this id, unless it is unknown or retired.
    pub fn key(&self, id: u8) -> Option<&Key> {
        self.keys.get(usize::from(id))?.as_deref()
    }

    /// The key that the first byte of a token names. Refuses with `version` or `key`.
    pub fn named(&self, first_byte: u8) -> Result<&Key, Refusal> {
        if first_byte >> 4 != VERSION {
            return Err(Refusal::Version);
        }
        self.key(first_byte & 15).ok_or(Refusal::Key)
    }
}

/// Why entries are no ring.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum RingError {
    /// An id that does not fit its four bits.
    #[error("key id {0} is not in 0..15")]
    Id(u8),
    /// No key signs.
    #[error("no key has state `sign`; exactly one must")]
    NoSigner,
    /// Several keys sign.
    #[error("several keys have state `sign`; exactly one must, the older ones become `verify`")]
    Signers,
    /// An id stands twice.
    #[error("key id {0} stands twice")]
    Twice(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u8, state: State) -> Entry {
        Entry { id, state, secret: Secret::new([id; 32]) }
    }

    #[test]
    fn a_ring_has_exactly_one_signer_and_no_id_twice() {
        use State::{Retired, Sign, Verify};
        let check = |entries: &[(u8, State)], want: Option<RingError>| {
            let entries: Vec<_> = entries.iter().map(|(id, state)| entry(*id, *state)).collect();
            assert_eq!(Ring::new(&entries).err(), want, "{entries:?}");
        };
        check(&[(0, Sign)], None);
        check(&[(15, Sign), (0, Verify), (3, Retired)], None);
        check(&[], Some(RingError::NoSigner));
        check(&[(0, Verify), (1, Retired)], Some(RingError::NoSigner));
        check(&[(0, Sign), (1, Sign)], Some(RingError::Signers));
        check(&[(0, Sign), (0, Retired)], Some(RingError::Twice(0)));
        check(&[(16, Sign)], Some(RingError::Id(16)));
    }

    #[test]
    fn the_first_byte_names_a_key_that_is_there() {
        let ring =
            Ring::new(&[entry(1, State::Sign), entry(2, State::Verify), entry(3, State::Retired)]).unwrap();
        for first_byte in 0..=255 {
            let want = match first_byte {
                0x11 | 0x12 => Ok(first_byte & 15),
                0x10..=0x1f => Err(Refusal::Key),
                _ => Err(Refusal::Version),
            };
            assert_eq!(ring.named(first_byte).map(|key| key.id), want, "{first_byte:#x}");
        }
        assert_eq!(ring.signing().first_byte(), 0x11);
    }

    #[test]
    fn no_secret_is_printed() {
        let ring = Ring::single(Secret::new([0xab; 32]));
        let shown = format!("{ring:?} {:?}", entry(0xab, State::Sign));
        assert!(!shown.contains("171, 171") && !shown.contains("abab"), "{shown}");
    }
}
