//! Watches the files that the last load read, by looking at them again and again.
//!
//! Looking, and not being told by the kernel: notifications follow an inode or a folder, and so miss what operators do, such
//! as a link above the folder that moves to another one (Kubernetes' ConfigMaps), a file that is mounted by itself, or a
//! change made by another machine on a network file system. A look costs a system call for each file.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::files::Files;

/// How many looks a change waits for the end of changes. Something that never stands still must not keep all else unread.
const PATIENCE: u32 = 30;

/// The files, and what the last looks at them showed.
#[derive(Debug)]
pub(super) struct Watch {
    every: Option<Interval>,
    /// As they stood when they were read.
    read: Files,
    /// As they stood at the last look, if that was different, and how many looks have shown something different.
    moved: Option<(Files, u32)>,
    panics: Counter,
    /// A look that is under way. A file system that hangs holds up this one look and nothing else.
    looking: Option<JoinHandle<Files>>,
}

impl Watch {
    /// Watches files, with this much time between two looks; `None` never looks. Looks that panic are counted.
    pub(super) fn new(files: Files, every: Option<Duration>, panics: Counter) -> Self {
        let every = every.filter(|_| !files.is_empty()).map(|every| {
            let mut ticks = interval_at(Instant::now() + every, every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        Self { every, read: files, moved: None, panics, looking: None }
    }

    /// Waits until files stand differently from when they were read, and still stand so one look later: a file that is being
    /// written is left alone until it is done, for [`PATIENCE`] at most. Returns the names of some of them. Can be dropped and
    /// called again.
    pub(super) async fn changed(&mut self) -> String {
        loop {
            let looking = match &mut self.looking {
                Some(looking) => looking,
                None => {
                    match &mut self.every {
                        Some(every) => every.tick().await,
                        None => pending().await,
                    };
                    let files = self.read.clone();
                    self.looking.insert(spawn_blocking(move || files.look()))
                }
            };
            let found = looking.await;
            self.looking = None;
            let now = match found {
                Ok(now) => now,
                Err(error) => {
                    self.panics.inc();
                    tracing::error!(%error, "cannot look at the files; the next look comes in its time");
                    continue;
                }
            };
            let (before, looks) = self.moved.take().unzip();
            let looks = looks.unwrap_or(0) + 1;
            if now == self.read {
                continue;
            }
            if before.as_ref() == Some(&now) || looks == PATIENCE {
                return names(self.read.differing(&now));
            }
            self.moved = Some((now, looks));
        }
    }
}

/// How many names are told.
const MAX_NAMES: usize = 5;

/// The first names, as a text that holds no control characters.
fn names<'f>(mut files: impl Iterator<Item = &'f Path>) -> String {
    let first: Vec<_> = files.by_ref().take(MAX_NAMES).map(|path| path.display().to_string()).collect();
    let more = files.count();
    let text = first.join(", ").escape_debug().to_string();
    if more == 0 { text } else { format!("{text} and {more} more") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio::time::timeout;

    use super::*;

    const EVERY: Duration = Duration::from_secs(2);

    /// A watch of a file, half of the time between two looks after its start, so that no look falls on the end of a wait.
    async fn watching(file: &Path) -> Watch {
        let mut files = Files::default();
        files.note(file);
        let mut watch = Watch::new(files, Some(EVERY), Counter::default());
        assert!(timeout(EVERY / 2, watch.changed()).await.is_err());
        watch
    }

    /// What is told while this many looks are taken. The clock is the runtime's own and jumps.
    async fn told(watch: &mut Watch, looks: u32) -> Option<String> {
        timeout(EVERY * looks, watch.changed()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_told_once_it_has_lasted_for_a_look() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "text").unwrap();
        let mut watch = watching(&file).await;
        assert_eq!(told(&mut watch, 100).await, None, "nothing changes");
        fs::write(&file, "another text").unwrap();
        assert_eq!(told(&mut watch, 1).await, None, "it may go on");
        assert_eq!(told(&mut watch, 1).await, Some(file.display().to_string()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_still_being_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let mut watch = watching(&file).await;
        for length in 1..10 {
            fs::write(&file, "a".repeat(length)).unwrap();
            assert_eq!(told(&mut watch, 1).await, None, "after {length} bytes");
        }
        assert!(told(&mut watch, 1).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_never_stands_still_is_told_in_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let mut watch = watching(&file).await;
        let mut looks = 0;
        loop {
            looks += 1;
            fs::write(&file, "a".repeat(looks)).unwrap();
            if told(&mut watch, 1).await.is_some() {
                break;
            }
        }
        assert_eq!(looks, PATIENCE as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn what_changes_back_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let mut watch = watching(&file).await;
        fs::write(&file, "text").unwrap();
        assert_eq!(told(&mut watch, 1).await, None);
        fs::remove_file(&file).unwrap();
        assert_eq!(told(&mut watch, 100).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_panics_is_counted_and_the_next_one_sees() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let mut watch = watching(&file).await;
        watch.looking = Some(spawn_blocking(|| panic!("struck")));
        assert_eq!(told(&mut watch, 1).await, None);
        assert_eq!(watch.panics.get(), 1);
        fs::write(&file, "text").unwrap();
        assert!(told(&mut watch, 2).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_interval_nothing_is_ever_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::default();
        files.note(&folder.path().join("a"));
        let mut watch = Watch::new(files, None, Counter::default());
        fs::write(folder.path().join("a"), "text").unwrap();
        assert!(timeout(EVERY * 100, watch.changed()).await.is_err());
    }

    #[test]
    fn names_are_few_and_without_line_breaks() {
        let paths: Vec<_> = (0..7).map(|n| format!("a\n{n}")).collect();
        let told = names(paths.iter().map(Path::new));
        assert_eq!(told, "a\\n0, a\\n1, a\\n2, a\\n3, a\\n4 and 2 more");
    }
}
