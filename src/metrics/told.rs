//! A counter whose count is kept elsewhere, and read when metrics are.

use std::fmt;
use std::sync::{Arc, OnceLock};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Tells what something else counts; 0 until that is known.
#[derive(Clone, Default)]
pub struct Told(Arc<OnceLock<Box<dyn Fn() -> u64 + Send + Sync>>>);

impl Told {
    /// Asks `count` from now on, which must never tell less than before. Only the first call counts.
    pub fn by(&self, count: impl Fn() -> u64 + Send + Sync + 'static) {
        // One that is there already stays.
        let _ = self.0.set(Box::new(count));
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Told({:?})", self.0.get().map(|count| count()))
    }
}

impl TypedMetric for Told {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Told {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        let shown = Counter::<u64>::default();
        shown.inc_by(self.0.get().map_or(0, |count| count()));
        shown.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::Metrics;
    use super::*;

    #[test]
    fn what_is_counted_elsewhere_is_read_with_the_metrics() {
        let (metrics, lost) = (Metrics::new(), Arc::new(AtomicU64::new(0)));
        let says = |count: u64| {
            let text = metrics.encode();
            assert!(text.contains("# TYPE tollgate_log_lost counter\n"), "{text}");
            assert!(text.contains(&format!("tollgate_log_lost_total {count}\n")), "{text}");
        };
        says(0);
        let counted = lost.clone();
        metrics.log_lost.by(move || counted.load(Ordering::Relaxed));
        says(0);
        lost.store(3, Ordering::Relaxed);
        says(3);
    }
}
