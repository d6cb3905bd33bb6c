//! Turns a request into a verdict, and a verdict into a finished answer.
//! Knows nothing of gRPC or HTTP servers; the faces do.

mod answer;
mod behaviour;
mod decide;
mod decision;
#[cfg(test)]
pub(crate) mod fault;
mod log;
mod named;
mod names;
mod public;
mod refusal;
mod response;
mod settings;
mod state;
mod wait;

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arc_swap::ArcSwap;
use thiserror::Error;
use tracing::{error, warn};

pub use answer::Answer;
pub use decision::{Decision, DecisionId, Face, Moment, Origin, Shadow, Verdict};
pub use response::Response;
pub use settings::{Challenge, Limits, Settings, Statuses, TOKEN, Trust, Wait};
pub use state::State;

use crate::challenge;
use crate::challenge::page::{PageError, Pages};
use crate::clearance::{Cookie, NameError};
use crate::crypto::{Mac, Ring};
use crate::policy::Policies;
use crate::request::{ClientSettings, Peer};
use named::Named;

/// The gate that is in force now. A request loads it once and so sees exactly one.
pub type Live = Arc<ArcSwap<Gate>>;

/// The longest that a challenge may be answered, in seconds: a person who was called away comes back to a page that renews itself.
pub const MAX_TTL: u16 = 600;

/// The longest wait that may stand in for work, in seconds.
const MAX_WAIT: u32 = 60;

/// One immutable state of the gate: policies, keys, pages and settings.
#[derive(Debug)]
pub struct Gate {
    settings: Settings,
    ring: Ring,
    /// Which policy a request is for: a place in `all`.
    policies: Policies,
    /// Whether any of them asks for the number of the visitor's network.
    asks_asn: bool,
    all: Vec<Named>,
    /// What a challenge may say when it comes back.
    challenge_limits: challenge::Limits,
    cookie: Cookie,
    pages: Arc<Pages>,
    state: Arc<State>,
}

/// Why a gate cannot be built.
#[derive(Debug, Error)]
pub enum Error {
    /// The cookie cannot have this name.
    #[error(transparent)]
    CookieName(#[from] NameError),
    /// Two policies cannot be told apart by their challenges.
    #[error(
        "the policies `{one}` and `{other}` have names of one and the same id; call one of the two sites something else"
    )]
    PolicyIds {
        /// The name of the one.
        one: String,
        /// The name of the other.
        other: String,
    },
    /// A page or an asset does not load.
    #[error("cannot prepare the pages")]
    Pages(#[from] PageError),
}

impl Gate {
    /// Builds a gate from parts that are each already checked.
    pub fn new(
        settings: Settings,
        ring: Ring,
        policies: impl Into<Policies>,
        state: Arc<State>,
    ) -> Result<Self, Error> {
        if settings.trust.peers.is_empty() && settings.trust.secret.is_none() {
            warn!("no trusted peers: every question will be refused; name the proxies in `trust.peers`");
        }
        let policies = policies.into();
        let all = Named::all(&policies, |policy| settings.resolver(policy.name_lives()))?;
        // What was raised comes back as it was raised.
        let levels = |of: RangeInclusive<u8>| *of.start()..=settings.challenge.max_level.max(*of.end());
        let challenge_limits = challenge::Limits {
            max_ttl: MAX_TTL,
            policies: all.iter().map(|named| (named.id, levels(named.policy.levels()))).collect(),
            max_k: challenge::MAX_PUZZLES,
            sizes: vec![settings.challenge.size],
            min_wait: u32::try_from(settings.wait.min.as_secs()).unwrap_or(u32::MAX),
            max_wait: MAX_WAIT,
            max_wait_level: settings.wait.max_level,
        };
        let cookie = Cookie::compile(&settings.cookie)?;
        let pages = state.pages(&settings.page, &settings.prefix)?;
        let asks_asn = all.iter().any(|named| named.policy.asks_asn());
        Ok(Self { settings, ring, policies, all, asks_asn, challenge_limits, cookie, pages, state })
    }

    /// Whether this peer may ask: by address, by unix socket, or by the shared secret.
    /// `shown` are the values of [`TOKEN`] in the question itself (over grpc, its metadata).
    pub fn trusts<'t>(&self, peer: Peer, shown: impl Iterator<Item = &'t [u8]>) -> bool {
        self.settings.trust.admits(peer, shown)
    }

    /// Whether a question of this peer can be answered at all: a stranger's is refused, whatever it says.
    pub fn may_ask(&self, peer: Peer) -> bool {
        self.settings.trust.secret.is_some() || self.trusts(peer, std::iter::empty())
    }

    /// How the faces find the visitor's address.
    pub fn client_settings(&self) -> &ClientSettings {
        &self.settings.client
    }

    /// The public prefix: starts and ends with `/`.
    pub fn prefix(&self) -> &str {
        &self.settings.prefix
    }

    /// The names of our cookie, which the app need not see.
    pub fn cookie_names(&self) -> [&str; 4] {
        self.cookie.names()
    }

    /// Runs what a face does for one question so that a panic ends that question only: it is counted, logged, and
    /// answered by `otherwise`. Left alone it would end every question on a proxy's only connection.
    pub fn contained<T>(
        &self,
        face: &'static str,
        run: impl FnOnce() -> T,
        otherwise: impl FnOnce() -> T,
    ) -> T {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            self.state.metrics.panics.inc();
            error!(face, "panicked over a question; it stays undecided");
            otherwise()
        })
    }

    /// Says in the metrics which keys are in force now.
    pub fn tell_keys(&self) {
        let signs = self.ring.signing().id;
        let state = |id: u8| if id == signs { "sign" } else { "verify" };
        self.state.metrics.keys(self.ring.valid().map(|key| (key.id, state(key.id))));
    }

    /// What makes the names under which others remember: the key in force first, then those that were before it.
    pub fn naming(&self) -> impl Iterator<Item = &Mac> {
        self.ring.valid().map(|key| &key.memory)
    }

    /// The policies that judge.
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// What outlives this gate.
    pub fn state(&self) -> &Arc<State> {
        &self.state
    }
}
