//! Issues challenges: two HMACs and no memory, so that asking costs less than being asked.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::Token;
use super::puzzle::{puzzles_for, target_for};
use super::token::SIGNED;
use crate::clock::Timestamp;
use crate::crypto::{Kind, Ring, Visitor};

/// What every token carries besides what it asks for.
#[derive(Clone, Copy, Debug)]
pub struct Stamp<'a> {
    /// The keys, one of which signs.
    pub ring: &'a Ring,
    /// Whom the token is for.
    pub visitor: &'a Visitor<'a>,
    /// The policy that asks (see [`policy_id`]).
    pub policy: u16,
    /// Fresh randomness; becomes the clearance's id.
    pub id: [u8; 16],
    /// When the token is issued.
    pub now: Timestamp,
    /// How long it can be answered: whole seconds, at most 65,535 of them.
    pub ttl: Duration,
}

/// Issues a token that asks for work of a level, with messages of 2^`size` bytes (one of [`super::SIZES`]).
pub fn issue_work(stamp: &Stamp<'_>, level: u8, size: u8) -> Token {
    let k = puzzles_for(level);
    stamp.token(Kind::Work, [k, size], target_for(level, k))
}

/// Issues a token that asks to wait some seconds in place of work of a level.
pub fn issue_wait(stamp: &Stamp<'_>, level: u8, seconds: u32) -> Token {
    stamp.token(Kind::Wait, [level, 0], seconds)
}

/// The id of a policy in tokens: the first two bytes of the hash of its name. Two policies of one id cannot be loaded together.
pub fn policy_id(name: &str) -> u16 {
    let hash = Sha256::digest(name);
    u16::from_be_bytes([hash[0], hash[1]])
}

impl Stamp<'_> {
    fn token(&self, kind: Kind, [a, b]: [u8; 2], number: u32) -> Token {
        let key = self.ring.signing();
        let issued = u32::try_from(self.now.seconds()).unwrap_or(u32::MAX);
        let ttl = u16::try_from(self.ttl.as_secs()).unwrap_or(u16::MAX);
        let mut head = [0; SIGNED];
        head[..4].copy_from_slice(&[key.first_byte(), kind.byte(), a, b]);
        head[4..8].copy_from_slice(&number.to_be_bytes());
        head[8..12].copy_from_slice(&issued.to_be_bytes());
        head[12..14].copy_from_slice(&ttl.to_be_bytes());
        head[14..16].copy_from_slice(&self.policy.to_be_bytes());
        head[16..32].copy_from_slice(&self.id);
        head[32..].copy_from_slice(&self.visitor.binding(key));
        Token::sign(key, &head)
    }
}
