//! The compiled form of a policy: what evaluation needs and nothing else. Rules stay a list, in order, with an index
//! that tells which of them a request can match at all.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cel::Expression;
use super::glob::Globs;
use super::index::{Index, Key};
use super::load::Defaults;
use super::networks::Networks;
use super::pattern::Pattern;
use super::rate::{By, LimitRule, Rate};
use super::read::never_there;
use super::rule::{self, Asks, Fallback, Matchers, Rules, Wanted};
use super::toll::Toll;
use super::{NameLives, Policy, Status};
use crate::request::{KnownName, Name, Scheme, name};

/// A policy ready to be asked.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Another one for each policy of the process, never 0.
    pub(super) id: u64,
    pub(super) rules: Vec<Rule>,
    /// Which of them ask LIMIT.
    pub(super) limits: Vec<usize>,
    /// Finds the rules that a request can match at all.
    pub(super) index: Index,
    pub(super) thresholds: Vec<Threshold>,
    pub(super) default: Asks,
    /// The name under which the default decides.
    pub(super) default_name: &'static str,
    /// Whether the whole file only observes.
    pub(super) shadow: bool,
    /// Whether its requests leave a trace in memory.
    pub(super) learn: bool,
    /// Whether an address on the block list is refused before any rule is asked.
    pub(super) block_list: bool,
    /// Whether any rule asks for the number of the visitor's network.
    pub(super) asks_asn: bool,
    /// Whether any rule asks for the visitor's country.
    pub(super) asks_country: bool,
    /// Whether any rule looks names up, or the block list is asked.
    pub(super) looks_up: bool,
    pub(super) name_lives: NameLives,
    pub(super) status: Status,
    pub(super) levels: RangeInclusive<u8>,
}

/// One rule; all of its matchers must match.
#[derive(Debug)]
pub(super) struct Rule {
    /// `bot/NAME`.
    pub(super) label: String,
    pub(super) asks: Asks,
    pub(super) shadow: bool,
    pub(super) trap: bool,
    /// Whether it is about a robot that shows who it is.
    pub(super) bot: bool,
    pub(super) addresses: Option<Networks>,
    pub(super) agent: Option<Pattern>,
    pub(super) path: Option<Pattern>,
    pub(super) paths: Option<Globs>,
    pub(super) headers: Vec<Header>,
    pub(super) methods: Vec<String>,
    pub(super) hosts: Option<Globs>,
    pub(super) ja4: Option<Globs>,
    pub(super) scheme: Option<Scheme>,
    pub(super) expression: Option<Expression>,
    pub(super) asns: Option<Vec<u32>>,
    pub(super) countries: Option<Vec<[u8; 2]>>,
    pub(super) signals: Option<Wanted>,
    /// The number of a LIMIT rule among those of the policy.
    pub(super) limit: usize,
}

/// One header that must match.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) test: HeaderTest,
    pub(super) from: HeaderFrom,
}

/// What is asked of the value.
#[derive(Debug)]
pub(super) enum HeaderTest {
    /// `^$`: not there, or empty.
    Empty,
    /// `.*`: there, and not empty.
    Present,
    Pattern(Pattern),
}

/// Where the value comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HeaderFrom {
    /// `User-Agent`, which has its own rules when it is sent twice.
    Agent,
    /// `X-Real-Ip`, which always reads as the client's address.
    Client,
    /// A name that no request can show.
    Nowhere,
    /// The header of this known name, or of none.
    Request(Option<KnownName>),
}

/// One threshold.
#[derive(Debug)]
pub(super) struct Threshold {
    /// `threshold/NAME`.
    pub(super) label: String,
    pub(super) expression: Expression,
    pub(super) asks: Asks,
    pub(super) shadow: bool,
}

/// Compiles what was read.
pub(super) fn compile(rules: Rules, defaults: &Defaults) -> Policy {
    let (default, default_name) = match rules.default {
        Fallback::Implied | Fallback::Said(Asks::Allow | Asks::Limit(_) | Asks::Weigh(_)) => {
            (Asks::Allow, "default/allow")
        }
        Fallback::Said(Asks::Deny) => (Asks::Deny, "default/deny"),
        Fallback::Said(asks @ Asks::Challenge { .. }) => (asks, "default/challenge"),
    };
    // The built-in threshold asks for a weight above 0, which only a WEIGH rule can bring about.
    let weighs = rules.rules.iter().any(|r| matches!(r.asks, Asks::Weigh(_)));
    let thresholds: Vec<_> = rules
        .thresholds
        .into_iter()
        .filter(|t| t.place.is_some() || weighs)
        .map(|t| Threshold {
            label: format!("threshold/{}", t.name),
            expression: t.expression,
            asks: t.asks,
            shadow: t.shadow,
        })
        .collect();
    let index = Index::new(rules.rules.iter().map(|r| key(&r.matchers)).collect());
    let mut compiled: Vec<_> = rules.rules.into_iter().map(rule).collect();
    let is_limit = |at: &usize| matches!(compiled[*at].asks, Asks::Limit(_));
    let limits: Vec<_> = (0..compiled.len()).filter(is_limit).collect();
    limits.iter().enumerate().for_each(|(number, at)| compiled[*at].limit = number);
    let tolls = compiled.iter().map(|r| &r.asks).chain(thresholds.iter().map(|t| &t.asks)).chain([&default]);
    let levels = levels(tolls.filter_map(Asks::toll), defaults);
    let (shadow, learn, block_list, status) = (rules.shadow, rules.learn, rules.block_list, rules.status);
    static COMPILED: AtomicU64 = AtomicU64::new(1);
    Policy(Compiled {
        limits,
        id: COMPILED.fetch_add(1, Ordering::Relaxed),
        asks_asn: compiled.iter().any(asks_asn),
        asks_country: compiled.iter().any(|r| r.countries.is_some()),
        looks_up: block_list || compiled.iter().any(looks_up),
        name_lives: rules.name_lives,
        rules: compiled,
        index,
        thresholds,
        default,
        default_name,
        shadow,
        learn,
        block_list,
        status,
        levels,
    })
}

