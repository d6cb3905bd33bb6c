//! What happened lately: two leaves of a calendar, the one being written and the one before.
//!
//! A window of two halves covers the last one to two halves. Turning costs nothing until somebody writes or looks.

use crate::clock::Timestamp;

/// Two leaves, each of `HALF` milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window<L, const HALF: u64> {
    /// Which half it is, counted from 1970.
    turn: u32,
    current: L,
    before: L,
}

impl<L: Copy + Default, const HALF: u64> Window<L, HALF> {
    /// The leaf to write on now.
    pub(super) fn now(&mut self, now: Timestamp) -> &mut L {
        let turn = Self::turn(now);
        // Threads differ by a little: whoever is late writes on the leaf that is open.
        if turn != self.turn && turn.wrapping_add(1) != self.turn {
            [self.current, self.before] = self.at(turn);
            self.turn = turn;
        }
        &mut self.current
    }

    /// Both leaves as they stand now, the newer first.
    pub(super) fn leaves(&self, now: Timestamp) -> [L; 2] {
        self.at(Self::turn(now))
    }

    /// The leaves at a turn. A clock that is set back by less than a half writes on; by more, it starts anew.
    fn at(&self, turn: u32) -> [L; 2] {
        match i64::from(turn) - i64::from(self.turn) {
            0 | -1 => [self.current, self.before],
            1 => [L::default(), self.current],
            _ => [L::default(); 2],
        }
    }

    fn turn(now: Timestamp) -> u32 {
        u32::try_from(now.millis() / HALF).unwrap_or(u32::MAX)
    }
}

/// A count over the last `SPAN` milliseconds, as if what came in the half before had come evenly.
pub(super) type Count<const SPAN: u64> = Window<u32, SPAN>;

impl<const SPAN: u64> Count<SPAN> {
    /// Counts one.
    pub(super) fn add(&mut self, now: Timestamp) {
        let leaf = self.now(now);
        *leaf = leaf.saturating_add(1);
    }

    /// How many there were in the last `SPAN`.
    pub(super) fn rate(&self, now: Timestamp) -> u32 {
        let [current, before] = self.leaves(now);
        let left = SPAN - now.millis() % SPAN;
        let share = u64::from(before) * left / SPAN;
        current.saturating_add(u32::try_from(share).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_800_000_000_000;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(START + ms)
    }

    #[test]
    fn an_even_pace_reads_as_itself_at_any_moment() {
        let mut count = Count::<60_000>::default();
        for ms in (0..600_000).step_by(100) {
            count.add(at(ms));
            if ms >= 60_000 {
                assert!((595..=605).contains(&count.rate(at(ms))), "{} at {ms}", count.rate(at(ms)));
            }
        }
        assert!((290..=310).contains(&count.rate(at(630_000))));
        assert_eq!(count.rate(at(720_000)), 0);
    }

    #[test]
    fn leaves_turn_once_and_then_are_gone() {
        let mut window = Window::<u16, 1000>::default();
        *window.now(at(0)) = 7;
        for (ms, want) in [(999, [7, 0]), (1000, [0, 7]), (1999, [0, 7]), (2000, [0, 0])] {
            assert_eq!(window.leaves(at(ms)), want, "at {ms}");
        }
        *window.now(at(1500)) = 3;
        assert_eq!(window.leaves(at(1500)), [3, 7]);
    }

    #[test]
    fn a_clock_set_back_a_little_writes_on_and_set_back_far_starts_anew() {
        let mut window = Window::<u16, 1000>::default();
        *window.now(at(5000)) = 7;
        *window.now(at(4999)) += 1;
        *window.now(at(5000)) += 1;
        assert_eq!((window.leaves(at(4500)), window.leaves(at(5500))), ([9, 0], [9, 0]));
        assert_eq!(window.leaves(at(0)), [0, 0]);
    }
}
