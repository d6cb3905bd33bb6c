//! The end of a process, step by step: proxies hear that it is leaving, connections end in order, and what is left is cut.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::config::Drain;

/// How a process is told to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stop {
    /// In order, and only after proxies had the time to go elsewhere (`drain.delay`).
    Announced,
    /// In order, without that notice.
    AtOnce,
}

/// The steps, each of which comes once. Every listener hears of them.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    /// The process is not ready any more, and serves on.
    pub(super) leaving: CancellationToken,
    /// No more connections; those that are open finish what they have begun.
    pub(super) stop: CancellationToken,
    /// What has not finished by now is cut.
    cut: CancellationToken,
    work: TaskTracker,
    /// What ended although nothing works without it.
    died: Arc<OnceLock<&'static str>>,
    failed: CancellationToken,
}

/// The end waits, for a time, until every one of these is dropped.
pub(super) type Work = TaskTrackerToken;

/// Tells everybody when it is dropped.
pub(super) struct Guard(#[expect(dead_code, reason = "they act when they are dropped")] [DropGuard; 3]);

impl End {
    /// Takes every step when it is dropped, if they were not taken.
    pub(super) fn guard(self) -> Guard {
        Guard([self.leaving, self.stop, self.cut].map(CancellationToken::drop_guard))
    }

    /// Something that is to be finished first.
    pub(super) fn work(&self) -> Work {
        self.work.token()
    }

    /// Something without which the process is not worth running.
    pub(super) fn vital(&self, what: &'static str) -> Vital {
        Vital { end: self.clone(), what, done: false }
    }

    /// Waits until something vital has ended too early; returns what it was.
    pub(super) async fn failed(&self) -> &'static str {
        self.failed.cancelled().await;
        self.died.get().copied().unwrap_or("something")
    }

    /// Takes one step after the other. `hurry` ends what is being waited for.
    pub(super) async fn come(&self, how: Stop, drain: Drain, mut hurry: impl AsyncFnMut() -> Stop) {
        self.leaving.cancel();
        if how == Stop::Announced && !drain.delay.is_zero() {
            let delay = seconds(drain.delay);
            tracing::info!(delay, "ending: not ready any more, serving on until proxies have gone elsewhere");
            tokio::select! { () = tokio::time::sleep(drain.delay) => {}, _ = hurry() => {} }
        }
        tracing::info!("ending: no new connections, requests in flight finish");
        self.stop.cancel();
        self.work.close();
        tokio::select! {
            () = self.work.wait() => {}
            () = tokio::time::sleep(drain.timeout) => {}
            _ = hurry() => {}
        }
        self.cut.cancel();
    }
}

/// Does the last of the work, for `most` at most. `hurry` ends it too. Whether it was done.
pub(super) async fn last(
    work: impl Future<Output = ()>,
    most: Duration,
    hurry: impl Future<Output = Stop>,
) -> bool {
    tokio::select! {
        biased;
        () = work => true,
        () = tokio::time::sleep(most) => false,
        _ = hurry => false,
    }
}

/// Has the process end in order, and say why, when it is dropped without having been done: also by a panic.
#[must_use]
pub(super) struct Vital {
    end: End,
    what: &'static str,
    done: bool,
}

impl Vital {
    /// It has ended when it should.
    pub(super) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Vital {
    fn drop(&mut self) {
        if !self.done {
            self.end.died.get_or_init(|| self.what);
            self.end.failed.cancel();
        }
    }
}

/// Waits for the last of these connections, or until they are to be cut, once no more are accepted.
pub(super) async fn finish(work: Work, end: &End, connections: &TaskTracker, whose: &'static str) {
    end.stop.cancelled().await;
    connections.close();
    tokio::select! {
        biased;
        () = connections.wait() => {}
        () = end.cut.cancelled() => {
            tracing::warn!(whose, connections = connections.len(), "some connections did not end in time and are cut");
        }
    }
    drop(work);
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_last_work_ends_by_itself_in_time_or_by_a_further_word() {
        let most = Duration::from_secs(5);
        assert!(last(ready(()), most, ready(Stop::AtOnce)).await);
        assert!(!last(pending(), most, ready(Stop::AtOnce)).await);
        let begun = tokio::time::Instant::now();
        assert!(!last(pending(), most, pending()).await);
        assert!(begun.elapsed() >= most);
    }
}
