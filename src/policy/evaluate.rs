//! From a request to an outcome: the rules in order, then the thresholds, then the default.
//! Allocates nothing for a request whose path has one reading and whose header lines do not repeat.

use std::borrow::Cow;
use std::net::IpAddr;

use smallvec::SmallVec;

use super::cel::{Holds, Scene};
use super::compile::{Compiled, Header, HeaderFrom, HeaderTest, Rule};
use super::facts::{Answer, Facts, Lookup};
use super::glob::Globs;
use super::index::{Set, Shown};
use super::memo;
use super::observe::Observer;
use super::pattern::text;
use super::rate::Limits;
use super::rule::Asks;
use super::{Action, Fault, Judged, Outcome};
use crate::behaviour::Signal;
use crate::request::{Name, Request, is_public, name};

/// The rule that refuses an address on the block list.
const BLOCK_LIST: &str = "dnsbl";

/// How many weights may hang on lookups before the lookups are made without asking whether they matter: each doubles the
/// ways in which the thresholds could end.
const MAX_OPEN: usize = 4;

/// What decides, and the weight so far.
struct Decision<'p> {
    asks: &'p Asks,
    rule: &'p str,
    weight: i64,
    shadow: Option<(Action, &'p str)>,
    limits: Limits,
    fault: Option<(&'p str, Fault)>,
    trap: bool,
    bot: bool,
}

/// Why nothing can be decided.
enum Open<'p> {
    Need(Vec<Lookup>),
    Undecided(&'p str, Fault),
}

impl Compiled {
    /// Judges a request, and tells the observer about every rule on the way.
    pub(super) fn evaluate<'p>(
        &'p self,
        request: &Request<'_>,
        facts: &Facts<'_>,
        observer: &mut impl Observer,
    ) -> Judged<'p> {
        observer.begin();
        let subject = Subject::of(request, facts);
        let decision = match self.listed(&subject, observer).and_then(|listed| match listed {
            Some(decision) => Ok(decision),
            None => self.decide(&subject, observer),
        }) {
            Ok(decision) => decision,
            Err(Open::Need(lookups)) => return Judged::Need(lookups),
            Err(Open::Undecided(rule, fault)) => return Judged::Undecided { rule, fault },
        };
        let Decision { asks, rule, weight, shadow, limits, fault, trap, bot } = decision;
        let action = asks.terminal().unwrap_or(Action::Allow);
        if self.shadow {
            // The file only observes: what it would have done is told, and nothing is done.
            let would = (action != Action::Allow).then_some((action, rule)).or(shadow);
            let rule = if action == Action::Allow { rule } else { "default/allow" };
            let (action, toll, shadow) = (Action::Allow, None, would);
            return Judged::Decided(Outcome { action, rule, weight, toll, shadow, limits, fault, trap, bot });
        }
        Judged::Decided(Outcome { action, rule, weight, toll: asks.toll(), shadow, limits, fault, trap, bot })
    }

    /// Whether the visitor's address is on the block list, which comes before every rule. An address that cannot be
    /// looked up is not on it.
    fn listed<'p>(
        &'p self,
        subject: &Subject<'_, '_>,
        observer: &mut impl Observer,
    ) -> Result<Option<Decision<'p>>, Open<'p>> {
        let Some(client) = subject.request.client.filter(|c| self.block_list && is_public(*c)) else {
            return Ok(None);
        };
        match subject.scene.facts().listed(client) {
            None => Err(Open::Need(vec![Lookup::Listed(client)])),
            Some(answer) => {
                let listed = *answer == Answer::Listed(true);
                observer.rule(BLOCK_LIST, Asks::Deny.name(), listed, || match answer {
                    Answer::Listed(true) => format!("{client} is on the block list"),
                    Answer::Listed(false) => format!("{client} is not on the block list"),
                    _ => format!("{client} could not be looked up, which counts as not listed"),
                });
                let decision = Decision {
                    asks: &Asks::Deny,
                    rule: BLOCK_LIST,
                    weight: 0,
                    shadow: None,
                    limits: Limits::default(),
                    fault: None,
                    trap: false,
                    bot: false,
                };
                Ok(listed.then_some(decision))
            }
        }
    }

    /// Sets `chosen` to the rules that the request can match.
    fn candidates(&self, subject: &Subject<'_, '_>, chosen: &mut Set) {
        let (request, facts) = (subject.request, subject.scene.facts());
        let agent = subject.agent();
        if subject.agents {
            // The lines are looked at one by one too, so that nothing can be said for all of them.
            self.index.by_agent(agent, chosen);
        } else {
            let found = |rule: usize| self.rules[rule].agent.as_ref().is_none_or(|p| p.is_match(agent));
            let find = |chosen: &mut Set| self.index.by_agent(agent, chosen);
            memo::recall(self.id, agent, chosen, find, |chosen| chosen.retain(found));
        }
        let shown = Shown {
            asn: facts.asn,
            client: request.client,
            country: facts.country,
            headers: &request.headers,
            host: request.host.as_bytes(),
        };
        let changed = |reading: &&Reading<'_>| matches!(reading.text, Cow::Owned(_));
        let texts = subject.readings.iter().map(|reading| &*reading.text);
        let paths = texts.chain(subject.readings.iter().filter(changed).map(|r| r.raw));
        self.index.by_rest(&shown, paths, chosen);
    }

    fn decide<'p>(
        &'p self,
        subject: &Subject<'_, '_>,
        observer: &mut impl Observer,
    ) -> Result<Decision<'p>, Open<'p>> {
        let (mut weight, mut shadow, mut limits) = (0_i64, None, Limits::default());
        // What WEIGH rules lack counts only once their weight does.
        let (mut lookups, mut undecided) = (Vec::new(), None);
        let mut open = SmallVec::<[i64; MAX_OPEN]>::new();
        let mut chosen = Set::default();
        let all = observer.sees_misses();
        if !all {
            self.candidates(subject, &mut chosen);
        }
        for index in Set::or_all((!all).then_some(&chosen), self.rules.len()) {
            let rule = &self.rules[index];
            let terminal = rule.asks.terminal();
            let mark = lookups.len();
            let miss = rule.miss(subject, index, &mut lookups);
            observer.rule(&rule.label, rule.asks.name(), miss.is_none(), || rule.why(miss, subject));
            if !matches!(miss, Some(Miss::Need)) {
                lookups.truncate(mark);
            }
            match miss {
                None => {}
                // A rule that only observes decides nothing, so that it cannot leave anything open.
                Some(Miss::Undecided(_)) if rule.shadow => continue,
                Some(Miss::Need) if rule.shadow && (terminal.is_none() || shadow.is_some()) => {
                    lookups.truncate(mark);
                    continue;
                }
                Some(Miss::Undecided(fault)) if rule.asks.is_decisive() => {
                    return Err(Open::Undecided(&rule.label, fault));
                }
                Some(Miss::Undecided(fault)) => {
                    undecided = undecided.or(Some((&*rule.label, fault)));
                    continue;
                }
                Some(Miss::Need) if rule.asks.is_decisive() => {
                    lookups.drain(..mark);
                    return Err(Open::Need(lookups));
                }
                Some(Miss::Need) => {
                    open.extend(rule.asks.weight());
                    continue;
                }
                Some(_) => continue,
            }
            match (&rule.asks, terminal) {
                (Asks::Limit(_), _) => limits.add(rule.limit),
                (Asks::Weigh(adjust), _) if !rule.shadow => weight = weight.saturating_add(*adjust),
                (_, Some(action)) if rule.shadow => shadow = shadow.or(Some((action, &*rule.label))),
                (asks, Some(_)) => {
                    let (trap, bot, rule, fault) = (rule.trap, rule.bot, &*rule.label, None);
                    return Ok(Decision { asks, rule, weight, shadow, limits, fault, trap, bot });
                }
                _ => {}
            }
        }
        match undecided {
            Some((rule, fault)) => return Err(Open::Undecided(rule, fault)),
            None if !lookups.is_empty() && !self.settled(weight, &open, subject) => {
                return Err(Open::Need(lookups));
            }
            None => {}
        }
        let mut fault = None;
        for (index, threshold) in self.thresholds.iter().enumerate() {
            let held = self.held(index, weight, subject);
            let holds = held == Ok(true);
            observer.rule(&threshold.label, threshold.asks.name(), holds, || match held {
                Ok(_) => format!("the weight is {weight}"),
                Err(fault) => format!("the expression has no value: {}", fault.as_str()),
            });
            if let Err(reason) = held {
                fault = fault.or(Some((&*threshold.label, reason)));
            }
            match threshold.asks.terminal() {
                Some(action) if holds && threshold.shadow => {
                    shadow = shadow.or(Some((action, &*threshold.label)));
                }
                _ if holds => {
                    return Ok(Decision {
                        asks: &threshold.asks,
                        rule: &threshold.label,
                        weight,
                        shadow,
                        limits,
                        fault,
                        trap: false,
                        bot: false,
                    });
                }
                _ => {}
            }
        }
        observer.rule(self.default_name, self.default.name(), true, || "nothing else decided".to_owned());
        Ok(Decision {
            asks: &self.default,
            rule: self.default_name,
            weight,
            shadow,
            limits,
            fault,
            trap: false,
            bot: false,
        })
    }

    /// Whether a threshold holds at a weight.
    fn held(&self, index: usize, weight: i64, subject: &Subject<'_, '_>) -> Result<bool, Fault> {
        let chance = subject.scene.facts().chance.wrapping_add((self.rules.len() + index) as u64);
        self.thresholds[index].expression.holds_at(weight, chance)
    }

    /// Whether the same thresholds decide and watch whichever of the open weights are added: what they hang on need not be
    /// looked up then.
    fn settled(&self, weight: i64, open: &[i64], subject: &Subject<'_, '_>) -> bool {
        let end = |some: u32| {
            let added =
                open.iter().enumerate().filter(|(at, _)| some >> at & 1 == 1).map(|(_, adjust)| adjust);
            let weight = added.fold(weight, |sum, adjust| sum.saturating_add(*adjust));
            let mut holding =
                (0..self.thresholds.len()).filter(|at| self.held(*at, weight, subject) == Ok(true));
            let first = holding.next();
            // A watching one says what it would do and leaves the end to those below it.
            let watching = first.is_some_and(|at| self.thresholds[at].shadow);
            (first, if watching { holding.find(|at| !self.thresholds[*at].shadow) } else { None })
        };
        let ways = 1_u32.checked_shl(open.len() as u32).unwrap_or(0);
        (1..=MAX_OPEN).contains(&open.len()) && (1..ways).all(|some| end(some) == end(0))
    }
}

