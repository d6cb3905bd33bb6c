//! The gate's settings: every room's own, summed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::challenge::page;
use crate::clearance::{CookieSettings, Lives};
use crate::lookup::{Databases, Resolver};
use crate::memory::{self, Limit, Marks, Others};
use crate::policy::NameLives;
use crate::request::{ClientSettings, Headers, Networks, Peer, name};

/// What an operator can set about deciding.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The public prefix: starts and ends with `/`.
    pub prefix: String,
    /// How the visitor's address is found.
    pub client: ClientSettings,
    /// Who may ask.
    pub trust: Trust,
    /// The clearance's cookie.
    pub cookie: CookieSettings,
    /// How long a clearance lives.
    pub lives: Lives,
    /// The no-script lane.
    pub wait: Wait,
    /// Challenges.
    pub challenge: Challenge,
    /// The statuses that visitors see, where neither the policy nor the face says otherwise.
    pub status: Statuses,
    /// Decide and report, but let everything through.
    pub shadow: bool,
    /// The most decisions that are logged within a second.
    pub logged: u32,
    /// How much one visitor may do.
    pub limits: Limits,
    /// How much is remembered of visitors, in bytes.
    pub memory: usize,
    /// Who remembers beside this process.
    pub others: Others,
    /// Challenges a second and core at which levels are raised, and raised again.
    pub marks: Marks,
    /// What pages show.
    pub page: page::Settings,
    /// Whether challenge pages carry a link that no person sees.
    pub trap: bool,
    /// What is known about networks.
    pub databases: Arc<Databases>,
    /// Who looks names up, by how long answers hold. The lookups of a policy that wants another life all fail.
    pub resolvers: Vec<(NameLives, Arc<Resolver>)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefix: "/.tollgate/".into(),
            client: ClientSettings::default(),
            trust: Trust::default(),
            cookie: CookieSettings::default(),
            lives: Lives::default(),
            wait: Wait::default(),
            challenge: Challenge::default(),
            status: Statuses::default(),
            shadow: false,
            logged: 500,
            limits: Limits::default(),
            memory: memory::DEFAULT_BYTES,
            others: Others::default(),
            marks: [5, 50],
            page: page::Settings::default(),
            trap: true,
            databases: Arc::default(),
            resolvers: Vec::new(),
        }
    }
}

impl Settings {
    /// The resolver whose answers hold so long.
    pub(super) fn resolver(&self, lives: NameLives) -> Option<Arc<Resolver>> {
        self.resolvers.iter().find(|(held, _)| *held == lives).map(|(_, resolver)| resolver.clone())
    }
}

/// The header of a question in which a peer shows the shared secret.
pub const TOKEN: &str = name::X_TOLLGATE_TOKEN.as_str();

/// Who may ask a face.
#[derive(Clone)]
pub struct Trust {
    /// Peers by address; empty trusts nobody.
    pub peers: Networks,
    /// The secret that a peer may show in `x-tollgate-token` instead.
    pub secret: Option<Zeroizing<Vec<u8>>>,
    /// The secret that a load test shows in `x-tollgate-learn`, so that it leaves no trace in memory. Not a mere word: proxies
    /// pass on what visitors send, and who is not remembered is not limited.
    pub unlearned: Option<Zeroizing<Vec<u8>>>,
}

impl Default for Trust {
    fn default() -> Self {
        Self { peers: Networks::loopback(), secret: None, unlearned: None }
    }
}

impl Trust {
    /// Whether a peer may ask: by address, by unix socket, or by showing the secret exactly once. `shown` are the values of [`TOKEN`].
    pub(super) fn admits<'t>(&self, peer: Peer, shown: impl Iterator<Item = &'t [u8]>) -> bool {
        let known = match peer {
            Peer::Address(address) => self.peers.contains(address),
            Peer::Unix => true,
        };
        known || shows(self.secret.as_ref(), shown)
    }

    /// Whether a request asks not to be remembered, and may.
    pub(super) fn unlearned(&self, headers: &Headers<'_>) -> bool {
        shows(self.unlearned.as_ref(), headers.all(name::X_TOLLGATE_LEARN))
    }
}

