//! Tells others what memory has to tell, and takes in what they know, behind the requests' backs.
//! How it is told and what follows is memory's; when, and what happens if it cannot be, is decided here.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::breaker::{Breaker, Change, REST};
use crate::clock::Clock;
use crate::config;
use crate::gate::{Gate, Live};
use crate::memory::shared::{Address, Error, Shared, Valkey};

/// How much is told at once: a server answers so many within some 10 ms.
const BATCH: usize = 2048;
/// The time between two turns, at least and at most: few visitors are told of at once, many are told of in large batches.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// What each that was told adds to it.
const PER_ASK: Duration = Duration::from_micros(100);
/// The time between two turns while nobody comes.
const IDLE: Duration = Duration::from_millis(50);

/// Whoever there is to tell.
#[derive(Debug)]
pub(super) struct Exchange {
    live: Live,
    clock: Clock,
    shared: Option<(Address, Valkey)>,
    breaker: Breaker,
}

impl Exchange {
    /// Everybody that the settings name; nobody is asked yet.
    pub(super) fn new(others: &config::Memory, live: Live, clock: Clock) -> Result<Self, Error> {
        let shared = match others.shared.clone() {
            Some((address, prefix)) => Some((address.clone(), Valkey::new(address, prefix)?)),
            None => None,
        };
        // Until the first answer nothing is shared.
        live.load().state().metrics.shared_degraded.set(i64::from(shared.is_some()));
        Ok(Self { live, clock, shared, breaker: Breaker::default() })
    }

    /// Takes turns until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) -> Self {
        if self.shared.is_none() {
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

    /// Tells and asks once, and says how much there was to tell.
    pub(super) async fn turn(&mut self) -> usize {
        let gate = self.live.load_full();
        let Some(naming) = gate.naming().next() else { return 0 };
        let memory = gate.state().memory();
        let asks = memory.asks(naming, BATCH, self.clock.now());
        let Some((address, shared)) = &mut self.shared else { return asks.len() };
        if !self.breaker.admits(!asks.is_empty(), Instant::now()) {
            asks.iter().for_each(|ask| memory.keep(ask));
            return asks.len();
        }
        let ended = shared.exchange(&asks, self.clock.now()).await;
        let change = self.breaker.note(ended.is_ok(), Instant::now());
        match &ended {
            Ok(replies) => {
                let now = self.clock.now();
                asks.iter().zip(replies).for_each(|(ask, reply)| memory.settle(ask, *reply, now));
            }
            Err(_) => asks.iter().for_each(|ask| memory.keep(ask)),
        }
        show(&gate, address, change, ended.err());
        asks.len()
    }
}

/// Shows the operator how the server is, once a change.
fn show(gate: &Gate, server: &Address, change: Option<Change>, error: Option<Error>) {
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
