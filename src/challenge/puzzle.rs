//! The puzzle: wide messages made from a token, of which a nonce must bring the hash below a target.
//!
//! Wide, because hashing kilobytes costs a browser little more than it costs native code, while a call for one short hash
//! costs a browser a hundred times as much. Several puzzles a token, because that makes the wait even.

use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

use super::Token;
use super::token::LENGTH;
use crate::crypto::encode;

/// The message sizes there are, as binary logarithms of bytes: 1 KiB to 16 KiB.
pub const SIZES: RangeInclusive<u8> = 10..=14;
/// The most puzzles a token can set: an answer to more would not fit its text.
pub const MAX_PUZZLES: u8 = 64;

const LARGEST: usize = 1 << *SIZES.end();
/// How many puzzles a token sets, where the level leaves room for that many.
const USUAL_PUZZLES: u8 = 16;
/// What one round of the hash takes in.
const BLOCK: usize = 64;

/// How many puzzles a level is spread over: 16, unless each of them would take fewer than two attempts.
pub fn puzzles_for(level: u8) -> u8 {
    let most = 1u8.checked_shl(u32::from(level.saturating_sub(1))).unwrap_or(USUAL_PUZZLES);
    most.min(USUAL_PUZZLES)
}

/// The target that makes `k` puzzles reach a level; at least 1, so that every puzzle can be solved in principle.
pub fn target_for(level: u8, k: u8) -> u32 {
    let target = (u64::from(k) << 32).checked_shr(u32::from(level)).unwrap_or(0).max(1);
    u32::try_from(target).unwrap_or(u32::MAX)
}

/// The level that `k` puzzles at a target reach: log2 of the attempts they take on average, rounded down.
/// No puzzles reach level 0, and so does a target of zero, which nothing solves.
pub fn level_of(k: u8, target: u32) -> u8 {
    let attempts = (u64::from(k) << 32).checked_div(u64::from(target));
    attempts.and_then(u64::checked_ilog2).and_then(|level| u8::try_from(level).ok()).unwrap_or(0)
}

/// The bytes that the messages of one token are filled with. Lives on the stack: a request may need it, an attacker
/// may not make us allocate for it.
pub struct Filler {
    bytes: [u8; LARGEST],
    size: usize,
}

impl Filler {
    /// Derives the filler of a token; `None` when `size` is none of [`SIZES`]. The first cost of a check: a hash for
    /// every 32 bytes.
    pub fn new(token: &[u8; LENGTH], size: u8) -> Option<Self> {
        if !SIZES.contains(&size) {
            return None;
        }
        let mut filler = Self { bytes: [0; LARGEST], size: 1 << size };
        let mut input = [0; 34];
        input[..32]
            .copy_from_slice(&Sha256::new().chain_update("tollgate filler 1").chain_update(token).finalize());
        for (at, part) in (0u16..).zip(filler.bytes[..filler.size].chunks_exact_mut(32)) {
            input[32..].copy_from_slice(&at.to_be_bytes());
            part.copy_from_slice(&Sha256::digest(input));
        }
        Some(filler)
    }

    /// The filler, as long as a message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    /// The first four bytes of the hash of the message for this puzzle and nonce, which must stay below the target.
    pub fn first_u32(&self, puzzle: u32, nonce: u32) -> u32 {
        let (first, rest) = self.as_bytes().split_at(BLOCK);
        let mut block = [0; BLOCK];
        block[..4].copy_from_slice(&puzzle.to_be_bytes());
        block[4..8].copy_from_slice(&nonce.to_be_bytes());
        block[8..].copy_from_slice(&first[8..]);
        let hash = Sha256::new().chain_update(block).chain_update(rest).finalize();
        u32::from_be_bytes(std::array::from_fn(|i| hash[i]))
    }
}

/// Solves a token's puzzles by trying every nonce from 0 on; empty when it sets none, or when one has no solution.
/// Takes 2^level attempts on average, on one core.
pub fn solve(token: &Token) -> Vec<u32> {
    let Some(filler) = Filler::new(token.as_bytes(), token.size()) else { return Vec::new() };
    let solution = |puzzle| (0..=u32::MAX).find(|nonce| filler.first_u32(puzzle, *nonce) < token.target());
    (0..u32::from(token.k())).map(solution).collect::<Option<_>>().unwrap_or_default()
}

/// The text of an answer: the token, then a nonce for each puzzle.
pub fn answer_text(token: &Token, nonces: &[u32]) -> String {
    let mut bytes = token.as_bytes().to_vec();
    bytes.extend(nonces.iter().flat_map(|nonce| nonce.to_be_bytes()));
    encode(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_survives_the_way_through_its_target() {
        for level in 0..=35 {
            let k = puzzles_for(level);
            assert_eq!(level_of(k, target_for(level, k)), level, "{level}");
        }
    }

    #[test]
    fn low_levels_have_fewer_puzzles() {
        for (level, k) in [(0, 1), (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (14, 16), (255, 16)] {
            assert_eq!(puzzles_for(level), k, "{level}");
        }
    }

    #[test]
    fn no_number_is_too_odd_for_the_arithmetic() {
        for k in [0, 1, 64, 255] {
            for level in [0, 36, 63, 64, 255] {
                assert!(target_for(level, k) > 0);
            }
            for target in [0, 1, u32::MAX] {
                assert!(level_of(k, target) < 40);
            }
        }
        assert_eq!((level_of(0, 1), level_of(16, 0)), (0, 0));
    }

    #[test]
    fn there_is_no_filler_of_another_size() {
        for size in (0..=255).filter(|size| !SIZES.contains(size)) {
            assert!(Filler::new(&[0; LENGTH], size).is_none(), "{size}");
        }
        for size in SIZES {
            assert_eq!(Filler::new(&[0; LENGTH], size).map(|f| f.as_bytes().len()), Some(1 << size));
        }
    }
}
