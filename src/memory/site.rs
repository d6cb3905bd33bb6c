//! What is kept of one site, by its host: whether its pages have parts that come through the gate.

use super::sight::What;
use super::window::Window;
use crate::behaviour::{Figure, Figures};
use crate::clock::Timestamp;

/// One site: documents and assets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Site(Window<[u32; 2], 1_800_000>);

impl Site {
    /// Takes in a request.
    pub(super) fn record(&mut self, what: What, now: Timestamp) {
        let [documents, assets] = self.0.now(now);
        match what {
            What::Asset => *assets = assets.saturating_add(1),
            What::Document => *documents = documents.saturating_add(1),
            What::Other => {}
        }
    }

    /// Tells what is kept.
    pub(super) fn tell(&self, now: Timestamp, figures: &mut Figures) {
        let [a, b] = self.0.leaves(now);
        figures.set(Figure::SiteDocuments, a[0].saturating_add(b[0]));
        figures.set(Figure::SiteAssets, a[1].saturating_add(b[1]));
    }
}
