//! What somebody did wrong lately, in points that fade.
//!
//! A bad name comes at 20 points and goes at 5, so that it does not flicker. Points are halved every half hour and never
//! exceed 80: a bad name that nothing is added to is gone after two hours, whatever earned it.

use super::Others;
use super::shared::Misdeeds;
use crate::clock::Timestamp;

/// In seconds.
pub(super) const HALF_LIFE: f32 = 30.0 * 60.0;
pub(super) const MOST: f32 = 80.0;
pub(super) const BAD: f32 = 20.0;
pub(super) const GOOD: f32 = 5.0;

/// The least that is worth telling others: below it nobody's name is bad.
pub(super) const WORTH: f32 = GOOD;
/// Fewer points than this are none.
pub(super) const FADED: f32 = 0.5;
/// How long others are not asked again about a client, in milliseconds.
const ASKED: u32 = 400;

/// The points of one client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reputation {
    points: f32,
    /// Of these, what others were not told of.
    untold: f32,
    /// When they were last written, in seconds.
    written: u32,
    /// When others were last asked, in milliseconds that start anew every 49 days; 0 is never.
    asked: u32,
    bad: bool,
    /// Whether it is on the list of those to ask about.
    noted: bool,
    /// Whether the file, if there is one, was asked about it.
    known: bool,
}

/// Points, and whether they make a bad name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// From 0 to 80.
    pub points: f32,
    /// Whether the name is bad.
    pub bad: bool,
}

impl Score {
    /// The score after points were added or taken away.
    pub(super) fn plus(self, points: f32) -> Self {
        let points = (self.points + points).clamp(0.0, MOST);
        Self { points, bad: judged(points, self.bad) }
    }

    /// The score before points were added. Whether it was a bad name then is not known any more: it is one from where all are.
    pub(super) fn without(self, points: f32) -> Self {
        let before = self.plus(-points);
        if points > 0.0 { Self { bad: before.points >= BAD, ..before } } else { before }
    }

    /// The score when nothing was added for so many seconds.
    pub(super) fn after(self, seconds: f32) -> Self {
        // Most clients never did anything wrong, and need no arithmetic.
        if self.points == 0.0 {
            return Self::default();
        }
        let points = self.points * (-seconds / HALF_LIFE).exp2();
        Self { points, bad: judged(points, self.bad) }
    }
}

impl Reputation {
    /// Adds points, or takes some away.
    pub(super) fn add(&mut self, points: f32, now: Timestamp) {
        let before = self.score(now);
        let after = before.plus(points);
        self.untold += after.points - before.points;
        self.write(after, now);
    }

    /// The points as they stand now, rounded.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 80")]
    pub(super) fn points(&self, now: Timestamp) -> u32 {
        self.score(now).points.round() as u32
    }

    /// Whether the name is bad.
    pub(super) fn is_bad(&self, now: Timestamp) -> bool {
        self.score(now).bad
    }

    /// Has points that were written before the clock was set back fade from now on. Clocks of threads may differ by a second.
    pub(super) fn set_back(&mut self, now: Timestamp) {
        if self.written > seconds(now).saturating_add(1) {
            self.written = seconds(now);
        }
    }

    /// Whether others should be told, or asked, about this client now.
    pub(super) fn is_due(&self, now: Timestamp, others: Others) -> bool {
        let news = self.untold <= -0.5 || self.untold >= 0.5 && self.points >= WORTH;
        let listens = others.replicas || others.file && !self.known;
        let again = listens && low(now).wrapping_sub(self.asked) >= ASKED;
        !self.noted && (self.asked == 0 || news || again)
    }

    /// Puts it on the list, or not, if that was full.
    pub(super) fn set_noted(&mut self, noted: bool) {
        self.noted = noted;
    }

    /// Takes it off the list: what there is to tell, and where it stands here.
    pub(super) fn ask(&mut self, now: Timestamp) -> Misdeeds {
        let own = self.score(now);
        (self.noted, self.asked) = (false, low(now).max(1));
        // What could not be told for long has faded since.
        let more = std::mem::take(&mut self.untold).min(own.points);
        Misdeeds { more, own, known: self.known, returns: false, traps: (0, 0) }
    }

    /// Takes in where the client stands among all, what was told up to [`Reputation::ask`] included.
    pub(super) fn settle(&mut self, all: Score, now: Timestamp) {
        self.write(all.plus(self.untold), now);
    }

    /// Takes in what a file kept; where it stands then, but for what came since [`Reputation::ask`], which is told the next time.
    pub(super) fn recall(&mut self, kept: Option<Score>, now: Timestamp) -> Score {
        if let (false, Some(kept)) = (self.known, kept) {
            self.write(kept.plus(self.score(now).points), now);
        }
        self.known = true;
        self.score(now).without(self.untold)
    }

    /// Takes back what could not be told.
    pub(super) fn take_back(&mut self, misdeeds: &Misdeeds) {
        self.untold = (self.untold + misdeeds.more).clamp(-MOST, MOST);
    }

    fn write(&mut self, score: Score, now: Timestamp) {
        (self.points, self.bad, self.written) = (score.points, score.bad, seconds(now));
    }

    fn score(&self, now: Timestamp) -> Score {
        let idle = seconds(now).saturating_sub(self.written) as f32;
        Score { points: self.points, bad: self.bad }.after(idle)
    }
}

fn judged(points: f32, bad: bool) -> bool {
    if bad { points >= GOOD } else { points >= BAD }
}

fn seconds(now: Timestamp) -> u32 {
    u32::try_from(now.seconds()).unwrap_or(u32::MAX)
}

fn low(now: Timestamp) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
    let low = now.millis() as u32;
    low
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
    fn points_fade_after_the_clock_was_set_back() {
        let mut reputation = Reputation::default();
        reputation.add(40.0, at(600));
        reputation.set_back(at(0));
        assert_eq!((reputation.points(at(0)), reputation.points(at(30))), (40, 20));
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
