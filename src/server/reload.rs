//! Makes gates: the first, and another one whenever the settings are to be read again. A gate that cannot be built changes
//! nothing. Loading and building run on a thread of their own: neither a worker nor this runtime waits for them.

use std::future::Future;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc};

use super::loader::Loader;
use super::watch::Watch;
use super::{Error, load};
use crate::admin::{Reload, Token};
use crate::clock::Clock;
use crate::config::{self, Drain, Listen, Loaded, Log, Memory, Settings, Sources};
use crate::crypto::{Ring, Secret};
use crate::files::Files;
use crate::gate::{Gate, Limits, Live, State};
use crate::lookup::{Lives, MAX_OPEN, Resolver, ResolverError};
use crate::memory::{Marks, Others};
use crate::policy::{NameLives, Policies, Problem};

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
    asking: Asking,
    /// The files that the first load read, and how often they are looked at.
    watching: (Files, Option<Duration>),
    /// Gates that are no longer in force and may still be held by requests.
    former: Vec<Arc<Gate>>,
    loader: Loader,
}

/// The settings that hold from the start to the end of a process.
#[derive(Debug, PartialEq)]
struct Fixed {
    listen: Listen,
    workers: usize,
    limits: Limits,
    memory: usize,
    others: Memory,
    marks: Marks,
    log: Log,
    drain: Drain,
    admin_token: Option<Token>,
}

impl Fixed {
    fn of(settings: &Settings) -> Self {
        Self {
            listen: settings.listen.clone(),
            workers: settings.workers.get(),
            limits: settings.gate.limits,
            memory: settings.gate.memory,
            others: settings.memory.clone(),
            marks: settings.gate.marks,
            log: settings.log.clone(),
            drain: settings.drain,
            admin_token: settings.admin_token.clone(),
        }
    }

    /// The settings that differ.
    fn changed(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("listen", self.listen != other.listen),
            ("workers", self.workers != other.workers),
            ("limits", self.limits != other.limits),
            ("memory", self.memory != other.memory || self.others != other.others),
            ("attack", self.marks != other.marks),
            ("log", self.log != other.log),
            ("drain", self.drain != other.drain),
            ("admin.token_file", self.admin_token != other.admin_token),
        ];
        parts.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
    }
}

/// Where name servers are asked, by the resolvers of this gate and of those after it.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    runtime: Handle,
    open: Arc<Semaphore>,
}

impl Asking {
    /// On this runtime, with so many questions open at once.
    pub(super) fn new(runtime: Handle, open: usize) -> Self {
        Self { runtime, open: Arc::new(Semaphore::new(open)) }
    }
}

/// How long a load may take: a pipe in a file's place, or a share whose server is gone, must not be the last one.
const LOADING: Duration = Duration::from_secs(30);

/// What a load came to: a gate, or everything that is wrong; and the files, as they stood before they were read.
struct Loading {
    outcome: Result<Made, String>,
    files: Files,
}

/// A gate that is ready to be put in place.
struct Made {
    gate: Gate,
    ephemeral: Option<Ring>,
    fixed: Fixed,
    lints: Vec<Problem>,
    watch: Option<Duration>,
}

impl Reloader {
    /// Builds the first gate.
    pub(super) fn start(loaded: Loaded, mut sources: Sources, asking: Asking) -> Result<(Gate, Self), Error> {
        let state = Arc::new(state(&loaded.settings)?);
        // A settings file that was found and vanishes later must not pass for one that was never there.
        if let Some(file) =
            loaded.file.as_ref().filter(|_| sources.flags.iter().all(|(key, _)| *key != "config"))
        {
            sources.flags.push(("config", vec![file.to_string_lossy().into_owned()]));
        }
        let (fixed, files, every) =
            (Fixed::of(&loaded.settings), loaded.files.clone(), loaded.settings.watch);
        let mut ephemeral = None;
        let gate = build(loaded.settings, loaded.policies, &mut ephemeral, &state, &asking)?;
        gate.tell_keys();
        let watching = (files, every);
        Ok((
            gate,
            Self {
                sources,
                state,
                ephemeral,
                fixed,
                asking,
                watching,
                former: Vec::new(),
                loader: Loader::default(),
            },
        ))
    }

