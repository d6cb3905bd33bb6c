//! `crawl`: one client walks from page to page and hardly comes back to one: 40 pages within five minutes of which nine in
//! ten are new; or it counts through a list, 20 numbers in a row.
//!
//! People come back to a page, to a list, to a start page; and few open 40 pages in five minutes. May wrong: many people
//! behind one address, for whom every further agent allows 40 pages more, up to eight, and who reads an archive page by page.

use super::{Counted, MOST_AGENTS};
use crate::behaviour::{Figure, Figures, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Crawl,
    figures: &[Figure::ClientDocuments, Figure::ClientPaths, Figure::ClientAgents, Figure::ClientSteps],
    raised: |figures| walks(figures) || figures.value(Figure::ClientSteps) >= 20,
};

fn walks(figures: &Figures) -> bool {
    let [pages, paths, agents] =
        [Figure::ClientDocuments, Figure::ClientPaths, Figure::ClientAgents].map(|f| figures.value(f));
    // The sketch of paths is off by 5 %, and reads no more than 1,597.
    let new = paths >= 1_000 || u64::from(paths) * 10 >= u64::from(pages) * 9;
    pages >= 40 * agents.clamp(1, MOST_AGENTS) && new
}
