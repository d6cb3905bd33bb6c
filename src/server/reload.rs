//! Makes gates: the first, and another one whenever the settings are to be read again. A gate that cannot be built changes nothing.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::{Error, load};
use crate::admin::{Reload, Token};
use crate::config::{self, Listen, Loaded, Log, Settings, Sources};
use crate::crypto::{Ring, Secret};
use crate::gate::{Gate, Limits, Live, State};
use crate::lookup::{Lives, Resolver, ResolverError};
use crate::memory::Marks;
use crate::policy::{NameLives, Policy};

/// What a reload needs, and what outlives it.
#[derive(Debug)]
pub(super) struct Reloader {
    sources: Sources,
    state: Arc<State>,
    /// The key that is made up when none is configured: the same for the life of the process, or a reload would throw out everyone.
    ephemeral: Option<Ring>,
    /// What a reload does not change.
    fixed: Fixed,
    /// What lookups run on.
    runtime: Handle,
}

/// The settings that hold from the start to the end of a process.
#[derive(Debug, PartialEq)]
struct Fixed {
    listen: Listen,
    workers: usize,
    limits: Limits,
    memory: usize,
    marks: Marks,
    log: Log,
    admin_token: Option<Token>,
}

impl Fixed {
    fn of(settings: &Settings) -> Self {
        Self {
            listen: settings.listen.clone(),
            workers: settings.workers.get(),
            limits: settings.gate.limits,
            memory: settings.gate.memory,
            marks: settings.gate.marks,
            log: settings.log.clone(),
            admin_token: settings.admin_token.clone(),
        }
    }

    /// The settings that differ.
    fn changed(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("listen", self.listen != other.listen),
            ("workers", self.workers != other.workers),
            ("limits", self.limits != other.limits),
            ("memory", self.memory != other.memory),
            ("attack", self.marks != other.marks),
            ("log", self.log != other.log),
            ("admin.token_file", self.admin_token != other.admin_token),
        ];
        parts.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }
}

impl Reloader {
    /// Builds the first gate.
    pub(super) fn start(loaded: Loaded, sources: Sources, runtime: Handle) -> Result<(Gate, Self), Error> {
        let Loaded { settings, policy, lints: _ } = loaded;
        let state = Arc::new(state(&settings)?);
        let fixed = Fixed::of(&settings);
        let mut reloader = Self { sources, state, ephemeral: None, fixed, runtime };
        let gate = reloader.gate(settings, policy)?;
        Ok((gate, reloader))
    }

    /// What outlives every gate: counters and limits.
    pub(super) fn state(&self) -> Arc<State> {
        self.state.clone()
    }

    fn gate(&mut self, mut settings: Settings, policy: Policy) -> Result<Gate, Error> {
        let ring = match (settings.ring, &self.ephemeral) {
            (Some(ring), _) => ring,
            (None, Some(ring)) => ring.clone(),
            (None, None) => self.ephemeral.insert(ephemeral()?).clone(),
        };
        settings.gate.resolver = resolver(&settings.name_servers, &policy, &self.runtime)?;
        Ok(Gate::new(settings.gate, ring, policy, self.state.clone())?)
    }

    /// Waits for the end and reloads meanwhile: on SIGHUP, and when the admin API asks.
    pub(super) async fn until(
        &mut self,
        end: impl Future<Output = ()>,
        live: &Live,
        asked: &mut mpsc::Receiver<Reload>,
    ) -> Result<(), Error> {
        let mut hangup =
            signal(SignalKind::hangup()).map_err(|source| Error::System { what: "SIGHUP", source })?;
        let mut end = pin!(end);
        let mut samples = tokio::time::interval(load::EVERY);
        loop {
            let answer = tokio::select! {
                () = &mut end => return Ok(()),
                _ = samples.tick() => {
                    self.state.set_load(load::averages());
                    continue;
                }
                _ = hangup.recv() => None,
                Some(answer) = asked.recv() => Some(answer),
            };
            let result = self.reload(live).await;
            if let Some(answer) = answer {
                // Whoever asked may have gone away; the reload is done all the same.
                drop(answer.send(result));
            }
        }
    }

    async fn reload(&mut self, live: &Live) -> Result<(), String> {
        let sources = self.sources.clone();
        // Compiling a large policy takes a while, and the admin listener answers from this thread.
        let loaded = tokio::task::spawn_blocking(move || config::load(&sources)).await;
        let result = match loaded {
            Ok(Ok(loaded)) => self.swap(live, loaded).map_err(|error| chain(&error)),
            Ok(Err(problems)) => Err(problems.to_string()),
            Err(error) => Err(format!("loading ended early: {error}")),
        };
        self.state.metrics.reload(if result.is_ok() { "ok" } else { "failed" });
        match &result {
            Ok(()) => tracing::info!("reloaded"),
            Err(error) => {
                tracing::error!(%error, "cannot reload; the settings and the policy from before hold")
            }
        }
        result
    }

    fn swap(&mut self, live: &Live, loaded: Loaded) -> Result<(), Error> {
        for lint in &loaded.lints {
            tracing::warn!("{lint}");
        }
        let changed = self.fixed.changed(&Fixed::of(&loaded.settings));
        if !changed.is_empty() {
            tracing::warn!(
                settings = changed.join(", "),
                "changed; that takes effect at the next start, not now"
            );
        }
        let gate = self.gate(loaded.settings, loaded.policy)?;
        live.store(Arc::new(gate));
        Ok(())
    }
}

/// A gate that serves nobody, for explanations, and the runtime that its lookups run on while it is waited on. Where no key
/// is configured it has one of its own, without a word.
pub fn gate(loaded: Loaded) -> Result<(Gate, Runtime), Error> {
    let Loaded { mut settings, policy, lints: _ } = loaded;
    let runtime = super::worker::runtime()?;
    settings.gate.resolver = resolver(&settings.name_servers, &policy, runtime.handle())?;
    let state = Arc::new(state(&settings)?);
    state.set_load(load::averages());
    let ring = settings.ring.map_or_else(made_up, Ok)?;
    Ok((Gate::new(settings.gate, ring, policy, state)?, runtime))
}

/// Empty memory, keyed by a secret of its own.
fn state(settings: &Settings) -> Result<State, Error> {
    let mut secret = [0; 16];
    crate::crypto::fill(&mut secret)
        .map_err(|error| Error::System { what: "randomness", source: std::io::Error::other(error) })?;
    let cores = u32::try_from(settings.workers.get()).unwrap_or(u32::MAX);
    Ok(State::new(&settings.gate, &secret, cores))
}

/// A resolver for a policy that looks names up. Every gate has its own, since the policy says how long answers hold.
fn resolver(
    servers: &[SocketAddr],
    policy: &Policy,
    runtime: &Handle,
) -> Result<Option<Arc<Resolver>>, ResolverError> {
    let NameLives { forward, reverse } = policy.name_lives();
    let new = || Resolver::new(runtime.clone(), servers, Lives { forward, reverse }).map(Arc::new);
    policy.looks_up().then(new).transpose()
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

fn ephemeral() -> Result<Ring, Error> {
    tracing::warn!(
        "no key is configured: this process makes one up, and a restart asks every visitor again; `tollgate keygen --file FILE` makes one to keep"
    );
    made_up()
}

fn made_up() -> Result<Ring, Error> {
    let mut bytes = [0; 32];
    crate::crypto::fill(&mut bytes)
        .map_err(|error| Error::System { what: "randomness", source: std::io::Error::other(error) })?;
    Ok(Ring::single(Secret::new(bytes)))
}
