//! One thread that serves: a runtime of its own with listeners of its own, sharing nothing but the gate.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic_health::ServingStatus;

use super::answer::Answers;
use super::bind::Doors;
use super::connection::{Serving, Speaks};
use super::end::{self, End, Work};
use super::places::Places;
use super::{Error, caps};
use crate::clock::Clock;
use crate::envoy::{self, Authorization};
use crate::gate::Live;
use crate::web::Web;

/// A serving thread and its owner's hold on it.
pub(super) struct Worker(JoinHandle<()>);

impl Worker {
    /// Starts serving at once, until the end.
    pub(super) fn start(
        number: usize,
        doors: Doors,
        live: Live,
        clock: Clock,
        places: Arc<Places>,
        end: End,
    ) -> Result<Self, Error> {
        let runtime = runtime()?;
        let thread = thread::Builder::new().name(format!("worker-{number}"));
        let (work, vital) = (end.work(), end.vital("a worker"));
        let body = move || {
            runtime.block_on(serve(doors, live, clock, places, end, work));
            vital.done();
        };
        thread.spawn(body).map(Self).map_err(|source| Error::System { what: "a thread", source })
    }

    /// Waits until the thread has ended.
    pub(super) fn join(self) {
        if self.0.join().is_err() {
            tracing::error!("a worker panicked");
        }
    }
}

/// A runtime on the thread that drives it: wake-ups never cross cores.
pub(super) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::System { what: "a runtime", source })
}

async fn serve(doors: Doors, live: Live, clock: Clock, places: Arc<Places>, end: End, work: Work) {
    let tasks = TaskTracker::new();
    let state = live.load().state().clone();
    let _witness = state.metrics.witness();
    let (reporter, health) = tonic_health::server::health_reporter();
    // The one service that a proxy may ask for by name; the empty name is the whole listener.
    reporter.set_service_status(envoy::SERVICE, ServingStatus::Serving).await;
    let health = Routes::new(health).prepare().into_axum_router();
    let grpc = Answers::Grpc { authorization: Authorization::new(live.clone(), clock.clone()), health };
    let http = Answers::Http(Web::new(live.clone(), clock));
    for (door, speaks, answers) in [(doors.grpc, Speaks::Http2, grpc), (doors.http, Speaks::Both, http)] {
        let serving = Serving {
            speaks,
            answers,
            patience: caps::ANSWER,
            stop: end.stop.clone(),
            tasks: tasks.clone(),
            places: places.clone(),
            live: Some(live.clone()),
            state: state.clone(),
        };
        door.map(|door| tasks.spawn(serving.accept(door, end.vital("a listener"))));
    }
    end.leaving.cancelled().await;
    for service in ["", envoy::SERVICE] {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    end::finish(work, &end, &tasks, "worker").await;
}
