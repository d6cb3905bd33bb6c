//! The challenge token: 56 bytes that say what is asked of whom, until when, under one MAC.
//! Judges nothing but its own shape and MAC; limits, times and the visitor are for `check`.

use std::fmt;

use subtle::ConstantTimeEq;

use super::puzzle::{MAX_PUZZLES, SIZES, level_of};
use crate::crypto::{Claims, Key, Kind, Refusal, Ring, Visitor, decode, encode};

/// How many bytes a token has.
pub(super) const LENGTH: usize = 56;
/// How many of them the MAC covers: all that stand before it.
pub(super) const SIGNED: usize = 40;

/// A challenge token, in its wire form. All integers are big-endian.
///
/// | bytes | `work` | `wait` |
/// |---|---|---|
/// | 0 | version and key id | the same |
/// | 1 | kind | kind |
/// | 2 | puzzles | the level that the wait stands in for |
/// | 3 | log2 of the message size | 0 |
/// | 4..8 | target | seconds to wait |
/// | 8..12, 12..14 | issued in Unix seconds, life in seconds | the same |
/// | 14..16, 16..32, 32..40 | policy id, random id, binding | the same |
/// | 40..56 | MAC of the bytes before it | the same |
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Token([u8; LENGTH]);

impl Token {
    /// Reads token text the way a client does: without a key, so everything but the MAC and the times is judged.
    /// Refuses with `malformed`, `version`, `kind`, or `limits` when no solver could work on it.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, Refusal> {
        let token = Self::decode(text.as_ref())?;
        if token.0[0] >> 4 != 1 {
            return Err(Refusal::Version);
        }
        let fits = match Kind::from_byte(token.0[1]).ok_or(Refusal::Kind)? {
            Kind::Wait => token.size() == 0,
            Kind::Work => {
                (1..=MAX_PUZZLES).contains(&token.k()) && SIZES.contains(&token.size()) && token.target() > 0
            }
        };
        if fits { Ok(token) } else { Err(Refusal::Limits) }
    }

    /// Reads token text, and nothing more: the fields may hold anything.
    pub(super) fn decode(text: &[u8]) -> Result<Self, Refusal> {
        let mut bytes = [0; LENGTH];
        match decode(text, &mut bytes) {
            Some(read) if read.len() == LENGTH => Ok(Self(bytes)),
            _ => Err(Refusal::Malformed),
        }
    }

    pub(super) const fn from_bytes(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// Signs what stands before the MAC.
    pub(super) fn sign(key: &Key, head: &[u8; SIGNED]) -> Self {
        let mut bytes = [0; LENGTH];
        bytes[..SIGNED].copy_from_slice(head);
        bytes[SIGNED..].copy_from_slice(&key.challenge.tag(&[head]));
        Self(bytes)
    }

    /// The key that the token was made with, once its MAC is known to be right.
    pub(super) fn authenticate<'r>(&self, ring: &'r Ring) -> Result<&'r Key, Refusal> {
        let key = ring.named(self.0[0])?;
        let (head, tag) = self.0.split_at(SIGNED);
        if key.challenge.verify(&[head], tag) { Ok(key) } else { Err(Refusal::Forged) }
    }

    pub(super) fn is_kind(&self, kind: Kind) -> bool {
        self.0[1] == kind.byte()
    }

    pub(super) fn is_bound_to(&self, visitor: &Visitor<'_>, key: &Key) -> bool {
        visitor.binding(key).ct_eq(&self.binding()).into()
    }

    /// The bytes: what the puzzles are made from.
    pub const fn as_bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// The text that travels: 75 characters.
    pub fn text(&self) -> String {
        encode(&self.0)
    }

    /// The id of the key it was made with.
    pub const fn key_id(&self) -> u8 {
        self.0[0] & 15
    }

    /// What it asks for.
    pub fn kind(&self) -> Kind {
        if self.is_kind(Kind::Wait) { Kind::Wait } else { Kind::Work }
    }

    /// How many puzzles it sets; none when it asks to wait.
    pub fn k(&self) -> u8 {
        self.unless_wait(self.0[2])
    }

    /// The binary logarithm of the size of a message in bytes; 0 when it asks to wait.
    pub const fn size(&self) -> u8 {
        self.0[3]
    }

    /// What the first four bytes of a solution's hash must stay below; 0 when it asks to wait.
    pub fn target(&self) -> u32 {
        self.unless_wait(self.number())
    }

    /// How many seconds it asks to wait; 0 when it asks for work.
    pub fn seconds(&self) -> u32 {
        if self.is_kind(Kind::Wait) { self.number() } else { 0 }
    }

    /// The level that an answer reaches: log2 of the attempts it takes on average, or what the wait stands in for.
    pub fn level(&self) -> u8 {
        if self.is_kind(Kind::Wait) { self.0[2] } else { level_of(self.k(), self.target()) }
    }

    /// When it was issued, in Unix seconds.
    pub fn issued(&self) -> u32 {
        u32::from_be_bytes(self.part(8))
    }

    /// For how many seconds it can be answered.
    pub fn ttl(&self) -> u16 {
        u16::from_be_bytes(self.part(12))
    }

    /// The policy that asked (see [`super::policy_id`]).
    pub fn policy(&self) -> u16 {
        u16::from_be_bytes(self.part(14))
    }

    /// Its random id, which becomes the clearance's.
    pub fn id(&self) -> [u8; 16] {
        self.part(16)
    }

    /// Whom it was made for.
    pub fn binding(&self) -> [u8; 8] {
        self.part(32)
    }

    /// What meeting this challenge buys.
    pub fn claims(&self) -> Claims {
        Claims {
            key_id: self.key_id(),
            kind: self.kind(),
            level: self.level(),
            issued: self.issued(),
            id: self.id(),
            binding: self.binding(),
        }
    }

    fn number(&self) -> u32 {
        u32::from_be_bytes(self.part(4))
    }

    fn unless_wait<T: Default>(&self, value: T) -> T {
        if self.is_kind(Kind::Wait) { T::default() } else { value }
    }

    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0[at + i])
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a client looks at; the rest is zero.
    fn check(first: [u8; 8], want: Result<Kind, Refusal>) {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&first);
        assert_eq!(Token::parse(encode(&bytes)).map(|t| t.kind()), want, "{first:?}");
    }

    #[test]
    fn a_client_refuses_what_no_solver_could_work_on() {
        check([0x10, 1, 16, 12, 0, 0x40, 0, 0], Ok(Kind::Work));
        check([0x1f, 1, 64, 14, 0, 0, 0, 1], Ok(Kind::Work));
        check([0x10, 2, 14, 0, 0, 0, 0, 3], Ok(Kind::Wait));
        check([0x20, 1, 16, 12, 0, 0x40, 0, 0], Err(Refusal::Version));
        check([0x10, 0, 16, 12, 0, 0x40, 0, 0], Err(Refusal::Kind));
        check([0x10, 3, 16, 12, 0, 0x40, 0, 0], Err(Refusal::Kind));
        check([0x10, 1, 0, 12, 0, 0x40, 0, 0], Err(Refusal::Limits));
        check([0x10, 1, 65, 12, 0, 0x40, 0, 0], Err(Refusal::Limits));
        check([0x10, 1, 16, 9, 0, 0x40, 0, 0], Err(Refusal::Limits));
        check([0x10, 1, 16, 15, 0, 0x40, 0, 0], Err(Refusal::Limits));
        check([0x10, 1, 16, 12, 0, 0, 0, 0], Err(Refusal::Limits));
        check([0x10, 2, 14, 12, 0, 0, 0, 3], Err(Refusal::Limits));
        for text in ["", "EA", &"A".repeat(74), &"A".repeat(76), &"=".repeat(75)] {
            assert_eq!(Token::parse(text), Err(Refusal::Malformed), "{text}");
        }
    }

    #[test]
    fn fields_of_the_other_kind_read_as_nothing() {
        let work = Token::from_bytes(std::array::from_fn(|at| {
            [0x10, 1, 16, 12, 0, 64].get(at).copied().unwrap_or(0)
        }));
        assert_eq!(
            (work.k(), work.size(), work.target(), work.seconds(), work.level()),
            (16, 12, 1 << 22, 0, 14)
        );
        let wait = Token::from_bytes(std::array::from_fn(|at| {
            [0x10, 2, 14, 0, 0, 0, 0, 3].get(at).copied().unwrap_or(0)
        }));
        assert_eq!((wait.k(), wait.size(), wait.target(), wait.seconds(), wait.level()), (0, 0, 0, 3, 14));
    }
}
