//! From a request to an outcome: the rules in order, then the thresholds, then the default.
//! Allocates nothing for a request whose path has one reading and whose header lines do not repeat.

use std::borrow::Cow;
use std::net::IpAddr;

use smallvec::SmallVec;

use super::compile::{Compiled, Header, HeaderFrom, HeaderTest, Rule};
use super::observe::Observer;
use super::pattern::text;
use super::rule::Asks;
use super::{Action, Outcome};
use crate::request::Request;

impl Compiled {
    /// Judges a request, and tells the observer about every rule on the way.
    pub(super) fn evaluate<'p>(&'p self, request: &Request<'_>, observer: &mut impl Observer) -> Outcome<'p> {
        let subject = Subject::of(request);
        let mut shadow = None;
        let (asks, rule, weight) = self.decide(&subject, &mut shadow, observer);
        let action = asks.terminal().unwrap_or(Action::Allow);
        if self.shadow {
            // The file only observes: what it would have done is told, and nothing is done.
            let would = (action != Action::Allow).then_some((action, rule)).or(shadow);
            let rule = if action == Action::Allow { rule } else { "default/allow" };
            return Outcome { action: Action::Allow, rule, weight, toll: None, shadow: would };
        }
        Outcome { action, rule, weight, toll: asks.toll(), shadow }
    }

    fn decide<'p>(
        &'p self,
        subject: &Subject<'_, '_>,
        shadow: &mut Option<(Action, &'p str)>,
        observer: &mut impl Observer,
    ) -> (&'p Asks, &'p str, i64) {
        let mut weight = 0_i64;
        for rule in &self.rules {
            let miss = rule.miss(subject);
            observer.rule(&rule.label, rule.asks.name(), miss.is_none(), || rule.why(miss, subject));
            if miss.is_some() {
                continue;
            }
            match (&rule.asks, rule.asks.terminal()) {
                (Asks::Weigh(adjust), _) if !rule.shadow => weight = weight.saturating_add(*adjust),
                (_, Some(action)) if rule.shadow => *shadow = shadow.or(Some((action, &rule.label))),
                (asks, Some(_)) => return (asks, &rule.label, weight),
                _ => {}
            }
        }
        for threshold in &self.thresholds {
            let holds = threshold.expression.holds(weight);
            observer
                .rule(&threshold.label, threshold.asks.name(), holds, || format!("the weight is {weight}"));
            match threshold.asks.terminal() {
                Some(action) if holds && threshold.shadow => {
                    *shadow = shadow.or(Some((action, &threshold.label)))
                }
                _ if holds => return (&threshold.asks, &threshold.label, weight),
                _ => {}
            }
        }
        observer.rule(self.default_name, self.default.name(), true, || "nothing else decided".to_owned());
        (&self.default, self.default_name, weight)
    }
}

/// What rules look at, brought into shape once a request.
struct Subject<'s, 'r> {
    request: &'s Request<'r>,
    agent: Cow<'r, [u8]>,
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
    fn of(request: &'s Request<'r>) -> Self {
        let agent = match request.agent() {
            Cow::Borrowed(bytes) => text(bytes),
            Cow::Owned(bytes) => Cow::Owned(text(&bytes).into_owned()),
        };
        Self {
            request,
            agent,
            agents: request.headers.all("user-agent").nth(1).is_some(),
            readings: request.target.readings.iter().map(|raw| Reading { raw, text: text(raw) }).collect(),
        }
    }
}

impl Subject<'_, '_> {
    /// Whether one of *several* lines passes: for strict rules, which no second line may blind.
    fn any_line(&self, name: &str, test: impl Fn(&[u8]) -> bool) -> bool {
        let lines = &self.request.headers;
        lines.all(name).nth(1).is_some() && lines.all(name).any(|line| test(&text(line)))
    }
}

/// The matcher that failed.
#[derive(Clone, Copy, Debug)]
enum Miss<'p> {
    Address,
    Agent,
    Header(&'p str),
    Host,
    Method,
    Path,
}

impl Rule {
    /// The first matcher that fails, in Anubis's order; `None` is a match.
    fn miss(&self, subject: &Subject<'_, '_>) -> Option<Miss<'_>> {
        let lenient = self.asks.is_lenient();
        if let Some(networks) = &self.addresses {
            // Without evidence of an address the rule takes its strict side.
            let inside = subject.request.client.map_or(!lenient, |client| networks.contains(client));
            if !inside {
                return Some(Miss::Address);
            }
        }
        if let Some(agent) = &self.agent
            && ((lenient && subject.agents)
                || !(agent.is_match(&subject.agent)
                    || subject.any_line("user-agent", |line| agent.is_match(line))))
        {
            return Some(Miss::Agent);
        }
        if (self.path.is_some() || self.paths.is_some()) && !self.path_matches(subject, lenient) {
            return Some(Miss::Path);
        }
        if let Some(header) = self.headers.iter().find(|h| !h.matches(subject, lenient)) {
            return Some(Miss::Header(&header.name));
        }
        if !self.methods.is_empty() && !self.methods.iter().any(|m| m == subject.request.method) {
            return Some(Miss::Method);
        }
        if self.hosts.as_ref().is_some_and(|hosts| !hosts.is_match(subject.request.host.as_bytes())) {
            return Some(Miss::Host);
        }
        None
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
            Some(Miss::Agent) => format!("user_agent_regex is not found in \"{}\"", shown(&subject.agent)),
            Some(Miss::Header(name)) => format!("headers_regex.{name} does not match"),
            Some(Miss::Host) => format!("hosts does not hold {}", &*request.host),
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

impl Header {
    fn matches(&self, subject: &Subject<'_, '_>, lenient: bool) -> bool {
        match self.from {
            HeaderFrom::Agent if lenient && subject.agents => false,
            HeaderFrom::Agent => {
                self.test(&subject.agent) || subject.any_line("user-agent", |line| self.test(line))
            }
            HeaderFrom::Client => self
                .test(subject.request.client.map(|c: IpAddr| c.to_string()).unwrap_or_default().as_bytes()),
            HeaderFrom::Nowhere => self.test(b""),
            HeaderFrom::Request => {
                self.test(&subject.request.header(&self.name).unwrap_or_default())
                    || (!lenient && subject.any_line(&self.name, |line| self.test(line)))
            }
        }
    }

    fn test(&self, value: &[u8]) -> bool {
        match &self.test {
            HeaderTest::Present => !value.is_empty(),
            HeaderTest::Pattern(pattern) => pattern.is_match(&text(value)),
        }
    }
}

#[cfg(test)]
mod tests;
