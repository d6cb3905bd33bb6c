//! The decision: the hot path, and the same path for `explain`.

use std::cell::OnceCell;
use std::time::Duration;

use tracing::warn;

use super::behaviour::{AGAIN, CLEARANCE, ClearanceId, STEP};
use super::named::Named;
use super::{Decision, DecisionId, Face, Gate, Moment, Origin, Shadow, Verdict};
use crate::clearance::{self, Clearance, Slot};
use crate::clock::Timestamp;
use crate::crypto::{Kind, Refusal, Visitor};
use crate::memory::Counted;
use crate::policy::{Answer, Facts, Judged, Observer, Outcome, Policy, Recall, Toll, Trace};
use crate::request::{Prefix, Request, Scheme, Unfit, cookie_values, joined_cookie_values};

/// The most rounds of lookups that one evaluation asks for before it counts as undecided.
pub(super) const ROUNDS: usize = 4;

/// Whether a decision leaves a trace in memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    /// Only look.
    Peek,
    /// Count it.
    Record,
    /// Only look, at a request that stayed within every limit: nginx's page, where the question was counted already.
    Within,
}

impl Gate {
    /// Decides about a request, records it and counts it. Allocates nothing where it allows, unless a header stands
    /// several times or the path has several readings.
    pub fn decide(
        &self,
        face: Face,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Decision<'_> {
        let decision = self.judge(policy, request, moment, Mode::Record, &mut ());
        self.state.count(face, &decision);
        if let Err(Unfit::Incomplete(fact)) = request {
            self.state.metrics.undecided(fact);
            if *fact == "peer" && self.state.log_due(moment.now) {
                warn!(face = face.as_str(), id = %decision.id, "the asking proxy is not trusted: its address is not in `trust.peers`, and it shows no secret");
            } else if self.state.log_due(moment.now) {
                warn!(face = face.as_str(), missing = fact, id = %decision.id, "cannot decide: the proxy must say each fact once; see the example for your proxy");
            }
        }
        self.log(face, request, &decision, moment.now);
        decision
    }

