//! Keys and what is made with them: the ring, MACs by purpose, the binding of a visitor, token text and randomness.
//! Knows no token's fields; those belong to `challenge` and `clearance`.

mod binding;
mod claims;
mod entropy;
mod mac;
mod refusal;
mod ring;
mod secret;
mod text;

pub use binding::Visitor;
pub use claims::Claims;
pub use entropy::{Seed, fill};
pub use mac::{Mac, Tag};
pub use refusal::Refusal;
pub use ring::{Entry, Key, Ring, RingError, State};
pub use secret::{Secret, SecretError};
pub use text::{decode, encode};

/// How far ahead of ours the clock of a replica may be that issued a token, in seconds.
pub const SKEW: u64 = 10;

/// What a token proves: byte 1 of every token.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// Time was waited, without a script.
    Wait,
    /// Work was done.
    Work,
}

impl Kind {
    /// The wire form.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Work => 1,
            Self::Wait => 2,
        }
    }

    /// Reads the wire form.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Work),
            2 => Some(Self::Wait),
            _ => None,
        }
    }

    /// The name in logs, metrics and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Work => "work",
        }
    }
}