    /// What outlives every gate: counters and limits.
    pub(super) fn state(&self) -> Arc<State> {
        self.state.clone()
    }

    /// Waits for the end and reloads meanwhile: on SIGHUP, when the admin API asks, and when a file has changed.
    /// Returns what the end came with.
    pub(super) async fn until<T>(
        &mut self,
        end: impl Future<Output = T>,
        live: &Live,
        clock: &Clock,
        mut asked: mpsc::Receiver<Reload>,
    ) -> Result<T, Error> {
        let mut hangup =
            signal(SignalKind::hangup()).map_err(|source| Error::System { what: "SIGHUP", source })?;
        let mut end = pin!(end);
        let mut samples = tokio::time::interval(load::EVERY);
        let mut known = std::mem::take(&mut self.watching.0);
        let mut watch = Watch::new(known.clone(), self.watching.1, self.state.metrics.panics.clone());
        loop {
            let answer = tokio::select! {
                how = &mut end => return Ok(how),
                _ = samples.tick() => {
                    self.state.set_load(load::averages());
                    self.state.clock_trouble(clock);
                    self.forget();
                    continue;
                }
                _ = hangup.recv() => None,
                Some(answer) = asked.recv() => Some(answer),
                files = watch.changed() => {
                    tracing::info!(files, "changed");
                    None
                }
            };
            // A file system that hangs does not hold up the end.
            let (result, files) = tokio::select! {
                biased;
                how = &mut end => return Ok(how),
                done = self.reload(live, &known) => done,
            };
            // What failed is not tried again until a file changes once more.
            known = files;
            watch = Watch::new(known.clone(), self.watching.1, self.state.metrics.panics.clone());
            if let Some(answer) = answer {
                // Whoever asked may have gone away; the reload is done all the same.
                drop(answer.send(result));
            }
        }
    }

    /// `known` are the files of the load before.
    async fn reload(&mut self, live: &Live, known: &Files) -> (Result<(), String>, Files) {
        let (sources, state, asking) = (self.sources.clone(), self.state.clone(), self.asking.clone());
        let ring = self.ephemeral.clone();
        // Reading and compiling take a while, and lookups and the admin listener run on this thread.
        let loading = self.loader.run(LOADING, move || load_gate(&sources, ring, &state, &asking)).await;
        let Loading { outcome, files } = match loading {
            Ok(loading) => loading,
            Err(why) => Loading { outcome: Err(why), files: as_they_stand(known).await },
        };
        let result = outcome.and_then(|made| self.swap(live, made).map_err(|error| chain(&error)));
        self.state.metrics.reload(if result.is_ok() { "ok" } else { "failed" });
        match &result {
            Ok(()) => tracing::info!("reloaded"),
            Err(error) => {
                tracing::error!(%error, "cannot reload; the settings and the policy from before hold")
            }
        }
        (result, files)
    }

    fn swap(&mut self, live: &Live, made: Made) -> Result<(), Error> {
        for lint in &made.lints {
            tracing::warn!("{lint}");
        }
        let changed = self.fixed.changed(&made.fixed);
        if !changed.is_empty() {
            tracing::warn!(
                settings = changed.join(", "),
                "changed; that takes effect at the next start, not now"
            );
        }
        (self.watching.1, self.ephemeral) = (made.watch, made.ephemeral);
        made.gate.tell_keys();
        self.former.push(live.swap(Arc::new(made.gate)));
        self.forget();
        Ok(())
    }

    /// Lets go of former gates that no request holds any more. Left to the last request, freeing a large policy would be
    /// that request's worker's work.
    fn forget(&mut self) {
        let unused = self.former.extract_if(.., |gate| Arc::strong_count(gate) == 1).collect::<Vec<_>>();
        if !unused.is_empty() {
            // Without a thread for it they are freed here.
            drop(self.loader.later(move || drop(unused)));
        }
    }
}

