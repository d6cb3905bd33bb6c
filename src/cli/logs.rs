//! Events, on stderr: text for people, or one JSON object a line. Whatever becomes of stderr, the gate serves on.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, fmt};

use crate::config::Log;
use crate::metrics::Metrics;
use crate::policy::Problem;

/// How many lines wait for whoever reads stderr. With lines of some 300 bytes that is 3 MB; what comes when it is full is lost,
/// and counted, since a reader that sleeps must not hold a decision up.
const MAX_WAITING: usize = 10_000;

/// What writes events. The last lines are written when it is dropped.
#[must_use]
pub(super) struct Logs {
    _worker: WorkerGuard,
    /// Lines that found the queue full.
    losses: ErrorCounter,
    /// Lines that could not be written.
    failed: Arc<AtomicUsize>,
}

impl Logs {
    /// Starts writing events, of which a panic is one. Later calls of a process change nothing.
    pub(super) fn start(log: &Log) -> Self {
        let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
        let ansi = io::stderr().is_terminal();
        let failed = Arc::new(AtomicUsize::new(0));
        let stderr = Stderr { failed: failed.clone() };
        let (queue, worker) =
            NonBlockingBuilder::default().buffered_lines_limit(MAX_WAITING).lossy(true).finish(stderr);
        let losses = queue.error_counter();
        // What goes wrong with a line would else be said on stderr, and a failure of that panics.
        let events =
            fmt().with_env_filter(filter).with_writer(queue).with_ansi(ansi).log_internal_errors(false);
        // Only the first subscriber of a process counts; another one is no reason to stop.
        drop(if log.json { events.json().flatten_event(true).try_init() } else { events.try_init() });
        std::panic::set_hook(Box::new(panicked));
        Self { _worker: worker, losses, failed }
    }

    /// Has these metrics tell how many lines are lost.
    pub(super) fn count_lost(&self, metrics: &Metrics) {
        let (losses, failed) = (self.losses.clone(), self.failed.clone());
        let lost = move || losses.dropped_lines() + failed.load(Ordering::Relaxed);
        metrics.log_lost.by(move || u64::try_from(lost()).unwrap_or(u64::MAX));
    }
}

/// Stderr, where a line that cannot be written is counted and forgotten: on a full disk, or when nobody is left to read.
struct Stderr {
    failed: Arc<AtomicUsize>,
}

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if io::stderr().write_all(line).is_err() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The most of a panic's text that is written, in characters.
const MAX_TEXT: usize = 500;

/// A panic in a line like any other. Its text may hold a visitor's bytes, which the usual hook would write as they are.
fn panicked(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text");
    let text: String = text.chars().take(MAX_TEXT).collect();
    let at = panic.location().map(ToString::to_string).unwrap_or_default();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(
        at,
        thread = thread::current().name(),
        text = %text.escape_debug(),
        backtrace = backtrace.map(|b| b.escape_debug().to_string()),
        "panicked"
    );
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
