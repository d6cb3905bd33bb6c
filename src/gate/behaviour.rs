//! What memory and detectors say about the sender of a request, and what follows beside the rules: limits and raises.

use super::decide::Mode;
use super::{Decision, Gate, Moment, Shadow, Verdict};
use crate::behaviour::{Behaviour, Figure, Figures};
use crate::clearance;
use crate::clock::Timestamp;
use crate::crypto::Kind;
use crate::memory::{Counted, Deed, Fate, Limit, Pace, Sight};
use crate::policy::{By, LimitRule, Rate, Toll};
use crate::request::{Request, Single, Wants, name};
use crate::signal::{self, Finding};

/// The id of a clearance.
pub(super) type ClearanceId = [u8; 16];

/// How many levels are added for each mark that challenges a second pass, for a network that does not solve, and for a
/// clearance that did too much.
pub(super) const STEP: u8 = 2;

/// The highest level that a network is raised to which solved a challenge lately.
const SOLVERS: u8 = 16;

impl Gate {
    /// What is known about the sender of a request before it, and what its headers show.
    pub(super) fn behaviour(&self, request: &Request<'_>, sight: &Sight, now: Timestamp) -> Behaviour {
        let figures = self.figures(request, sight, now);
        Behaviour { figures, signals: signal::detect(request, &figures) }
    }

    fn figures(&self, request: &Request<'_>, sight: &Sight, now: Timestamp) -> Figures {
        let mut figures = self.state.memory.tell(sight, None, now);
        // All that came along are told of, the worst of each: one that nobody shares must not hide another. A forged one says
        // nothing good about who sends it, so none is proved.
        for id in self.held(request).filter_map(clearance::claimed) {
            self.state.memory.tell_clearance(&id, now, &mut figures);
        }
        figures.set(Figure::Attack, self.state.alarm.level(now).into());
        figures
    }

    /// The clearance that came along, whatever it is worth here.
    fn clearance_id(&self, request: &Request<'_>, now: Timestamp) -> Option<ClearanceId> {
        self.clearance(request, now, |_| true, 0, |_| true).ok().map(|clearance| clearance.id)
    }

    /// Every signal of a request, raised or not, with the figures it rests on; and every figure that is not 0.
    pub fn findings(&self, request: &Request<'_>, moment: &Moment) -> (Vec<Finding>, Vec<(Figure, u32)>) {
        let asn = self.asn(request);
        let sight = self.state.memory.sight(request, asn);
        let figures = self.figures(request, &sight, moment.now);
        let told =
            Figure::all().map(|figure| (figure, figures.value(figure))).filter(|(_, value)| *value > 0);
        (signal::explain(request, &figures), told.collect())
    }

    /// The level that is asked for now, where the rule asks for that of `toll`: raised under attack, and for a network that
    /// takes challenges and does not solve them. What was paid is judged by the rule's own level. A rule that asks for a wait
    /// asks for that wait: it has no work to raise.
    pub(super) fn raised(&self, toll: &Toll, more: u8, request: &Request<'_>, now: Timestamp) -> Toll {
        if toll.kind == Kind::Wait {
            return *toll;
        }
        let (taken, solved) =
            request.client.map_or((0, 0), |client| self.state.memory.challenges(client, now));
        let mut figures = Figures::with_evidence(true);
        figures.set(Figure::NetworkChallenged, taken);
        figures.set(Figure::NetworkAnswered, solved);
        let unsolved = signal::unsolved(&figures);
        let steps = self.state.alarm.level(now) + u8::from(unsolved);
        let most = self.settings.challenge.max_level;
        let most = if solved > 0 { most.min(SOLVERS) } else { most };
        let level = toll.level.saturating_add(steps * STEP + more).min(most).max(toll.level);
        Toll { level, ..*toll }
    }