/// The files of an earlier load as they stand now; as they stood then where even that gets no answer.
async fn as_they_stand(known: &Files) -> Files {
    let files = known.clone();
    let looking = tokio::task::spawn_blocking(move || files.look());
    match tokio::time::timeout(Duration::from_secs(1), looking).await {
        Ok(Ok(files)) => files,
        _ => known.clone(),
    }
}

/// Reads everything and builds a gate of it. A panic is a failure like any other, so that the files are known all the same.
fn load_gate(sources: &Sources, mut ephemeral: Option<Ring>, state: &Arc<State>, asking: &Asking) -> Loading {
    let mut files = Files::default();
    let make = || {
        let loaded = config::load_with(sources, None, &mut files).map_err(|problems| problems.to_string())?;
        let (lints, watch) = (loaded.lints, loaded.settings.watch);
        let fixed = Fixed::of(&loaded.settings);
        let gate = build(loaded.settings, loaded.policies, &mut ephemeral, state, asking)
            .map_err(|error| chain(&error))?;
        Ok(Made { gate, ephemeral, fixed, lints, watch })
    };
    let outcome = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|_| {
        state.metrics.panics.inc();
        Err("loading panicked".to_owned())
    });
    Loading { outcome, files }
}

/// Builds a gate. Where no key is configured it has the ephemeral one, which is made up at the first need.
fn build(
    mut settings: Settings,
    policies: Policies,
    ephemeral: &mut Option<Ring>,
    state: &Arc<State>,
    asking: &Asking,
) -> Result<Gate, Error> {
    let ring = match (settings.ring, &ephemeral) {
        (Some(ring), _) => ring,
        (None, Some(ring)) => ring.clone(),
        (None, None) => ephemeral.insert(make_up_loudly()?).clone(),
    };
    settings.gate.resolvers = resolvers(&settings.name_servers, &policies, asking, state)?;
    Ok(Gate::new(settings.gate, ring, policies, state.clone())?)
}

/// A gate that serves nobody, for explanations, and the runtime that its lookups run on while it is waited on. Where no key
/// is configured it has one of its own, without a word.
pub fn gate(loaded: Loaded) -> Result<(Gate, Runtime), Error> {
    let Loaded { mut settings, policies, .. } = loaded;
    let runtime = super::worker::runtime()?;
    // It tells nobody of its visitors.
    settings.gate.others = Others::default();
    let state = Arc::new(state(&settings)?);
    let asking = Asking::new(runtime.handle().clone(), MAX_OPEN);
    settings.gate.resolvers = resolvers(&settings.name_servers, &policies, &asking, &state)?;
    state.set_load(load::averages());
    let ring = settings.ring.map_or_else(made_up, Ok)?;
    Ok((Gate::new(settings.gate, ring, policies, state)?, runtime))
}

/// Empty memory, keyed by a secret of its own.
fn state(settings: &Settings) -> Result<State, Error> {
    let mut secret = [0; 16];
    crate::crypto::fill(&mut secret)
        .map_err(|error| Error::System { what: "randomness", source: std::io::Error::other(error) })?;
    let cores = u32::try_from(settings.workers.get()).unwrap_or(u32::MAX);
    Ok(State::new(&settings.gate, &secret, cores))
}

/// Resolvers for the policies that look names up: one for each life of answers that they want.
fn resolvers(
    servers: &[SocketAddr],
    policies: &Policies,
    asking: &Asking,
    state: &State,
) -> Result<Vec<(NameLives, Arc<Resolver>)>, ResolverError> {
    let mut resolvers: Vec<(NameLives, Arc<Resolver>)> = Vec::new();
    for (_, policy) in policies.iter().filter(|(_, policy)| policy.looks_up()) {
        let lives @ NameLives { forward, reverse } = policy.name_lives();
        if resolvers.iter().all(|(held, _)| *held != lives) {
            let resolver = Resolver::new(asking.runtime.clone(), servers, Lives { forward, reverse })?;
            let resolver = resolver.within(asking.open.clone());
            resolvers.push((lives, Arc::new(resolver.counting(state.metrics.panics.clone()))));
        }
    }
    Ok(resolvers)
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

fn make_up_loudly() -> Result<Ring, Error> {
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
