//! Turns a request into a verdict, and a verdict into a finished answer.
//! Knows nothing of gRPC or HTTP servers; the faces do.

mod response;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

pub use response::Response;

use crate::clock::Timestamp;
use crate::crypto::{Refusal, Seed};
use crate::request::{ClientSettings, Headers, Peer, Request, Unfit};

/// What time and chance bring to a decision: arguments, so that a decision can be repeated.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// When the question arrived.
    pub now: Timestamp,
    /// Fresh randomness.
    pub seed: Seed,
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

/// The 128-bit id of a decision: the same in the page, the log and the app's headers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DecisionId([u8; 16]);

impl DecisionId {
    /// An id from random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What would have been decided, had shadow mode not been on.
#[derive(Clone, Copy, Debug)]
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
    /// Why a clearance that came along did not count.
    pub prior: Option<Refusal>,
}

impl Decision<'_> {
    /// The headers that tell the app, and the operator, what was decided: always all four, so that none the visitor sent survives.
    pub fn headers(&self) -> [(&'static str, String); 4] {
        let rule =
            self.rule.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        [
            ("x-tollgate-verdict", self.verdict.as_str().to_owned()),
            ("x-tollgate-rule", rule),
            ("x-tollgate-weight", self.weight.to_string()),
            ("x-tollgate-id", self.id.to_string()),
        ]
    }
}

/// A finished answer to a face. There is no way to say "nothing", which Envoy would take for an allow.
#[derive(Debug)]
pub enum Answer<'g> {
    /// Let the request through to the app.
    Allow(Decision<'g>),
    /// The visitor asked for something of ours, and here it is.
    Public(Response),
    /// Challenge, deny or limit, with what the visitor gets.
    Refuse(Decision<'g>, Response),
    /// Cannot decide, with what the visitor gets.
    Undecided(Decision<'g>, Response),
}

/// The gate that is in force now. A request loads it once and so sees exactly one.
pub type Live = Arc<ArcSwap<Gate>>;

/// One immutable state of the gate: policy, keys, pages and settings. A request sees exactly one.
#[derive(Debug)]
pub struct Gate {
    client: ClientSettings,
}

impl Gate {
    /// Whether this peer may ask: by address, by unix socket, or by the shared secret in `x-tollgate-token`.
    /// `headers` are those of the question itself (over grpc, its metadata).
    pub fn trusts(&self, peer: Peer, headers: &Headers<'_>) -> bool {
        unimplemented!("{peer:?} {headers:?}")
    }

    /// The public prefix: starts and ends with `/`.
    pub fn prefix(&self) -> &str {
        unimplemented!()
    }

    /// The names that our cookie goes by.
    pub fn cookie_names(&self) -> [&str; 2] {
        unimplemented!()
    }

    /// How the faces find the visitor's address.
    pub fn client_settings(&self) -> &ClientSettings {
        &self.client
    }

    /// Decides and records. The hot path.
    pub fn decide(
        &self,
        face: Face,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Decision<'_> {
        unimplemented!("{face:?} {policy:?} {request:?} {moment:?}")
    }

    /// Decides, and builds what the visitor gets; answers the public prefix in line.
    pub fn answer(
        &self,
        face: Face,
        policy: Option<&str>,
        request: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Answer<'_> {
        unimplemented!("{face:?} {policy:?} {request:?} {moment:?}")
    }

    /// Whether the target of a question on the http listener is one of the public prefix, by its raw bytes and by all its readings.
    pub fn is_public(&self, request: &Request<'_>) -> bool {
        unimplemented!("{request:?}")
    }

    /// Answers a request that a proxy routed to the public prefix of the http listener. `form` is the body of a form post.
    /// `asked` is the request that nginx's error page describes in `X-Forwarded-*`; only `page` looks at it.
    pub fn public(
        &self,
        request: &Result<Request<'_>, Unfit>,
        form: Option<&[u8]>,
        asked: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Response {
        unimplemented!("{request:?} {form:?} {asked:?} {moment:?}")
    }
}
