//! `regular_timing`: 20 pages at the beat of a clock: the gaps between them differ by less than a fifth; or they alternate,
//! so that each tells the next.
//!
//! People's gaps differ by more than their mean. A program that waits a random while differs by less. May wrong: a page that
//! reloads itself, and a monitor.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::RegularTiming,
    figures: &[Figure::ClientGaps, Figure::ClientGap, Figure::ClientGapSpread, Figure::ClientGapLag],
    raised: |figures| {
        let [gaps, mean, spread, lag] =
            [Figure::ClientGaps, Figure::ClientGap, Figure::ClientGapSpread, Figure::ClientGapLag]
                .map(|figure| figures.value(figure));
        // Faster than four a second is a burst, whatever its beat.
        gaps >= 20 && mean >= 250 && (spread < 20 || (spread < 80 && lag >= 80))
    },
};
