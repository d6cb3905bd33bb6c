//! At which beat somebody comes: mean, spread and lag-1 dependence of the gaps, in constant space.

use crate::clock::Timestamp;

/// A gap longer than this is a pause: the beat starts anew behind it. In milliseconds.
const PAUSE: u64 = 5 * 60 * 1000;
/// How many gaps the averages rest on.
const MEMORY: u8 = 20;

/// Averages over about the last 20 gaps, the later ones counting more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rhythm {
    /// When the last one came, in milliseconds; 0 before the first.
    last: u64,
    mean: f32,
    variance: f32,
    covariance: f32,
    /// How far the last gap was from the mean.
    deviation: f32,
    gaps: u8,
}

impl Rhythm {
    /// Takes note that one came.
    pub(super) fn beat(&mut self, now: Timestamp) {
        let (now, last) = (now.millis(), self.last);
        self.last = now;
        let Some(gap) = now.checked_sub(last).filter(|gap| last > 0 && *gap <= PAUSE) else {
            *self = Self { last: now, ..Self::default() };
            return;
        };
        let gap = gap as f32;
        self.gaps = self.gaps.saturating_add(1);
        let share = 1.0 / f32::from(self.gaps.min(MEMORY));
        let deviation = gap - self.mean;
        self.mean += share * deviation;
        // The product of the distances before and after the step is free of bias (Welford, 1962).
        self.variance += share * (deviation * (gap - self.mean) - self.variance);
        self.covariance += share * (deviation * self.deviation - self.covariance);
        self.deviation = deviation;
    }

    /// How many gaps there were since the last pause, up to 255.
    pub(super) fn gaps(&self) -> u32 {
        self.gaps.into()
    }

    /// The mean gap in milliseconds.
    pub(super) fn mean(&self) -> u32 {
        whole(self.mean)
    }

    /// The standard deviation in percent of the mean: 100 for a stream without memory, more for people.
    pub(super) fn spread(&self) -> u32 {
        if self.mean < 1.0 { 0 } else { whole(100.0 * self.variance.max(0.0).sqrt() / self.mean) }
    }

    /// How much a gap depends on the one before, in percent, whichever way.
    pub(super) fn lag(&self) -> u32 {
        if self.variance < 1.0 { 0 } else { whole(100.0 * (self.covariance / self.variance).abs()).min(100) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast stays within the bounds of the type"
)]
fn whole(number: f32) -> u32 {
    number.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rhythm after these gaps, again and again.
    fn rhythm(gaps: &[u64], times: usize) -> Rhythm {
        let mut rhythm = Rhythm::default();
        let mut now = 1_800_000_000_000;
        rhythm.beat(Timestamp::from_millis(now));
        for gap in gaps.iter().cycle().take(gaps.len() * times) {
            now += gap;
            rhythm.beat(Timestamp::from_millis(now));
        }
        rhythm
    }

    #[test]
    fn a_clock_has_no_spread_and_people_have_much() {
        let clock = rhythm(&[500], 60);
        assert_eq!((clock.gaps(), clock.mean(), clock.spread()), (60, 500, 0));
        let person = rhythm(&[2_000, 31_000, 900, 4_000, 76_000, 1_200, 15_000], 6);
        assert!(person.spread() > 70, "{person:?}");
    }

    #[test]
    fn a_bot_that_waits_a_random_time_spreads_less_than_people() {
        let bot = rhythm(&[1_000, 1_700, 1_300, 1_900, 1_100, 1_500], 6);
        assert!((10..40).contains(&bot.spread()), "{bot:?}");
    }

    #[test]
    fn what_alternates_depends_on_what_was_before() {
        assert!(rhythm(&[1_000, 3_000], 20).lag() > 80);
        assert_eq!(rhythm(&[1_000], 20).lag(), 0);
    }

    #[test]
    fn a_pause_and_a_clock_set_back_start_anew() {
        let mut after = rhythm(&[500], 60);
        after.beat(Timestamp::from_millis(1_900_000_000_000));
        assert_eq!(after.gaps(), 0);
        after.beat(Timestamp::from_millis(1));
        assert_eq!(after.gaps(), 0);
    }
}
