//! What HTTP/2 starts beside a connection: a future for every request.

use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::Executor;
use tokio_util::task::TaskTracker;

use super::caps;

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
            let mut turn = mem::take(&mut *self.started());
            // What is more than a turn goes on by itself, and so does all that a connection leaves behind.
            let now = if polled.is_ready() { 0 } else { turn.len().min(caps::TURN) };
            for answering in turn.split_off(now) {
                self.tasks.spawn(answering);
            }
            for mut answering in turn {
                // Answers wake the connection, so that it sends them. And a task is polled when it starts, whatever it was told of
                // before: no wake-up is lost.
                let mut poll = || answering.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                match catch_unwind(AssertUnwindSafe(&mut poll)) {
                    Ok(Poll::Ready(())) => {}
                    Ok(Poll::Pending) => drop(self.tasks.spawn(answering)),
                    // As of a task, it ends this one alone. What panics in a decision does not get here.
                    Err(_) => tracing::error!("panicked while it sent an answer; its stream ends"),
                }
            }
            polled
        })
    }

    /// Empty but while the connection is polled: what it started would keep this list, and the list it.
    fn started(&self) -> MutexGuard<'_, Vec<Answering>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, answering: F) {
        self.started().push(Box::pin(answering));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// How many of so many requests are done when a connection that starts them all has been polled, and how many in the end.
    async fn done(requests: usize, waits: bool, goes_on: bool) -> (usize, usize) {
        let tasks = TaskTracker::new();
        let streams = Streams::new(tasks.clone());
        let done = Arc::new(AtomicUsize::new(0));
        let start = |_: &mut Context<'_>| {
            for _ in 0..requests {
                let done = done.clone();
                streams.execute(async move {
                    if waits {
                        tokio::task::yield_now().await;
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            if goes_on { Poll::Pending } else { Poll::Ready(()) }
        };
        let mut connection = pin!(poll_fn(start));
        let mut beside = pin!(streams.beside(connection.as_mut()));
        assert_eq!(beside.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), goes_on);
        let at_once = done.load(Ordering::Relaxed);
        tasks.close();
        tasks.wait().await;
        (at_once, done.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn what_need_not_wait_is_done_in_its_connection_s_turn_and_all_is_done() {
        assert_eq!(done(0, false, true).await, (0, 0));
        assert_eq!(done(3, false, true).await, (3, 3));
        assert_eq!(done(3, true, true).await, (0, 3));
        assert_eq!(done(caps::TURN + 5, false, true).await, (caps::TURN, caps::TURN + 5));
        assert_eq!(done(caps::TURN + 5, true, true).await, (0, caps::TURN + 5));
        assert_eq!(done(3, false, false).await, (0, 3), "what a connection leaves behind");
    }

    #[tokio::test]
    async fn a_panic_ends_one_request_alone() {
        let streams = Streams::new(TaskTracker::new());
        let done = Arc::new(AtomicUsize::new(0));
        let start = |_: &mut Context<'_>| {
            for number in 0..3 {
                let done = done.clone();
                streams.execute(async move {
                    assert!(number != 1, "struck");
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            Poll::<()>::Pending
        };
        let mut connection = pin!(poll_fn(start));
        let mut beside = pin!(streams.beside(connection.as_mut()));
        assert!(beside.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(done.load(Ordering::Relaxed), 2);
    }
}
