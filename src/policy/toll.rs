//! What a challenged visitor is asked for: the kind and the level, from a rule's `challenge` block.

use super::load::Defaults;
use crate::crypto::Kind;

/// Anubis's difficulty where nothing else is said.
const ANUBIS_DIFFICULTY: u32 = 4;

/// The longest wait that a rule may ask, in seconds.
const MAX_SECONDS: u32 = 60;

/// The work or the wait that a Challenge asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Toll {
    /// Work, or a wait without a script.
    pub kind: Kind,
    /// log2 of the expected hash attempts.
    pub level: u8,
    /// How long to wait, in seconds; 0 for work.
    pub seconds: u16,
    /// For work: whether a visitor without scripts may wait instead.
    pub wait_lane: bool,
    /// The difficulty that an Anubis policy gives, before it was mapped to a level.
    pub difficulty: Option<u32>,
}

impl Toll {
    /// The expected hash attempts: 2^level.
    pub fn attempts(&self) -> u64 {
        1 << self.level.min(63)
    }

    /// Whether a clearance of this kind pays it. Work always does; a wait does where waiting is offered.
    pub fn accepts(&self, kind: Kind) -> bool {
        kind == Kind::Work || self.kind == Kind::Wait || self.wait_lane
    }
}

/// The ways of Anubis to challenge.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Algorithm {
    Fast,
    Metarefresh,
    Preact,
    Slow,
}

impl Algorithm {
    /// The names that a policy may use, in the order of the variants.
    pub(super) const NAMES: [&'static str; 4] = ["fast", "metarefresh", "preact", "slow"];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Fast, Self::Metarefresh, Self::Preact, Self::Slow];
        Self::NAMES.iter().position(|n| *n == name).map(|at| all[at])
    }
}

/// A `challenge` block as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) algorithm: Option<Algorithm>,
    pub(super) difficulty: u32,
    /// Tollgate's own: the level, whatever the difficulty.
    pub(super) level: Option<u8>,
    /// Tollgate's own: `wait: off`.
    pub(super) no_wait: bool,
}

impl Block {
    /// What the block asks for.
    pub(super) fn toll(&self, defaults: &Defaults) -> Toll {
        let wait = self.algorithm == Some(Algorithm::Metarefresh);
        let mapped = match self.algorithm {
            Some(Algorithm::Fast | Algorithm::Slow) => work_level(self.difficulty, defaults),
            Some(Algorithm::Metarefresh) => wait_level(self.seconds(), defaults),
            Some(Algorithm::Preact) => defaults.min_level,
            None => defaults.level(),
        };
        let level = self.level.unwrap_or(mapped);
        Toll {
            kind: if wait { Kind::Wait } else { Kind::Work },
            level,
            seconds: if wait { self.seconds() } else { 0 },
            wait_lane: !wait && !self.no_wait && lane(level, defaults),
            difficulty: self.algorithm.filter(|_| self.level.is_none() || wait).map(|_| self.difficulty),
        }
    }

    /// Whether the difficulty lies outside of what is asked, so that the level is not what it says.
    pub(super) fn is_clamped(&self, defaults: &Defaults) -> bool {
        match self.algorithm {
            Some(Algorithm::Fast | Algorithm::Slow) if self.level.is_none() => {
                u32::from(work_level(self.difficulty, defaults)) != self.difficulty.saturating_mul(4)
            }
            Some(Algorithm::Metarefresh) => self.difficulty > MAX_SECONDS,
            _ => false,
        }
    }

    fn seconds(&self) -> u16 {
        u16::try_from(self.difficulty.clamp(1, MAX_SECONDS)).unwrap_or(1)
    }
}

/// What a CHALLENGE rule without a block asks for. An Anubis policy means Anubis's difficulty, unless the operator
/// chose a level.
pub(super) fn bare(defaults: &Defaults, native: bool) -> Toll {
    match (defaults.level, native) {
        (None, false) => anubis_default(defaults),
        _ => Block::default().toll(defaults),
    }
}

/// What Anubis's built-in threshold asks for.
pub(super) fn anubis_default(defaults: &Defaults) -> Toll {
    let block = Block { algorithm: Some(Algorithm::Fast), difficulty: ANUBIS_DIFFICULTY, ..Block::default() };
    block.toll(defaults)
}

/// 16^difficulty attempts, within the operator's bounds.
fn work_level(difficulty: u32, defaults: &Defaults) -> u8 {
    let level = u8::try_from(difficulty.saturating_mul(4)).unwrap_or(u8::MAX);
    level.max(defaults.min_level).min(defaults.max_level)
}

/// A wait counts for more the longer it is, doubling by doubling.
fn wait_level(seconds: u16, defaults: &Defaults) -> u8 {
    let doublings = u8::try_from(seconds.max(1).ilog2()).unwrap_or(0);
    defaults.min_level.saturating_add(doublings).min(defaults.wait_max_level)
}

fn lane(level: u8, defaults: &Defaults) -> bool {
    defaults.wait_enabled && level <= defaults.wait_max_level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(algorithm: Algorithm, difficulty: u32, kind: Kind, level: u8, seconds: u16) {
        let block = Block { algorithm: Some(algorithm), difficulty, ..Block::default() };
        let toll = block.toll(&Defaults::default());
        assert_eq!(
            (toll.kind, toll.level, toll.seconds),
            (kind, level, seconds),
            "{algorithm:?} {difficulty}"
        );
        assert_eq!(toll.attempts(), 1 << level);
    }

    #[test]
    fn difficulties_become_levels_within_the_bounds() {
        for (difficulty, level) in [(0, 12), (2, 12), (3, 12), (4, 16), (5, 18), (64, 18)] {
            check(Algorithm::Fast, difficulty, Kind::Work, level, 0);
            check(Algorithm::Slow, difficulty, Kind::Work, level, 0);
            check(Algorithm::Preact, difficulty, Kind::Work, 12, 0);
        }
        for (difficulty, seconds, level) in [
            (0, 1, 12),
            (1, 1, 12),
            (2, 2, 13),
            (3, 3, 13),
            (4, 4, 14),
            (8, 8, 15),
            (16, 16, 16),
            (64, 60, 16),
        ] {
            check(Algorithm::Metarefresh, difficulty, Kind::Wait, level, seconds);
        }
    }

    #[test]
    fn a_rule_without_a_block_asks_the_default_of_its_language() {
        let defaults = Defaults::default();
        assert_eq!(bare(&defaults, false).level, 16);
        assert_eq!(bare(&defaults, true).level, 14);
        let set = Defaults { level: Some(13), ..Defaults::default() };
        assert_eq!(bare(&set, false).level, 13);
        assert_eq!(bare(&set, true).level, 13);
    }

    #[test]
    fn a_wait_pays_for_work_only_where_the_lane_is_on() {
        let toll = |level, no_wait, defaults: &Defaults| {
            Block { level: Some(level), no_wait, ..Block::default() }.toll(defaults)
        };
        let on = Defaults::default();
        let off = Defaults { wait_enabled: false, ..Defaults::default() };
        for (toll, accepted) in [
            (toll(14, false, &on), true),
            (toll(16, false, &on), true),
            (toll(17, false, &on), false),
            (toll(14, true, &on), false),
            (toll(14, false, &off), false),
        ] {
            assert_eq!(toll.accepts(Kind::Wait), accepted, "{toll:?}");
            assert!(toll.accepts(Kind::Work));
        }
    }
}
