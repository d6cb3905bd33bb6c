//! The verdict and what goes with it.

use std::borrow::Cow;
use std::fmt;

use crate::clock::{Clock, Timestamp};
use crate::crypto::{Refusal, Seed};
use crate::policy::{Action, Answer, Lookup, Outcome, Toll};
use crate::request::Unfit;

/// What time, chance and lookups bring to a decision: arguments, so that a decision can be repeated.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When the question arrived.
    pub now: Timestamp,
    /// Fresh randomness.
    pub seed: Seed,
    /// What was looked up ([`Gate::look_up`](super::Gate::look_up)); whatever else the policy asks for has failed.
    pub known: Vec<(Lookup, Answer)>,
    /// Where the visitor comes from, where that is given; else the databases are asked.
    pub origin: Option<Origin>,
    /// Whether what the request does may be remembered, as far as the asking proxy is concerned.
    pub learn: bool,
}

/// What databases would say about the visitor's address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Origin {
    /// The number of its network.
    pub asn: Option<u32>,
    /// Its country, two letters in upper case.
    pub country: Option<[u8; 2]>,
}

impl Moment {
    /// This moment. Where the system gives no randomness, no request can be judged; the moment then serves to say so.
    pub fn draw(clock: &Clock) -> (Self, Result<(), Unfit>) {
        let drawn = Seed::draw();
        let fit = drawn.map(drop).map_err(|_| Unfit::Incomplete("randomness"));
        (
            Self {
                now: clock.now(),
                seed: drawn.unwrap_or_else(|_| Seed::from_bytes(&[0; 48])),
                known: Vec::new(),
                origin: None,
                learn: true,
            },
            fit,
        )
    }
}

/// The way in that a question came.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Face {
    /// Envoy's HTTP service: 200 and nothing else allows.
    Check,
    /// Traefik, Caddy and their like: any 2xx allows.
    Forward,
    /// Envoy's gRPC service.
    Grpc,
    /// nginx `auth_request`: 2xx allows, 401 and 403 refuse, all else is an error.
    Nginx,
}

impl Face {
    /// Every face.
    pub const ALL: [Self; 4] = [Self::Check, Self::Forward, Self::Grpc, Self::Nginx];

    /// The word in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Forward => "forward",
            Self::Grpc => "grpc",
            Self::Nginx => "nginx",
        }
    }
}

/// What the gate decides.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Verdict {
    /// Let it through.
    Allow,
    /// Make the visitor pay first.
    Challenge,
    /// Refuse it.
    Deny,
    /// Too much from this visitor: later.
    Limit,
    /// The facts do not suffice. Never an allow.
    Undecided,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 5] = [Self::Allow, Self::Challenge, Self::Deny, Self::Limit, Self::Undecided];

    /// The word in headers, logs, metrics and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Challenge => "challenge",
            Self::Deny => "deny",
            Self::Limit => "limit",
            Self::Undecided => "undecided",
        }
    }
}

impl From<Action> for Verdict {
    fn from(action: Action) -> Self {
        match action {
            Action::Allow => Self::Allow,
            Action::Challenge => Self::Challenge,
            Action::Deny => Self::Deny,
        }
    }
}

/// The 128-bit id of a decision: the same in the page, the log and the app's headers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DecisionId([u8; 16]);

impl DecisionId {
    /// An id from random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl DecisionId {
    /// The id as text: 32 hexadecimal digits.
    pub fn hex(self) -> Hex {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |at: usize| DIGITS[usize::from(self.0[at / 2] >> (4 * (1 - at % 2)) & 15)];
        Hex(std::array::from_fn(digit))
    }
}

/// A [`DecisionId`] as text.
#[derive(Clone, Copy, Debug)]
pub struct Hex([u8; 32]);

impl Hex {
    /// The digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are ASCII")
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().as_str())
    }
}

/// What would have been decided, had shadow mode not been on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shadow<'g> {
    /// The verdict that was not carried out.
    pub verdict: Verdict,
    /// The rule behind it.
    pub rule: &'g str,
}