/// What rules look at, brought into shape once a request.
struct Subject<'s, 'r> {
    request: &'s Request<'r>,
    scene: Scene<'s, 'r>,
    /// More than one `User-Agent` line: nobody honest sends that, so no lenient rule believes it.
    agents: bool,
    readings: SmallVec<[Reading<'s>; 1]>,
}

/// One reading of the path: its bytes, and the same as text.
struct Reading<'s> {
    raw: &'s [u8],
    text: Cow<'s, [u8]>,
}

impl<'s, 'r> Subject<'s, 'r> {
    fn of(request: &'s Request<'r>, facts: &'s Facts<'s>) -> Self {
        Self {
            request,
            scene: Scene::new(request, facts),
            agents: request.headers.several(name::USER_AGENT),
            readings: request.target.readings.iter().map(|raw| Reading { raw, text: text(raw) }).collect(),
        }
    }
}

impl Subject<'_, '_> {
    /// The `User-Agent` as text.
    fn agent(&self) -> &[u8] {
        self.scene.agent().as_bytes()
    }

    /// Whether one of *several* lines passes: for strict rules, which no second line may blind.
    fn any_line<'n>(&self, name: impl Into<Name<'n>>, test: impl Fn(&[u8]) -> bool) -> bool {
        let (lines, name) = (&self.request.headers, name.into());
        lines.several(name) && lines.all(name).any(|line| test(&text(line)))
    }
}

