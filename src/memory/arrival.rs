//! What is kept of one client under one limit.
//!
//! The theoretical arrival time: when the client would be back at rest had it kept the even pace. One that is forgotten is
//! forgiven at most one burst. Beside it stands what other replicas have not heard yet.

use std::time::Duration;

use super::Pace;
use super::shared::Calls;
use crate::clock::Timestamp;

/// One client under one limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// In microseconds since 1970; 0 is a client at rest.
    at: u64,
    /// How much further ahead calls made elsewhere have put it than calls made here could, in milliseconds.
    owed: u32,
    /// Calls that others were not told of.
    untold: u32,
    /// When the first call came of those that may be worth telling, in seconds.
    since: u32,
    /// Whether enough came for others to be told of each.
    worth: bool,
    /// Whether it is on the list of those to be told of.
    noted: bool,
}

/// How far clocks of threads may differ, in microseconds, before an arrival that is too far ahead means that the clock was set back.
const SLACK: u64 = 1_000_000;

impl Arrival {
    /// Counts a call, unless it comes too early: then nothing is counted, and the error says after how long one is welcome.
    pub(super) fn take(&mut self, pace: &Pace, now: Timestamp) -> Result<(), Duration> {
        self.at = self.next(pace, now)?;
        self.owed = 0;
        Ok(())
    }

    /// What [`Arrival::take`] would say.
    pub(super) fn peek(&self, pace: &Pace, now: Timestamp) -> Result<(), Duration> {
        self.next(pace, now).map(drop)
    }

    /// The arrival after one more call. One that is further ahead than calls can bring it was written before the clock was
    /// set back; it is worth one call, then counts from the new time.
    fn next(&self, pace: &Pace, now: Timestamp) -> Result<u64, Duration> {
        let now = micros(now);
        let latest = now.saturating_add(pace.ahead);
        let furthest = latest.saturating_add(pace.step + SLACK + u64::from(self.owed) * 1000);
        let at = if self.at > furthest { latest } else { self.at.max(now) };
        if at <= latest { Ok(at.saturating_add(pace.step)) } else { Err(Duration::from_micros(at - latest)) }
    }

    /// Takes down a call that was let through, for others to hear of. Whether it must now go on the list of those to tell.
    pub(super) fn note(&mut self, pace: &Pace, now: Timestamp) -> bool {
        if micros(now).abs_diff(u64::from(self.since) * 1_000_000) > pace.per {
            self.since = u32::try_from(now.seconds()).unwrap_or(u32::MAX);
            self.worth = false;
            self.untold = if self.noted { self.untold } else { 0 };
        }
        self.untold = self.untold.saturating_add(1);
        self.worth |= self.untold >= pace.worth;
        self.worth && !self.noted
    }

    /// Puts it on the list, or not, if that was full.
    pub(super) fn set_noted(&mut self, noted: bool) {
        self.noted = noted;
    }

    /// Takes it off the list: what there is to tell, if anything.
    pub(super) fn ask(&mut self, pace: &Pace, now: Timestamp) -> Option<Calls> {
        self.noted = false;
        let count = std::mem::take(&mut self.untold);
        let most = pace.most();
        let own = self.at.saturating_sub(micros(now)).min(most);
        let cost = pace.step.saturating_mul(count.into()).min(most);
        (count > 0).then_some(Calls { cost, own, most, count, pace: *pace })
    }

    /// Takes in how far ahead the calls of all have put the client, this process's own up to [`Arrival::ask`] among them.
    pub(super) fn settle(&mut self, calls: &Calls, ahead: u64, now: Timestamp) {
        let (pace, now) = (&calls.pace, micros(now));
        let since = pace.step.saturating_mul(self.untold.into());
        let at = now.saturating_add(ahead.saturating_add(since).min(pace.most()));
        if at > self.at {
            let own = now.saturating_add(pace.ahead).saturating_add(pace.step);
            self.at = at;
            self.owed = u32::try_from(at.saturating_sub(own).div_ceil(1000)).unwrap_or(u32::MAX);
        }
    }

    /// Takes back what could not be told.
    pub(super) fn take_back(&mut self, calls: &Calls) {
        self.untold = self.untold.saturating_add(calls.count);
    }
}