/// Whether a secret is shown, exactly once.
fn shows<'t>(secret: Option<&Zeroizing<Vec<u8>>>, mut shown: impl Iterator<Item = &'t [u8]>) -> bool {
    let Some(secret) = secret else { return false };
    matches!((shown.next(), shown.next()), (Some(token), None) if secret.ct_eq(token).into())
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("peers", &self.peers)
            .field("secret", &self.secret.as_ref().map(|_| "redacted"))
            .finish()
    }
}

/// The no-script lane.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Whether visitors without scripts may wait instead of work.
    pub enabled: bool,
    /// The highest level that waiting can stand in for.
    pub max_level: u8,
    /// The shortest wait that is accepted, in whole seconds.
    pub min: Duration,
}

impl Default for Wait {
    fn default() -> Self {
        Self { enabled: true, max_level: 16, min: Duration::from_secs(1) }
    }
}

/// Challenges.
#[derive(Clone, Copy, Debug)]
pub struct Challenge {
    /// Log2 of the bytes that are hashed an attempt: 10 to 14.
    pub size: u8,
    /// The highest level that is ever asked.
    pub max_level: u8,
    /// How long a challenge may be answered, in whole seconds, 600 at most.
    pub ttl: Duration,
    /// Whether a clearance holds only in the /24 or /48 it was bought from.
    pub bind_prefix: bool,
    /// Whether a clearance holds only for the TLS fingerprint it was bought with.
    pub bind_ja4: bool,
}

impl Default for Challenge {
    fn default() -> Self {
        Self { size: 12, max_level: 18, ttl: Duration::from_secs(300), bind_prefix: false, bind_ja4: false }
    }
}

/// The statuses that visitors see.
#[derive(Clone, Copy, Debug)]
pub struct Statuses {
    /// Of a challenge.
    pub challenge: u16,
    /// Of a denial.
    pub deny: u16,
}

impl Default for Statuses {
    /// 403 and not 401: text browsers refuse to show a 401 page.
    fn default() -> Self {
        Self { challenge: 403, deny: 403 }
    }
}

/// How much one visitor may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Answers from one /24 or /48.
    pub answers: Limit,
    /// Requests under one clearance of kind work.
    pub work: Limit,
    /// Requests under one clearance of kind wait.
    pub wait: Limit,
}

impl Default for Limits {
    fn default() -> Self {
        let a_minute = |count, burst| Limit { count, per: Duration::from_secs(60), burst };
        Self { answers: a_minute(60, 60), work: a_minute(600, 120), wait: a_minute(120, 24) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(trust: &Trust, peer: &str, tokens: &[&str]) -> bool {
        trust.admits(Peer::Address(peer.parse().unwrap()), tokens.iter().map(|token| token.as_bytes()))
    }

    #[test]
    fn a_peer_is_admitted_by_address_by_socket_or_by_the_secret_shown_once() {
        let secret = Some(Zeroizing::new(b"a long shared secret".to_vec()));
        let trust = Trust { peers: Networks::parse(["10.0.0.0/8"]).unwrap(), secret, unlearned: None };
        assert!(admits(&trust, "10.1.1.1", &[]));
        assert!(!admits(&trust, "127.0.0.1", &[]));
        assert!(admits(&trust, "127.0.0.1", &["a long shared secret"]));
        for tokens in [
            &[""][..],
            &["a long shared secre"],
            &["a long shared secret", "a long shared secret"],
            &["a long shared secret", "x"],
        ] {
            assert!(!admits(&trust, "127.0.0.1", tokens), "{tokens:?}");
        }
        assert!(trust.admits(Peer::Unix, std::iter::empty()));
        let nobody = Trust { peers: Networks::default(), ..Trust::default() };
        assert!(!admits(&nobody, "127.0.0.1", &["", "x"]));
    }

    #[test]
    fn the_secret_is_never_printed() {
        let trust = Trust { secret: Some(Zeroizing::new(b"hunter2hunter2".to_vec())), ..Trust::default() };
        assert!(!format!("{trust:?}").contains("hunter2"));
    }
}
