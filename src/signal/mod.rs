//! Detectors: from figures and headers to named signals.
//!
//! One file each, with its idea and whom it may wrong. A detector is pure and says yes or no; what that weighs is for the
//! policy to say. None of them knows a rule, a verdict or a clock.

mod agent;
mod agent_rotation;
mod ancient_agent;
mod browser_liar;
mod burst;
mod clearance_shared;
mod cookie_ignored;
mod crawl;
mod documents_only;
mod fingerprint_spread;
mod no_language;
mod persists;
mod probe;
mod regular_timing;
mod reputation;
mod seen;
mod trap;
mod unsolved;
mod wildcard_accept_navigation;

pub use probe::probe;
use seen::Seen;

use crate::behaviour::{Figure, Figures, Signal, Signals};
use crate::request::Request;

/// What looks at figures.
struct Counted {
    signal: Signal,
    /// The figures it looks at, for explanations.
    figures: &'static [Figure],
    raised: fn(&Figures) -> bool,
}

/// What looks at a request alone. Says why, in words without anything that the visitor sent.
struct Shown {
    signal: Signal,
    why: fn(&Seen<'_>) -> Option<&'static str>,
}

const COUNTED: [Counted; 13] = [
    agent_rotation::DETECTOR,
    burst::DETECTOR,
    clearance_shared::DETECTOR,
    cookie_ignored::DETECTOR,
    crawl::DETECTOR,
    documents_only::DETECTOR,
    fingerprint_spread::DETECTOR,
    persists::DETECTOR,
    probe::DETECTOR,
    regular_timing::DETECTOR,
    reputation::DETECTOR,
    trap::DETECTOR,
    unsolved::DETECTOR,
];

const SHOWN: [Shown; 4] = [
    ancient_agent::DETECTOR,
    browser_liar::DETECTOR,
    no_language::DETECTOR,
    wildcard_accept_navigation::DETECTOR,
];

/// The signals of a request and of what is remembered about its sender.
pub fn detect(request: &Request<'_>, figures: &Figures) -> Signals {
    let counted =
        COUNTED.iter().filter(|detector| (detector.raised)(figures)).map(|detector| detector.signal);
    let seen = Seen::of(request);
    let shown = SHOWN.iter().filter(|shown| (shown.why)(&seen).is_some()).map(|shown| shown.signal);
    counted.chain(shown).collect()
}

/// Whether a network takes challenges and does not solve them.
pub fn unsolved(figures: &Figures) -> bool {
    (unsolved::DETECTOR.raised)(figures)
}

/// What one detector saw, for explanations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The signal.
    pub signal: Signal,
    /// Whether it is raised.
    pub raised: bool,
    /// The figures it rests on, or what the headers show.
    pub why: String,
}

/// Every signal, raised or not, by name.
pub fn explain(request: &Request<'_>, figures: &Figures) -> Vec<Finding> {
    let counted = COUNTED.iter().map(|detector| Finding {
        signal: detector.signal,
        raised: (detector.raised)(figures),
        why: figures.text(detector.figures),
    });
    let seen = Seen::of(request);
    let shown = SHOWN.iter().map(|shown| {
        let why = (shown.why)(&seen);
        let text = why.unwrap_or("the headers do not show it").to_owned();
        Finding { signal: shown.signal, raised: why.is_some(), why: text }
    });
    let mut findings: Vec<_> = counted.chain(shown).collect();
    findings.sort_by_key(|finding| finding.signal.name());
    findings
}

/// How many agents of one address pass for as many people. Agents cost nothing, and a crawler can show a new one each time.
const MOST_AGENTS: u32 = 8;

#[cfg(test)]
mod tests;
