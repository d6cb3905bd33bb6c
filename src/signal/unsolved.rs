//! `unsolved`: a network took 50 challenges or more within ten minutes and solved not one in twenty.
//!
//! May wrong: people in a network in which somebody else scrapes; they solve one challenge each, and each solved one allows
//! twenty more.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Unsolved,
    figures: &[Figure::NetworkChallenged, Figure::NetworkAnswered],
    raised: |figures| {
        let [taken, solved] = [Figure::NetworkChallenged, Figure::NetworkAnswered].map(|f| figures.value(f));
        taken >= 50 && taken > solved.saturating_mul(20)
    },
};
