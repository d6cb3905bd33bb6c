//! `cookie_ignored`: one client had three answers accepted within five minutes and never showed what they bought: a solver
//! that keeps no cookies pays again and again, and gains a new identity each time.
//!
//! May wrong: somebody whose browser refuses cookies, who cannot pass either way and reads why on the page.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::CookieIgnored,
    figures: &[Figure::ClientAnswered, Figure::ClientCleared],
    raised: |figures| figures.value(Figure::ClientAnswered) >= 3 && figures.value(Figure::ClientCleared) == 0,
};
