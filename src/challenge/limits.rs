//! What the loaded policy may ask: judged again after the MAC, because the policy that issued a token may be gone.

use std::ops::RangeInclusive;

use super::Token;
use super::puzzle::SIZES;
use crate::crypto::Kind;

/// The limits of the loaded policy. A genuine token outside of them is refused.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest life of a token, in seconds.
    pub max_ttl: u16,
    /// The ids of the loaded policies (see [`super::policy_id`]).
    pub policies: Vec<u16>,
    /// The most puzzles.
    pub max_k: u8,
    /// The message sizes in use, as binary logarithms of bytes.
    pub sizes: Vec<u8>,
    /// The lowest level that a rule can ask.
    pub min_level: u8,
    /// The highest level that a rule can ask, raises included.
    pub max_level: u8,
    /// The shortest wait, in seconds.
    pub min_wait: u32,
    /// The longest wait, in seconds.
    pub max_wait: u32,
    /// The highest level that a wait may stand in for.
    pub max_wait_level: u8,
}

impl Limits {
    /// Whether the policy could have asked this of somebody.
    pub(super) fn allow(&self, token: &Token, kind: Kind) -> bool {
        (1..=self.max_ttl).contains(&token.ttl())
            && self.policies.contains(&token.policy())
            && self.levels(kind).contains(&token.level())
            && match kind {
                Kind::Wait => token.size() == 0 && (self.min_wait..=self.max_wait).contains(&token.seconds()),
                Kind::Work => {
                    (1..=self.max_k).contains(&token.k())
                        && self.sizes.contains(&token.size())
                        && SIZES.contains(&token.size())
                        && token.target() > 0
                }
            }
    }

    fn levels(&self, kind: Kind) -> RangeInclusive<u8> {
        match kind {
            Kind::Wait => self.min_level..=self.max_wait_level,
            Kind::Work => self.min_level..=self.max_level,
        }
    }
}