    /// Counts a request under the LIMIT rules that it met. What is denied stays denied, and counts nothing.
    pub(super) fn limit<'g>(
        &self,
        rules: impl Iterator<Item = LimitRule<'g>>,
        request: &Request<'_>,
        cleared: Option<ClearanceId>,
        now: Timestamp,
        mode: Mode,
        decision: &mut Decision<'g>,
    ) {
        if !matches!(decision.verdict, Verdict::Allow | Verdict::Challenge) {
            return;
        }
        for LimitRule { rule, rate, shadow } in rules {
            let held = match rate.by {
                By::Clearance => cleared.or_else(|| self.clearance_id(request, now)),
                _ => None,
            };
            let counted = match (rate.by, &held) {
                (By::Asn, _) => Counted::Asn(self.asn(request)),
                (By::Clearance, Some(id)) => Counted::Clearance(id),
                (By::Clearance | By::Client, _) => Counted::Client(request.client),
                (By::Host, _) => Counted::Host(&request.host),
                (By::Network, _) => Counted::Network(request.client),
                (By::Rule, _) => Counted::Everybody,
            };
            let Err(wait) = self.state.within(mode, &pace(rate), id_of(decision.policy, rule), counted, now)
            else {
                continue;
            };
            if shadow {
                let would = Shadow { verdict: Verdict::Limit, rule };
                decision.shadow = decision.shadow.or(Some(would));
                continue;
            }
            if mode == Mode::Record {
                self.state.metrics.limited("rule");
            }
            (decision.verdict, decision.rule) = (Verdict::Limit, rule);
            (decision.retry_after, decision.toll) = (wait.as_secs() + 1, None);
            return;
        }
    }

    /// Takes in what a request did and what became of it. `trap` is whether the rule that decided matches what only robots find.
    pub(super) fn record(
        &self,
        request: &Request<'_>,
        sight: &Sight,
        cleared: Option<ClearanceId>,
        verdict: Verdict,
        trap: bool,
        now: Timestamp,
    ) {
        let fate = match verdict {
            Verdict::Allow if cleared.is_some() => Fate::Cleared,
            Verdict::Allow | Verdict::Undecided => Fate::Passed,
            Verdict::Challenge => Fate::Challenged,
            Verdict::Deny => Fate::Denied,
            Verdict::Limit => Fate::Limited,
        };
        if verdict == Verdict::Challenge && self.alarms(request, now) {
            self.state.alarm.challenge(now);
        }
        // Another site's page can have its readers ask for anything: what it makes them ask for says nothing about them.
        let target = &request.target;
        let readings = || target.readings.iter().filter(|r| *r != target.path()).find_map(signal::probe);
        let probe = signal::probe(target.raw).or_else(readings);
        let foreign = (probe.is_some() || fate == Fate::Denied) && !went_there(request);
        let fate = if foreign && fate == Fate::Denied { Fate::Passed } else { fate };
        let probe = probe.filter(|_| !foreign);
        let trap = trap && went_there(request);
        self.state.memory.record(sight, cleared.as_ref(), Deed { fate, probe, trap }, now);
    }

    /// Whether a challenge counts towards the load marks. A network that takes many and is one of few is no attack on the site
    /// but a visitor of its own, whom `unsolved` knows.
    fn alarms(&self, request: &Request<'_>, now: Timestamp) -> bool {
        let taken = |client| self.state.memory.challenges(client, now).0;
        request.client.is_none_or(|client| taken(client) < ALARMS)
    }

    /// Takes note of an answer that was accepted; of the same one only once.
    pub(super) fn solved(&self, request: &Request<'_>, id: &ClearanceId, now: Timestamp) {
        let (memory, once) = (&self.state.memory, &self.state.once);
        if memory.take(once, ANSWERED, Counted::Clearance(id), now).is_ok() {
            memory.answered(&memory.sight(request, self.asn(request)), now);
        }
    }
}

/// How many challenges of one network in ten minutes count towards the load marks.
const ALARMS: u32 = 20;

/// Whether a client went where it is by itself, as far as can be seen: no other site led it there, no page shows it or is made of it, no
/// browser fetches it before anybody asks.
pub(super) fn went_there(request: &Request<'_>) -> bool {
    let says = |name| request.headers.single(name);
    let led = matches!(says(name::SEC_FETCH_SITE), Single::Absent | Single::One(b"same-origin" | b"none"));
    let page = matches!(says(name::SEC_FETCH_DEST), Single::Absent | Single::One(b"document" | b"empty"));
    led && page && Wants::of(request) != Wants::Empty
}

/// The limits of our own, beside those of rules.
pub(super) const CLEARANCE: u64 = 1;
pub(super) const AGAIN: u64 = 2;
const ANSWERED: u64 = 3;
pub(super) const ANSWERS: u64 = 4;
pub(super) const HANDED_ON: u64 = 5;

fn pace(rate: &Rate) -> Pace {
    Pace::new(Limit { count: rate.count, per: rate.per, burst: rate.burst })
}

/// What tells the limit of one rule from that of another, in this process and after a reload (FNV-1a). Hosts that are judged
/// by one policy share its limits; rules of two policies share none, even under one name.
fn id_of(policy: &str, rule: &str) -> u64 {
    let name = policy.bytes().chain([0]).chain(rule.bytes());
    name.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
