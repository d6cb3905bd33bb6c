//! Tells others what memory has to tell, and takes in what they know, behind the requests' backs.
//! How it is told and what follows is memory's; when, and what happens if it cannot be, is decided here.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Error;
use super::breaker::{Breaker, Change, REST};
use super::keeper::{Keeper, Rows};
use crate::clock::Clock;
use crate::config;
use crate::gate::{Gate, Live};
use crate::memory::file::Kept;
use crate::memory::shared::{self, About, Address, Ask, Name, Reply, Shared, Valkey};
use crate::metrics::Witness;

/// How much is told at once: a server answers so many within some 10 ms.
pub(super) const BATCH: usize = 2048;
/// The time between two turns, at least and at most: few visitors are told of at once, many are told of in large batches.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// What each that was told adds to it.
const PER_ASK: Duration = Duration::from_micros(100);
/// The time between two turns while nobody comes.
const IDLE: Duration = Duration::from_millis(50);

/// The most that waits to be written to the file, where the disk is too slow; whoever it is about comes again.
pub(super) const CHANGED: usize = 20_000;
/// How long the last rows may take before the process ends without them.
const LAST: Duration = Duration::from_secs(3);
/// How long all that is told and written at the end may take.
pub(super) const FINISH: Duration = Duration::from_secs(5);
/// How often what changed is written to the file.
const KEEP: Duration = Duration::from_secs(1);

/// Whoever there is to tell.
#[derive(Debug)]
pub(super) struct Exchange {
    live: Live,
    clock: Clock,
    shared: Option<(Address, Valkey)>,
    breaker: Breaker,
    keeper: Option<Keeper>,
    /// What changed since it was last written, and when that was.
    changed: HashMap<Name, Kept>,
    kept: Instant,
    writing: Option<Writing>,
    /// Counts its panic.
    _witness: Witness,
}

/// Rows on their way to the disk, and who says when they are there.
#[derive(Debug)]
struct Writing {
    rows: Rows,
    done: oneshot::Receiver<()>,
}

impl Exchange {
    /// Everybody that the settings name; nobody is asked yet.
    pub(super) fn new(others: &config::Memory, live: Live, clock: Clock) -> Result<Self, Error> {
        let shared = match others.shared.clone() {
            Some((address, prefix)) => Some((address.clone(), Valkey::new(address, prefix)?)),
            None => None,
        };
        let state = live.load().state().clone();
        // Until the first answer nothing is shared.
        state.metrics.shared_degraded.set(i64::from(shared.is_some()));
        let keeper = match &others.file {
            Some(path) => Some(Keeper::start(path.clone(), &state.metrics, clock.clone())?),
            None => None,
        };
        let witness = state.metrics.witness();
        let (breaker, changed, kept) = (Breaker::default(), HashMap::new(), Instant::now());
        Ok(Self { live, clock, shared, breaker, keeper, changed, kept, writing: None, _witness: witness })
    }

