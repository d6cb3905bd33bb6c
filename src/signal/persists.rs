//! `persists`: 20 requests of one client were refused within five minutes, and none was answered: it does not notice, or
//! does not mind.
//!
//! May wrong: a program of somebody that asks again and again, which is refused already.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Persists,
    figures: &[Figure::ClientRefused, Figure::ClientAnswered],
    raised: |figures| {
        figures.value(Figure::ClientRefused) >= 20 && figures.value(Figure::ClientAnswered) == 0
    },
};
