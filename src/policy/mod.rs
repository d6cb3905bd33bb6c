//! The rules: reads a policy and its imports, reports every problem with its place, compiles, and judges requests.
//!
//! Bytes become events, a tree that knows its places (`document`), checked rules (`read`), and a compiled form
//! (`compile`) that `evaluate` walks. Pure: no I/O, no clock and no randomness on a request. What a verdict looks
//! like to a visitor, and whether a clearance pays for it, is not decided here.

mod cel;
mod code;
mod compile;
mod cover;
pub(crate) mod document;
mod embedded;
mod evaluate;
mod facts;
mod glob;
mod import;
mod index;
mod lint;
mod load;
mod memo;
mod network_list;
mod networks;
mod observe;
mod pattern;
mod problem;
mod rate;
mod read;
mod report;
mod rule;
mod show;
mod sites;
mod toll;

use std::ops::RangeInclusive;
use std::time::Duration;

pub use cel::Fault;
pub use code::{LINTS, Lint, lint_table};
use compile::Compiled;
pub(crate) use document::nearest;
pub use facts::{Answer, Facts, Lookup, Recall};
pub use load::{Databases, Defaults, Loaded, Loader, Source};
pub use observe::{Observer, Step, Trace};
pub use problem::{LoadError, Problem, Severity};
pub use rate::{By, LimitRule, Limits, Rate};
pub use show::Expanded;
pub use sites::{Policies, Sites};
pub use toll::Toll;

use crate::request::Request;

/// A compiled policy. It never changes; a new one takes its place.
#[derive(Debug)]
pub struct Policy(Compiled);

impl Policy {
    /// Judges a request: the first rule that decides, else the first threshold, else the default. Lookups are asked for
    /// only where the outcome depends on them; the caller makes them, adds what came of them to the facts, and asks again.
    /// Each round answers every lookup of the one before, and at most three follow one another: names, their addresses,
    /// and what an expression asks about those.
    pub fn evaluate<'p>(
        &'p self,
        request: &Request<'_>,
        facts: &Facts<'_>,
        observer: &mut impl Observer,
    ) -> Judged<'p> {
        self.0.evaluate(request, facts, observer)
    }

    /// The lowest and the highest level that its rules and thresholds ask for, of work and of waiting.
    pub fn levels(&self) -> RangeInclusive<u8> {
        self.0.levels.clone()
    }

    /// Whether any rule asks for the number of the visitor's network: [`Facts::asn`].
    pub fn asks_asn(&self) -> bool {
        self.0.asks_asn
    }

    /// Whether what its requests do is remembered.
    pub fn learns(&self) -> bool {
        self.0.learn
    }

    /// Whether any rule asks for the visitor's country: [`Facts::country`].
    pub fn asks_country(&self) -> bool {
        self.0.asks_country
    }

    /// Whether any rule looks names up, or the block list is asked.
    pub fn looks_up(&self) -> bool {
        self.0.looks_up
    }

    /// The LIMIT rules that a request met.
    pub fn limits(&self, met: Limits) -> impl Iterator<Item = LimitRule<'_>> {
        met.numbers().filter_map(|number| self.0.limit(number))
    }

    /// How long answers to lookups hold.
    pub fn name_lives(&self) -> NameLives {
        self.0.name_lives
    }

    /// The statuses that the file asks for.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// How many rules it has, imports included.
    pub fn rules(&self) -> usize {
        self.0.rules.len()
    }
}

/// What a policy does with a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Action {
    /// Let it through.
    Allow,
    /// Ask for a toll first.
    Challenge,
    /// Refuse it.
    Deny,
}

impl Action {
    /// The name in logs, metrics and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Challenge => "challenge",
            Self::Deny => "deny",
        }
    }
}

/// What became of judging a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Judged<'p> {
    /// It was judged.
    Decided(Outcome<'p>),
    /// The outcome depends on these lookups.
    Need(Vec<Lookup>),
    /// An expression that counts has no value.
    Undecided {
        /// The rule that it stands in: `bot/NAME`.
        rule: &'p str,
        /// Why it has none.
        fault: Fault,
    },
}

/// How a request was judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome<'p> {
    /// What is done.
    pub action: Action,
    /// What decided: `dnsbl`, `bot/NAME`, `threshold/NAME`, or `default/ACTION`.
    pub rule: &'p str,
    /// The sum of the WEIGH rules that were passed.
    pub weight: i64,
    /// What a Challenge asks for; `None` for the other actions.
    pub toll: Option<&'p Toll>,
    /// The first shadowed rule or threshold that would have decided, and how. In a file that is shadowed as a whole
    /// the action is Allow, and this is what would have been done.
    pub shadow: Option<(Action, &'p str)>,
    /// The LIMIT rules that were met before it was decided: [`Policy::limits`].
    pub limits: Limits,
    /// The first threshold whose expression had no value, and which therefore did not hold, and why.
    pub fault: Option<(&'p str, Fault)>,
    /// Whether the rule lets a robot through that it knows by agent and network, or by the name of its address.
    pub bot: bool,
    /// Whether the rule that decided matches what only robots find.
    pub trap: bool,
}

/// The `dns_ttl` of a policy: how long an answer to a lookup holds, whether something was found or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NameLives {
    /// Of the addresses of a name.
    pub forward: Duration,
    /// Of the names of an address.
    pub reverse: Duration,
}

impl Default for NameLives {
    fn default() -> Self {
        Self { forward: Duration::from_secs(300), reverse: Duration::from_secs(300) }
    }
}

/// The `status_codes` of a policy; `None` leaves the choice to the settings.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Status {
    /// Of a challenge page.
    pub challenge: Option<u16>,
    /// Of a refusal.
    pub deny: Option<u16>,
}

#[cfg(test)]
mod corpus;
