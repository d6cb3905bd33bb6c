//! A counter that remembers the last event it was told of by name: an exemplar of OpenMetrics.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::CounterWithExemplar;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Counts events; counting takes no lock.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    count: Counter,
    last: Arc<Mutex<Option<[u8; 16]>>>,
}

impl Tally {
    /// Counts one.
    pub fn inc(&self) {
        self.count.inc();
    }

    /// How many were counted.
    pub fn get(&self) -> u64 {
        self.count.get()
    }

    /// Remembers an event by its id, unless another one is being remembered right now.
    pub fn remember(&self, id: [u8; 16]) {
        if let Ok(mut last) = self.last.try_lock() {
            *last = Some(id);
        }
    }
}

impl TypedMetric for Tally {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Tally {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let id = last.map(|id| [("id", id.map(|byte| format!("{byte:02x}")).concat())]);
        // The library's own counter with an exemplar takes a lock for each event, so it only lends its text form.
        let shown = CounterWithExemplar::<[(&'static str, String); 1]>::default();
        let count = self.get();
        shown.inc_by(count.saturating_sub(1), None, None);
        shown.inc_by(count.min(1), id, None);
        shown.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