/// The matcher that failed.
#[derive(Clone, Copy, Debug)]
enum Miss<'p> {
    Address,
    Agent,
    Asn,
    Country,
    Expression,
    Header(&'p str),
    Host,
    Method,
    Ja4,
    /// Nothing fails so far, but an expression depends on lookups.
    Need,
    Path,
    Scheme,
    Signals,
    /// Nothing fails, but an expression has no value.
    Undecided(Fault),
}

impl Rule {
    /// A matcher that fails; `None` is a match. The cheap ones are asked first, and the expression before the number and the
    /// country, as it alone can be undecided. Lookups that are missing are added to `lookups`.
    fn miss(&self, subject: &Subject<'_, '_>, index: usize, lookups: &mut Vec<Lookup>) -> Option<Miss<'_>> {
        let lenient = self.asks.is_lenient();
        if let Some(networks) = &self.addresses {
            // Without evidence of an address the rule takes its strict side.
            let inside = subject.request.client.map_or(!lenient, |client| networks.contains(client));
            if !inside {
                return Some(Miss::Address);
            }
        }
        if self.scheme.is_some_and(|scheme| scheme != subject.request.scheme) {
            return Some(Miss::Scheme);
        }
        if !self.methods.is_empty() && !self.methods.iter().any(|m| m == subject.request.method) {
            return Some(Miss::Method);
        }
        if let Some(header) = self.headers.iter().find(|h| !h.matches(subject, lenient)) {
            return Some(Miss::Header(&header.name));
        }
        if let Some(agent) = &self.agent
            && ((lenient && subject.agents)
                || !(agent.is_match(subject.agent())
                    || subject.any_line(name::USER_AGENT, |line| agent.is_match(line))))
        {
            return Some(Miss::Agent);
        }
        if (self.path.is_some() || self.paths.is_some()) && !self.path_matches(subject, lenient) {
            return Some(Miss::Path);
        }
        if self.hosts.as_ref().is_some_and(|hosts| !hosts.is_match(subject.request.host.as_bytes())) {
            return Some(Miss::Host);
        }
        if self.ja4.as_ref().is_some_and(|ja4| !fingerprint_matches(ja4, subject, lenient)) {
            return Some(Miss::Ja4);
        }
        let mut open = None;
        if let Some(expression) = &self.expression {
            match expression.holds(&subject.scene, lenient, index as u64, lookups) {
                Holds::Yes => {}
                Holds::No => return Some(Miss::Expression),
                Holds::Need => open = Some(Miss::Need),
                Holds::Undecided(fault) => return Some(Miss::Undecided(fault)),
            }
        }
        let facts = subject.scene.facts();
        let inside = |list: &Vec<u32>| facts.asn.is_some_and(|asn| list.contains(&asn));
        if self.asns.as_ref().is_some_and(|asns| !inside(asns)) {
            return Some(Miss::Asn);
        }
        let inside = |list: &Vec<[u8; 2]>| facts.country.is_some_and(|country| list.contains(&country));
        if self.countries.as_ref().is_some_and(|countries| !inside(countries)) {
            return Some(Miss::Country);
        }
        // Last, because memory is read for it.
        if self.signals.is_some_and(|signals| !signals.are_in(subject.scene.behaviour().signals)) {
            return Some(Miss::Signals);
        }
        open
    }

    /// A strict rule matches when any reading does, a lenient one only when all do.
    fn path_matches(&self, subject: &Subject<'_, '_>, lenient: bool) -> bool {
        let one = |reading: &Reading<'_>| {
            self.path.as_ref().is_none_or(|p| p.is_match(&reading.text))
                && self.paths.as_ref().is_none_or(|p| p.is_match(reading.raw))
        };
        if lenient { subject.readings.iter().all(one) } else { subject.readings.iter().any(one) }
    }

    /// Tells why the rule matched or did not, in words for an operator.
    fn why(&self, miss: Option<Miss<'_>>, subject: &Subject<'_, '_>) -> String {
        let request = subject.request;
        let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
        match miss {
            Some(Miss::Address) => match request.client {
                Some(client) => format!("remote_addresses does not hold {client}"),
                None => "remote_addresses needs an address, and there is no evidence of one".to_owned(),
            },
            Some(Miss::Agent) if subject.agents && self.asks.is_lenient() => {
                "user_agent_regex does not believe several User-Agent lines".to_owned()
            }
            Some(Miss::Agent) => format!("user_agent_regex is not found in \"{}\"", shown(subject.agent())),
            Some(Miss::Asn) => match subject.scene.facts().asn {
                Some(asn) => format!("asns does not hold {asn}"),
                None => "asns needs the number of the visitor's network, which is not known".to_owned(),
            },
            Some(Miss::Country) => match subject.scene.facts().country {
                Some(country) => format!("geoip does not hold {}", shown(&country)),
                None => "geoip needs the visitor's country, which is not known".to_owned(),
            },
            Some(Miss::Expression) => "expression does not hold".to_owned(),
            Some(Miss::Need) => "expression depends on lookups that are not made yet".to_owned(),
            Some(Miss::Undecided(fault)) => format!("expression has no value: {}", fault.as_str()),
            Some(Miss::Header(name)) => format!("headers_regex.{name} does not match"),
            Some(Miss::Host) => format!("hosts does not hold {}", &*request.host),
            Some(Miss::Ja4) => match request.ja4() {
                Some(ja4) => format!("ja4 does not hold {}", shown(ja4)),
                None => "ja4 needs the fingerprint in x-tollgate-ja4, and the proxy tells none, or several"
                    .to_owned(),
            },
            Some(Miss::Scheme) => format!("the scheme is {}", request.scheme.as_str()),
            Some(Miss::Signals) => {
                let seen: Vec<_> = subject.scene.behaviour().signals.iter().map(Signal::name).collect();
                let seen = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
                format!("signals are not those that are seen: {seen}")
            }
            Some(Miss::Method) => format!("methods does not hold {}", request.method),
            Some(Miss::Path) => {
                let readings: Vec<_> = subject.readings.iter().map(|r| shown(r.raw)).collect();
                let which = if self.asks.is_lenient() { "every reading" } else { "any reading" };
                format!("the path matches not in {which} of {}", readings.join(" "))
            }
            None if self.shadow => "every matcher matches, but the rule only observes".to_owned(),
            None => "every matcher matches".to_owned(),
        }
    }
}

