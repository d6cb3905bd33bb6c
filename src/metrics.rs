//! Counters and their names, for Prometheus. No label value is ever chosen by a visitor.
//! Counts only; what is worth counting is decided where it happens.

mod tally;
mod told;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use tally::Tally;
use told::Told;

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Every counter of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    decisions: Family<Labels<2>, Tally>,
    answers: Family<Labels<2>, Counter>,
    challenges: Family<Labels<1>, Counter>,
    clearances_refused: Family<Labels<1>, Counter>,
    undecided: Family<Labels<1>, Counter>,
    shadowed: Family<Labels<1>, Counter>,
    reloads: Family<Labels<1>, Counter>,
    keys: Family<Labels<2>, Gauge>,
    /// Questions of the forward face about the public prefix: the proxy lacks its route.
    pub prefix_without_route: Counter,
    /// Questions that named a policy which is not loaded, and were judged by the default one.
    pub unknown_policy: Counter,
    /// Panics. A request that ended in one was answered as undecided; a task began anew.
    pub panics: Counter,
    /// 1 while the last reload failed: what is in force is then not what the files say.
    pub reload_failed: Gauge,
    /// Connections that are open now, over all listeners.
    pub connections: Gauge,
    /// Lines of the log that nobody read in time, or that could not be written.
    pub log_lost: Told,
    /// Decisions that were not logged, because too many were within one second.
    pub log_skipped: Counter,
    /// The most connections of proxies that there may be.
    pub connections_max: Gauge,
    connections_refused: Family<Labels<1>, Counter>,
    connections_ended: Family<Labels<1>, Counter>,
    /// How often the clock was set.
    pub clock_steps: Counter,
    /// By how many seconds the clock was set, while that still shows; else 0.
    pub clock_step: Gauge,
    limited: Family<Labels<1>, Counter>,
    signals: Family<Labels<1>, Counter>,
    /// What memory takes, in bytes.
    pub memory_bytes: Gauge,
    /// What memory may take, in bytes.
    pub memory_max_bytes: Gauge,
    /// 1 while the file that should outlive a restart fails.
    pub file_degraded: Gauge,
    /// Clients that this file knows.
    pub file_rows: Gauge,
    /// 1 while memory cannot be shared with other replicas, though it should be.
    pub shared_degraded: Gauge,
    /// Whether the site is under attack: 0, 1 or 2.
    pub attack_level: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers every counter.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("tollgate");
        registry.register(
            "build",
            "The running version",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        macro_rules! register {
            ($metric:expr, $name:literal, $help:literal) => {{
                let metric = $metric;
                registry.register($name, $help, metric.clone());
                metric
            }};
        }
        let decisions = register!(
            Family::default(),
            "decisions",
            "Verdicts by face; the exemplar is the request number of a refused one"
        );
        let answers = register!(
            Family::default(),
            "answers",
            "Answers to challenges by kind, accepted or by reason code"
        );
        let challenges = register!(Family::default(), "challenges", "Challenges issued by kind");
        let clearances_refused = register!(
            Family::default(),
            "clearances_refused",
            "Clearances that did not count, by reason code"
        );
        let undecided = register!(
            Family::default(),
            "undecided",
            "Requests that could not be decided, by what was missing"
        );
        let shadowed =
            register!(Family::default(), "shadowed", "Verdicts that shadow mode did not carry out");
        let reloads =
            register!(Family::default(), "reloads", "Reloads by outcome; a failed one keeps the old state");
        let keys = register!(Family::default(), "key", "Keys in force: 1 for each, by id and what it is for");
        let prefix_without_route = register!(
            Counter::default(),
            "prefix_without_route",
            "Public-prefix requests on the forward face: the proxy lacks a route"
        );
        let unknown_policy = register!(
            Counter::default(),
            "unknown_policy",
            "Questions that named a policy which is not loaded"
        );
        let panics = register!(
            Counter::default(),
            "panics",
            "Panics: a request that ended in one was answered as undecided, a task began anew"
        );
        let reload_failed = register!(
            Gauge::default(),
            "reload_failed",
            "1 while the last reload failed, so that the state before it is in force"
        );
        let connections = register!(Gauge::default(), "connections", "Open connections");
        let log_lost = register!(
            Told::default(),
            "log_lost",
            "Lines of the log that were lost: stderr is read too slowly, or cannot be written"
        );
        let log_skipped = register!(
            Counter::default(),
            "log_skipped",
            "Decisions that were not logged, because more than `log.decisions` came within a second"
        );
        let connections_max = register!(
            Gauge::default(),
            "connections_max",
            "The most connections of proxies that may be open"
        );
        let connections_refused = register!(
            Family::default(),
            "connections_refused",
            "Connections closed unheard: there is no place for them, or the system gave none"
        );
        let connections_ended = register!(
            Family::default(),
            "connections_ended",
            "Connections that we ended for what their peer did"
        );
        let clock_steps =
            register!(Counter::default(), "clock_steps", "How often the clock was set by more than 10 s");
        let clock_step = register!(
            Gauge::default(),
            "clock_step_seconds",
            "By how many seconds the clock was set, while that still shows in what is accepted; else 0"
        );
        let limited = register!(
            Family::default(),
            "limited",
            "Requests over a limit, by whose it is: of a clearance, which may be challenged again, or of a rule"
        );
        let memory_bytes =
            register!(Gauge::default(), "memory_bytes", "What is remembered of visitors, in bytes");
        let memory_max_bytes = register!(Gauge::default(), "memory_max_bytes", "The most that this may be");
        let shared_degraded = register!(
            Gauge::default(),
            "shared_degraded",
            "1 while the server that replicas share is down for this one, which then counts for itself, or telling it has ended"
        );
        let file_degraded = register!(
            Gauge::default(),
            "file_degraded",
            "1 while what should outlive a restart cannot be read or written, or keeping it has ended"
        );
        let file_rows =
            register!(Gauge::default(), "file_rows", "Clients of whom something outlives a restart");
        let attack_level =
            register!(Gauge::default(), "attack_level", "Which mark challenges a second passed: 0, 1 or 2");
        let signals = register!(
            Family::default(),
            "signals",
            "Signals that the policy could see, where it looked at memory"
        );
        Self {
            registry,
            limited,
            signals,
            memory_bytes,
            memory_max_bytes,
            shared_degraded,
            file_degraded,
            file_rows,
            attack_level,
            decisions,
            answers,
            challenges,
            clearances_refused,
            undecided,
            shadowed,
            reloads,
            keys,
            prefix_without_route,
            unknown_policy,
            panics,
            reload_failed,
            connections,
            log_lost,
            log_skipped,
            connections_max,
            connections_refused,
            connections_ended,
            clock_steps,
            clock_step,
        }
    }

    /// The counter of a verdict on a face: bound once, incremented without a lookup.
    pub fn decisions(&self, face: &'static str, verdict: &'static str) -> Tally {
        self.decisions.get_or_create_owned(&[("face", face), ("verdict", verdict)])
    }

    /// Counts an answer, `accepted` or refused with a reason code.
    pub fn answer(&self, kind: &'static str, outcome: &'static str) {
        self.answers.get_or_create(&[("kind", kind), ("outcome", outcome)]).inc();
    }

    /// Counts a challenge that was issued.
    pub fn challenge(&self, kind: &'static str) {
        self.challenges.get_or_create(&[("kind", kind)]).inc();
    }

    /// Counts a clearance that did not count.
    pub fn clearance_refused(&self, reason: &'static str) {
        self.clearances_refused.get_or_create(&[("reason", reason)]).inc();
    }

    /// Counts a request that could not be decided.
    pub fn undecided(&self, missing: &'static str) {
        self.undecided.get_or_create(&[("missing", missing)]).inc();
    }

    /// Counts a verdict that shadow mode did not carry out.
    pub fn shadowed(&self, verdict: &'static str) {
        self.shadowed.get_or_create(&[("verdict", verdict)]).inc();
    }

    /// Counts a reload, `ok` or `failed`.
    pub fn reload(&self, outcome: &'static str) {
        self.reloads.get_or_create(&[("outcome", outcome)]).inc();
        self.reload_failed.set((outcome == "failed").into());
    }

    /// Says which keys are in force: their ids, 0 to 15, and what each is for.
    pub fn keys(&self, keys: impl Iterator<Item = (u8, &'static str)>) {
        const IDS: [&str; 16] =
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];
        self.keys.clear();
        for (id, state) in keys {
            self.keys.get_or_create(&[("id", IDS[usize::from(id % 16)]), ("state", state)]).set(1);
        }
    }

    /// Counts a connection that was closed unheard.
    pub fn connection_refused(&self, why: &'static str) {
        self.connections_refused.get_or_create(&[("why", why)]).inc();
    }

    /// Counts a connection that we ended for what its peer did.
    pub fn connection_ended(&self, why: &'static str) {
        self.connections_ended.get_or_create(&[("why", why)]).inc();
    }

    /// Counts a panic that passes by.
    pub fn witness(&self) -> Witness {
        Witness::new(self.panics.clone())
    }

    /// Counts a request over a limit of a `clearance` or a `rule`.
    pub fn limited(&self, whose: &'static str) {
        self.limited.get_or_create(&[("by", whose)]).inc();
    }

    /// The counter of a signal: bound once, incremented without a lookup.
    pub fn signal(&self, signal: &'static str) -> Counter {
        self.signals.get_or_create_owned(&[("signal", signal)])
    }

    /// Everything in the OpenMetrics text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }
}

/// Counts a panic that drops it on its way.
#[derive(Debug)]
pub struct Witness(Counter);

impl Witness {
    /// One that counts there.
    pub fn new(panics: Counter) -> Self {
        Self(panics)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.inc();
        }
    }
}
