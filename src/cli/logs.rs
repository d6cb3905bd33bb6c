//! Events, on stderr: text for people, or one JSON object a line.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::Log;
use crate::policy::Problem;

/// Starts writing events. Later calls change nothing.
pub(super) fn start(log: &Log) {
    let filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let writer = fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    // Only the first subscriber of a process counts; another one is no reason to stop.
    drop(if log.json { writer.json().flatten_event(true).try_init() } else { writer.try_init() });
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
