//! The running process: binds, serves on every core, reloads, drains.
//! Decides nothing about a request; the faces and the gate do.

mod bind;
mod connection;
mod reload;
mod worker;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use bind::{Addresses, BindError};

use crate::admin::{self, Admin};
use crate::clock::Clock;
use crate::config::{Loaded, Sources};
use crate::gate::{self, Live};
use bind::{Bound, Listener};
use connection::Speaks;
use reload::Reloader;
use worker::Worker;

/// A process that is bound and has not begun to serve.
#[derive(Debug)]
pub struct Server {
    bound: Bound,
    live: Live,
    clock: Clock,
    admin_token: Option<admin::Token>,
    reloader: Reloader,
    also: Option<(Listener, Router)>,
}

/// Why a process could not start or go on.
#[derive(Debug, Error)]
pub enum Error {
    /// An address could not be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings and the policy do not make a gate.
    #[error("cannot build the gate: {0}")]
    Gate(#[from] gate::Error),
    /// The system refused a thread, a runtime or randomness.
    #[error("the system refused {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

/// How long requests in flight may take to end once the process has been told to. Kubernetes kills after 30 s by default.
const DRAIN: Duration = Duration::from_secs(10);

impl Server {
    /// Builds the gate and binds every listener. `sources` is where a reload reads again.
    pub fn bind(loaded: Loaded, sources: Sources, clock: Clock) -> Result<Self, Error> {
        let listen = loaded.settings.listen.clone();
        let workers = loaded.settings.workers.get();
        let admin_token = loaded.settings.admin_token.clone();
        let (gate, reloader) = Reloader::start(loaded, sources)?;
        let bound = bind::bind(&listen, workers)?;
        let live = Arc::new(ArcSwap::from_pointee(gate));
        Ok(Self { bound, live, clock, admin_token, reloader, also: None })
    }

    /// Where the listeners stand.
    pub fn addresses(&self) -> &Addresses {
        &self.bound.addresses
    }

    /// The gate as it is now and after every reload.
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Serves one more listener, HTTP/1.1 and h2c, beside the others: the demo's site.
    pub fn serve_also(&mut self, listener: std::net::TcpListener, router: Router) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.also = Some((Listener::Tcp(listener), router));
        Ok(())
    }

    /// Serves until `shutdown`, then drains. Blocks the calling thread, which serves the admin listener and reloads:
    /// on SIGHUP and when the admin API asks.
    pub fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { bound, live, clock, admin_token, mut reloader, also } = self;
        let Bound { doors, admin: admin_door, addresses: _, files } = bound;
        let runtime = worker::runtime()?;
        let stop = CancellationToken::new();
        let workers = doors
            .into_iter()
            .enumerate()
            .map(|(number, doors)| Worker::start(number, doors, live.clone(), clock.clone(), stop.clone()))
            .collect::<Result<Vec<_>, _>>();
        let ready = Arc::new(AtomicBool::new(workers.is_ok()));
        let served = workers.and_then(|workers| {
            let (reload, mut asked) = mpsc::channel(1);
            let admin = Admin {
                live: live.clone(),
                state: reloader.state(),
                clock,
                token: admin_token,
                ready: ready.clone(),
                reload,
            };
            let served = runtime.block_on(async {
                let tasks = TaskTracker::new();
                let doors = admin_door.map(|door| (door, admin.router())).into_iter().chain(also);
                for (door, router) in doors {
                    let (stop, tasks_within) = (stop.clone(), tasks.clone());
                    tasks.spawn(async move {
                        if let Err(error) =
                            connection::serve(door, Speaks::Both, router, stop, tasks_within).await
                        {
                            tracing::error!(%error, "a listener ended");
                        }
                    });
                }
                let served = reloader.until(shutdown, &live, &mut asked).await;
                ready.store(false, Ordering::Release);
                stop.cancel();
                tasks.close();
                if tokio::time::timeout(DRAIN, tasks.wait()).await.is_err() {
                    tracing::warn!("some admin connections did not end in time");
                }
                served
            });
            workers.into_iter().for_each(Worker::join);
            served
        });
        stop.cancel();
        drop(files);
        served
    }
}
