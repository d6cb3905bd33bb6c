//! The clearance of a case: as if the visitor had paid some time ago.

use std::time::Duration;

use super::keys::Keys;
use crate::clearance::{self, Cookie, CookieSettings, Lives, Slot};
use crate::clock::Timestamp;
use crate::crypto::{Claims, Kind, Ring, Secret, Visitor};
use crate::gate::{Challenge, Settings};
use crate::policy::Problem;
use crate::policy::document::Node;
use crate::request::{Prefix, Request, Scheme};

/// What was paid, and how long ago.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paid {
    kind: Kind,
    level: u8,
    age: Duration,
}

impl Paid {
    /// Reads `clearance: {level, kind, age}`.
    pub(super) fn read(node: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let keys = Keys::read(node, "`clearance`", &["kind", "level", "age"], problems)?;
        let kind = keys.parsed("kind", kind, problems);
        let age = keys.parsed("age", crate::config::span, problems);
        let Some(level) = keys.integer("level", problems) else {
            if keys.get("level").is_none() {
                problems.push(node.problem("`clearance` needs a `level`, such as 14"));
            }
            return None;
        };
        Some(Self { kind: kind.unwrap_or(Kind::Work), level, age: age.unwrap_or_default() })
    }
}

/// Reads a kind of clearance or challenge.
pub(super) fn kind(text: &str) -> Result<Kind, String> {
    let all = [Kind::Work, Kind::Wait];
    all.into_iter()
        .find(|kind| kind.as_str() == text)
        .ok_or_else(|| format!("`{}` is no kind: work or wait", text.escape_debug()))
}

/// The keys and settings of a gate under test, which alone accepts what is made here: the gate serves nobody, and its
/// key is not the operator's.
pub(super) struct Mint {
    ring: Ring,
    challenge: Challenge,
    lives: Lives,
    cookie: CookieSettings,
}

impl Mint {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            ring: Ring::single(Secret::new([1; 32])),
            challenge: settings.challenge,
            lives: settings.lives,
            cookie: settings.cookie.clone(),
        }
    }

    /// The key of the gate under test.
    pub(super) fn ring(&self) -> Ring {
        self.ring.clone()
    }

    /// The `Cookie` header of a visitor who paid, for this request.
    pub(super) fn cookie(&self, paid: Paid, request: &Request<'_>, now: Timestamp) -> Option<String> {
        let prefix = request.client.filter(|_| self.challenge.bind_prefix).map(Prefix::of);
        let visitor = Visitor {
            host: &request.host,
            agent: &request.agent(),
            net: prefix.as_ref().map_or(&[], Prefix::as_bytes),
            ja4: request.ja4().filter(|_| self.challenge.bind_ja4).unwrap_or_default(),
        };
        let issued = now.seconds().saturating_sub(paid.age.as_secs());
        let claims = Claims {
            key_id: 0,
            kind: paid.kind,
            level: paid.level,
            issued: u32::try_from(issued).ok()?,
            id: [1; 16],
            binding: visitor.binding(self.ring.signing()),
        };
        let sealed = clearance::seal(&self.ring, &claims, &self.lives)?;
        let cookie = Cookie::compile(&self.cookie).ok()?;
        let ipv6 = matches!(prefix, Some(Prefix::V6(_)));
        let slot = Slot { https: request.scheme == Scheme::Https, ipv6 };
        Some(format!("{}={}", cookie.name(slot), sealed.text))
    }
}
