//! The program, in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder with the files of one test.
pub(crate) struct Folder(TempDir);

/// What a command did.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder for the test"));
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it stands in the folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it was written")
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.feed(arguments, "")
    }

    /// Runs the program with a text on its stdin.
    pub(crate) fn feed(&self, arguments: &[&str], stdin: &str) -> Done {
        run_in(self.0.path(), arguments, stdin)
    }
}

/// The program with none of this machine's settings.
pub(crate) fn run_in(folder: &Path, arguments: &[&str], stdin: &str) -> Done {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It may end before it has read all of it.
    drop(child.stdin.take().expect("it is piped").write_all(stdin.as_bytes()));
    let done = child.wait_with_output().expect("it is ours");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Done {
        code: done.status.code().expect("it was not killed"),
        out: text(done.stdout),
        err: text(done.stderr),
    }
}

/// The repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
