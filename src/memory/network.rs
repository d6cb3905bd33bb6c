//! What is kept of one network: a /24 or /48, or an autonomous system.

use super::Fate;
use super::sketch::Distinct;
use super::window::{Count, Window};
use crate::clock::Timestamp;

/// One network.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Network {
    requests: Count<60_000>,
    lately: Window<Leaf, 300_000>,
}

/// Five minutes.
#[derive(Clone, Copy, Debug, Default)]
struct Leaf {
    challenged: u32,
    answered: u32,
    clients: Distinct<2>,
}

/// What a network tells about itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) rate: u32,
    pub(super) challenged: u32,
    pub(super) answered: u32,
    pub(super) clients: u32,
}

impl Network {
    /// Takes in a request of one of its clients.
    pub(super) fn record(&mut self, client: u64, fate: Fate, now: Timestamp) {
        self.requests.add(now);
        let leaf = self.lately.now(now);
        leaf.clients.add(client);
        leaf.challenged = leaf.challenged.saturating_add(u32::from(fate == Fate::Challenged));
    }

    /// Takes note of an answer that was accepted.
    pub(super) fn answered(&mut self, now: Timestamp) {
        let leaf = self.lately.now(now);
        leaf.answered = leaf.answered.saturating_add(1);
    }

    /// Tells what is kept.
    pub(super) fn tell(&self, now: Timestamp) -> Told {
        let [a, b] = self.lately.leaves(now);
        Told {
            rate: self.requests.rate(now),
            challenged: a.challenged.saturating_add(b.challenged),
            answered: a.answered.saturating_add(b.answered),
            clients: a.clients.and(b.clients).count(),
        }
    }
}
