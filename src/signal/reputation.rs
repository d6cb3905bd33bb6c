//! `reputation`: a client that was refused and probed so much lately that its name is bad.
//!
//! Memory keeps the points and lets them fade; a bad name comes at 20 and goes at 5, after two hours at most. May wrong:
//! whoever gets the address next, for that long.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Reputation,
    figures: &[Figure::ClientMisdeeds, Figure::ClientDisrepute],
    raised: |figures| figures.value(Figure::ClientDisrepute) > 0,
};
