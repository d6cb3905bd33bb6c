//! `fingerprint_spread`: one fingerprint from 40 networks or more within five minutes that walks the site: at least 120
//! pages, at most ten a network, nine in ten of them new, and next to no parts of pages. So do scrapers that ask each page
//! from another home.
//!
//! A browser that many people use comes back to the pages that many people read, and loads their parts. May wrong: a
//! popular browser on a large archive whose images come from elsewhere; so it should ask for work and never deny.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::FingerprintSpread,
    figures: FIGURES,
    raised: |figures| {
        let of = |figure| u64::from(figures.value(figure));
        let [pages, paths, networks, assets] = [FIGURES[0], FIGURES[1], FIGURES[2], FIGURES[3]].map(of);
        let new = paths >= 1_000 || paths * 10 >= pages * 9;
        networks >= 40 && pages >= 120 && pages <= networks * 10 && new && assets * 5 <= pages
    },
};

const FIGURES: &[Figure] = &[
    Figure::FingerprintDocuments,
    Figure::FingerprintPaths,
    Figure::FingerprintNetworks,
    Figure::FingerprintAssets,
];
