//! `documents_only`: 15 different pages within five minutes and not one part of any, on a site that serves parts through
//! the gate.
//!
//! Whether parts come through the gate is learned: at least 50 in the last hour, and at least one for every two pages.
//! One document that is fetched in pieces is one. May wrong: text browsers, and a browser that has every part in its
//! cache. Weigh it low.

use super::Counted;
use crate::behaviour::{Figure, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::DocumentsOnly,
    figures: &[Figure::ClientPaths, Figure::ClientAssets, Figure::SiteAssets, Figure::SiteDocuments],
    raised: |figures| {
        let of = |figure| u64::from(figures.value(figure));
        let parts = of(Figure::SiteAssets) >= 50 && of(Figure::SiteAssets) * 2 >= of(Figure::SiteDocuments);
        parts && of(Figure::ClientPaths) >= 15 && of(Figure::ClientAssets) == 0
    },
};
