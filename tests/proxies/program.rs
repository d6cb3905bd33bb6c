//! Programs that tests start: finding them, waiting for them, stopping them.
#![expect(
    clippy::disallowed_methods,
    reason = "tests look for programs and bound their waits by the real clock"
)]

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up: far more than it needs on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running program. Dropping it stops it.
pub(crate) struct Program {
    child: Child,
    name: &'static str,
    log: PathBuf,
}

impl Program {
    /// Starts `command`; what it prints goes to a file in `folder`.
    pub(crate) fn start(name: &'static str, command: &mut Command, folder: &Path) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file =
            File::options().create(true).append(true).open(&log).expect("the test's own folder is writable");
        let out = file.try_clone().expect("a file handle can be copied");
        let child = command.stdin(Stdio::null()).stdout(out).stderr(file).spawn();
        Self { child: child.unwrap_or_else(|e| panic!("cannot start {name}: {e}")), name, log }
    }

    /// Starts `command` and waits for the first line on its standard output.
    pub(crate) fn start_until_it_speaks(
        name: &'static str,
        command: &mut Command,
        folder: &Path,
    ) -> (Self, String) {
        let log = folder.join(format!("{name}.log"));
        let file =
            File::options().create(true).append(true).open(&log).expect("the test's own folder is writable");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file).spawn();
        let mut program =
            Self { child: child.unwrap_or_else(|e| panic!("cannot start {name}: {e}")), name, log };
        let mut line = String::new();
        let stdout = program.child.stdout.take().expect("it was piped");
        BufReader::new(stdout).read_line(&mut line).expect("a pipe can be read");
        assert!(!line.is_empty(), "{name} ended before it was ready:\n{}", program.said());
        (program, line)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, signal: &str) {
        let done =
            Command::new("sh").args(["-c", "kill -\"$0\" \"$1\"", signal, &self.pid().to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()), "{} cannot be sent {signal}", self.name);
    }

    /// Everything it has printed so far.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Asks `question` until it is answered with yes.
    pub(crate) fn wait_until(&mut self, what: &str, mut question: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !question(self) {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("{} ended ({status}) while a test waited for {what}:\n{}", self.name, self.said());
            }
            assert!(start.elapsed() < PATIENCE, "{}: {what} did not come true:\n{}", self.name, self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Program {
    /// Asks it to end, as an operator would (a killed nginx leaves its workers behind), and kills it if it does not.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
        }
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if start.elapsed() > Duration::from_secs(5) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
            thread::sleep(Duration::from_millis(5));
        }
        if thread::panicking() {
            let said = self.said();
            let tail = said.lines().rev().take(20).collect::<Vec<_>>();
            eprintln!("--- {} said last:", self.name);
            tail.iter().rev().for_each(|line| eprintln!("{line}"));
        }
    }
}

/// Kills without a warning, as the system does when memory runs out.
pub(crate) fn kill(mut program: Program) {
    program.child.kill().expect("it is ours and was not waited for");
    program.child.wait().expect("a killed child can be waited for");
}

/// Asks it to end, as an orchestrator does, and waits; returns its exit code.
pub(crate) fn end(mut program: Program) -> Option<i32> {
    program.signal("TERM");
    program.child.wait().expect("it is ours").code()
}

/// The repository's folder.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program under test: the build that `TOLLGATE_BIN` names, else this profile's own.
pub(crate) fn tollgate() -> PathBuf {
    env::var_os("TOLLGATE_BIN").map_or_else(|| env!("CARGO_BIN_EXE_tollgate").into(), PathBuf::from)
}

/// Finds a program in `.tools/`, where `scripts/test` installs, or on the system. If there is none, this says so aloud, past the
/// capture of passing tests' output, and fails in CI.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let ours = [repository().join(".tools/bin"), repository().join(".tools/venv/bin")];
    let path = env::var_os("PATH").unwrap_or_default();
    // Debian keeps nginx where an ordinary user's PATH does not reach.
    let folders = ours.into_iter().chain(env::split_paths(&path)).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("{name} not found"));
    }
    found
}

/// Says that a test is skipped, and why; with `CI` set it fails instead.
pub(crate) fn skip(why: &str) {
    assert!(
        env::var_os("CI").is_none_or(|ci| ci == OsStr::new("")),
        "{why}, and in CI nothing may be skipped"
    );
    let _ = writeln!(stderr(), "skipped: {why}");
}
