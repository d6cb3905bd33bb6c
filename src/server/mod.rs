//! The running process: binds, serves on every core, reloads, drains.
//! Decides nothing about a request; the faces and the gate do.

mod answer;
mod bind;
mod breaker;
mod caps;
mod connection;
mod descriptors;
mod encode;
mod end;
mod ended;
mod exchange;
mod joined;
mod keeper;
mod load;
mod loader;
mod places;
mod plain;
mod reload;
mod streams;
mod watch;
mod worker;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use axum::Router;
use bytes::Bytes;
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

pub use bind::{Addresses, BindError};
pub use end::Stop;
pub use reload::gate;

use answer::Answers;

use crate::admin::{self, Admin};
use crate::clock::Clock;
use crate::config::{Drain, Loaded, Sources};
use crate::gate::{self, Live};
use crate::lookup::ResolverError;
use crate::memory::file::FileError;
use crate::memory::shared;
use bind::{Bound, Listener};
use connection::{Serving, Speaks};
use descriptors::Shares;
use end::End;
use exchange::Exchange;
use places::Places;
use reload::{Asking, Reloader};
use worker::Worker;

/// A process that is bound and has not begun to serve.
#[derive(Debug)]
pub struct Server {
    bound: Bound,
    live: Live,
    clock: Clock,
    admin_token: Option<admin::Token>,
    drain: Drain,
    reloader: Reloader,
    exchange: Exchange,
    /// Drives the admin listener, reloads and lookups, on the thread that runs the server.
    runtime: Runtime,
    shares: Shares,
    also: Option<(Listener, Router)>,
}

/// Answers a whole site: the demo's.
pub type Site = Arc<dyn Fn(hyper::Request<()>) -> hyper::Response<Bytes> + Send + Sync>;