    /// Decides exactly as [`Gate::decide`] does, shows every step to `trace`, and records nothing.
    pub fn explain(
        &self,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
        trace: &mut Trace,
    ) -> Decision<'_> {
        self.judge(policy, request, moment, Mode::Peek, trace)
    }

    /// Decides at the moment that is given and shows every step to `trace`, as [`Gate::explain`] does, but takes the request
    /// in: for a stream that is played again.
    pub fn replay(
        &self,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
        trace: &mut Trace,
    ) -> Decision<'_> {
        self.judge(policy, request, moment, Mode::Record, trace)
    }

    /// The steps of a decision, in their true order.
    pub(super) fn judge(
        &self,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
        mode: Mode,
        observer: &mut impl Observer,
    ) -> Decision<'_> {
        #[cfg(test)]
        super::fault::strike("decide");
        let by = self.named(policy, request);
        match request {
            Err(unfit) => {
                self.shadowed(Decision::unfit(&by.name, *unfit, DecisionId::new(moment.seed.decision)))
            }
            Ok(request) => {
                if mode == Mode::Record {
                    self.note_unknown(policy, moment);
                }
                let mode =
                    if mode == Mode::Record && !self.learns(by, request, moment) { Mode::Peek } else { mode };
                self.judge_fit(by, request, moment, mode, observer)
            }
        }
    }

    /// The same for a request that is fit to be judged: policy, clearance, limits, shadow, record.
    fn judge_fit<'g>(
        &'g self,
        by: &'g Named,
        request: &Request<'_>,
        moment: &Moment,
        mode: Mode,
        observer: &mut impl Observer,
    ) -> Decision<'g> {
        let (id, now) = (DecisionId::new(moment.seed.decision), moment.now);
        let facts = self.facts(by, request, moment);
        let sight = self.state.memory.sight(request, facts.asn);
        // Read once, however many rounds of lookups there are.
        let behaviour = OnceCell::new();
        let recall = || {
            *behaviour.get_or_init(|| {
                let behaviour = self.behaviour(request, &sight, now);
                if mode == Mode::Record {
                    self.state.seen(behaviour.signals);
                }
                behaviour
            })
        };
        let facts = Facts { recall: Recall::new(&recall), ..facts };
        let (mut cleared, mut trap) = (None, false);
        let decision = match outcome(&by.policy, facts, request, observer) {
            None => Decision::bare(&by.name, Verdict::Undecided, "undecided/expression", id),
            Some(outcome) => {
                trap = outcome.trap;
                let mut decision = Decision::of(&by.name, &outcome, id);
                if let (Verdict::Challenge, Some(toll)) = (decision.verdict, outcome.toll) {
                    cleared = self.accept_clearance(request, toll, now, mode, &mut decision);
                }
                if !outcome.limits.is_empty() {
                    self.limit(by.policy.limits(outcome.limits), request, cleared, now, mode, &mut decision);
                }
                decision
            }
        };
        let decision = self.shadowed(decision);
        if mode == Mode::Record {
            self.record(request, &sight, cleared, decision.verdict, trap, now);
        }
        decision
    }

    /// Whether a request leaves a trace in memory: not where its policy or the proxy says so, nor where a load test shows the secret.
    pub(super) fn learns(&self, by: &Named, request: &Request<'_>, moment: &Moment) -> bool {
        moment.learn && by.policy.learns() && !self.settings.trust.unlearned(&request.headers)
    }

    /// What is done where everything is only watched.
    fn shadowed<'g>(&self, mut decision: Decision<'g>) -> Decision<'g> {
        if self.settings.shadow
            && matches!(decision.verdict, Verdict::Challenge | Verdict::Deny | Verdict::Limit)
        {
            decision.shadow = Some(Shadow { verdict: decision.verdict, rule: decision.rule });
            (decision.verdict, decision.rule) = (Verdict::Allow, "default/allow");
        }
        decision
    }

    /// Turns a challenge into an allow where a clearance of sufficient level and kind came along. Where the identity of every
    /// such clearance does too much, a new one must be paid for, two levels higher; who goes on without paying is limited.
    /// One that a neighbour of the host planted and wore out must not stand in the way of the visitor's own. Yields the
    /// clearance that counted.
    fn accept_clearance(
        &self,
        request: &Request<'_>,
        toll: &Toll,
        now: Timestamp,
        mode: Mode,
        decision: &mut Decision<'_>,
    ) -> Option<ClearanceId> {
        let mut over: Option<(Duration, ClearanceId)> = None;
        let within = |clearance: &Clearance| {
            let (pace, id) = (self.state.pace(clearance.kind), clearance.id);
            let within = self.state.within(mode, pace, CLEARANCE, Counted::Clearance(&id), now);
            if let Err(wait) = within
                && over.is_none_or(|(least, _)| wait < least)
            {
                over = Some((wait, id));
            }
            within.is_ok()
        };
        let (name, accepts) = (self.cookie_name(request), |kind| toll.accepts(kind));
        let own = cookie_values(&request.headers, name);
        let paid = self.first(own, request, now, accepts, toll.level, within).or_else(|prior| {
            // A neighbour of the host may have planted it in another cookie's value: it can help, and limits nobody.
            let planted = joined_cookie_values(&request.headers, name);
            let within = |clearance: &Clearance| {
                let (pace, id) = (self.state.pace(clearance.kind), clearance.id);
                self.state.within(mode, pace, CLEARANCE, Counted::Clearance(&id), now).is_ok()
            };
            self.first(planted, request, now, accepts, toll.level, within).map_err(|_| prior)
        });
        match (paid, over) {
            (Ok(clearance), _) => {
                decision.verdict = Verdict::Allow;
                return Some(clearance.id);
            }
            (Err(_), Some((wait, id))) => {
                if mode == Mode::Record {
                    self.state.metrics.limited("clearance");
                }
                let again =
                    self.state.within(mode, &self.state.again, AGAIN, Counted::Clearance(&id), now).is_ok();
                if again {
                    decision.toll = Some(self.raised(toll, STEP, request, now));
                } else {
                    decision.verdict = Verdict::Limit;
                    decision.retry_after = wait.as_secs() + 1;
                }
            }
            (Err(prior), None) => {
                decision.prior = prior;
                decision.toll = Some(self.raised(toll, 0, request, now));
            }
        }
        None
    }

    /// The first clearance of the request that opens, suffices and is wanted; else why the last one did not, if there was any.
    pub(super) fn clearance(
        &self,
        request: &Request<'_>,
        now: Timestamp,
        accepts: impl Fn(Kind) -> bool,
        level: u8,
        wanted: impl FnMut(&Clearance) -> bool,
    ) -> Result<Clearance, Option<Refusal>> {
        self.first(self.held(request), request, now, accepts, level, wanted)
    }

    /// The texts that may be clearances: first those that nobody but this host can have set, where it can be told.
    pub(super) fn held<'a, 'h>(&'h self, request: &'h Request<'a>) -> impl Iterator<Item = &'a [u8]> + 'h {
        let name = self.cookie_name(request);
        cookie_values(&request.headers, name).chain(joined_cookie_values(&request.headers, name))
    }

    /// The same of these texts.
    fn first<'a>(
        &self,
        texts: impl Iterator<Item = &'a [u8]>,
        request: &Request<'_>,
        now: Timestamp,
        accepts: impl Fn(Kind) -> bool,
        level: u8,
        mut wanted: impl FnMut(&Clearance) -> bool,
    ) -> Result<Clearance, Option<Refusal>> {
        let mut prior = None;
        for text in texts {
            let opened = self.with_visitor(request, |visitor| {
                clearance::open(&self.ring, &self.settings.lives, visitor, now, text, &accepts, level)
            });
            match opened {
                Ok(clearance) if wanted(&clearance) => return Ok(clearance),
                Ok(_) => {}
                Err(refusal) => prior = Some(refusal),
            }
        }
        Err(prior)
    }

    /// The name that the clearance's cookie has for this visitor.
    pub(super) fn cookie_name(&self, request: &Request<'_>) -> &str {
        self.cookie.name(self.slot(request))
    }

    /// Which of the cookies this visitor gets and shows.
    pub(super) fn slot(&self, request: &Request<'_>) -> Slot {
        let ipv6 =
            self.settings.challenge.bind_prefix && request.client.is_some_and(|client| client.is_ipv6());
        Slot { https: request.scheme == Scheme::Https, ipv6 }
    }

    /// The facts of a visitor that tokens are bound to, as the settings say.
    pub(super) fn with_visitor<T>(&self, request: &Request<'_>, run: impl FnOnce(&Visitor<'_>) -> T) -> T {
        let challenge = &self.settings.challenge;
        let prefix = request.client.filter(|_| challenge.bind_prefix).map(Prefix::of);
        run(&Visitor {
            host: &request.host,
            agent: &request.agent(),
            net: prefix.as_ref().map_or(&[], Prefix::as_bytes),
            ja4: request.ja4().filter(|_| challenge.bind_ja4).unwrap_or_default(),
        })
    }

    /// What is known beyond the request. The databases are asked only where the policy does.
    pub(super) fn facts(&self, by: &Named, request: &Request<'_>, moment: &Moment) -> Facts<'static> {
        let [a, b, c, d, e, f, g, h, ..] = moment.seed.decision;
        let looked_up = || Origin {
            asn: self.asn(request),
            country: request
                .client
                .filter(|_| by.policy.asks_country())
                .and_then(|client| self.settings.databases.country(client)),
        };
        let Origin { asn, country } = moment.origin.unwrap_or_else(looked_up);
        Facts {
            asn,
            country,
            chance: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            load: self.state.load(),
            recall: Recall::default(),
            answers: moment.known.clone(),
        }
    }

    /// The number of the visitor's network, where any policy asks for it.
    pub(super) fn asn(&self, request: &Request<'_>) -> Option<u32> {
        let client = request.client.filter(|_| self.asks_asn)?;
        self.settings.databases.asn(client)
    }
}

/// Judges a request. Every lookup that was not made has failed, so that the rule which asks takes its strict side.
/// `None` when an expression that counts has no value.
fn outcome<'p>(
    policy: &'p Policy,
    mut facts: Facts<'_>,
    request: &Request<'_>,
    observer: &mut impl Observer,
) -> Option<Outcome<'p>> {
    for _ in 0..ROUNDS {
        match policy.evaluate(request, &facts, observer) {
            Judged::Decided(outcome) => return Some(outcome),
            Judged::Need(lookups) => lookups.into_iter().for_each(|l| facts.learn(l, Answer::Failed)),
            Judged::Undecided { .. } => return None,
        }
    }
    None
}
