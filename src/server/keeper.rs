//! The file that outlives a restart, on a thread of its own: a disk takes its time, and a bad one takes all of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::Error;
use super::reload::chain;
use crate::clock::{Clock, Timestamp};
use crate::memory::file::{File, FileError, Kept, Opened};
use crate::memory::shared::Name;
use crate::metrics::Metrics;

/// How long a look into the file may take before those it is about are taken for strangers until they come again.
const LOOK: Duration = Duration::from_millis(100);
/// How long a file that failed is left alone.
const REST: Duration = Duration::from_secs(5);
/// How often rows that say nothing any more are dropped: the last points are gone within 3 h 40 min, and so no row is older than four hours.
const SWEEP: Duration = Duration::from_secs(15 * 60);
/// How many orders wait for a slow disk before none are taken.
pub(super) const ORDERS: usize = 8;

/// Whoever gives orders to the thread, which ends with it.
#[derive(Debug)]
pub(super) struct Keeper(SyncSender<Order>);

/// What is to be written.
pub(super) type Rows = Arc<[(Name, Kept)]>;

#[derive(Debug)]
enum Order {
    /// To write rows, and to say when that is done.
    Keep(Rows, Timestamp, oneshot::Sender<()>),
    /// To say what is kept of clients, each of which may have several names.
    Recall(Vec<Vec<Name>>, Timestamp, oneshot::Sender<Vec<Option<Kept>>>),
    /// To drop the rows that say nothing any more.
    Sweep(Timestamp),
}

impl Keeper {
    /// Opens the file at `path` and starts the thread.
    pub(super) fn start(path: PathBuf, metrics: &Metrics, clock: Clock) -> Result<Self, Error> {
        let file = open(&path, clock.now())?;
        let (sender, orders) = sync_channel(ORDERS);
        let (failing, rows) = (metrics.file_degraded.clone(), metrics.file_rows.clone());
        rows.set(i64::try_from(file.rows()?).unwrap_or(i64::MAX));
        let (tried, swept, panics) = (Instant::now(), Instant::now(), metrics.panics.clone());
        let desk = Desk { path, file: Some(file), clock, tried, swept, failing, rows, panics };
        let thread = thread::Builder::new().name("memory-file".to_owned());
        let started = thread.spawn(move || desk.obey(&orders));
        started.map_err(|source| Error::System { what: "a thread", source })?;
        Ok(Self(sender))
    }

    /// What is kept of clients; nothing if the file does not say so in time.
    pub(super) async fn recall(&self, names: Vec<Vec<Name>>, now: Timestamp) -> Option<Vec<Option<Kept>>> {
        let (sender, answer) = oneshot::channel();
        self.0.try_send(Order::Recall(names, now, sender)).ok()?;
        timeout(LOOK, answer).await.ok()?.ok()
    }

    /// Hands rows over to be written. Whoever waits for it hears nothing where that failed, or the disk is too slow.
    pub(super) fn keep(&self, rows: Rows, now: Timestamp) -> oneshot::Receiver<()> {
        let (sender, done) = oneshot::channel();
        // An order that is not taken ends its sender.
        drop(self.0.try_send(Order::Keep(rows, now, sender)));
        done
    }
}

/// Where the orders are carried out.
struct Desk {
    path: PathBuf,
    /// None while it fails.
    file: Option<File>,
    clock: Clock,
    tried: Instant,
    /// When rows were last dropped.
    swept: Instant,
    failing: Gauge,
    rows: Gauge,
    panics: Counter,
}

