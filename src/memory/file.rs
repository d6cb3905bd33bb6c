//! What outlives a restart: who has something to its name, in one file.
//!
//! A row is a name, which is a MAC, and numbers. Rows are written many at a time, each time all or none, and a process that is
//! killed in between leaves what was written before. Everything here waits for a disk; no request ever does.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError,
    TableDefinition,
};
use thiserror::Error;

use super::reputation::{FADED, Score};
use super::shared::Name;
use crate::clock::Timestamp;

/// What is kept of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// What it has to its name.
    pub score: Score,
    /// When that was so, in seconds since 1970.
    pub written: u32,
    /// How many traps it went into within the hour before.
    pub traps: u16,
    /// When it last did, in seconds since 1970.
    pub trapped: u32,
}

/// The file.
#[derive(Debug)]
pub struct File {
    rows: Database,
    most: u64,
}

/// A file that was opened.
#[derive(Debug)]
pub struct Opened {
    /// It.
    pub file: File,
    /// Where the one is that stood there and could not be read, and why.
    pub aside: Option<(PathBuf, String)>,
}

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// Another process has it.
    #[error("{0} is open in another process; each needs a file of its own")]
    Busy(PathBuf),
    /// The system refuses.
    #[error("cannot use {path}")]
    System {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The store has met what it did not expect.
    #[error("{0} is damaged, or its store has a bug; what was logged before says where")]
    Panicked(PathBuf),
    /// Something else about storing.
    #[error("cannot store")]
    Storage(#[from] redb::Error),
}

/// Rows by the name of the client: points, 1 if the name is bad, when that was so; traps, and when the last was.
const ROWS: TableDefinition<'_, &[u8; 16], &[u8; 15]> = TableDefinition::new("misdeeds");
/// One number by name: the version.
const ABOUT: TableDefinition<'_, &str, u32> = TableDefinition::new("about");
/// The version of all this. A file of another one is set aside.
const VERSION: u32 = 1;
/// The most rows: some 20 MB of file.
pub(crate) const MOST: u64 = 100_000;
/// What the store may hold in memory, in bytes.
pub(crate) const CACHE: usize = 1 << 20;
/// How long a trap counts, in seconds.
const TRAPPED: u32 = 3600;

impl Kept {
    /// What it has to its name at another moment.
    pub fn at(&self, now: Timestamp) -> Score {
        self.score.after(seconds(now).saturating_sub(self.written) as f32)
    }

    /// Whether it still says anything.
    fn counts(&self, now: Timestamp) -> bool {
        let traps = self.traps > 0 && seconds(now).saturating_sub(self.trapped) < TRAPPED;
        self.at(now).points >= FADED || traps
    }

    /// The same, where it was not written before the clock was set back: such a row would never fade. Clocks of threads may differ
    /// by a second.
    fn by(self, now: Timestamp) -> Self {
        let latest = seconds(now).saturating_add(1);
        Self { written: self.written.min(latest), trapped: self.trapped.min(latest), ..self }
    }

    fn bytes(&self) -> [u8; 15] {
        let mut bytes = [0; 15];
        bytes[..4].copy_from_slice(&self.score.points.to_be_bytes());
        bytes[4] = self.score.bad.into();
        bytes[5..9].copy_from_slice(&self.written.to_be_bytes());
        bytes[9..11].copy_from_slice(&self.traps.to_be_bytes());
        bytes[11..].copy_from_slice(&self.trapped.to_be_bytes());
        bytes
    }

    fn of(bytes: &[u8; 15]) -> Self {
        let [a, b, c, d, bad, e, f, g, h, i, j, k, l, m, n] = *bytes;
        // Whoever can write the file can write any number.
        let points = f32::from_be_bytes([a, b, c, d]);
        let score = Score { points: if points.is_finite() { points } else { 0.0 }, bad: bad == 1 };
        let [written, trapped] = [[e, f, g, h], [k, l, m, n]].map(u32::from_be_bytes);
        Self { score: score.plus(0.0), written, traps: u16::from_be_bytes([i, j]), trapped }
    }
}

impl File {
    /// Opens the file, or makes one, which nobody else may read. One that cannot be read, or is of another version, is set
    /// aside under a name with the time in it.
    pub fn open(path: &Path, now: Timestamp) -> Result<Opened, FileError> {
        Self::open_with(path, now, MOST)
    }

    fn open_with(path: &Path, now: Timestamp, most: u64) -> Result<Opened, FileError> {
        let why = match Self::read(path, now, most)? {
            Ok(file) => return Ok(Opened { file, aside: None }),
            Err(why) => why,
        };
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".unreadable-{}", now.seconds()));
        let aside = PathBuf::from(aside);
        fs::rename(path, &aside).map_err(|source| FileError::System { path: path.to_owned(), source })?;
        match Self::read(path, now, most)? {
            Ok(file) => Ok(Opened { file, aside: Some((aside, why)) }),
            Err(why) => Err(FileError::System { path: path.to_owned(), source: io::Error::other(why) }),
        }
    }

    /// The file, or why what stands there is none of ours.
    fn read(path: &Path, now: Timestamp, most: u64) -> Result<Result<Self, String>, FileError> {
        let system = |source| FileError::System { path: path.to_owned(), source };
        let made =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = made.map_err(system)?;
        file.set_permissions(Permissions::from_mode(0o600)).map_err(system)?;
        drop(file);
        // A file that was changed from outside may bring its reader to a panic.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let rows = Builder::new().set_cache_size(CACHE).set_check_integrity_on_open(true).create(path)?;
            let file = Self { rows, most };
            let version = file.version();
            if matches!(version, Ok(VERSION)) {
                // If the disk does not let it, the next order hears of that.
                let _ = file.drop_faded(now);
            }
            Ok((file, version))
        }));
        let (file, version) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(DatabaseError::DatabaseAlreadyOpen)) => return Err(FileError::Busy(path.to_owned())),
            Ok(Err(DatabaseError::Storage(StorageError::Io(source)))) if !is_content(&source) => {
                return Err(system(source));
            }
            Ok(Err(error)) => return Ok(Err(error.to_string())),
            Err(_) => return Ok(Err("it is damaged".to_owned())),
        };
        Ok(match version {
            Ok(VERSION) => Ok(file),
            Ok(version) => Err(format!("it is of version {version}, and this program writes {VERSION}")),
            Err(error) => Err(error.to_string()),
        })
    }

    /// The version of what is in it; a new one becomes of ours.
    fn version(&self) -> Result<u32, redb::Error> {
        let change = self.rows.begin_write()?;
        let version = {
            let empty = change.list_tables()?.next().is_none();
            let mut about = change.open_table(ABOUT)?;
            let found = about.get("version")?.map(|version| version.value());
            match found {
                Some(version) => version,
                None if empty => {
                    about.insert("version", VERSION)?;
                    VERSION
                }
                // Somebody else's.
                None => 0,
            }
        };
        if version == VERSION {
            change.open_table(ROWS)?;
            change.commit()?;
        }
        Ok(version)
    }

    /// What was kept under the first of several names that has something.
    pub fn recall(&self, names: &[Vec<Name>], now: Timestamp) -> Result<Vec<Option<Kept>>, FileError> {
        let found = || {
            let look = self.rows.begin_read()?;
            let rows = look.open_table(ROWS)?;
            let under = |name: &Name| Ok(rows.get(&name.0)?.map(|row| Kept::of(row.value()).by(now)));
            let one = |names: &Vec<Name>| names.iter().find_map(|name| under(name).transpose()).transpose();
            names.iter().map(one).collect::<Result<Vec<_>, redb::Error>>()
        };
        Ok(found()?)
    }

    /// Keeps rows, all or none, in the place of what was there under their names. When it is back they outlive whatever
    /// happens. Of more rows than fit the ones with the fewest points go.
    pub fn keep(&self, rows: &[(Name, Kept)], now: Timestamp) -> Result<(), FileError> {
        let done = || {
            let change = self.rows.begin_write()?;
            {
                let mut all = change.open_table(ROWS)?;
                for (name, kept) in rows {
                    if kept.counts(now) {
                        all.insert(&name.0, &kept.bytes())?;
                    } else {
                        all.remove(&name.0)?;
                    }
                }
                if all.len()? > self.most {
                    let (floor, mut room) = floor(&all, self.most, now)?;
                    all.retain(|_, row| {
                        let points = Kept::of(row).at(now).points;
                        let stays = points > floor || points == floor && room > 0;
                        room -= usize::from(stays && points == floor);
                        stays
                    })?;
                }
            }
            change.commit()?;
            Ok::<_, redb::Error>(())
        };
        Ok(done()?)
    }

    /// Drops the rows that say nothing any more, and has those that were written before the clock was set back fade from now on.
    pub fn drop_faded(&self, now: Timestamp) -> Result<(), FileError> {
        let done = || {
            let change = self.rows.begin_write()?;
            {
                let mut all = change.open_table(ROWS)?;
                all.retain(|_, row| Kept::of(row).by(now).counts(now))?;
                let mut ahead = Vec::new();
                for row in all.iter()? {
                    let (name, row) = row?;
                    let row = Kept::of(row.value());
                    if row.by(now) != row {
                        ahead.push((*name.value(), row.by(now).bytes()));
                    }
                }
                for (name, row) in &ahead {
                    all.insert(name, row)?;
                }
            }
            change.commit()?;
            Ok::<_, redb::Error>(())
        };
        Ok(done()?)
    }

    /// How many rows there are.
    pub fn rows(&self) -> Result<u64, FileError> {
        let count = || Ok::<_, redb::Error>(self.rows.begin_read()?.open_table(ROWS)?.len()?);
        Ok(count()?)
    }
}

