//! Whether a clock was set: compares it with one that nobody sets.

use std::time::Duration;

use super::Timestamp;

/// How far both may differ between two looks: what replicas allow each other's clocks, so that less shows in nothing.
const TOLERATED: i64 = 10_000;

/// How long a step ahead shows: the longest that a challenge may be answered.
const AHEAD_SHOWS: Duration = Duration::from_secs(600);

/// What was seen of both clocks.
#[derive(Debug, Default)]
pub struct Steps {
    last: Option<(Timestamp, Duration)>,
    shown: Option<Shown>,
}

/// A step that still shows.
#[derive(Debug)]
struct Shown {
    /// In milliseconds; negative is back.
    step: i64,
    until: Until,
}

#[derive(Debug)]
enum Until {
    /// The clock says this again.
    Clock(Timestamp),
    /// The other clock says this.
    Steady(Duration),
}

impl Steps {
    /// Looks at both clocks. Returns by how many seconds the one was set since the last look, if it was.
    pub fn look(&mut self, now: Timestamp, steady: Duration) -> Option<i64> {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let wall = |at: Timestamp| i64::try_from(at.millis()).unwrap_or(i64::MAX);
        let over = self.shown.as_ref().is_some_and(|shown| match shown.until {
            Until::Clock(until) => now >= until,
            Until::Steady(until) => steady >= until,
        });
        let shown = self.shown.take();
        let (last, passed) = self.last.replace((now, steady))?;
        let step = (wall(now) - wall(last)) - millis(steady.saturating_sub(passed));
        if step.abs() <= TOLERATED {
            self.shown = shown.filter(|_| !over);
            return None;
        }
        let back = |step, furthest| Shown { step, until: Until::Clock(furthest) };
        let ahead = |step| Shown { step, until: Until::Steady(steady + AHEAD_SHOWS) };
        self.shown = match (shown, step) {
            // What was ahead of several steps is still ahead of the last, and half a correction leaves the other half.
            (Some(Shown { step: before, until: Until::Clock(furthest) }), _) if !over => {
                Some(back(before + step, furthest.max(last)))
            }
            // A step ahead that undoes those back leaves nothing to show but what it is too far.
            (Some(Shown { step: before, until: Until::Clock(_) }), 1..) => {
                Some(before + step).filter(|rest| *rest > TOLERATED).map(ahead)
            }
            (_, ..=0) => Some(back(step, last)),
            _ => Some(ahead(step)),
        };
        Some(step / 1000)
    }

    /// By how many seconds the clock was set, while that shows in what is accepted.
    pub fn still_shows(&self) -> Option<i64> {
        self.shown.as_ref().map(|shown| shown.step / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each look finds: the clocks in seconds, the step, and what still shows.
    fn check(looks: &[(u64, u64, Option<i64>, Option<i64>)]) {
        let mut steps = Steps::default();
        for (at, (now, steady, step, shows)) in looks.iter().enumerate() {
            let found = steps.look(Timestamp::from_seconds(*now), Duration::from_secs(*steady));
            assert_eq!((found, steps.still_shows()), (*step, *shows), "look {at}");
        }
    }

    #[test]
    fn a_clock_that_runs_was_not_set() {
        check(&[
            (1000, 0, None, None),
            (1015, 15, None, None),
            (2020, 1015, None, None),
            (2015, 1016, None, None),
        ]);
    }

    #[test]
    fn a_step_back_shows_until_the_clock_has_caught_up() {
        let (step, shows) = (Some(-600), Some(-600));
        check(&[
            (1000, 0, None, None),
            (415, 15, step, shows),
            (430, 30, None, shows),
            (999, 599, None, shows),
            (1000, 600, None, None),
        ]);
    }

    #[test]
    fn a_step_ahead_shows_until_old_challenges_are_over() {
        let (step, shows) = (Some(600), Some(600));
        check(&[
            (1000, 0, None, None),
            (1615, 15, step, shows),
            (2200, 600, None, shows),
            (2215, 615, None, None),
        ]);
    }

    #[test]
    fn steps_add_up_and_one_that_is_undone_shows_no_more() {
        check(&[
            (1000, 0, None, None),
            (401, 1, Some(-600), Some(-600)),
            (102, 2, Some(-300), Some(-900)),
            (500, 400, None, Some(-900)),
            (1400, 401, Some(899), None),
        ]);
    }

    #[test]
    fn half_a_correction_leaves_the_other_half() {
        check(&[
            (1000, 0, None, None),
            (401, 1, Some(-600), Some(-600)),
            (702, 2, Some(300), Some(-300)),
            (999, 299, None, Some(-300)),
            (1000, 300, None, None),
        ]);
    }

    #[test]
    fn a_correction_that_goes_too_far_is_a_step_ahead() {
        check(&[
            (1000, 0, None, None),
            (401, 1, Some(-600), Some(-600)),
            (1302, 2, Some(900), Some(300)),
            (1901, 601, None, Some(300)),
            (1902, 602, None, None),
        ]);
    }

    #[test]
    fn a_step_ahead_when_the_last_is_just_over_shows() {
        check(&[(1000, 0, None, None), (1615, 15, Some(600), Some(600)), (2315, 615, Some(100), Some(100))]);
    }
}
