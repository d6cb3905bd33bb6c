//! The generic cell rate algorithm: a limit that needs a single number a client, and no sweeping.

use std::time::Duration;

use crate::clock::Timestamp;

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

/// A limit, ready to be asked.
///
/// What is kept of a client is the theoretical arrival time: when it would be back at rest had it kept the even pace, in
/// microseconds. 0 is a client at rest, so one that is forgotten is forgiven at most one burst.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    /// Microseconds between two calls at the even pace.
    pace: u64,
    /// Microseconds that a client may run ahead of `now`.
    ahead: u64,
}

/// How far clocks of threads may differ, in microseconds, before an arrival that is too far ahead means that the clock was set back.
const SLACK: u64 = 1_000_000;

impl Pace {
    /// The pace of a limit.
    pub fn new(limit: Limit) -> Self {
        let per = u64::try_from(limit.per.as_micros()).unwrap_or(u64::MAX);
        let pace = (per / u64::from(limit.count.max(1))).max(1);
        Self { pace, ahead: pace.saturating_mul(u64::from(limit.burst.max(1) - 1)) }
    }

    /// The arrival time after one more call, if it does not come too early. An arrival further ahead than calls can bring it
    /// was written before the clock was set back; it is worth one call, then counts from the new time.
    pub(super) fn next(&self, arrival: u64, now: Timestamp) -> Option<u64> {
        let now = micros(now);
        let latest = now.saturating_add(self.ahead);
        let set_back = arrival > latest.saturating_add(self.pace).saturating_add(SLACK);
        let arrival = if set_back { latest } else { arrival.max(now) };
        (arrival <= latest).then(|| arrival.saturating_add(self.pace))
    }

    /// After how long the next call is welcome.
    pub(super) fn early(&self, arrival: u64, now: Timestamp) -> Duration {
        Duration::from_micros(arrival.saturating_sub(micros(now).saturating_add(self.ahead)))
    }
}

fn micros(now: Timestamp) -> u64 {
    now.millis().saturating_mul(1000)
}
