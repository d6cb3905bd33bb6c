//! Events, on stderr: text for people, or one JSON object a line.

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};

use prometheus_client::metrics::gauge::Gauge;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::Log;
use crate::policy::Problem;

/// How many lines wait for whoever reads stderr. With lines of some 300 bytes that is 3 MB; what comes when it is full is lost,
/// and counted, since a reader that sleeps must not hold a decision up.
const MAX_WAITING: usize = 10_000;

/// What writes events. The last lines are written when it is dropped.
#[must_use]
pub(super) struct Logs {
    _worker: WorkerGuard,
    lost: Arc<OnceLock<Gauge>>,
}

impl Logs {
    /// Starts writing events. Later calls change nothing.
    pub(super) fn start(log: &Log) -> Self {
        let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
        let ansi = io::stderr().is_terminal();
        let (queue, worker) =
            NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING).lossy(true).finish(io::stderr());
        let lost = Arc::new(OnceLock::new());
        let writer = Queue { losses: queue.error_counter(), queue, lost: lost.clone() };
        let events = fmt().with_env_filter(filter).with_writer(writer).with_ansi(ansi);
        // Only the first subscriber of a process counts; another one is no reason to stop.
        drop(if log.json { events.json().flatten_event(true).try_init() } else { events.try_init() });
        Self { _worker: worker, lost }
    }

    /// Counts here how many lines are lost.
    pub(super) fn count_lost(&self, gauge: Gauge) {
        // Set once in a process.
        let _ = self.lost.set(gauge);
    }
}

/// The queue before stderr, and what was lost at its end.
struct Queue {
    queue: NonBlocking,
    losses: ErrorCounter,
    lost: Arc<OnceLock<Gauge>>,
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = NonBlocking;

    fn make_writer(&'a self) -> NonBlocking {
        if let Some(gauge) = self.lost.get() {
            gauge.set(i64::try_from(self.losses.dropped_lines()).unwrap_or(i64::MAX));
        }
        self.queue.clone()
    }
}

/// Writes what is odd about settings and policy without being wrong.
pub(super) fn lints(lints: &[Problem]) {
    for lint in lints {
        let at = format!("{}:{}:{}", lint.file, lint.line, lint.column);
        let (code, key) = (lint.code.unwrap_or_default(), lint.key.as_deref().unwrap_or_default());
        match lint.level {
            crate::policy::Severity::Info => tracing::debug!(at, code, key, "{}", lint.message),
            _ => tracing::warn!(at, code, key, "{}", lint.message),
        }
    }
}