fn micros(now: Timestamp) -> u64 {
    now.millis().saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Limit;

    const MINUTE: Limit = Limit { count: 60, per: Duration::from_secs(60), burst: 3 };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000).after(Duration::from_secs_f64(seconds))
    }

    /// Calls at these seconds, and after how many seconds each was told to come back.
    fn check(limit: Limit, calls: &[(f64, Option<f64>)]) {
        let (pace, mut client) = (Pace::new(limit), Arrival::default());
        for (when, want) in calls {
            let peeked = client.peek(&pace, at(*when));
            let got = client.take(&pace, at(*when));
            assert_eq!(peeked, got, "a look says what a call says, at {when}");
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
        let pace = Pace::new(Limit { count: 5_000, per: Duration::from_secs(1), burst: 5 });
        let mut client = Arrival::default();
        let mut passed = |ms: f64| (0..20).filter(|_| client.take(&pace, at(ms / 1000.0)).is_ok()).count();
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
                let (pace, mut client) = (Pace::new(Limit { count, per, burst }), Arrival::default());
                for now in [0, 1, u64::MAX, 0, u64::MAX / 2] {
                    let now = Timestamp::from_millis(now);
                    let _ = (client.take(&pace, now), client.note(&pace, now));
                    if let Some(calls) = client.ask(&pace, now) {
                        client.take_back(&calls);
                        client.settle(&calls, u64::MAX, now);
                    }
                }
            }
        }
    }

    /// The calls that others hear of after calls at these seconds, each of them taken.
    fn heard(limit: Limit, calls: &[f64]) -> u32 {
        let (pace, mut client) = (Pace::new(limit), Arrival::default());
        let mut noted = false;
        for when in calls {
            client.take(&pace, at(*when)).unwrap();
            if client.note(&pace, at(*when)) {
                client.set_noted(true);
                noted = true;
            }
        }
        let told = client.ask(&pace, at(*calls.last().unwrap())).map_or(0, |calls| calls.count);
        if noted { told } else { 0 }
    }

    #[test]
    fn who_comes_now_and_then_is_not_worth_telling_and_who_is_is_told_of_whole() {
        let limit = Limit { count: 600, per: Duration::from_secs(60), burst: 120 };
        for (calls, want) in [
            (&[0.0][..], 0),
            (&[0.0, 1.0], 0),
            (&[0.0, 1.0, 2.0], 3),
            (&[0.0, 50.0, 100.0, 150.0, 200.0], 0),
            (&[0.0, 50.0, 100.0, 110.0, 120.0], 3),
        ] {
            assert_eq!(heard(limit, calls), want, "{calls:?}");
        }
        assert_eq!(heard(MINUTE, &[0.0]), 1, "of a limit of few calls each one counts");
        let alone = Pace::alone(MINUTE);
        assert!(!Arrival::default().note(&alone, at(0.0)));
    }

    #[test]
    fn what_others_spent_is_missing_here_and_a_debt_is_paid_off_by_time() {
        let (pace, mut client) = (Pace::new(MINUTE), Arrival::default());
        client.take(&pace, at(0.0)).unwrap();
        client.note(&pace, at(0.0));
        let calls = client.ask(&pace, at(0.0)).unwrap();
        assert_eq!((calls.cost, calls.own, calls.most), (1_000_000, 1_000_000, 63_000_000));
        // Ten calls in all: eight more than this one's burst has left.
        client.settle(&calls, 10_000_000, at(0.0));
        assert_eq!(client.peek(&pace, at(0.0)), Err(Duration::from_secs(8)));
        assert_eq!(client.peek(&pace, at(7.0)), Err(Duration::from_secs(1)));
        assert_eq!(client.take(&pace, at(8.0)), Ok(()));
        assert_eq!(client.take(&pace, at(8.0)), Err(Duration::from_secs(1)));
        // Whatever a server says, nobody waits for longer than the limit's own span.
        client.settle(&calls, u64::MAX, at(9.0));
        assert_eq!(client.peek(&pace, at(9.0)), Err(Duration::from_secs(61)));
        assert_eq!(client.take(&pace, at(70.0)), Ok(()));
    }

    #[test]
    fn calls_between_question_and_answer_count_beside_it_and_less_than_is_known_changes_nothing() {
        let (pace, mut client) = (Pace::new(MINUTE), Arrival::default());
        let call = |client: &mut Arrival| {
            client.take(&pace, at(0.0)).unwrap();
            client.note(&pace, at(0.0));
        };
        call(&mut client);
        let calls = client.ask(&pace, at(0.0)).unwrap();
        call(&mut client);
        client.settle(&calls, 2_000_000, at(0.0));
        assert_eq!(client.peek(&pace, at(0.0)), Err(Duration::from_secs(1)), "two told of and one since");
        client.settle(&calls, 0, at(0.0));
        assert_eq!(client.peek(&pace, at(0.0)), Err(Duration::from_secs(1)));
        client.take_back(&calls);
        assert_eq!(client.ask(&pace, at(0.0)).unwrap().count, 2, "what was not told is told the next time");
        assert!(client.ask(&pace, at(0.0)).is_none());
    }

    #[test]
    fn a_debt_is_no_sign_of_a_clock_that_was_set_back() {
        let (pace, mut client) = (Pace::new(MINUTE), Arrival::default());
        client.take(&pace, at(0.0)).unwrap();
        client.note(&pace, at(0.0));
        let calls = client.ask(&pace, at(0.0)).unwrap();
        client.settle(&calls, 30_000_000, at(100.0));
        assert_eq!(client.peek(&pace, at(100.0)), Err(Duration::from_secs(28)));
        assert_eq!(client.peek(&pace, at(0.0)), Ok(()), "a hundred seconds are one");
    }
}
