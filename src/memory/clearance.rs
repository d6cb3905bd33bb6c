//! What is kept of one clearance.

use super::sketch::Distinct;
use super::window::{Count, Window};
use crate::behaviour::{Figure, Figures};
use crate::clock::Timestamp;

/// One clearance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clearance {
    requests: Count<60_000>,
    networks: Window<Distinct<1>, 300_000>,
}

impl Clearance {
    /// Takes in a request that showed it.
    pub(super) fn record(&mut self, network: Option<u64>, now: Timestamp) {
        self.requests.add(now);
        network.iter().for_each(|network| self.networks.now(now).add(*network));
    }

    /// Tells what is kept.
    pub(super) fn tell(&self, now: Timestamp, figures: &mut Figures) {
        let [a, b] = self.networks.leaves(now);
        let mut raise = |figure, value: u32| figures.set(figure, value.max(figures.value(figure)));
        raise(Figure::ClearanceRate, self.requests.rate(now));
        raise(Figure::ClearanceNetworks, a.and(b).count());
    }
}
