//! What somebody did wrong lately, in points that fade.
//!
//! A bad name comes at 20 points and goes at 5, so that it does not flicker. Points are halved every half hour and never
//! exceed 80: a bad name that nothing is added to is gone after two hours, whatever earned it.

use crate::clock::Timestamp;

const HALF_LIFE: f32 = 30.0 * 60.0;
const MOST: f32 = 80.0;
const BAD: f32 = 20.0;
const GOOD: f32 = 5.0;

/// The points of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reputation {
    points: f32,
    /// When they were last written, in seconds.
    written: u32,
    bad: bool,
}

impl Reputation {
    /// Adds points, or takes some away.
    pub(super) fn add(&mut self, points: f32, now: Timestamp) {
        (self.points, self.bad) = self.at(now);
        self.points = (self.points + points).clamp(0.0, MOST);
        self.bad = judged(self.points, self.bad);
        self.written = seconds(now);
    }

    /// The points as they stand now, rounded.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 80")]
    pub(super) fn points(&self, now: Timestamp) -> u32 {
        self.at(now).0.round() as u32
    }

    /// Whether the name is bad.
    pub(super) fn is_bad(&self, now: Timestamp) -> bool {
        self.at(now).1
    }

    fn at(&self, now: Timestamp) -> (f32, bool) {
        // Most clients never did anything wrong, and need no arithmetic.
        if self.points == 0.0 {
            return (0.0, false);
        }
        let idle = seconds(now).saturating_sub(self.written) as f32;
        let points = self.points * (-idle / HALF_LIFE).exp2();
        (points, judged(points, self.bad))
    }
}

fn judged(points: f32, bad: bool) -> bool {
    if bad { points >= GOOD } else { points >= BAD }
}

fn seconds(now: Timestamp) -> u32 {
    u32::try_from(now.seconds()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: u64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + minutes * 60)
    }

    #[test]
    fn a_bad_name_comes_late_and_goes_later() {
        let mut reputation = Reputation::default();
        reputation.add(19.0, at(0));
        assert!(!reputation.is_bad(at(0)));
        reputation.add(2.0, at(0));
        assert!(reputation.is_bad(at(0)) && reputation.is_bad(at(59)) && !reputation.is_bad(at(65)));
        assert_eq!((reputation.points(at(0)), reputation.points(at(30))), (21, 11));
    }

    #[test]
    fn no_bad_name_outlives_two_hours() {
        let mut reputation = Reputation::default();
        (0..10_000).for_each(|_| reputation.add(10.0, at(0)));
        assert!(reputation.is_bad(at(119)) && !reputation.is_bad(at(121)));
    }

    #[test]
    fn making_good_counts() {
        let mut reputation = Reputation::default();
        reputation.add(24.0, at(0));
        reputation.add(-8.0, at(0));
        assert!(reputation.is_bad(at(0)));
        reputation.add(-12.0, at(0));
        assert!(!reputation.is_bad(at(0)));
        reputation.add(-12.0, at(0));
        assert_eq!(reputation.points(at(0)), 0);
    }
}
