//! A gate in a process of its own, and what can be seen of it from outside.
#![expect(clippy::disallowed_methods, reason = "tests bound their waits by the real clock")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

use crate::frames::Connection;
use crate::http::{Reply, ask};

/// How long anything may take before a test gives up: far more than it needs on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const POLICY: &str = "version: tollgate/v1
bots:
  - {name: ok, action: ALLOW, paths: [/ok]}
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: all, action: CHALLENGE, path_regex: ^/, challenge: {level: 12}}
";

/// A running gate. Dropping it kills it.
pub(crate) struct Gate {
    child: Child,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) admin: SocketAddr,
    _folder: TempDir,
}

/// How a gate is started.
pub(crate) struct Start {
    pub(crate) stderr: Stdio,
    pub(crate) descriptors: Option<usize>,
    pub(crate) workers: usize,
    pub(crate) settings: &'static str,
}

impl Default for Start {
    fn default() -> Self {
        Self { stderr: Stdio::null(), descriptors: None, workers: 1, settings: "" }
    }
}

impl Start {
    pub(crate) fn go(self) -> Gate {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::write(folder.path().join("policy.yaml"), POLICY).expect("the folder is ours");
        let settings = format!(
            "policy: policy.yaml\nworkers: {}\nlisten: {{grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}}\n\
             drain: {{delay: 0s, timeout: 10s}}\n{}",
            self.workers, self.settings
        );
        fs::write(folder.path().join("tollgate.yaml"), settings).expect("the folder is ours");
        let mut command = Command::new("sh");
        let limit = self.descriptors.map(|n| format!("ulimit -n {n} && ")).unwrap_or_default();
        command.args(["-c", &format!("{limit}exec \"$0\" serve"), env!("CARGO_BIN_EXE_tollgate")]);
        command.current_dir(folder.path()).env_clear().env("PATH", "/usr/bin:/bin");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.stderr).spawn();
        let mut child = child.expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line of text");
        let addresses: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("no addresses: {line:?}"));
        let at = |name: &str| addresses[name].as_str().and_then(|a| a.parse().ok()).expect("it listens");
        Gate { child, grpc: at("grpc"), http: at("http"), admin: at("admin"), _folder: folder }
    }
}

impl Gate {
    pub(crate) fn start() -> Self {
        Start::default().go()
    }

    /// Somebody who behaves asks on every face, and is answered as the policy says.
    pub(crate) fn serves(&self) {
        for (target, statuses) in [("/ok", [200, 200]), ("/closed", [403, 403]), ("/other", [401, 403])] {
            let nginx = format!(
                "GET /auth/nginx HTTP/1.1\r\nhost: gate\r\nx-original-uri: {target}\r\nx-forwarded-host: a.example\r\n\r\n"
            );
            let check = format!("GET /check{target} HTTP/1.1\r\nhost: a.example\r\n\r\n");
            assert_eq!([nginx, check].map(|request| ask(self.http, request).status), statuses, "{target}");
            let want = if target == "/ok" { 0 } else { 7 };
            assert_eq!(Connection::open(self.grpc).check(target, &[]), want, "{target}");
        }
    }

    /// The resident memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// How many file descriptors are open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count()
    }

    /// Lets it open so many more file descriptors and no others; returns how many that makes.
    pub(crate) fn allow_descriptors(&self, more: usize) -> usize {
        let most = self.descriptors() + more;
        let limit = Rlimit { current: Some(most as u64), maximum: Some(most as u64) };
        prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, limit).expect("a limit can go down");
        most
    }

    /// The processor time it has taken, in hundredths of a second.
    pub(crate) fn ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let fields: Vec<_> = stat.rsplit(") ").next().expect("it has a name").split(' ').collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    }

    /// The value of a metric, by its whole name; 0 where it is not there yet.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let reply = self.ask_admin("/metrics");
        let value = reply.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0, |value| value.parse().expect("a whole number"))
    }

    pub(crate) fn ask_admin(&self, path: &str) -> Reply {
        ask(self.admin, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(done.expect("kill is there").success());
    }

    /// Asks it to end, if it has not ended; returns its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("-TERM");
        }
        self.child.wait().expect("it is ours").code()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut question: impl FnMut() -> bool) {
    let start = Instant::now();
    while !question() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come true");
        thread::sleep(Duration::from_millis(5));
    }
}
