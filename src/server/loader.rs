//! The thread on which gates are made anew and freed, one after the other. One that lives on, since an allocator gives a thread's pages to
//! that thread again, and those of a thread that has ended to nobody in particular: a process that reloads would grow in steps.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// So many threads may be stuck at once. Reloads are an operator's, but a share whose server is gone is asked again and again.
pub(super) const MAX_STUCK: usize = 16;

type Job = Box<dyn FnOnce() + Send>;

/// A thread for work that may take long, or for ever. Started at the first need, and again where one is stuck or has panicked.
/// Nobody waits for it at the end: what it makes would be thrown away.
#[derive(Debug, Default)]
pub(super) struct Loader {
    thread: Option<Sender<Job>>,
    /// Held by every thread that has not ended.
    threads: Arc<()>,
}

impl Loader {
    /// Does a piece of work and waits for it so long. A thread that is not done by then is left to itself and ends with the work.
    pub(super) async fn run<T: Send + 'static>(
        &mut self,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let (done, outcome) = oneshot::channel();
        // Whoever asked may have given up.
        self.later(move || drop(done.send(work())))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        match tokio::time::timeout(patience, outcome).await {
            Ok(outcome) => outcome.map_err(|_| "loading ended early".to_owned()),
            Err(_) => {
                self.thread = None;
                Err(format!("loading took more than {} s: a file does not answer", patience.as_secs()))
            }
        }
    }

    /// Does a piece of work when those before it are done.
    pub(super) fn later(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut job: Job = Box::new(work);
        if let Some(thread) = &self.thread {
            match thread.send(job) {
                Ok(()) => return Ok(()),
                // It panicked; its successor does this.
                Err(unsent) => job = unsent.0,
            }
        }
        if Arc::strong_count(&self.threads) > MAX_STUCK {
            return Err(io::Error::other(format!("{MAX_STUCK} are stuck in files that do not answer")));
        }
        let (thread, jobs) = mpsc::channel::<Job>();
        drop(thread.send(job));
        let here = self.threads.clone();
        thread::Builder::new().name("loader".to_owned()).spawn(move || {
            jobs.into_iter().for_each(|job| job());
            drop(here);
        })?;
        self.thread = Some(thread);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn here() -> ThreadId {
        thread::current().id()
    }

    #[tokio::test]
    async fn all_work_is_done_by_one_thread_in_turn() {
        let mut loader = Loader::default();
        let first = loader.run(LONG, here).await.unwrap();
        let (told, heard) = mpsc::channel();
        loader.later(move || told.send(here()).unwrap()).unwrap();
        assert_eq!(loader.run(LONG, here).await, Ok(first));
        assert_eq!(heard.recv(), Ok(first));
        assert_ne!(first, here());
    }

    #[tokio::test]
    async fn a_thread_that_is_stuck_or_panicked_is_replaced() {
        let mut loader = Loader::default();
        let (release, stuck) = mpsc::channel::<()>();
        let first = loader.run(LONG, here).await.unwrap();
        let late = loader.run(Duration::ZERO, move || stuck.recv()).await.unwrap_err();
        assert_eq!(late, "loading took more than 0 s: a file does not answer");
        let second = loader.run(LONG, here).await.unwrap();
        assert_ne!(first, second);
        drop(release);

        let ended = loader.run(LONG, || -> u8 { std::panic::resume_unwind(Box::new(())) }).await;
        assert_eq!(ended.unwrap_err(), "loading ended early");
        // Its end is seen by whoever comes after, and what is asked of it until then is done or said to be not.
        let third = loop {
            if let Ok(thread) = loader.run(LONG, here).await {
                break thread;
            }
        };
        assert_ne!(second, third);
    }
    #[tokio::test]
    async fn so_many_are_stuck_and_no_more() {
        let mut loader = Loader::default();
        let (release, stuck) = mpsc::channel::<()>();
        let stuck = Arc::new(std::sync::Mutex::new(stuck));
        for _ in 0..MAX_STUCK {
            let stuck = stuck.clone();
            let late = loader.run(Duration::ZERO, move || drop(stuck.lock().map(|stuck| stuck.recv()))).await;
            assert!(late.unwrap_err().contains("does not answer"));
        }
        let refused = loader.run(LONG, here).await.unwrap_err();
        assert_eq!(refused, "cannot start a thread: 16 are stuck in files that do not answer");
        drop(release);
        while loader.run(LONG, here).await.is_err() {
            thread::yield_now();
        }
    }
}
