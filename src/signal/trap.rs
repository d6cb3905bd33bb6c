//! `trap`: the client took a link that no person sees, or asked for a page that was planted, within the last hour.
//!
//! A challenge page carries a link without a text that browsers hide and robots are asked not to follow; a policy may plant
//! pages of its own with `trap: true`. Whoever read the page and handed the link on is meant as well. May wrong: whoever shares
//! an address with a robot, a curious person who reads robots.txt, a browser extension that opens every link of a page.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Trap,
    figures: &[Figure::ClientTraps],
    raised: |figures| figures.value(Figure::ClientTraps) >= 1,
};
