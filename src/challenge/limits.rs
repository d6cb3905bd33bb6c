//! What the loaded policies may ask: judged again after the MAC, because the policy that issued a token may be gone.

use std::ops::RangeInclusive;

use super::Token;
use super::puzzle::SIZES;
use crate::crypto::Kind;

/// The limits of the loaded policies. A genuine token outside of them is refused.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The longest life of a token, in seconds.
    pub max_ttl: u16,
    /// The ids of the loaded policies (see [`super::policy_id`]), each with the lowest and the highest level that its rules can
    /// ask, raises included.
    pub policies: Vec<(u16, RangeInclusive<u8>)>,
    /// The most puzzles.
    pub max_k: u8,
    /// The message sizes in use, as binary logarithms of bytes.
    pub sizes: Vec<u8>,
    /// The shortest wait, in seconds.
    pub min_wait: u32,
    /// The longest wait, in seconds.
    pub max_wait: u32,
    /// The highest level that a wait may stand in for.
    pub max_wait_level: u8,
}

impl Limits {
    /// Whether the policy that the token names could have asked this of somebody.
    pub(super) fn allow(&self, token: &Token, kind: Kind) -> bool {
        (1..=self.max_ttl).contains(&token.ttl())
            && self.levels(token.policy(), kind).is_some_and(|levels| levels.contains(&token.level()))
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

    fn levels(&self, policy: u16, kind: Kind) -> Option<RangeInclusive<u8>> {
        let (_, levels) = self.policies.iter().find(|(id, _)| *id == policy)?;
        Some(match kind {
            Kind::Wait => *levels.start()..=self.max_wait_level,
            Kind::Work => levels.clone(),
        })
    }
}
