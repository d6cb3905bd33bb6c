//! One replica: the real program with a small policy, as a proxy, a visitor and an operator meet it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::time::Instant;

use tempfile::TempDir;
use tollgate::challenge::{Token, answer_text, solve};
use tollgate::clearance::{Lives, seal};
use tollgate::crypto::{Claims, Kind, Ring, Secret, Visitor};

use crate::client::{Ask, BROWSER, Connection, HOST, Reply};
use crate::program::{PATIENCE, Program, kill, tollgate};

/// What is open, what is closed, what is dear, whom nobody wants, and what has its price.
const POLICY: &str = "
version: tollgate/v1
bots:
  - {name: unwanted, action: DENY, paths: [/unwanted], signals: {any: [reputation]}}
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: dear, action: LIMIT, paths: [/dear], rate: {limit: 1200/1m, burst: 40, by: client}}
  - {name: open, action: ALLOW, paths: [/dear, /open, /unwanted]}
  - {name: all, action: CHALLENGE, path_regex: '.*', challenge: {level: 0}}
";

/// The same for all replicas, but for what they share.
const SETTINGS: &str = "
policy: policy.yaml
workers: 1
listen: {grpc: off, http: '127.0.0.1:0', admin: '127.0.0.1:0'}
keys: {file: keys.yaml}
client: {trusted: [127.0.0.0/8]}
challenge: {min_level: 0, size: 10}
status: {challenge: 401}
limits: {work: 1200/1m burst 40, answers: 6/1m}
reload: {watch: off}
drain: {delay: 0s}
";

/// A running replica.
pub(crate) struct Replica {
    program: Option<Program>,
    http: SocketAddr,
    admin: SocketAddr,
    folder: PathBuf,
}

/// A folder for replicas and their server: its path is short enough for a socket's.
pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new().prefix(&format!("fleet{}", id())).tempdir_in("/tmp").unwrap()
}

pub(crate) const SECRET: [u8; 32] = [7; 32];

