//! What is kept of one fingerprint, wherever it comes from.

use super::sight::{Sight, What};
use super::sketch::Distinct;
use super::window::{Count, Window};
use crate::behaviour::{Figure, Figures};
use crate::clock::Timestamp;

/// One fingerprint.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fingerprint {
    requests: Count<60_000>,
    lately: Window<Leaf, 150_000>,
}

/// Two and a half minutes.
#[derive(Clone, Copy, Debug, Default)]
struct Leaf {
    documents: u32,
    assets: u32,
    paths: Distinct<4>,
    networks: Distinct<4>,
}

impl Fingerprint {
    /// Takes in a request.
    pub(super) fn record(&mut self, sight: &Sight, now: Timestamp) {
        self.requests.add(now);
        let leaf = self.lately.now(now);
        match sight.what {
            What::Asset => leaf.assets = leaf.assets.saturating_add(1),
            What::Document => {
                leaf.documents = leaf.documents.saturating_add(1);
                leaf.paths.add(sight.target);
                sight.network.iter().for_each(|network| leaf.networks.add(*network));
            }
            What::Other => {}
        }
    }

    /// Tells what is kept.
    pub(super) fn tell(&self, now: Timestamp, figures: &mut Figures) {
        let [a, b] = self.lately.leaves(now);
        figures.set(Figure::FingerprintRate, self.requests.rate(now));
        figures.set(Figure::FingerprintAssets, a.assets.saturating_add(b.assets));
        figures.set(Figure::FingerprintDocuments, a.documents.saturating_add(b.documents));
        figures.set(Figure::FingerprintNetworks, a.networks.and(b.networks).count());
        figures.set(Figure::FingerprintPaths, a.paths.and(b.paths).count());
    }
}