/// A decision and what led to it. Borrows from the gate, so that deciding allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'g> {
    /// What to do.
    pub verdict: Verdict,
    /// The rule that decided: `bot/NAME`, `threshold/NAME`, `default/allow`, or why the request was not judged.
    pub rule: &'g str,
    /// The sum of the WEIGH rules above it.
    pub weight: i64,
    /// The id.
    pub id: DecisionId,
    /// What would have been decided.
    pub shadow: Option<Shadow<'g>>,
    /// What is asked, where something is: what the rule asks, raised where that is due.
    pub toll: Option<Toll>,
    /// Why a clearance that came along did not count.
    pub prior: Option<Refusal>,
    /// Whether the rule lets a robot through that showed who it is, by where it comes from and not by its agent alone.
    pub bot: bool,
    /// Seconds until a limited visitor may ask again; 0 where that does not apply.
    pub retry_after: u64,
    /// The name of the policy that judged, or would have judged a request that was fit for it.
    pub policy: &'g str,
}

impl<'g> Decision<'g> {
    /// A decision without a policy's help.
    pub(super) const fn bare(policy: &'g str, verdict: Verdict, rule: &'g str, id: DecisionId) -> Self {
        Self {
            verdict,
            rule,
            weight: 0,
            id,
            shadow: None,
            toll: None,
            prior: None,
            bot: false,
            retry_after: 0,
            policy,
        }
    }

    /// What an unfit request gets: malformed is a denial, incomplete is no decision.
    pub(super) fn unfit(policy: &'g str, unfit: Unfit, id: DecisionId) -> Self {
        match unfit {
            Unfit::Malformed(part) => Self::bare(policy, Verdict::Deny, malformed(part), id),
            Unfit::Incomplete(fact) => Self::bare(policy, Verdict::Undecided, incomplete(fact), id),
        }
    }

    /// What the policy says.
    pub(super) fn of(policy: &'g str, outcome: &Outcome<'g>, id: DecisionId) -> Self {
        Self {
            weight: outcome.weight,
            toll: outcome.toll.copied(),
            bot: outcome.bot,
            shadow: outcome.shadow.map(|(action, rule)| Shadow { verdict: action.into(), rule }),
            ..Self::bare(policy, outcome.action.into(), outcome.rule, id)
        }
    }

    /// Shows the headers that tell the app, and the operator, what was decided: always the first four, so that none the visitor sent
    /// survives, and the name of a robot that showed who it is. Names are in lower case, values in printable ASCII.
    pub fn each_header(&self, mut show: impl FnMut(&'static str, &str)) {
        let plain = |c: char| c.is_ascii_graphic() || c == ' ';
        let rule = match self.rule.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            true => Cow::Borrowed(self.rule),
            false => self.rule.chars().map(|c| if plain(c) { c } else { '?' }).collect(),
        };
        show("x-tollgate-verdict", self.verdict.as_str());
        show("x-tollgate-rule", &rule);
        show("x-tollgate-weight", &self.weight.to_string());
        show("x-tollgate-id", self.id.hex().as_str());
        if self.bot && self.verdict == Verdict::Allow {
            show("x-tollgate-bot", rule.strip_prefix("bot/").unwrap_or(&rule));
        }
    }
}

const fn malformed(part: &'static str) -> &'static str {
    match part.as_bytes() {
        b"headers" => "malformed/headers",
        b"host" => "malformed/host",
        b"method" => "malformed/method",
        b"scheme" => "malformed/scheme",
        b"target" => "malformed/target",
        _ => "malformed/request",
    }
}

const fn incomplete(fact: &'static str) -> &'static str {
    match fact.as_bytes() {
        b"host" => "undecided/host",
        b"method" => "undecided/method",
        b"peer" => "undecided/peer",
        b"randomness" => "undecided/randomness",
        b"scheme" => "undecided/scheme",
        b"target" => "undecided/target",
        _ => "undecided/request",
    }
}