/// Why a process could not start or go on.
#[derive(Debug, Error)]
pub enum Error {
    /// An address could not be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings and the policy do not make a gate.
    #[error("cannot build the gate")]
    Gate(#[from] gate::Error),
    /// Names cannot be looked up, and the policy wants that.
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// Something ended by itself without which there is no use in going on.
    #[error("{what} ended by itself, which is a bug; what it logged before says where")]
    Died {
        /// What it was.
        what: &'static str,
    },
    /// The file that `memory.file` names cannot be used.
    #[error("cannot keep what should outlive a restart (`memory.file`)")]
    File(#[from] FileError),
    /// Replicas cannot meet on the server that `memory.shared` names, wherever it is.
    #[error("cannot share memory over TLS")]
    Shared(#[from] shared::Error),
    /// The system refused a thread, a runtime or randomness.
    #[error("the system refused {what}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
}

impl Server {
    /// Binds every listener and builds the gate. `sources` is where a reload reads again.
    pub fn bind(loaded: Loaded, sources: Sources, clock: Clock) -> Result<Self, Error> {
        let listen = loaded.settings.listen.clone();
        let workers = loaded.settings.workers.get();
        let admin_token = loaded.settings.admin_token.clone();
        let drain = loaded.settings.drain;
        let bound = bind::bind(&listen, workers)?;
        let (runtime, shares) = (worker::runtime()?, Shares::take(workers));
        let others = loaded.settings.memory.clone();
        let (gate, reloader) =
            Reloader::start(loaded, sources, Asking::new(runtime.handle().clone(), shares.questions))?;
        let live = Arc::new(ArcSwap::from_pointee(gate));
        let exchange = Exchange::new(&others, live.clone(), clock.clone())?;
        Ok(Self { bound, live, clock, admin_token, drain, reloader, exchange, runtime, shares, also: None })
    }

    /// Where the listeners stand.
    pub fn addresses(&self) -> &Addresses {
        &self.bound.addresses
    }

    /// The gate as it is now and after every reload.
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Serves a site on one more listener beside the others. Its requests carry their [`crate::request::Peer`] as an extension.
    pub fn serve_also(&mut self, listener: std::net::TcpListener, site: Site) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let answer = move |request: axum::extract::Request| async move {
            site(request.map(drop)).map(axum::body::Body::from)
        };
        self.also = Some((Listener::Tcp(listener), Router::new().fallback(answer)));
        Ok(())
    }

    /// Serves until `shutdown`, then ends in order, without notice to proxies.
    pub fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let mut shutdown = Some(shutdown);
        self.run_until(async || match shutdown.take() {
            Some(shutdown) => {
                shutdown.await;
                Stop::AtOnce
            }
            None => std::future::pending().await,
        })
    }

    /// Serves until it is told to stop, then ends in order. Whatever it is told after that ends what it is waiting for then: the
    /// notice to proxies, requests in flight, or the last that others should hear of. Blocks the calling thread, which serves the admin listener and reloads: on
    /// SIGHUP, when the admin API asks, and when a file has changed.
    pub fn run_until(self, mut told: impl AsyncFnMut() -> Stop) -> Result<(), Error> {
        let Self { bound, live, clock, admin_token, drain, mut reloader, exchange, runtime, shares, also } =
            self;
        let Bound { doors, admin: admin_door, addresses: _, files: _files } = bound;
        let end = End::default();
        // Whatever way this function is left, the workers are told.
        let _guard = end.clone().guard();
        let state = reloader.state();
        let metrics = &state.metrics;
        // A site beside the gate has as many places as operators.
        let room = shares.proxies.saturating_sub(shares.admin * usize::from(also.is_some()));
        metrics.connections_max.set(i64::try_from(room).unwrap_or(i64::MAX));
        let places = Places::new(room, metrics.connections.clone());
        let mut workers = Vec::with_capacity(doors.len());
        for (number, doors) in doors.into_iter().enumerate() {
            let (live, clock, places) = (live.clone(), clock.clone(), places.clone());
            workers.push(Worker::start(number, doors, live, clock, places, end.clone())?);
        }
        let ready = Arc::new(AtomicBool::new(true));
        let (reload, asked) = mpsc::channel(1);
        let admin = Admin {
            live: live.clone(),
            state: state.clone(),
            clock: clock.clone(),
            token: admin_token,
            ready: ready.clone(),
            reload,
        };
        let (telling, served) = runtime.block_on(async {
            let tasks = TaskTracker::new();
            let doors = admin_door.map(|door| (door, admin.router())).into_iter().chain(also);
            for (door, router) in doors {
                let serving = Serving {
                    speaks: Speaks::Both,
                    answers: Answers::Routes(router),
                    patience: caps::ANSWER_ADMIN,
                    stop: end.stop.clone(),
                    tasks: tasks.clone(),
                    places: Places::new(shares.admin, state.metrics.connections.clone()),
                    live: None,
                    state: state.clone(),
                };
                tasks.spawn(serving.accept(door, end.vital("the admin listener")));
            }
            let telling = tasks.spawn(exchange.run(end.stop.clone()));
            let work = end.work();
            let stop = async {
                tokio::select! {
                    stop = told() => Ok(stop),
                    what = end.failed() => Err(Error::Died { what }),
                }
            };
            let served = reloader.until(stop, &live, &clock, asked).await.flatten();
            if let Err(error) = &served {
                tracing::error!(%error, "cannot go on");
            }
            ready.store(false, Ordering::Release);
            // Where something died, the rest serves on until proxies have gone elsewhere.
            let stop = served.as_ref().map_or(Stop::Announced, |stop| *stop);
            tokio::join!(end.come(stop, drain, &mut told), end::finish(work, &end, &tasks, "admin"));
            (telling, served.map(drop))
        });
        workers.into_iter().for_each(Worker::join);
        // What the last requests did is told too.
        runtime.block_on(async {
            let rest = async {
                if let Ok(exchange) = telling.await {
                    exchange.finish().await;
                }
            };
            if !end::last(rest, exchange::FINISH, told()).await {
                tracing::warn!(
                    "the last of what others should hear of, or should outlive this process, is given up"
                );
            }
        });
        // A read of a file that never ends must not keep the process from ending.
        runtime.shutdown_background();
        served
    }
}

#[cfg(test)]
mod tests;