impl Desk {
    /// Does as it is told until nobody is left to tell.
    fn obey(mut self, orders: &Receiver<Order>) {
        loop {
            let order = match orders.recv_timeout(SWEEP.saturating_sub(self.swept.elapsed())) {
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => {
                    self.swept = Instant::now();
                    Order::Sweep(self.clock.now())
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if self.file.is_some() || self.tried.elapsed() >= REST {
                let done = self.attempt(|desk| desk.carry_out(order));
                self.show(done.err());
            }
        }
    }

    /// Does something with the file, which may have been changed from outside and bring its reader to a panic: that is an error like
    /// any other.
    fn attempt(&mut self, what: impl FnOnce(&mut Self) -> Result<(), FileError>) -> Result<(), FileError> {
        let done = catch_unwind(AssertUnwindSafe(|| what(self).inspect_err(|_| self.file = None)));
        done.unwrap_or_else(|_| {
            self.panics.inc();
            let file = self.file.take();
            // Closing it may be more than it can take, too.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(file)));
            Err(FileError::Panicked(self.path.clone()))
        })
    }

    fn carry_out(&mut self, order: Order) -> Result<(), FileError> {
        let (Order::Keep(_, now, _) | Order::Recall(_, now, _) | Order::Sweep(now)) = order;
        let file = self.file(now)?;
        match order {
            Order::Keep(rows, now, done) => {
                file.keep(&rows, now)?;
                let count = file.rows()?;
                self.rows.set(i64::try_from(count).unwrap_or(i64::MAX));
                let _ = done.send(());
            }
            Order::Recall(names, now, answer) => {
                let _ = answer.send(file.recall(&names, now)?);
            }
            Order::Sweep(now) => {
                file.drop_faded(now)?;
                let count = file.rows()?;
                self.rows.set(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        Ok(())
    }

    /// The file. A store that has failed once fails for ever, so it is opened again.
    fn file(&mut self, now: Timestamp) -> Result<&File, FileError> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(open(&self.path, now)?)),
        }
    }

    /// Shows the operator how the file is, once a change.
    fn show(&mut self, error: Option<FileError>) {
        let before = self.failing.set(i64::from(error.is_some()));
        if error.is_some() {
            self.tried = Instant::now();
        }
        match (before, error) {
            (0, Some(error)) => {
                let (file, error) = (self.path.display(), chain(&error));
                tracing::warn!(%file, %error, "cannot keep what should outlive a restart; it is tried again every {} s", REST.as_secs());
            }
            (1, None) => {
                tracing::info!(file = %self.path.display(), "what should outlive a restart is kept again")
            }
            _ => {}
        }
    }
}

/// Opens the file, and says so if another one stood there.
fn open(path: &Path, now: Timestamp) -> Result<File, FileError> {
    let Opened { file, aside } = File::open(path, now)?;
    if let Some((aside, why)) = aside {
        let why = why.escape_debug();
        tracing::warn!(file = %path.display(), %why, aside = %aside.display(), "what an earlier process kept cannot be read; it is set aside, and nothing is remembered of it");
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::shared::Score;

    #[test]
    fn a_store_that_panics_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, metrics, clock) = (folder.path().join("memory"), Metrics::new(), Clock::System);
        let file = Some(open(&path, clock.now()).unwrap());
        let (failing, rows, panics) =
            (metrics.file_degraded.clone(), metrics.file_rows.clone(), metrics.panics.clone());
        let (tried, swept) = (Instant::now(), Instant::now());
        let mut desk = Desk { path, file, clock, tried, swept, failing, rows, panics };
        let done = desk.attempt(|_| panic!("as a damaged page may have it"));
        assert!(matches!(done, Err(FileError::Panicked(_))));
        desk.show(done.err());
        assert_eq!((metrics.file_degraded.get(), metrics.panics.get()), (1, 1));
        assert!(desk.file.is_none());
        let now = desk.clock.now();
        let (score, written) = (Score { points: 40.0, bad: true }, u32::try_from(now.seconds()).unwrap());
        let kept = Kept { score, written, traps: 0, trapped: 0 };
        let (sender, mut written) = oneshot::channel();
        let order = Order::Keep([(Name([1; 16]), kept)].into(), now, sender);
        let done = desk.attempt(|desk| desk.carry_out(order));
        desk.show(done.err());
        assert_eq!((written.try_recv(), metrics.file_degraded.get()), (Ok(()), 0));
        // A row that says nothing any more goes.
        let later = now.after(Duration::from_secs(4 * 3600));
        desk.attempt(|desk| desk.carry_out(Order::Sweep(later))).unwrap();
        assert_eq!(metrics.file_rows.get(), 0);
    }
}
