//! `burst`: more than 20 pages in ten seconds from one client, for each agent that it shows, up to eight.
//!
//! Pages only: one page may have a hundred parts, which come at once. May wrong: many people behind one address who use one
//! browser, and who restores a window of many tabs.

use super::{Counted, MOST_AGENTS};
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Burst,
    figures: &[Figure::ClientDocumentsNow, Figure::ClientAgents],
    raised: |figures| {
        let [pages, agents] = [Figure::ClientDocumentsNow, Figure::ClientAgents].map(|f| figures.value(f));
        pages > 20 * agents.clamp(1, MOST_AGENTS)
    },
};
