//! What outlives a reload: the counters, the limits and what is remembered of visitors.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tracing::warn;

use super::behaviour::ANSWERS;
use super::decide::Mode;
use super::log::Lines;
use super::{Decision, Face, Settings, Verdict};
use crate::behaviour::{Signal, Signals};
use crate::challenge::canary;
use crate::challenge::page::{self, PageError, Pages};
use crate::clock::{Clock, Steps, Timestamp};
use crate::crypto::Kind;
use crate::memory::{Alarm, Counted, Limit, Memory, Pace};
use crate::metrics::{Metrics, Tally};

/// How often one clearance that did too much is challenged again before it is limited.
const AGAIN: Limit = Limit { count: 10, per: Duration::from_secs(60), burst: 10 };

/// The link of one page counts against its reader once while it is known.
const CANARY: Limit = Limit { count: 1, per: Duration::from_secs(canary::LIFE), burst: 1 };

/// One answer counts as solved once while its challenge lives.
const ONCE: Limit = Limit { count: 1, per: Duration::from_secs(super::MAX_TTL as u64), burst: 1 };

/// Counters, limits and memory, shared by one gate after the other.
#[derive(Debug)]
pub struct State {
    /// Every counter of the process.
    pub metrics: Metrics,
    pub(super) memory: Memory,
    pub(super) alarm: Alarm,
    pub(super) once: Pace,
    pub(super) canary: Pace,
    pub(super) again: Pace,
    decisions: [[Tally; Verdict::ALL.len()]; Face::ALL.len()],
    signals: [Counter; Signal::COUNT],
    answers: Pace,
    work: Pace,
    wait: Pace,
    /// The second of the last line about something an attacker can cause at will.
    warned: AtomicU64,
    pub(super) lines: Lines,
    /// Those made last, while a gate has them.
    pages: Mutex<Weak<Pages>>,
    /// Whether it was said that clearances go out over plain HTTP.
    told_of_http: AtomicBool,
    steps: Mutex<Steps>,
    /// The load averages, as the bits of floating-point numbers.
    load: [AtomicU64; 3],
}

impl State {
    /// Empty memory, counters at zero. `secret` keys what memory hashes: fresh for every process. `cores` is what the
    /// marks of an attack are multiplied by.
    pub fn new(settings: &Settings, secret: &[u8; 16], cores: u32) -> Self {
        let metrics = Metrics::new();
        let decisions = Face::ALL
            .map(|face| Verdict::ALL.map(|verdict| metrics.decisions(face.as_str(), verdict.as_str())));
        let mut names = Signal::all().map(Signal::name);
        let signals = std::array::from_fn(|_| metrics.signal(names.next().unwrap_or_default()));
        let memory = Memory::new(settings.memory, secret).exchanging(settings.others);
        metrics.memory_max_bytes.set(i64::try_from(memory.max_bytes()).unwrap_or(i64::MAX));
        Self {
            decisions,
            signals,
            metrics,
            memory,
            alarm: Alarm::new(settings.marks.map(|mark| mark.saturating_mul(cores))),
            once: Pace::alone(ONCE),
            canary: Pace::alone(CANARY),
            again: Pace::new(AGAIN),
            answers: Pace::new(settings.limits.answers),
            work: Pace::new(settings.limits.work),
            wait: Pace::new(settings.limits.wait),
            warned: AtomicU64::new(0),
            lines: Lines::default(),
            pages: Mutex::default(),
            told_of_http: AtomicBool::new(false),
            steps: Mutex::default(),
            load: Default::default(),
        }
    }

    /// The pages for a gate: those of the gate before where they are no different. Making them takes a while and memory, and a
    /// reload seldom changes them.
    pub(super) fn pages(&self, settings: &page::Settings, prefix: &str) -> Result<Arc<Pages>, PageError> {
        let mut held = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pages) = held.upgrade().filter(|pages| pages.are_of(settings, prefix)) {
            return Ok(pages);
        }
        let pages = Arc::new(Pages::new(settings, prefix)?);
        *held = Arc::downgrade(&pages);
        Ok(pages)
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

    /// Looks whether the clock was set lately, and says what follows from it, in words. To be called now and then.
    pub fn clock_trouble(&self, clock: &Clock) -> Option<String> {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(step) = steps.look(clock.now(), clock.steady()) {
            self.metrics.clock_steps.inc();
            warn!(seconds = step, "the clock was set, or this machine slept");
        }
        let step = steps.still_shows();
        self.metrics.clock_step.set(step.unwrap_or(0));
        Some(match step? {
            back @ ..0 => format!(
                "the clock was set back by {} s: what was signed in that time is refused until it has come there again",
                back.unsigned_abs()
            ),
            ahead => format!("the clock was set ahead by {ahead} s: challenges from before have expired"),
        })
    }

    /// Every counter in the OpenMetrics text format, and what is measured only when somebody looks.
    pub fn text(&self, now: Timestamp) -> String {
        self.metrics.memory_bytes.set(i64::try_from(self.memory.bytes()).unwrap_or(i64::MAX));
        self.metrics.attack_level.set(self.attack(now).into());
        self.metrics.encode()
    }

    /// What is remembered of visitors, for whoever tells others of it.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether the site is under attack: 0, or which mark challenges a second passed.
    pub fn attack(&self, now: Timestamp) -> u8 {
        self.alarm.level(now)
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

    /// Counts signals that a policy looked at.
    pub(super) fn seen(&self, signals: Signals) {
        for signal in signals.iter() {
            self.signals[signal as usize].inc();
        }
    }

    /// Remembers which decision a visitor was told the number of.
    pub(super) fn remember(&self, face: Face, decision: &Decision<'_>) {
        self.decisions[face as usize][decision.verdict as usize].remember(decision.id.bytes());
    }

    /// Whether a line about something an attacker can cause at will is due: at most one a second.
    pub(super) fn log_due(&self, now: Timestamp) -> bool {
        let second = now.seconds();
        self.warned.swap(second, Ordering::Relaxed) != second
    }

    /// Whether this is the first clearance of the process that goes out over plain HTTP.
    pub(super) fn first_over_http(&self) -> bool {
        !self.told_of_http.swap(true, Ordering::Relaxed)
    }

    /// Counts an answer of a network, or only looks, unless it came too early. Visitors without address evidence count as one network.
    pub(super) fn answer(&self, mode: Mode, client: Option<IpAddr>, now: Timestamp) -> Result<(), Duration> {
        self.within(mode, &self.answers, ANSWERS, Counted::Network(client), now)
    }

    /// How often a clearance of this kind may be shown.
    pub(super) fn pace(&self, kind: Kind) -> &Pace {
        match kind {
            Kind::Wait => &self.wait,
            Kind::Work => &self.work,
        }
    }

    /// Counts a call under a limit, or only looks.
    pub(super) fn within(
        &self,
        mode: Mode,
        pace: &Pace,
        limit: u64,
        counted: Counted<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        match mode {
            Mode::Peek => self.memory.peek(pace, limit, counted, now),
            Mode::Record => self.memory.take(pace, limit, counted, now),
            Mode::Within => Ok(()),
        }
    }
}
