//! Whether the site is under attack: how many challenges a second are issued, against two marks.
//!
//! A mark counts once challenges were above it for a whole window of 10 s, and no longer five minutes after they last were;
//! then the one below it counts, if there is one. So the level does not flicker.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;

/// The window over which challenges are counted.
const WINDOW: Duration = Duration::from_secs(10);
/// How long challenges must stay below a mark for it to be left.
const CALM: Duration = Duration::from_secs(300);

/// Challenges a second at which the first and the second level begin; 0 is never.
pub type Marks = [u32; 2];

/// The level of alarm: 0, or which mark was passed.
#[derive(Debug)]
pub struct Alarm {
    /// Challenges of a window at which each level begins.
    marks: [u64; 2],
    level: AtomicU8,
    /// When the window ends, in milliseconds.
    due: AtomicU64,
    counted: AtomicU64,
    /// When challenges were last above the mark of the present level.
    hot: Mutex<Timestamp>,
}

impl Alarm {
    /// All is calm.
    pub fn new(marks: Marks) -> Self {
        let marks = marks.map(|mark| if mark == 0 { u64::MAX } else { u64::from(mark) * WINDOW.as_secs() });
        let (due, counted) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { marks, level: AtomicU8::new(0), due, counted, hot: Mutex::default() }
    }

    /// Counts a challenge.
    pub fn challenge(&self, now: Timestamp) {
        self.level(now);
        self.counted.fetch_add(1, Ordering::Relaxed);
    }

    /// The level as it stands now. Reads two numbers, but for once a window.
    pub fn level(&self, now: Timestamp) -> u8 {
        let due = self.due.load(Ordering::Relaxed);
        // A clock that was set back would hold the level for as long.
        let set_back = due > now.after(WINDOW + WINDOW).millis();
        if now.millis() >= due || set_back {
            self.turn(now);
        }
        self.level.load(Ordering::Relaxed)
    }

    /// Ends the window.
    fn turn(&self, now: Timestamp) {
        let mut hot = self.hot.lock().unwrap_or_else(PoisonError::into_inner);
        let due = self.due.load(Ordering::Relaxed);
        if now.millis() < due && due <= now.after(WINDOW + WINDOW).millis() {
            return;
        }
        // What was counted belongs to the window that ended; if that is long ago, it was calm since.
        let counted = self.counted.swap(0, Ordering::Relaxed);
        self.due.store(now.after(WINDOW).millis(), Ordering::Relaxed);
        let level = self.level.load(Ordering::Relaxed);
        let reached = self.marks.iter().filter(|mark| counted >= **mark).count() as u8;
        let ended = Timestamp::from_millis(due.min(now.millis()));
        if reached >= level.max(1) {
            *hot = ended;
        }
        let steps = now.millis().saturating_sub(hot.millis()) / CALM.as_millis() as u64;
        if reached > level {
            self.level.store(reached, Ordering::Relaxed);
        } else if steps > 0 && level > 0 {
            self.level.store(level.saturating_sub(u8::try_from(steps).unwrap_or(u8::MAX)), Ordering::Relaxed);
            *hot = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level after each stretch of seconds with so many challenges a second.
    fn check(marks: Marks, stretches: &[(u64, u64, u8)]) {
        let alarm = Alarm::new(marks);
        let mut second = 1_800_000_000;
        for (at, (seconds, rate, want)) in stretches.iter().enumerate() {
            for _ in 0..*seconds {
                (0..*rate).for_each(|_| alarm.challenge(Timestamp::from_seconds(second)));
                second += 1;
            }
            assert_eq!(alarm.level(Timestamp::from_seconds(second)), *want, "after stretch {at}");
        }
    }

    #[test]
    fn a_mark_counts_after_ten_seconds_and_until_five_calm_minutes() {
        check([5, 50], &[(60, 4, 0), (8, 6, 0), (20, 6, 1), (280, 0, 1), (60, 0, 0)]);
        check([5, 50], &[(30, 60, 2), (200, 0, 2), (120, 0, 1), (310, 0, 0)]);
    }

    #[test]
    fn a_short_burst_raises_nothing_and_a_smaller_attack_keeps_the_first_mark() {
        check([5, 50], &[(3, 10, 0), (30, 0, 0)]);
        check([5, 50], &[(30, 60, 2), (900, 10, 1), (600, 0, 0)]);
    }

    #[test]
    fn marks_of_zero_are_never_passed() {
        check([0, 0], &[(60, 500, 0)]);
    }

    #[test]
    fn silence_ends_every_alarm() {
        check([5, 50], &[(30, 60, 2), (0, 0, 2)]);
        let alarm = Alarm::new([5, 50]);
        (0..30)
            .for_each(|s| (0..60).for_each(|_| alarm.challenge(Timestamp::from_seconds(1_800_000_000 + s))));
        assert_eq!(alarm.level(Timestamp::from_seconds(1_800_000_030)), 2);
        assert_eq!(
            alarm.level(Timestamp::from_seconds(1_800_001_000)),
            0,
            "nobody asked for a quarter of an hour"
        );
        assert_eq!(alarm.level(Timestamp::from_seconds(5)), 0, "the clock is set back");
    }
}
