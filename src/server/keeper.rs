//! The file that outlives a restart, on a thread of its own: a disk takes its time, and a bad one takes all of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::Error;
use super::reload::chain;
use crate::clock::Timestamp;
use crate::memory::file::{File, FileError, Kept, Opened};
use crate::memory::shared::Name;
use crate::metrics::Metrics;

/// How long a look into the file may take before those it is about are taken for strangers until they come again.
const LOOK: Duration = Duration::from_millis(100);
/// How long a file that failed is left alone.
const REST: Duration = Duration::from_secs(5);
/// How many orders wait for a slow disk before none are taken.
const ORDERS: usize = 8;

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
}

impl Keeper {
    /// Opens the file at `path` and starts the thread.
    pub(super) fn start(path: PathBuf, metrics: &Metrics, now: Timestamp) -> Result<Self, Error> {
        let file = open(&path, now)?;
        let (sender, orders) = sync_channel(ORDERS);
        let (failing, rows) = (metrics.file_degraded.clone(), metrics.file_rows.clone());
        rows.set(i64::try_from(file.rows()?).unwrap_or(i64::MAX));
        let desk = Desk { path, file: Some(file), tried: Instant::now(), failing, rows };
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
    tried: Instant,
    failing: Gauge,
    rows: Gauge,
}

impl Desk {
    /// Does as it is told until nobody is left to tell.
    fn obey(mut self, orders: &Receiver<Order>) {
        for order in orders {
            let now = match order {
                Order::Keep(_, now, _) | Order::Recall(_, now, _) => now,
            };
            if self.file.is_none() && self.tried.elapsed() < REST {
                continue;
            }
            let count = self.rows.clone();
            let done = self.file(now).and_then(|file| match order {
                Order::Keep(rows, now, done) => {
                    file.keep(&rows, now)?;
                    count.set(i64::try_from(file.rows()?).unwrap_or(i64::MAX));
                    let _ = done.send(());
                    Ok(())
                }
                Order::Recall(names, _, answer) => {
                    let _ = answer.send(file.recall(&names)?);
                    Ok(())
                }
            });
            self.show(done.err());
        }
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
            (self.file, self.tried) = (None, Instant::now());
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
