//! The generic cell rate algorithm: a limit that needs a single number a client, and no sweeping.

use std::time::Duration;

/// How much one client may do.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Limit {
    /// How often, evenly spread; zero counts as one.
    pub count: u32,
    /// In how long.
    pub per: Duration,
    /// How often in a row after a long rest; zero counts as one.
    pub burst: u32,
}

/// A limit, ready to be asked. `arrival.rs` has what is kept of a client under it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    /// Microseconds between two calls at the even pace.
    pub(super) step: u64,
    /// Microseconds that a client may run ahead of `now`.
    pub(super) ahead: u64,
    /// Microseconds over which the limit counts.
    pub(super) per: u64,
    /// How many calls in so long are worth telling other replicas of.
    pub(super) worth: u32,
}

/// The longest that anything is counted over, in microseconds: 35 years, and small enough to be added to any moment.
const MOST: u64 = 1 << 50;

impl Pace {
    /// The pace of a limit.
    pub fn new(limit: Limit) -> Self {
        let per = u64::try_from(limit.per.as_micros()).unwrap_or(u64::MAX).min(MOST);
        let step = (per / u64::from(limit.count.max(1))).max(1);
        let ahead = step.saturating_mul(u64::from(limit.burst.max(1) - 1)).min(MOST);
        // A fiftieth: who comes once is no key on a server, and what stays untold is few calls of many.
        let worth = 1 + limit.burst.min(limit.count) / 48;
        Self { step, ahead, per, worth }
    }

    /// The pace of a limit that this process keeps to itself, whoever else there is.
    pub fn alone(limit: Limit) -> Self {
        Self { worth: u32::MAX, ..Self::new(limit) }
    }

    /// The furthest ahead of `now` that calls can bring a client, wherever they were made, in microseconds.
    pub(super) fn most(&self) -> u64 {
        self.ahead + self.step + self.per
    }
}
