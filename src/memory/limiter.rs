//! Limits of what happens seldom: a cell a client, made when it first comes. What every request counts is in [`Table`](super::table::Table).

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache;

use super::{Limit, Pace};
use crate::clock::Timestamp;

/// A rate limiter with one cell a client.
///
/// A cell at rest says the same as no cell, so evicting one forgives at most one burst. A cell takes about 400 bytes with a
/// key of 16, so 10,000 clients fit 4 MB. When more are counted than fit, the rare ones go: a flood of fresh keys cannot
/// push out a client that keeps coming.
pub struct Limiter<K> {
    cells: Cache<K, Arc<AtomicU64>>,
    pace: Pace,
}

impl<K: Hash + Eq + Copy + Send + Sync + 'static> Limiter<K> {
    /// A limiter that remembers at most `capacity` clients.
    pub fn new(limit: Limit, capacity: u64) -> Self {
        Self { cells: Cache::builder().max_capacity(capacity).build(), pace: Pace::new(limit) }
    }

    /// Counts one call of this client, unless it came too early: then nothing is counted, and the error says after how long
    /// the next one is welcome. Lock-free, and no allocation once the client has a cell.
    pub fn take(&self, key: &K, now: Timestamp) -> Result<(), Duration> {
        let cell = self.cells.get_with_by_ref(key, Arc::default);
        cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |arrival| self.pace.next(arrival, now))
            .map(drop)
            .map_err(|arrival| self.pace.early(arrival, now))
    }

    /// What [`Limiter::take`] would say, without counting anything.
    pub fn peek(&self, key: &K, now: Timestamp) -> Result<(), Duration> {
        let arrival = self.cells.get(key).map_or(0, |cell| cell.load(Ordering::Relaxed));
        self.pace.next(arrival, now).map(drop).ok_or_else(|| self.pace.early(arrival, now))
    }
}

impl<K> fmt::Debug for Limiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("pace", &self.pace).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Limit = Limit { count: 60, per: Duration::from_secs(60), burst: 3 };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000).after(Duration::from_secs_f64(seconds))
    }

    /// Calls at these seconds, and after how many seconds each was told to come back.
    fn check(limit: Limit, calls: &[(f64, Option<f64>)]) {
        let limiter = Limiter::new(limit, 100);
        for (when, want) in calls {
            let peeked = limiter.peek(&1, at(*when));
            let got = limiter.take(&1, at(*when));
            assert_eq!(got.err().map(|d| d.as_secs_f64()), *want, "at {when}");
            assert_eq!(peeked, got, "a look says what a call says, at {when}");
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
        let limiter = Limiter::new(Limit { count: 5_000, per: Duration::from_secs(1), burst: 5 }, 100);
        let passed = |ms: f64| (0..20).filter(|_| limiter.take(&1, at(ms / 1000.0)).is_ok()).count();
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
    fn clients_are_counted_apart() {
        let limiter = Limiter::new(Limit { burst: 1, ..MINUTE }, 100);
        assert_eq!(limiter.take(&[1; 16], at(0.0)), Ok(()));
        assert_eq!(limiter.take(&[2; 16], at(0.0)), Ok(()));
        assert_eq!(limiter.take(&[1; 16], at(0.0)), Err(Duration::from_secs(1)));
    }

    #[test]
    fn no_more_clients_are_remembered_than_fit_and_a_busy_one_outlives_a_flood() {
        let limiter = Limiter::new(Limit { burst: 20, ..MINUTE }, 100);
        for other in 0..10_000 {
            if other % 10 == 0 {
                let _ = limiter.take(&u32::MAX, at(0.0));
            }
            assert_eq!(limiter.take(&other, at(0.0)), Ok(()));
        }
        limiter.cells.run_pending_tasks();
        assert!(limiter.cells.entry_count() <= 100);
        assert_eq!(limiter.take(&u32::MAX, at(0.0)), Err(Duration::from_secs(1)));
        let newcomer = (0..500).filter(|_| limiter.take(&10_000, at(0.0)).is_ok()).count();
        assert!(
            newcomer < 100,
            "a newcomer who keeps coming is counted too, not {newcomer} times let through"
        );
    }

    #[test]
    fn threads_share_one_budget() {
        let limiter = Limiter::new(Limit { burst: 100, ..MINUTE }, 100);
        let calls = || (0..100).filter(|_| limiter.take(&1, at(0.0)).is_ok()).count();
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(calls)).collect();
            threads.into_iter().map(|t| t.join().expect("a thread that counts does not panic")).sum()
        });
        assert_eq!(passed, 100);
    }

    #[test]
    fn no_moment_and_no_limit_breaks_the_arithmetic() {
        for per in [Duration::ZERO, Duration::from_millis(1), Duration::MAX] {
            for (count, burst) in [(0, 0), (1, 1), (u32::MAX, u32::MAX)] {
                let limiter = Limiter::new(Limit { count, per, burst }, 100);
                for now in [0, 1, u64::MAX, 0, u64::MAX / 2] {
                    let _ = (
                        limiter.peek(&1, Timestamp::from_millis(now)),
                        limiter.take(&1, Timestamp::from_millis(now)),
                    );
                }
            }
        }
    }
}
