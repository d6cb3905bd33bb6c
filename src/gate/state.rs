//! What outlives a reload: the counters and the limiters.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Decision, Face, Limits, Verdict};
use crate::clock::Timestamp;
use crate::crypto::Kind;
use crate::memory::Limiter;
use crate::metrics::{Metrics, Tally};
use crate::request::Prefix;

/// The most clearances of a kind whose rate is remembered; all three limiters full take about 40 MB.
const CLEARANCES: u64 = 40_000;
/// The most networks whose answers are counted.
const NETWORKS: u64 = 20_000;

/// Counters and limiters, shared by one gate after the other.
#[derive(Debug)]
pub struct State {
    /// Every counter of the process.
    pub metrics: Metrics,
    decisions: [[Tally; Verdict::ALL.len()]; Face::ALL.len()],
    answers: Limiter<Option<Prefix>>,
    work: Limiter<[u8; 16]>,
    wait: Limiter<[u8; 16]>,
    logged: AtomicU64,
    /// The load averages, as the bits of floating-point numbers.
    load: [AtomicU64; 3],
}

impl State {
    /// Empty memory, counters at zero.
    pub fn new(limits: &Limits) -> Self {
        let metrics = Metrics::new();
        let decisions = Face::ALL
            .map(|face| Verdict::ALL.map(|verdict| metrics.decisions(face.as_str(), verdict.as_str())));
        Self {
            decisions,
            metrics,
            answers: Limiter::new(limits.answers, NETWORKS),
            work: Limiter::new(limits.work, CLEARANCES),
            wait: Limiter::new(limits.wait, CLEARANCES),
            logged: AtomicU64::new(0),
            load: Default::default(),
        }
    }

    /// Takes note of this machine's load averages of one, five and fifteen minutes.
    pub fn set_load(&self, averages: [f64; 3]) {
        for (cell, average) in self.load.iter().zip(averages) {
            cell.store(average.to_bits(), Ordering::Relaxed);
        }
    }

    /// The load averages as they were last told.
    pub(super) fn load(&self) -> [f64; 3] {
        self.load.each_ref().map(|cell| f64::from_bits(cell.load(Ordering::Relaxed)))
    }

    /// Counts a decision.
    pub(super) fn count(&self, face: Face, decision: &Decision<'_>) {
        self.decisions[face as usize][decision.verdict as usize].inc();
        if decision.verdict != Verdict::Allow {
            self.remember(face, decision);
        }
        if let Some(shadow) = decision.shadow {
            self.metrics.shadowed(shadow.verdict.as_str());
        }
        if let Some(prior) = decision.prior {
            self.metrics.clearance_refused(prior.code());
        }
    }

    /// Remembers which decision a visitor was told the number of.
    pub(super) fn remember(&self, face: Face, decision: &Decision<'_>) {
        self.decisions[face as usize][decision.verdict as usize].remember(decision.id.bytes());
    }

    /// Whether a line about something an attacker can cause at will is due: at most one a second.
    pub(super) fn log_due(&self, now: Timestamp) -> bool {
        let second = now.seconds();
        self.logged.swap(second, Ordering::Relaxed) != second
    }

    /// The limiter of answers, by network. Visitors without address evidence share one cell.
    pub(super) fn answers(&self) -> &Limiter<Option<Prefix>> {
        &self.answers
    }

    /// The limiter of requests under a clearance of this kind.
    pub(super) fn clearances(&self, kind: Kind) -> &Limiter<[u8; 16]> {
        match kind {
            Kind::Wait => &self.wait,
            Kind::Work => &self.work,
        }
    }
}
