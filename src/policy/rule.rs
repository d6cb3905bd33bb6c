//! A policy once it is read and checked, before it is compiled: rules, thresholds and what holds for the file.

use ipnet::IpNet;

use super::cel::Expression;
use super::document::Place;
use super::glob::Globs;
use super::pattern::Pattern;
use super::rate::Rate;
use super::toll::Toll;
use super::{Action, NameLives, Status};
use crate::behaviour::Signals;
use crate::request::Scheme;

/// Everything a file and its imports say.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    pub(super) thresholds: Vec<Threshold>,
    /// The document of the main file.
    pub(super) place: Place,
    pub(super) default: Fallback,
    pub(super) shadow: bool,
    /// Whether what its requests do is remembered.
    pub(super) learn: bool,
    /// `dnsbl`: whether an address on the block list is refused.
    pub(super) block_list: bool,
    pub(super) name_lives: NameLives,
    pub(super) status: Status,
}

/// One entry of `bots`.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    /// Where the entry stands, for findings about rules as a whole.
    pub(super) place: Place,
    /// The files that led to it.
    pub(super) chain: Vec<String>,
    pub(super) asks: Asks,
    pub(super) matchers: Matchers,
    pub(super) shadow: bool,
    /// Whether only robots find what it matches.
    pub(super) trap: bool,
}

/// What a rule asks for.
#[derive(Clone, Debug)]
pub(super) enum Asks {
    Allow,
    Challenge {
        toll: Toll,
        benchmark: bool,
    },
    Deny,
    /// Goes on, unless the rate is passed.
    Limit(Rate),
    Weigh(i64),
}

impl Asks {
    /// The name as the file spells it.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Challenge { benchmark: true, .. } => "DEBUG_BENCHMARK",
            Self::Challenge { .. } => "CHALLENGE",
            Self::Deny => "DENY",
            Self::Limit(_) => "LIMIT",
            Self::Weigh(_) => "WEIGH",
        }
    }

    /// The action, if it ends the evaluation.
    pub(super) const fn terminal(&self) -> Option<Action> {
        match self {
            Self::Allow => Some(Action::Allow),
            Self::Challenge { .. } => Some(Action::Challenge),
            Self::Deny => Some(Action::Deny),
            Self::Limit(_) | Self::Weigh(_) => None,
        }
    }

    /// Whether a match counts for itself, and not only through the weight.
    pub(super) const fn is_decisive(&self) -> bool {
        !matches!(self, Self::Weigh(_))
    }

    /// The toll of a CHALLENGE.
    pub(super) const fn toll(&self) -> Option<&Toll> {
        match self {
            Self::Challenge { toll, .. } => Some(toll),
            _ => None,
        }
    }

    /// What a WEIGH adds.
    pub(super) const fn weight(&self) -> Option<i64> {
        match self {
            Self::Weigh(adjust) => Some(*adjust),
            _ => None,
        }
    }

    /// Whether a match helps the visitor. Such a rule needs certainty: all readings, and evidence of an address.
    pub(super) const fn is_lenient(&self) -> bool {
        matches!(self, Self::Allow | Self::Weigh(..=0))
    }
}

/// What a rule matches; all of it must.
#[derive(Debug, Default)]
pub(super) struct Matchers {
    pub(super) addresses: Vec<IpNet>,
    pub(super) agent: Option<Pattern>,
    pub(super) path: Option<Pattern>,
    pub(super) headers: Vec<(String, Pattern)>,
    pub(super) methods: Vec<String>,
    pub(super) hosts: Option<Globs>,
    pub(super) ja4: Option<Globs>,
    pub(super) paths: Option<Globs>,
    pub(super) scheme: Option<Scheme>,
    pub(super) expression: Option<Expression>,
    /// Numbers of networks; `None` when the rule does not ask.
    pub(super) asns: Option<Vec<u32>>,
    /// Countries, two letters in upper case; `None` when the rule does not ask.
    pub(super) countries: Option<Vec<[u8; 2]>>,
    pub(super) signals: Option<Wanted>,
}

/// The signals that a rule wants: all of the first, and one of the second, where there are any.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Wanted {
    pub(super) all: Signals,
    pub(super) any: Option<Signals>,
}

impl Wanted {
    /// Whether these signals are what is wanted.
    pub(super) fn are_in(&self, seen: Signals) -> bool {
        seen.has_all(self.all) && self.any.is_none_or(|any| seen.has_any(any))
    }
}

impl Matchers {
    /// Whether every request matches, for certain.
    pub(super) fn match_everything(&self) -> bool {
        self.addresses.is_empty()
            && self.headers.is_empty()
            && self.methods.is_empty()
            && self.scheme.is_none()
            && self.ja4.is_none()
            && self.agent.as_ref().is_none_or(Pattern::matches_everything)
            && self
                .path
                .as_ref()
                .is_none_or(|p| p.matches_everything() || matches!(p.source(), "." | "^/" | "^/.*" | "/"))
            && self.hosts.as_ref().is_none_or(Globs::match_everything)
            && self.paths.as_ref().is_none_or(Globs::match_everything)
            && self.expression.as_ref().is_none_or(Expression::always_holds)
            && self.asns.is_none()
            && self.countries.is_none()
            && self.signals.is_none()
    }

    /// Each matcher as text, for comparing rules.
    pub(super) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> = self
            .headers
            .iter()
            .map(|(n, p)| format!("h {} {}", n.to_ascii_lowercase(), p.source()))
            .collect();
        if !self.addresses.is_empty() {
            keys.push(format!("a {:?}", self.addresses));
        }
        keys.extend(self.agent.iter().map(|p| format!("u {}", p.source())));
        keys.extend(self.path.iter().map(|p| format!("p {}", p.source())));
        if !self.methods.is_empty() {
            keys.push(format!("m {:?}", self.methods));
        }
        keys.extend(self.scheme.iter().map(|s| format!("s {}", s.as_str())));
        keys.extend(self.ja4.iter().map(|g| format!("j {:?}", g.sources())));
        keys.extend(self.hosts.iter().map(|g| format!("o {:?}", g.sources())));
        keys.extend(self.paths.iter().map(|g| format!("q {:?}", g.sources())));
        keys.extend(self.expression.iter().map(|e| format!("e {}", e.source())));
        keys.extend(self.asns.iter().map(|n| format!("n {n:?}")));
        keys.extend(self.countries.iter().map(|c| format!("c {c:?}")));
        keys.extend(self.signals.iter().map(|s| format!("b {s:?}")));
        keys
    }
}

/// One entry of `thresholds`.
#[derive(Debug)]
pub(super) struct Threshold {
    pub(super) name: String,
    /// Where the entry stands; `None` for the built-in one.
    pub(super) place: Option<Place>,
    pub(super) expression: Expression,
    pub(super) asks: Asks,
    pub(super) shadow: bool,
}

/// What happens when nothing matches.
#[derive(Clone, Debug)]
pub(super) enum Fallback {
    /// Nothing was said: Allow.
    Implied,
    /// `default:` says so.
    Said(Asks),
}
