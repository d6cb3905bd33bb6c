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

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Limit = Limit { count: 60, per: Duration::from_secs(60), burst: 3 };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000).after(Duration::from_secs_f64(seconds))
    }

    /// One client under a limit.
    struct Client {
        pace: Pace,
        arrival: u64,
    }

    impl Client {
        fn new(limit: Limit) -> Self {
            Self { pace: Pace::new(limit), arrival: 0 }
        }

        fn take(&mut self, now: Timestamp) -> Result<(), Duration> {
            let next = self.pace.next(self.arrival, now).ok_or_else(|| self.pace.early(self.arrival, now))?;
            self.arrival = next;
            Ok(())
        }
    }

    /// Calls at these seconds, and after how many seconds each was told to come back.
    fn check(limit: Limit, calls: &[(f64, Option<f64>)]) {
        let mut client = Client::new(limit);
        for (when, want) in calls {
            let got = client.take(at(*when));
            assert_eq!(got.err().map(|d| d.as_secs_f64()), *want, "at {when}");
        }
    }

    #[test]
    fn a_burst_passes_and_then_the_even_pace() {
        check(
            MINUTE,
            &[
                (0.0, None),
                (0.0, None),
                (0.0, None),
                (0.0, Some(1.0)),
                (0.5, Some(0.5)),
                (1.0, None),
                (1.0, Some(1.0)),
            ],
        );
    }

    #[test]
    fn rest_brings_the_burst_back_but_no_more() {
        check(MINUTE, &[(0.0, None), (100.0, None), (100.0, None), (100.0, None), (100.0, Some(1.0))]);
    }

    #[test]
    fn what_was_refused_is_not_counted() {
        let calls: Vec<_> = std::iter::repeat_n((0.0, Some(1.0)), 50).collect();
        check(MINUTE, &[&[(0.0, None); 3][..], &calls, &[(1.0, None)]].concat());
    }

    #[test]
    fn a_limit_of_zero_is_a_limit_of_one() {
        check(Limit { count: 0, per: Duration::from_secs(60), burst: 0 }, &[(0.0, None), (0.0, Some(60.0))]);
    }

    #[test]
    fn fast_paces_are_finer_than_the_clock() {
        let mut client = Client::new(Limit { count: 5_000, per: Duration::from_secs(1), burst: 5 });
        let mut passed = |ms: f64| (0..20).filter(|_| client.take(at(ms / 1000.0)).is_ok()).count();
        assert_eq!([passed(0.0), passed(1.0), passed(2.0)], [5, 5, 5]);
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let hour = 3600.0;
        check(
            MINUTE,
            &[(hour, None), (hour, None), (hour, None), (0.0, None), (0.0, Some(1.0)), (1.0, None)],
        );
        check(MINUTE, &[(0.5, None), (0.5, None), (0.5, None), (0.0, Some(1.5)), (1.5, None)]);
    }

    #[test]
    fn no_moment_and_no_limit_breaks_the_arithmetic() {
        for per in [Duration::ZERO, Duration::from_millis(1), Duration::MAX] {
            for (count, burst) in [(0, 0), (1, 1), (u32::MAX, u32::MAX)] {
                let mut client = Client::new(Limit { count, per, burst });
                for now in [0, 1, u64::MAX, 0, u64::MAX / 2] {
                    let _ = client.take(Timestamp::from_millis(now));
                }
            }
        }
    }
}