/// Writes a key ring that nobody else can read.
pub(crate) fn write_keys(folder: &Path, keys: &[(u8, [u8; 32], &str)]) {
    let key = |(id, secret, state): &(u8, [u8; 32], &str)| {
        format!("{{id: {id}, secret: {}, state: {state}}}", tollgate::crypto::encode(secret))
    };
    let keys: Vec<_> = keys.iter().map(key).collect();
    let file = folder.join("keys.yaml");
    fs::write(&file, format!("keys: [{}]", keys.join(", "))).unwrap();
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

impl Replica {
    /// Starts one in a folder of its own below `folder`, with more settings.
    pub(crate) fn start(folder: &Path, name: &str, settings: &str) -> Self {
        Self::start_with(folder, name, settings, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with(folder: &Path, name: &str, settings: &str, variables: &[(&str, &str)]) -> Self {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("policy.yaml"), POLICY).unwrap();
        fs::write(folder.join("tollgate.yaml"), format!("{SETTINGS}{settings}")).unwrap();
        write_keys(&folder, &[(0, SECRET, "sign")]);
        let mut command = Command::new(tollgate());
        command.arg("serve").env_clear().envs(variables.iter().copied());
        Self::run(command, folder)
    }

    /// Runs `command`, which is the program or becomes it, in a replica's folder.
    pub(crate) fn run(mut command: Command, folder: PathBuf) -> Self {
        command.current_dir(&folder);
        let (program, line) = Program::start_until_it_speaks("tollgate", &mut command, &folder);
        let addresses: serde_json::Value = serde_json::from_str(&line).unwrap();
        let at = |listener: &str| addresses[listener].as_str().unwrap().parse().unwrap();
        Self { program: Some(program), http: at("http"), admin: at("admin"), folder }
    }

    /// Ends it as an operator does, and starts it again where it stood.
    pub(crate) fn restart(mut self) -> Self {
        drop(self.program.take());
        self.start_again()
    }

    /// Kills it, as the system does when memory runs out, and starts it again.
    pub(crate) fn kill_and_restart(mut self) -> Self {
        kill(self.program.take().unwrap());
        self.start_again()
    }

    fn start_again(self) -> Self {
        let mut command = Command::new(tollgate());
        command.arg("serve").env_clear();
        Self::run(command, self.folder)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.as_ref().unwrap().pid()
    }

    /// A file of its own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What it has logged.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder.join("tollgate.log")).unwrap()
    }

    /// Whether its log has come to hold so many lines with this, and no more. Lines are written when nothing else is to do.
    pub(crate) fn says(&self, text: &str, times: usize) {
        let lines = || self.said().lines().filter(|line| line.contains(text)).count();
        until(&format!("{text:?} in the log"), || lines() >= times);
        assert_eq!(lines(), times, "{text:?} in {}", self.said());
    }

    /// A visitor's request, as Envoy's HTTP service asks about it.
    pub(crate) fn ask(&self, visitor: &Ask) -> Reply {
        visitor.send(self.http)
    }

    /// A connection to ask over.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.http)
    }

    /// The status of an operator's page.
    pub(crate) fn status(&self, page: &str) -> u16 {
        operator(page).send(self.admin).status
    }

    /// A metric.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = operator("/metrics").send(self.admin);
        let value = text.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name} in {text:?}")).parse().unwrap()
    }

    /// Waits until this replica says of itself that it can share (0) or cannot (1).
    pub(crate) fn wait_until_degraded_is(&self, degraded: u64) {
        until("tollgate_shared_degraded", || self.metric("tollgate_shared_degraded") == degraded);
    }

    /// The bytes that it holds in memory.
    pub(crate) fn resident(&self) -> u64 {
        let pid = self.pid();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Everything that holds whatever the server does. `visitor` is of a network of its own, which answers here once.
    pub(crate) fn stands(&self, visitor: u8) {
        let client = format!("198.51.{visitor}.1");
        let get = |target: &str| get(target, &client);
        let challenged = self.ask(&get("/page"));
        assert_eq!(challenged.status, 401, "uncleared: {challenged:?}");
        assert_eq!(self.ask(&get("/closed")).status, 403);
        assert_eq!(self.ask(&get("/open")).status, 200);
        let token = Token::parse(challenged.header("tollgate-challenge").unwrap().as_bytes()).unwrap();
        let answered = self.answer(&client, &answer_text(&token, &solve(&token)));
        assert_eq!(answered.status, 204, "an answer: {answered:?}");
        let cookie = answered.header("set-cookie").unwrap().split(';').next().unwrap();
        assert_eq!(self.ask(&get("/page").add("cookie", cookie)).status, 200, "cleared");
        assert_eq!(self.ask(&get("/closed").add("cookie", cookie)).status, 403, "cleared, and closed");
        assert_eq!(self.status("/readyz"), 200);
    }

    /// A challenge, solved.
    pub(crate) fn solved(&self, client: &str) -> String {
        let challenged = self.ask(&get("/page", client));
        let token = Token::parse(challenged.header("tollgate-challenge").unwrap().as_bytes()).unwrap();
        answer_text(&token, &solve(&token))
    }

    /// Hands in an answer.
    pub(crate) fn answer(&self, client: &str, answer: &str) -> Reply {
        let post = Ask::new("POST", "/.tollgate/answer").add("x-forwarded-proto", "https");
        let post =
            post.add("x-forwarded-for", client).add("content-length", "0").set("sec-fetch-mode", "cors");
        self.ask(&post.add("tollgate-answer", answer))
    }
}

/// What an operator on this machine asks for.
fn operator(page: &str) -> Ask {
    Ask::get(page).set("host", "localhost")
}

/// A program's GET, which is no page, from a client.
pub(crate) fn get(target: &str, client: &str) -> Ask {
    let get = Ask::fetch(format!("/check{target}")).add("x-forwarded-proto", "https");
    get.add("x-forwarded-for", client)
}

/// A clearance that any replica takes, by its id; issued a minute ago, when nobody looked.
pub(crate) fn cookie(id: [u8; 16]) -> String {
    let ring = Ring::single(Secret::new(SECRET));
    let visitor = Visitor { host: HOST, agent: BROWSER.as_bytes(), net: b"", ja4: b"" };
    let binding = visitor.binding(ring.signing());
    let issued = u32::try_from(tollgate::clock::Clock::System.now().seconds() - 60).unwrap();
    let claims = Claims { key_id: 0, kind: Kind::Work, level: 14, issued, id, binding };
    format!("__Host-tollgate={}", seal(&ring, &claims, &Lives::default()).unwrap().text)
}

/// Asks `question` until it is answered with yes.
#[expect(clippy::disallowed_methods, reason = "a wait is bounded by the real clock")]
pub(crate) fn until(what: &str, mut question: impl FnMut() -> bool) {
    let start = Instant::now();
    while !question() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come true");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
