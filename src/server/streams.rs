//! What HTTP/2 starts beside a connection: a future for every request.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use hyper::rt::Executor;
use tokio_util::task::TaskTracker;

type Answering = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The requests of one connection that it has started since it was polled.
///
/// Most are there to the last byte when their connection has been read, and nothing in a decision waits. Those are done at their first
/// poll, right after the connection's own, and their answers leave together; no task is made of them. What does wait goes on as
/// a task, where the worker that drains can see it.
#[derive(Clone)]
pub(super) struct Streams {
    started: Arc<Mutex<Vec<Answering>>>,
    tasks: TaskTracker,
}

impl Streams {
    pub(super) fn new(tasks: TaskTracker) -> Self {
        Self { started: Arc::default(), tasks }
    }

    /// Runs a connection with what it starts.
    pub(super) fn beside<C: Future>(&self, mut connection: Pin<&mut C>) -> impl Future<Output = C::Output> {
        poll_fn(move |cx| {
            let polled = connection.as_mut().poll(cx);
            // Answers wake the connection, so that it sends them.
            self.answer();
            polled
        })
    }

    fn answer(&self) {
        let started = mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        for mut answering in started {
            // A task is polled when it starts, whatever it was told of before: no wake-up is lost.
            if answering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                self.tasks.spawn(answering);
            }
        }
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, answering: F) {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(answering));
    }
}