/// The points below which rows have to go, so that a tenth of the room is free again, and how many may stay that have just these.
fn floor(
    rows: &impl ReadableTable<&'static [u8; 16], &'static [u8; 15]>,
    most: u64,
    now: Timestamp,
) -> Result<(f32, usize), redb::Error> {
    let mut points = Vec::new();
    for row in rows.iter()? {
        points.push(Kept::of(row?.1.value()).at(now).points);
    }
    points.sort_by(f32::total_cmp);
    let gone = points.len().saturating_sub(usize::try_from(most - most / 10).unwrap_or(usize::MAX));
    let floor = points.get(gone).copied().unwrap_or_default();
    Ok((floor, points[gone.min(points.len())..].iter().filter(|points| **points == floor).count()))
}

/// Whether an error is about what is in a file, and not about the system.
fn is_content(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

fn seconds(now: Timestamp) -> u32 {
    u32::try_from(now.seconds()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use redb::TableError;

    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(1_800_000_000 + seconds)
    }

    fn kept(points: f32, bad: bool, seconds: u64) -> Kept {
        let written = u32::try_from(at(seconds).seconds()).unwrap();
        Kept { score: Score { points, bad }, written, traps: 0, trapped: 0 }
    }

    fn name(n: u32) -> Name {
        Name([n.to_be_bytes(); 4].concat().try_into().unwrap())
    }

    fn open(path: &Path) -> File {
        let opened = File::open(path, at(20)).unwrap();
        assert_eq!(opened.aside, None);
        opened.file
    }

    #[test]
    fn what_is_kept_is_there_again_under_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let trapped = Kept { traps: 2, trapped: 1_800_000_009, ..kept(20.5, true, 10) };
        open(&path).keep(&[(name(1), kept(8.0, false, 10)), (name(2), trapped)], at(10)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let file = open(&path);
        let names = [vec![name(1)], vec![name(9), name(2)], vec![name(9)], vec![]];
        assert_eq!(
            file.recall(&names, at(20)).unwrap(),
            [Some(kept(8.0, false, 10)), Some(trapped), None, None]
        );
        file.keep(&[(name(1), kept(0.2, false, 20)), (name(2), kept(5.0, true, 20))], at(20)).unwrap();
        assert_eq!(file.recall(&names, at(20)).unwrap(), [None, Some(kept(5.0, true, 20)), None, None]);
        assert_eq!(file.rows().unwrap(), 1, "what says nothing is no row");
    }

    #[test]
    fn points_fade_while_nobody_runs_and_traps_are_forgotten() {
        let bad = kept(40.0, true, 0);
        assert_eq!((bad.at(at(1800)).points.round(), bad.at(at(1800)).bad), (20.0, true));
        assert!(!bad.at(at(6 * 1800)).bad && bad.counts(at(6 * 1800)) && !bad.counts(at(7 * 1800)));
        let trap = Kept { traps: 1, trapped: bad.written, ..kept(0.0, false, 0) };
        assert!(trap.counts(at(3599)) && !trap.counts(at(3601)));
    }

    #[test]
    fn what_has_faded_is_dropped_and_what_is_ahead_of_the_clock_fades() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let file = open(&path);
        let ahead = Kept { traps: 1, trapped: kept(0.0, false, 90_000).written, ..kept(40.0, true, 90_000) };
        file.keep(&[(name(1), kept(80.0, true, 0)), (name(2), ahead)], at(0)).unwrap();
        file.drop_faded(at(3 * 3600)).unwrap();
        assert_eq!(file.rows().unwrap(), 2);
        let found = file.recall(&[vec![name(2)]], at(3 * 3600)).unwrap()[0].unwrap();
        assert_eq!((found.at(at(3 * 3600 + 1801)).points, found.trapped), (20.0, found.written));
        file.drop_faded(at(4 * 3600)).unwrap();
        assert_eq!((file.rows().unwrap(), file.recall(&[vec![name(1)]], at(0)).unwrap()[0]), (1, None));
        drop(file);
        assert_eq!(
            File::open(&path, at(8 * 3600)).unwrap().file.rows().unwrap(),
            0,
            "opening drops them too"
        );
    }

    #[test]
    fn one_that_cannot_be_read_is_set_aside_and_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let garbage: [(&str, Vec<u8>); 3] =
            [("text", b"not a store\n".to_vec()), ("zeros", vec![0; 9000]), ("noise", vec![0xa5; 70_000])];
        for (kind, bytes) in garbage {
            let path = folder.path().join(kind);
            fs::write(&path, &bytes).unwrap();
            let Opened { file, aside } = File::open(&path, at(7)).unwrap();
            let (aside, why) = aside.unwrap();
            assert!(!why.is_empty());
            assert_eq!(aside, folder.path().join(format!("{kind}.unreadable-1800000007")));
            assert_eq!(fs::read(&aside).unwrap(), bytes);
            file.keep(&[(name(1), kept(9.0, false, 0))], at(0)).unwrap();
            drop(file);
            assert_eq!(open(&path).rows().unwrap(), 1);
        }
    }

    #[test]
    fn a_store_of_our_own_that_was_damaged_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let rows: Vec<_> = (0..2000).map(|n| (name(n), kept(9.0, false, 0))).collect();
        open(&path).keep(&rows, at(0)).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut aside = 0;
        for part in 1..=40 {
            let mut bytes = whole.clone();
            let damaged = bytes.len() * part / 41;
            bytes[damaged..damaged + 64].iter_mut().for_each(|byte| *byte ^= 0x5a);
            if part > 30 {
                bytes.truncate(whole.len() * (part - 30) / 11);
            }
            fs::write(&path, &bytes).unwrap();
            let opened = File::open(&path, at(part as u64)).unwrap();
            // What is left is whole, or nothing.
            assert!(matches!(opened.file.rows().unwrap(), 0 | 2000), "part {part}");
            aside += usize::from(opened.aside.is_some());
        }
        assert!(aside > 10, "{aside} of 40 were noticed");
    }

    #[test]
    fn another_version_and_another_program_are_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        drop(open(&path));
        let store = Database::create(&path).unwrap();
        let change = store.begin_write().unwrap();
        change.open_table(ABOUT).unwrap().insert("version", VERSION + 1).unwrap();
        change.commit().unwrap();
        drop(store);
        let (_, why) = File::open(&path, at(0)).unwrap().aside.unwrap();
        assert!(why.contains("version 2"), "{why}");

        let path = folder.path().join("theirs");
        let store = Database::create(&path).unwrap();
        let change = store.begin_write().unwrap();
        let theirs: TableDefinition<'_, &str, u64> = TableDefinition::new("theirs");
        change.open_table(theirs).unwrap().insert("one", 1).unwrap();
        change.commit().unwrap();
        drop(store);
        let Opened { file, aside } = File::open(&path, at(0)).unwrap();
        drop(file);
        let store = Database::create(aside.unwrap().0).unwrap();
        let look = store.begin_read().unwrap();
        assert_eq!(look.open_table(theirs).unwrap().get("one").unwrap().unwrap().value(), 1);
        assert!(matches!(look.open_table(ABOUT), Err(TableError::TableDoesNotExist(_))), "it is as it was");
    }

    #[test]
    fn a_file_that_another_process_has_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let _first = open(&path);
        assert!(matches!(File::open(&path, at(0)), Err(FileError::Busy(_))));
        let nowhere = folder.path().join("missing/memory");
        assert!(matches!(File::open(&nowhere, at(0)), Err(FileError::System { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn no_more_rows_are_kept_than_fit_and_the_worst_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory");
        let file = File::open_with(&path, at(0), 1000).unwrap().file;
        for round in 0..30 {
            let rows: Vec<_> = (0..500)
                .map(|n| (name(round * 500 + n), kept(1.0 + (n % 60) as f32, n % 60 > 20, 0)))
                .collect();
            file.keep(&rows, at(0)).unwrap();
            assert!(file.rows().unwrap() <= 1000);
        }
        assert!(file.rows().unwrap() >= 900);
        let worst: Vec<_> = (0..30).map(|round| vec![name(round * 500 + 59)]).collect();
        assert!(file.recall(&worst, at(20)).unwrap().iter().all(Option::is_some));
        // As many with the same points as fit stay too.
        let alike: Vec<_> = (0..3000).map(|n| (name(1 << 20 | n), kept(80.0, true, 0))).collect();
        file.keep(&alike, at(0)).unwrap();
        assert_eq!(file.rows().unwrap(), 900);
        let bytes = fs::metadata(&path).unwrap().len();
        assert!(bytes < 2 << 20, "{bytes} bytes");
    }

    #[test]
    fn any_row_can_be_read() {
        for bytes in [[0; 15], [0xff; 15], [0x7f; 15]] {
            let kept = Kept::of(&bytes);
            assert!((0.0..=80.0).contains(&kept.score.points));
            let _ = (kept.at(at(0)), kept.counts(Timestamp::default()), kept.bytes());
        }
    }
}
