//! One thread that serves: a runtime of its own with listeners of its own, sharing nothing but the gate.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic_health::ServingStatus;

use super::bind::Doors;
use super::connection::{Serving, Speaks};
use super::end::{self, End, Work};
use super::places::Places;
use super::{Error, caps};
use crate::clock::Clock;
use crate::gate::Live;
use crate::{envoy, web};

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

/// The service whose health a proxy may ask for by name; the empty name is the whole listener.
const AUTHORIZATION: &str = "envoy.service.auth.v3.Authorization";

async fn serve(doors: Doors, live: Live, clock: Clock, places: Arc<Places>, end: End, work: Work) {
    let tasks = TaskTracker::new();
    let state = live.load().state().clone();
    let _witness = state.metrics.witness();
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status(AUTHORIZATION, ServingStatus::Serving).await;
    let grpc = Routes::new(envoy::service(live.clone(), clock.clone()))
        .add_service(health)
        .prepare()
        .into_axum_router();
    let http = web::router(live.clone(), clock);
    for (door, speaks, router) in [(doors.grpc, Speaks::Http2, grpc), (doors.http, Speaks::Both, http)] {
        let serving = Serving {
            speaks,
            router,
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
    for service in ["", AUTHORIZATION] {
        reporter.set_service_status(service, ServingStatus::NotServing).await;
    }
    end::finish(work, &end, &tasks, "worker").await;
}