    /// Takes turns until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Self {
        if self.shared.is_none() && self.keeper.is_none() {
            stop.cancelled().await;
        }
        loop {
            if stop.is_cancelled() {
                return self;
            }
            let told = self.turn().await;
            let pause = match u32::try_from(told) {
                Ok(0) => IDLE,
                Ok(told) => (PAUSE.0 + PER_ASK * told).min(PAUSE.1),
                Err(_) => PAUSE.1,
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Tells the last that there is to tell. The caller bounds how long it takes ([`FINISH`]).
    pub(super) async fn finish(mut self) {
        while self.turn().await > 0 {}
        self.written().await;
        self.write();
        self.written().await;
        if !self.changed.is_empty() {
            tracing::warn!("the last of what should outlive this process could not be written");
        }
    }

    /// Tells and asks once, and says how much there was to tell.
    async fn turn(&mut self) -> usize {
        let gate = self.live.load_full();
        let Some(naming) = gate.naming().next() else { return 0 };
        let memory = gate.state().memory();
        let mut asks = memory.asks(naming, BATCH, self.clock.now());
        self.recall(&gate, &mut asks).await;
        let replies = self.share(&gate, &asks).await;
        self.keep(&asks, &replies);
        asks.len()
    }

    /// Takes in what an earlier process kept of those who have just come.
    async fn recall(&mut self, gate: &Gate, asks: &mut [Ask]) {
        let Some(keeper) = &self.keeper else { return };
        let stranger = |ask: &&mut Ask| matches!(ask.about, About::Misdeeds(misdeeds) if !misdeeds.known);
        let strangers: Vec<_> = asks.iter_mut().filter(stranger).collect();
        if strangers.is_empty() {
            return;
        }
        let names = |ask: &&mut Ask| gate.naming().map(|mac| ask.name_under(mac)).collect();
        let (names, now) = (strangers.iter().map(names).collect(), self.clock.now());
        let (memory, kept) = (gate.state().memory(), keeper.recall(names, now).await);
        for (at, ask) in strangers.into_iter().enumerate() {
            match &kept {
                Some(kept) => memory.recalled(ask, kept.get(at).and_then(Option::as_ref), now),
                None => memory.postpone(ask),
            }
        }
    }

    /// Tells other replicas and takes in what they know; nothing comes back if they cannot be told.
    async fn share(&mut self, gate: &Gate, asks: &[Ask]) -> Vec<Reply> {
        let Some((address, shared)) = &mut self.shared else { return Vec::new() };
        let memory = gate.state().memory();
        if !self.breaker.admits(!asks.is_empty(), Instant::now()) {
            asks.iter().for_each(|ask| memory.take_back(ask));
            return Vec::new();
        }
        let ended = shared.exchange(asks, self.clock.now()).await;
        let change = self.breaker.note(ended.is_ok(), Instant::now());
        show(gate, address, change, ended.as_ref().err());
        let replies = match ended {
            Ok(replies) => replies,
            Err(shared::Error::Unsent(_)) => {
                asks.iter().for_each(|ask| memory.take_back(ask));
                return Vec::new();
            }
            // Told again it might count twice, and rather a few misdeeds are forgiven than one is made up.
            Err(shared::Error::Unknown(_)) => return Vec::new(),
        };
        let now = self.clock.now();
        asks.iter().zip(&replies).for_each(|(ask, reply)| memory.settle(ask, *reply, now));
        replies
    }

    /// Takes down what outlives a restart, and has it written when it is time.
    fn keep(&mut self, asks: &[Ask], replies: &[Reply]) {
        if self.keeper.is_none() {
            return;
        }
        let now = self.clock.now();
        for (at, ask) in asks.iter().enumerate() {
            let all = replies.get(at).and_then(|reply| match reply {
                Reply::Calls(_) => None,
                Reply::Misdeeds(score) => Some(*score),
            });
            if let Some(kept) = ask.worth_keeping(all, now)
                && (self.changed.len() < CHANGED || self.changed.contains_key(&ask.name))
            {
                self.changed.insert(ask.name, kept);
            }
        }
        if self.kept.elapsed() >= KEEP && self.is_written() {
            self.kept = Instant::now();
            self.write();
        }
    }

    /// Whether nothing is being written.
    fn is_written(&mut self) -> bool {
        let Some(mut writing) = self.writing.take() else { return true };
        match writing.done.try_recv() {
            Ok(()) => {}
            Err(TryRecvError::Closed) => self.again(&writing.rows),
            Err(TryRecvError::Empty) => self.writing = Some(writing),
        }
        self.writing.is_none()
    }

    /// Waits until nothing is being written, but not for ever.
    async fn written(&mut self) {
        let Some(Writing { rows, done }) = self.writing.take() else { return };
        if !matches!(timeout(LAST, done).await, Ok(Ok(()))) {
            self.again(&rows);
        }
    }

    /// Has rows that could not be written wait for the next time.
    fn again(&mut self, rows: &Rows) {
        for (name, kept) in rows.iter() {
            self.changed.entry(*name).or_insert(*kept);
        }
    }

    /// Hands over what changed.
    fn write(&mut self) {
        let Some(keeper) = self.keeper.as_ref().filter(|_| !self.changed.is_empty()) else { return };
        let rows: Rows = self.changed.drain().collect();
        let done = keeper.keep(rows.clone(), self.clock.now());
        self.writing = Some(Writing { rows, done });
    }
}

impl Drop for Exchange {
    /// Nobody else would notice that nothing is told any more.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let gate = self.live.load();
            let metrics = &gate.state().metrics;
            if self.shared.is_some() {
                metrics.shared_degraded.set(1);
            }
            if self.keeper.is_some() {
                metrics.file_degraded.set(1);
            }
            tracing::error!(
                "telling others ended by itself, which is a bug; this replica counts for itself, and keeps nothing"
            );
        }
    }
}

/// Shows the operator how the server is, once a change.
fn show(gate: &Gate, server: &Address, change: Option<Change>, error: Option<&shared::Error>) {
    let degraded = &gate.state().metrics.shared_degraded;
    match (change, error) {
        (Some(Change::Well), _) => {
            degraded.set(0);
            tracing::info!(%server, "memory is shared with other replicas");
        }
        (Some(Change::Failing), Some(error)) => {
            degraded.set(1);
            tracing::warn!(%server, %error, "cannot share memory: this replica counts for itself, and tries again every {} s", REST.as_secs());
        }
        (Some(Change::Failing), None) | (None, _) => {}
    }
}

#[cfg(test)]
mod tests;
