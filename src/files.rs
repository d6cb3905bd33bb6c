//! Which files a load has read, and how each of them stood just before: what tells later whether to read them again.
//! Looks at the files' marks in the file system, never at their contents.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files and folders with their marks. Two of these are equal when the same files stand the same way.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Files(BTreeMap<PathBuf, Mark>);

/// How a file stands. Links are followed, so that a link that is moved to another file shows, and so does a mount.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mark {
    /// It is not there, or cannot be looked at.
    Absent,
    Present {
        device: u64,
        inode: u64,
        size: u64,
        /// Seconds and nanoseconds.
        modified: (i64, i64),
        /// The same of the inode: it moves on too where a copy sets back the time above, and with the file's mode.
        changed: (i64, i64),
    },
}

impl Mark {
    fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::Absent, |meta| Self::Present {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

impl Files {
    /// Notes a file that is about to be read, a name that may come to mean a file, or a folder that is about to be searched.
    /// One that was noted before keeps its first mark: a change in between is a change.
    pub fn note(&mut self, path: &Path) {
        if !self.0.contains_key(path) {
            self.0.insert(path.to_owned(), Mark::of(path));
        }
    }

    /// The same files as they stand now. Blocks as long as the file system does.
    pub fn look(&self) -> Self {
        Self(self.0.keys().map(|path| (path.clone(), Mark::of(path))).collect())
    }

    /// Those that stand differently in another look at them.
    pub fn differing<'f>(&'f self, other: &'f Self) -> impl Iterator<Item = &'f Path> {
        self.0.iter().filter(|(path, mark)| other.0.get(*path) != Some(mark)).map(|(path, _)| path.as_path())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Whether a change to a folder with a file `a` shows in looks at the path `seen`.
    fn shows(seen: &str, change: impl FnOnce(&Path)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("one")).unwrap();
        fs::create_dir(at("two")).unwrap();
        fs::write(at("one/a"), "text").unwrap();
        fs::write(at("two/a"), "text").unwrap();
        symlink("one", at("current")).unwrap();
        symlink("current/a", at("a")).unwrap();
        let mut files = Files::default();
        files.note(&at(seen));
        assert_eq!(files.look(), files, "nothing has changed yet");
        change(folder.path());
        let after = files.look();
        assert_eq!(files.differing(&after).count(), usize::from(after != files));
        after != files
    }

    #[test]
    fn every_way_to_change_a_file_shows() {
        assert!(shows("one/a", |f| fs::write(f.join("one/a"), "longer text").unwrap()), "written over");
        assert!(shows("one/a", |f| fs::remove_file(f.join("one/a")).unwrap()), "gone");
        assert!(shows("one/b", |f| fs::write(f.join("one/b"), "").unwrap()), "there at last");
        assert!(
            shows("one/a", |f| fs::rename(f.join("two/a"), f.join("one/a")).unwrap()),
            "moved into place"
        );
        assert!(shows("one", |f| fs::write(f.join("one/b"), "").unwrap()), "a folder has one more");
        assert!(
            shows("one/a", |f| {
                fs::remove_file(f.join("one/a")).unwrap();
                fs::create_dir(f.join("one/a")).unwrap();
            }),
            "a folder in its place"
        );
        assert!(
            shows("one/a", |f| {
                fs::set_permissions(f.join("one/a"), fs::Permissions::from_mode(0o600)).unwrap();
            }),
            "another mode"
        );
    }

    #[test]
    fn a_link_that_is_moved_shows_through_every_link_that_leads_over_it() {
        // As Kubernetes swaps a ConfigMap: the file's own link stays, the folder's is replaced in one step.
        assert!(shows("a", |f| {
            symlink("two", f.join("next")).unwrap();
            fs::rename(f.join("next"), f.join("current")).unwrap();
        }));
    }

    #[test]
    fn what_changes_elsewhere_does_not_show() {
        assert!(!shows("one/a", |f| fs::write(f.join("one/b"), "").unwrap()));
        assert!(!shows("one/a", |f| drop(fs::read(f.join("one/a")).unwrap())));
    }

    #[test]
    fn the_first_note_of_a_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut files = Files::default();
        files.note(&path);
        fs::write(&path, "text").unwrap();
        files.note(&path);
        assert_eq!(files.differing(&files.look()).collect::<Vec<_>>(), [path.as_path()]);
    }
}