/// A strict rule believes any line of the header, a lenient one only a single one. Where there is none, neither matches: most
/// proxies tell no fingerprint, and a rule about one is not about them.
fn fingerprint_matches(ja4: &Globs, subject: &Subject<'_, '_>, lenient: bool) -> bool {
    subject.request.ja4().is_some_and(|one| ja4.is_match(one))
        || (!lenient && subject.any_line(name::X_TOLLGATE_JA4, |line| ja4.is_match(line)))
}

impl Header {
    fn matches(&self, subject: &Subject<'_, '_>, lenient: bool) -> bool {
        match self.from {
            HeaderFrom::Agent if lenient && subject.agents => false,
            HeaderFrom::Agent => {
                self.test(subject.agent()) || subject.any_line(name::USER_AGENT, |line| self.test(line))
            }
            HeaderFrom::Client => self
                .test(subject.request.client.map(|c: IpAddr| c.to_string()).unwrap_or_default().as_bytes()),
            HeaderFrom::Nowhere => self.test(b""),
            HeaderFrom::Request(known) => {
                let name = known.map_or_else(|| Name::from(&*self.name), |known| known.into());
                let value = subject.request.header(name);
                self.test(value.as_deref().unwrap_or_default())
                    || (!lenient && value.is_some() && subject.any_line(name, |line| self.test(line)))
            }
        }
    }

    fn test(&self, value: &[u8]) -> bool {
        match &self.test {
            HeaderTest::Empty => value.is_empty(),
            HeaderTest::Present => !value.is_empty(),
            HeaderTest::Pattern(pattern) => pattern.is_match(&text(value)),
        }
    }
}

#[cfg(test)]
mod tests;