/// From the lowest to the highest level that is asked; a policy that asks for nothing has the default level.
fn levels<'t>(tolls: impl Iterator<Item = &'t Toll>, defaults: &Defaults) -> RangeInclusive<u8> {
    let range = tolls.map(|t| t.level).fold(None, |range, level| match range {
        None => Some((level, level)),
        Some((low, high)) => Some((level.min(low), level.max(high))),
    });
    let (low, high) = range.unwrap_or_else(|| (defaults.level(), defaults.level()));
    low..=high
}

fn rule(read: rule::Rule) -> Rule {
    let rule::Rule { name, asks, shadow, trap, matchers, .. } = read;
    Rule {
        label: format!("bot/{name}"),
        bot: matches!(asks, Asks::Allow) && knows_a_robot(&matchers),
        asks,
        shadow,
        trap,
        addresses: (!matchers.addresses.is_empty()).then(|| Networks::new(&matchers.addresses)),
        agent: matchers.agent,
        path: matchers.path,
        paths: matchers.paths,
        headers: matchers.headers.into_iter().map(|(name, pattern)| header(name, pattern)).collect(),
        methods: matchers.methods,
        hosts: matchers.hosts,
        ja4: matchers.ja4,
        scheme: matchers.scheme,
        expression: matchers.expression,
        asns: matchers.asns,
        countries: matchers.countries,
        signals: matchers.signals,
        limit: 0,
    }
}

/// Whether what matches is a robot, and not only says so: by its agent and its network, or by the confirmed name of its address.
fn knows_a_robot(matchers: &Matchers) -> bool {
    let named = matchers.agent.as_ref().is_some_and(|agent| !agent.matches_everything());
    named && !matchers.addresses.is_empty()
        || matchers.expression.as_ref().is_some_and(Expression::confirms_names)
}

fn asks_asn(rule: &Rule) -> bool {
    rule.asns.is_some()
        || rule.expression.as_ref().is_some_and(Expression::asks_asn)
        || matches!(rule.asks, Asks::Limit(Rate { by: By::Asn, .. }))
}

impl Compiled {
    /// The LIMIT rule of this number.
    pub(super) fn limit(&self, number: usize) -> Option<LimitRule<'_>> {
        let rule = &self.rules[*self.limits.get(number)?];
        match &rule.asks {
            Asks::Limit(rate) => {
                Some(LimitRule { rule: &rule.label, rate, shadow: rule.shadow || self.shadow })
            }
            _ => None,
        }
    }
}

/// What a rule is filed under. The order in which its matchers are asked does not show, but for this: only an expression
/// can be undecided, and what comes after it, the number and the country, must not keep it from being asked.
fn key(matchers: &Matchers) -> Option<Key> {
    let m = matchers;
    let located = (!m.addresses.is_empty()).then(|| Key::Client(m.addresses.clone()));
    let last = [m.asns.clone().map(Key::Asn), m.countries.clone().map(Key::Country)];
    located
        .into_iter()
        .chain(m.agent.as_ref().and_then(Key::agent))
        .chain(m.path.as_ref().and_then(Key::path))
        .chain(m.paths.as_ref().and_then(Globs::needles).map(Key::Path))
        .chain(m.hosts.as_ref().and_then(Globs::needles).map(Key::Host))
        .chain(m.headers.iter().filter_map(|(name, pattern)| match HeaderFrom::of(name) {
            HeaderFrom::Agent => Key::agent(pattern),
            HeaderFrom::Client | HeaderFrom::Nowhere => None,
            HeaderFrom::Request(_) => Key::header(name, pattern),
        }))
        .chain(m.expression.as_ref().and_then(Expression::key))
        .chain(last.into_iter().flatten().filter(|_| m.expression.is_none()))
        .reduce(Key::better)
}

fn looks_up(rule: &Rule) -> bool {
    rule.expression.as_ref().is_some_and(Expression::looks_up)
}

fn header(name: String, pattern: Pattern) -> Header {
    let test = match pattern.source() {
        ".*" => HeaderTest::Present,
        "^$" => HeaderTest::Empty,
        _ => HeaderTest::Pattern(pattern),
    };
    Header { from: HeaderFrom::of(&name), name, test }
}

impl HeaderFrom {
    fn of(name: &str) -> Self {
        match Name::from(name).known() {
            Some(name::USER_AGENT) => Self::Agent,
            Some(name::X_REAL_IP) => Self::Client,
            _ if never_there(name) => Self::Nowhere,
            known => Self::Request(known),
        }
    }
}
