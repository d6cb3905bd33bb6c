//! What HTTP/2 starts beside a connection: a future for every request.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use hyper::rt::Executor;
use tokio_util::task::TaskTracker;

/// So many requests of a connection are answered in its turn, some tenths of a millisecond; other connections wait meanwhile.
const TURN: usize = 64;

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
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            let now = started.len().min(TURN);
            let mut turn = mem::take(&mut *started);
            // What is more than that, and what a connection leaves behind, goes on by itself.
            for answering in turn.split_off(now) {
                self.tasks.spawn(answering);
            }
            drop(started);
            for mut answering in turn {
                // Answers wake the connection, so that it sends them. And a task is polled when it starts, whatever it was told of
                // before: no wake-up is lost.
                if answering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    self.tasks.spawn(answering);
                }
            }
            polled
        })
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use super::*;

    /// How many of so many requests are done when a connection that starts them all has been polled once, and how many in the end.
    async fn done(requests: usize, waits: bool) -> (usize, usize) {
        let tasks = TaskTracker::new();
        let streams = Streams::new(tasks.clone());
        let done = Arc::new(AtomicUsize::new(0));
        let mut start = |_: &mut Context<'_>| {
            for _ in 0..requests {
                let done = done.clone();
                streams.execute(async move {
                    if waits {
                        tokio::task::yield_now().await;
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }
            Poll::Ready(())
        };
        let mut connection = std::pin::pin!(poll_fn(&mut start));
        streams.beside(connection.as_mut()).await;
        let at_once = done.load(Ordering::Relaxed);
        tasks.close();
        tasks.wait().await;
        (at_once, done.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn what_need_not_wait_is_done_in_its_connection_s_turn_and_all_is_done() {
        assert_eq!(done(0, false).await, (0, 0));
        assert_eq!(done(3, false).await, (3, 3));
        assert_eq!(done(3, true).await, (0, 3));
        assert_eq!(done(TURN + 5, false).await, (TURN, TURN + 5));
    }
}
