//! A policy under its name, and which of several judges a request.

use std::fmt;
use std::sync::Arc;

use tracing::warn;

use super::{Decision, Error, Gate, Moment};
use crate::challenge::policy_id;
use crate::lookup::Resolver;
use crate::policy::{Policies, Policy};
use crate::request::{Request, Unfit};

/// A policy with what goes with it.
pub(super) struct Named {
    pub(super) name: String,
    /// What challenges of this policy carry.
    pub(super) id: u16,
    pub(super) policy: Arc<Policy>,
    /// Who looks names up for it; without one every lookup fails.
    pub(super) resolver: Option<Arc<Resolver>>,
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Named({})", self.name)
    }
}

impl Named {
    /// Every policy, the default one first. Two names of one id are refused: a challenge would not say which it means.
    pub(super) fn all(
        policies: &Policies,
        resolver: impl Fn(&Policy) -> Option<Arc<Resolver>>,
    ) -> Result<Vec<Self>, Error> {
        let mut all: Vec<Self> = Vec::with_capacity(policies.count());
        for (name, policy) in policies.iter() {
            let id = policy_id(name);
            if let Some(other) = all.iter().find(|other| other.id == id) {
                return Err(Error::PolicyIds { one: other.name.clone(), other: name.to_owned() });
            }
            let resolver = resolver(policy).filter(|_| policy.looks_up());
            all.push(Self { name: name.to_owned(), id, policy: policy.clone(), resolver });
        }
        Ok(all)
    }
}

/// The longest name in a log line, in bytes.
const MAX_LOGGED: usize = 80;

impl Gate {
    /// The policy that judges a request: the one that the proxy names, else the one of the host. A name that is not loaded
    /// means the default policy, as does a request without a host.
    pub(super) fn named(&self, hint: Option<&str>, request: &Result<Request<'_>, Unfit>) -> &Named {
        match (hint, request) {
            (Some(name), _) => &self.all[self.policies.named(name).unwrap_or(0)],
            (None, Ok(request)) => self.of_host(request),
            (None, Err(_)) => &self.all[0],
        }
    }

    /// The policy of the host that is asked.
    pub(super) fn of_host(&self, request: &Request<'_>) -> &Named {
        &self.all[self.policies.of_host(&request.host)]
    }

    /// The policy that a decision is from.
    pub(super) fn of(&self, decision: &Decision<'_>) -> &Named {
        &self.all[self.policies.named(decision.policy).unwrap_or(0)]
    }

    /// Counts a name that is not loaded, and says so, once a second at most. Only of a request that a trusted peer put.
    pub(super) fn note_unknown(&self, hint: Option<&str>, moment: &Moment) {
        let Some(name) = hint.filter(|name| self.policies.named(name).is_none()) else { return };
        self.state.metrics.unknown_policy.inc();
        if self.state.log_due(moment.now) {
            let shown = &name.as_bytes()[..name.len().min(MAX_LOGGED)];
            warn!(policy = %shown.escape_ascii(), "a proxy names a policy that is not under `sites`; the default one judges");
        }
    }
}
