//! The program as a whole: its exit codes, what it says about wrong input, and how it starts, reloads and ends.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

#[path = "data/mmdb.rs"]
mod mmdb;
#[path = "data/name_server.rs"]
mod name_server;

/// A command in a folder of its own, with none of this machine's settings.
fn tollgate(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
    command
}

/// What a command did: its exit code, stdout and stderr.
fn ran(command: &mut Command) -> (i32, String, String) {
    let done = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    (done.status.code().expect("it was not killed"), text(done.stdout), text(done.stderr))
}

fn run(folder: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    ran(&mut tollgate(folder.path(), arguments))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).expect("the folder is ours");
}

/// A gate that runs, ended by its pid when the test is over.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    addresses: serde_json::Value,
}

impl Running {
    fn start(folder: &TempDir, arguments: &[&str]) -> Self {
        // No proxy asks it, so there is none to go elsewhere before it ends.
        Self::start_with(folder, arguments, "0s")
    }

    fn start_with(folder: &TempDir, arguments: &[&str], delay: &str) -> Self {
        let mut command = tollgate(folder.path(), arguments);
        command.env("TOLLGATE_DRAIN__DELAY", delay);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line of text");
        let addresses = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no addresses: {line:?}"));
        Self { child, stdout, addresses }
    }

    fn on_free_ports(folder: &TempDir) -> Self {
        Self::start(folder, FREE_PORTS)
    }

    fn address(&self, listener: &str) -> SocketAddr {
        let text = self.addresses[listener].as_str().expect("it listens");
        text.parse().expect("an address")
    }

    fn signal(&self, name: &str) {
        let done =
            Command::new("kill").args([name, &self.child.id().to_string()]).status().expect("kill is there");
        assert!(done.success());
    }

    /// Asks it to end; returns its exit code, the rest of stdout, and stderr.
    fn end(mut self) -> (i32, String, String) {
        self.signal("-TERM");
        let code = self.child.wait().expect("it is ours").code().expect("it ends by itself");
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).expect("text");
        self.child.stderr.take().expect("it is piped").read_to_string(&mut err).expect("text");
        (code, out, err)
    }

    /// Reads stderr up to a line that holds `text`.
    fn until(&mut self, text: &str) -> String {
        let stderr = self.child.stderr.as_mut().expect("it is piped");
        // Byte by byte, so that nothing behind the line is taken from the next reader.
        let (mut line, mut byte) = (Vec::new(), [0]);
        loop {
            assert_eq!(stderr.read(&mut byte).expect("it writes"), 1, "it ended before it said {text:?}");
            line.push(byte[0]);
            if byte[0] == b'\n' {
                let said = String::from_utf8_lossy(&line).into_owned();
                if said.contains(text) {
                    return said;
                }
                line.clear();
            }
        }
    }
}

const FREE_PORTS: &[&str] = &["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// One HTTP/1.1 exchange; returns status line, headers and body as text.
fn exchange(stream: impl Read + Write, host: &str, path: &str, headers: &str) -> String {
    exchange_as("GET", stream, host, path, headers)
}

fn exchange_as(method: &str, mut stream: impl Read + Write, host: &str, path: &str, headers: &str) -> String {
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers in text");
    answer
}

fn get(at: SocketAddr, path: &str, headers: &str) -> String {
    let stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can wait");
    exchange(stream, &at.to_string(), path, headers)
}

#[test]
fn exit_codes_tell_success_failure_usage_and_bad_settings_apart() {
    let folder = folder();
    write(&folder, "bad.yaml", "workers: many");
    write(&folder, "bad-policy.yaml", "bots:\n  - name: a\n    acton: DENY\n");
    for (arguments, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["keygen"], 0),
        (&["check"], 0),
        (&["config"], 0),
        (&["explain"], 0),
        (&["explain", "--client", "nobody"], 2),
        (&["explain", "--header", "no colon"], 2),
        (&["explain", "--scheme", "ftp"], 2),
        (&["replay", "missing.log"], 1),
        (&["replay", "--header", "no colon"], 2),
        (&["completions", "bash"], 0),
        (&["completions", "none"], 2),
        (&["config", "--schema"], 0),
        (&["explain", "--requests", "missing.jsonl"], 1),
        (&["keygen", "--file", "missing/keys.yaml"], 1),
        (&["keygen", "--rotate", "--file", "missing.yaml"], 1),
        (&["solve", "http://127.0.0.1:1/"], 1),
        (&["solve", "127.0.0.1"], 1),
        (&["demo", "--listen", "0.0.0.0:0"], 1),
        (&["nothing"], 2),
        (&["--nothing"], 2),
        (&["keygen", "--rotate"], 2),
        (&["serve", "--config", "missing.yaml"], 64),
        (&["serve", "--config", "bad.yaml"], 64),
        (&["check", "--config", "bad.yaml"], 64),
        (&["config", "--config", "bad.yaml"], 64),
        (&["explain", "--config", "bad.yaml"], 64),
        (&["check", "--policy", "bad-policy.yaml"], 64),
        (&["check", "--policy", "missing.yaml"], 64),
        (&["--admin", "0.0.0.0:0"], 64),
    ] {
        let (got, out, err) = run(&folder, arguments);
        assert_eq!(got, code, "{arguments:?}\n{out}\n{err}");
    }
}

#[test]
fn help_names_every_command_and_every_flag_of_a_setting() {
    let (_, help, _) = run(&folder(), &["--help"]);
    for word in [
        "serve",
        "demo",
        "check",
        "explain",
        "replay",
        "test",
        "policy",
        "import",
        "keygen",
        "solve",
        "config",
        "completions",
        "page",
    ] {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {word} "))), "{word} in\n{help}");
    }
    for key in tollgate::config::KEYS {
        if let Some(flag) = key.flag {
            assert!(help.contains(&format!("--{}", flag.name)) && help.contains(key.meaning), "{}", key.name);
        }
    }
}

#[test]
fn all_problems_of_file_environment_flags_and_policy_come_at_once() {
    let folder = folder();
    write(&folder, "tollgate.yaml", "listen:\n  grcp: off\nworkers: many\npolicy: policy.yaml\n");
    write(&folder, "policy.yaml", "version: tollgate/v1\nbots:\n  - name: a\n    acton: DENY\n");
    for arguments in [&["check", "--prefix", "x"][..], &["serve", "--prefix", "x"]] {
        let mut command = tollgate(folder.path(), arguments);
        let (code, out, err) =
            ran(command.env("TOLLGATE_SHADOW", "maybe").env("TOLLGATE_KEYS__SECRET", "hunter2"));
        assert_eq!((code, out.as_str()), (64, ""));
        for piece in [
            "tollgate.yaml:2:3",
            "did you mean `listen.grpc`?",
            "tollgate.yaml:3:10",
            "policy.yaml:4:5",
            "^^^^",
            "TOLLGATE_SHADOW",
            "TOLLGATE_KEYS__SECRET",
            "--prefix",
        ] {
            assert!(err.contains(piece), "{piece} in\n{err}");
        }
        assert!(!err.contains("hunter2"), "{err}");
    }
}

#[test]
fn check_speaks_json() {
    let folder = folder();
    write(&folder, "tollgate.yaml", "workers: many\n");
    let (code, out, err) = run(&folder, &["check", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).expect("one object");
    assert_eq!((code, err.as_str(), &report["ok"]), (64, "", &false.into()));
    let problem = &report["problems"][0];
    assert_eq!(
        (&problem["key"], &problem["line"], &problem["column"]),
        (&"workers".into(), &1.into(), &10.into())
    );
}

#[test]
fn config_shows_values_and_origins_and_no_secret() {
    let folder = folder();
    write(&folder, "tollgate.yaml", "workers: 3\n");
    let secret = "ab".repeat(32);
    let mut command = tollgate(folder.path(), &["config", "--json", "--hops", "2"]);
    let (code, out, _) = ran(command.env("TOLLGATE_KEYS__SECRET", &secret));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&out).expect("an array");
    let row = |key: &str| {
        let row = rows.iter().find(|row| row["key"] == key).expect("every key is there");
        (row["value"].clone(), row["origin"].clone())
    };
    assert_eq!(code, 0);
    assert_eq!(row("workers"), ("3".into(), "tollgate.yaml".into()));
    assert_eq!(row("client.hops"), ("2".into(), "--hops".into()));
    assert_eq!(row("keys.secret"), ("(redacted)".into(), "TOLLGATE_KEYS__SECRET".into()));
    assert_eq!(row("replicas"), ("1".into(), "default".into()));
    assert!(!out.contains(&secret));
}

#[test]
fn the_readme_has_the_table_of_settings_from_the_code() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("a README");
    let (_, rest) = readme.split_once("<!-- settings: begin").expect("the table's begin");
    let (_, rest) = rest.split_once("-->\n").expect("the comment's end");
    let (table, _) = rest.split_once("<!-- settings: end -->").expect("the table's end");
    let (_, printed, _) = run(&folder(), &["config", "--table"]);
    assert!(table == printed, "put the output of `tollgate config --table` into README.md");
}

/// The fenced block of the README that begins with this comment.
fn fenced<'r>(readme: &'r str, name: &str) -> &'r str {
    let start =
        readme.find(&format!("```yaml\n# {name}")).expect("a block that names the file") + "```yaml\n".len();
    readme[start..].split("```").next().expect("a block that ends")
}

#[test]
fn the_settings_and_policies_that_documents_show_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(root.join("README.md")).expect("a README");
    let folder = folder();
    for name in ["tollgate.yaml", "policy.yaml"] {
        write(&folder, name, fenced(&readme, name));
    }
    assert_eq!(run(&folder, &["keygen", "--file", "keys.yaml"]).0, 0);
    let (code, out, err) = run(&folder, &["check"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    write(&folder, "sites.yaml", fenced(&readme, "sites.yaml"));
    write(&folder, "shop.yaml", fenced(&readme, "policy.yaml"));
    let (code, out, err) = run(&folder, &["check", "--policy", "sites.yaml"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let [settings, policy] = ["envoy/tollgate.yaml", "policy.yaml"]
        .map(|name| root.join("examples").join(name).display().to_string());
    let (code, out, err) = run(&folder, &["check", "--config", &settings, "--policy", &policy]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
}

#[test]
fn the_pages_that_the_readme_shows_can_be_looked_at() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("a README");
    let folder = folder();
    let template =
        readme.split("```html\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a template");
    write(&folder, "page.html", template);
    write(
        &folder,
        "logo.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 0h9v9z'/></svg>",
    );
    let settings = fenced(&readme, "of tollgate.yaml: the page");
    write(&folder, "tollgate.yaml", &format!("{}  template: page.html\n", settings.replace("  # l", "  l")));
    let (code, out, err) = run(&folder, &["page", "--preview", "pages"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let read = |name: &str| fs::read_to_string(folder.path().join("pages").join(name)).expect("a page");
    assert!(read("index.html").contains("href=\"pt-BR/cookies.html\""));
    for page in ["de/deny.html", "de/cookies.html"] {
        let html = read(page);
        for part in [
            "<p>Welcome to Readers&#39; Hall.</p>",
            "help@readers.example",
            "Run by volunteers.",
            "max-width: 40rem",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }
    assert!(read("script.js").contains("onmessage"));
    // The picture stands in the block that this template fills with words.
    let (_, ours, _) = run(&folder, &["page", "--template"]);
    assert!(ours.contains("{% block header %}") && ours.contains("id=\"logo\""), "{ours}");
    write(&folder, "page.html", "{% extends 'page.html' %}\n{% block header %}{{ titel }}{% endblock %}");
    let (code, _, err) = run(&folder, &["page", "--preview", "pages"]);
    assert_eq!(code, 64);
    assert!(err.contains("line 2: undefined value") && err.contains("page.template"), "{err}");
    assert_eq!(run(&folder, &["page"]).0, 2, "it asks what is wanted");
}

#[test]
fn steps_that_are_taken_at_once_take_turns() {
    let folder = folder();
    assert_eq!(run(&folder, &["keygen", "--file", "keys.yaml"]).0, 0);
    let held = fs::File::open(folder.path().join("keys.yaml")).expect("it is ours");
    held.lock().expect("nobody else has it");
    let mut step = tollgate(folder.path(), &["keygen", "--file", "keys.yaml", "--add"]);
    let mut step = step.stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut said = BufReader::new(step.stderr.take().expect("it is piped")).lines();
    let mut line = || said.next().expect("it goes on").expect("it is text");
    assert!(line().starts_with("waiting for whoever has locked "));
    let text = || fs::read_to_string(folder.path().join("keys.yaml")).expect("it is ours");
    // What the other one puts in its place meanwhile is not lost.
    let other = text().replace("\n", " # the other's\n");
    write(&folder, "fresh", &other);
    fs::set_permissions(folder.path().join("fresh"), fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::rename(folder.path().join("fresh"), folder.path().join("keys.yaml")).expect("it is ours");
    drop(held);
    assert!(step.wait().expect("it ends").success());
    assert!(text().contains("the other's") && text().contains("id: 1"), "{}", text());
}

#[test]
fn keys_are_made_private_rotated_and_accepted() {
    let folder = folder();
    let file = folder.path().join("keys.yaml");
    let made = |arguments: &[&str]| run(&folder, arguments).0;
    assert_eq!(made(&["keygen", "--file", "keys.yaml"]), 0);
    assert_eq!(fs::metadata(&file).expect("it was made").permissions().mode() & 0o777, 0o600);
    assert_eq!(made(&["keygen", "--file", "keys.yaml"]), 1, "a ring is never written over");
    assert_eq!(made(&["keygen", "--file", "keys.yaml", "--rotate"]), 0);
    let text = fs::read_to_string(&file).expect("it is ours");
    assert!(text.contains("id: 1, state: sign") && text.contains("id: 0, state: verify"), "{text}");
    let (code, out, err) = run(&folder, &["keygen", "--file", "keys.yaml", "--promote"]);
    assert!(code == 1 && out.is_empty() && err.contains("add one with --add first"), "{err}");
    assert!(err.contains("key 1 signs, made ") && err.contains("key 0 verifies, signed until "), "{err}");
    assert_eq!(fs::read_to_string(&file).expect("it is ours"), text, "what is refused changes nothing");
    write(&folder, "tollgate.yaml", "cookie: {ttl: {work: 30d}}\n");
    let (code, _, err) = run(&folder, &["keygen", "--file", "keys.yaml", "--retire"]);
    assert!(code == 1 && err.contains("counts for 30 days (`cookie.ttl.work`, tollgate.yaml)"), "{err}");
    for flags in [&["--add"][..], &["--promote"], &["--drop", "2"]] {
        let (code, out, err) = run(&folder, &[&["keygen", "--file", "keys.yaml"], flags].concat());
        assert!(code == 0 && out.is_empty() && err.contains("next: give the file to every replica"), "{err}");
        assert_eq!(fs::metadata(&file).expect("it was made").permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(made(&["keygen", "--add"]), 2, "it needs a file");
    assert_eq!(made(&["keygen", "--file", "keys.yaml", "--add", "--retire"]), 2, "one step at a time");
    assert_eq!(made(&["check", "--key-file", "keys.yaml"]), 0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let (code, _, err) = run(&folder, &["check", "--key-file", "keys.yaml"]);
    assert!(code == 64 && err.contains("others can read"), "{code} {err}");
    let (_, secret, _) = run(&folder, &["keygen"]);
    assert!(tollgate::crypto::Secret::parse(&secret).is_ok());
}

#[test]
fn several_replicas_need_a_key() {
    let folder = folder();
    write(&folder, "tollgate.yaml", "replicas: 3\n");
    let (code, _, err) = run(&folder, &["check"]);
    assert!(code == 64 && err.contains("must share their keys"), "{err}");
    let (_, secret, _) = run(&folder, &["keygen"]);
    let code = ran(tollgate(folder.path(), &["check"]).env("TOLLGATE_KEYS__SECRET", secret.trim())).0;
    assert_eq!(code, 0);
}

#[test]
fn explain_answers_every_line_in_its_place() {
    let folder = folder();
    write(
        &folder,
        "policy.yaml",
        "version: tollgate/v1\ndefault: ALLOW\nbots:\n  - {name: closed, action: DENY, paths: [/no]}\n  - {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 13}}\n",
    );
    let lines = [
        (
            r#"{"method":"GET","target":"/no","host":"a","scheme":"https","client":"192.0.2.1","headers":[["user-agent","x"]]}"#,
            "deny",
        ),
        ("no json", "error"),
        (r#"{"target":"/pay"}"#, "challenge"),
        ("", "error"),
        (r#"{"target":"/\u0079es","policy":"default","client":null}"#, "allow"),
        (r#"{"target":"/","unknown":1}"#, "error"),
        (r#"{"target":"no slash"}"#, "deny"),
    ];
    let text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    write(&folder, "requests.jsonl", &text);
    let (code, out, _) =
        run(&folder, &["explain", "--policy", "policy.yaml", "--json", "--requests", "requests.jsonl"]);
    let answers: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        (code, answers.len()),
        (1, lines.len()),
        "a line that is no request fails at the end, and stops nothing"
    );
    for (answer, (line, want)) in answers.iter().zip(&lines) {
        assert_eq!(answer["verdict"].as_str().unwrap_or("error"), *want, "{line}");
        assert_eq!(answer["error"].is_string(), *want == "error", "{line}");
    }
    let asked = serde_json::json!({"kind": "work", "attempts": 8192, "level": 13});
    assert_eq!(answers[2]["challenge"], asked);
    assert_eq!(
        (&answers[0]["challenge"], &answers[0]["shadow"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(answers[0]["trace"][0]["rule"], "bot/closed");
    let (code, out, _) = run(&folder, &["explain", "--policy", "policy.yaml", "-t", "/no"]);
    assert!(code == 0 && out.contains("deny by bot/closed"), "{out}");
}

/// The request number that a page shows.
fn request_number(page: &str) -> &str {
    let after = page
        .split("Request number: <code dir=\"ltr\">")
        .nth(1)
        .unwrap_or_else(|| panic!("no number: {page}"));
    after.split('<').next().expect("the number")
}

#[test]
fn the_number_on_a_page_is_the_one_in_the_log_and_in_the_metrics() {
    let folder = folder();
    write(
        &folder,
        "p.yaml",
        "bots:\n  - {name: deny, action: DENY, path_regex: ^/no}\n  - {name: pay, action: CHALLENGE, path_regex: .*}\n",
    );
    let arguments =
        ["--policy", "p.yaml", "--grpc", "off", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let gate = Running::start(&folder, &arguments);
    let http = gate.address("http");
    let facts = |path: &str| {
        format!(
            "X-Forwarded-Uri: {path}\r\nX-Forwarded-Host: a.example\r\nUser-Agent: x\r\nAccept: text/html\r\n"
        )
    };
    let mut numbers = Vec::new();
    for (path, headers) in [
        ("/check/pay", "User-Agent: x\r\nAccept: text/html\r\n".to_owned()),
        ("/check/no", "User-Agent: x\r\nAccept: text/html\r\n".to_owned()),
        ("/auth/forward", facts("/pay")),
        ("/auth/forward", facts("/no")),
        ("/.tollgate/page", facts("/pay")),
        ("/.tollgate/page", facts("/no")),
    ] {
        let page = get(http, path, &headers);
        let number = request_number(&page).to_owned();
        let metrics = get(gate.address("admin"), "/metrics", "");
        assert!(metrics.contains(&format!("# {{id=\"{number}\"}}")), "{path}: {number} in {metrics}");
        numbers.push(number);
    }
    // What the lane without scripts says is in the log as well.
    for path in ["/.tollgate/wait?t=x", "/.tollgate/wait"] {
        numbers.push(request_number(&get(http, path, "User-Agent: x\r\nAccept: text/html\r\n")).to_owned());
    }
    let (_, _, log) = gate.end();
    for number in numbers {
        assert_eq!(log.matches(&number).count(), 1, "{number} in {log}");
    }
}

#[test]
fn it_starts_on_free_ports_says_where_and_ends_in_order() {
    let folder = folder();
    let gate = Running::on_free_ports(&folder);
    assert!(get(gate.address("admin"), "/readyz", "").starts_with("HTTP/1.1 200 "));
    assert!(get(gate.address("admin"), "/healthz", "").starts_with("HTTP/1.1 200 "));
    let metrics = get(gate.address("admin"), "/metrics", "");
    assert!(
        metrics.contains("openmetrics-text")
            && metrics.contains("tollgate_decisions_total")
            && metrics.ends_with("# EOF\n")
    );
    for path in ["/metrics", "/healthz", "/readyz", "/tollgate.admin.v1.Admin/Stats"] {
        assert!(
            get(gate.address("http"), path, "").starts_with("HTTP/1.1 404 "),
            "{path} is for the admin listener only"
        );
    }
    let facts = "X-Original-URI: /\r\nX-Forwarded-Host: a.example\r\nUser-Agent: curl/8\r\n";
    assert!(get(gate.address("http"), "/auth/nginx", facts).starts_with("HTTP/1.1 401 "));
    // A connection that waits is closed, and does not hold up the end.
    let mut idle = TcpStream::connect(gate.address("http")).expect("it listens");
    let (code, out, err) = gate.end();
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    assert_eq!(idle.read(&mut [0]).expect("it is closed in order"), 0);
}

#[test]
fn an_orchestrator_gives_notice_and_a_person_does_not_wait() {
    let folder = folder();
    let mut gate = Running::start_with(&folder, FREE_PORTS, "10m");
    gate.signal("-TERM");
    gate.until("serving on until proxies have gone elsewhere");
    let facts = "X-Original-URI: /\r\nX-Forwarded-Host: a.example\r\nUser-Agent: curl/8\r\n";
    assert!(get(gate.address("http"), "/auth/nginx", facts).starts_with("HTTP/1.1 401 "));
    assert_eq!(gate.end().0, 0, "told again, it waits no longer");

    let mut gate = Running::start_with(&folder, FREE_PORTS, "10m");
    gate.signal("-INT");
    assert_eq!(gate.child.wait().expect("it is ours").code(), Some(0));
}

#[test]
fn an_address_in_use_is_one_clear_line() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = taken.local_addr().expect("it is bound").to_string();
    let flags = ["--grpc", "--http", "--admin"];
    for flag in flags {
        let arguments: Vec<&str> =
            flags.iter().flat_map(|f| [*f, if *f == flag { &at } else { "off" }]).collect();
        let (code, out, err) = run(&folder, &arguments);
        assert_eq!((code, out.as_str(), err.lines().count()), (1, "", 1), "{err}");
        assert!(err.contains(&at) && err.contains("another process listens there"), "{err}");
    }
    // Another gate is another process too, although its sockets share their port among themselves.
    let gate = Running::on_free_ports(&folder);
    let at = gate.address("grpc").to_string();
    let (code, _, err) = run(&folder, &["--grpc", &at, "--http", "off", "--admin", "off"]);
    assert!(code == 1 && err.contains("another process listens there"), "{err}");
}

#[test]
fn unix_sockets_replace_what_died_and_vanish_in_the_end() {
    let folder = folder();
    let path = folder.path().join("gate.sock");
    let address = format!("unix:{}", path.display());
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a stale socket"));
    let gate = Running::start(&folder, &["--http", &address, "--grpc", "off", "--admin", "off"]);
    assert_eq!(gate.addresses, serde_json::json!({"grpc": null, "http": address, "admin": null}));
    let meta = fs::metadata(&path).expect("it stands");
    assert!(meta.file_type().is_socket() && meta.permissions().mode() & 0o777 == 0o660);
    let facts = "X-Original-URI: /\r\nX-Forwarded-Host: a.example\r\nUser-Agent: curl/8\r\n";
    let stream = UnixStream::connect(&path).expect("it listens");
    assert!(exchange(stream, "localhost", "/auth/nginx", facts).starts_with("HTTP/1.1 401 "));
    assert_eq!(gate.end().0, 0);
    assert!(!path.exists());
}

#[test]
fn a_reload_takes_what_is_right_and_keeps_the_old_where_it_is_wrong() {
    let folder = folder();
    let policy = |action: &str| {
        format!("version: tollgate/v1\nbots:\n  - {{name: all, action: {action}, path_regex: .*}}\n")
    };
    write(&folder, "policy.yaml", &policy("DENY"));
    write(&folder, "tollgate.yaml", "policy: policy.yaml\n");
    let mut gate = Running::on_free_ports(&folder);
    let status = |gate: &Running| get(gate.address("http"), "/check/", "User-Agent: x\r\n")[9..12].to_owned();
    assert_eq!(status(&gate), "403");
    write(&folder, "policy.yaml", &policy("ALLOW"));
    gate.signal("-HUP");
    gate.until("reloaded");
    assert_eq!(status(&gate), "200");
    write(&folder, "policy.yaml", &policy("ALOW"));
    gate.signal("-HUP");
    gate.until("cannot reload");
    assert_eq!(status(&gate), "200");
    let metrics = get(gate.address("admin"), "/metrics", "");
    assert!(metrics.contains(r#"tollgate_reloads_total{outcome="failed"} 1"#), "{metrics}");
    assert_eq!(gate.end().0, 0);
}

#[test]
fn files_that_change_are_read_again_without_a_word_from_anyone() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    // In one step, as one should: a file that is seen half written for two looks would be taken as it is.
    let put = |name: &str, text: &str| {
        write(&folder, "fresh", text);
        fs::rename(path("fresh"), path(name)).expect("the folder is ours");
    };
    let rule = |name: &str, action: &str| format!("- {{name: {name}, action: {action}, paths: [/{name}]}}\n");
    // Mounted as Kubernetes mounts a ConfigMap: the file is a link over a link that is swapped.
    let policy = "version: tollgate/v1\ndefault: DENY\nbots:\n- import: parts/*.yaml\n";
    for (version, text) in [("v1", policy.to_owned()), ("v2", policy.replace("DENY", "ALLOW"))] {
        fs::create_dir(path(version)).expect("the folder is ours");
        write(&folder, &format!("{version}/policy.yaml"), &text);
    }
    symlink("v1", path("..data")).expect("the folder is ours");
    symlink("..data/policy.yaml", path("policy.yaml")).expect("the folder is ours");
    fs::create_dir(path("parts")).expect("the folder is ours");
    write(&folder, "parts/a.yaml", &rule("a", "ALLOW"));
    write(&folder, "tollgate.yaml", "policy: policy.yaml\nreload: {watch: 100ms}\n");
    let mut gate = Running::on_free_ports(&folder);
    let status = |gate: &Running, target: &str| {
        get(gate.address("http"), &format!("/check{target}"), "User-Agent: x\r\n")[9..12].to_owned()
    };
    assert_eq!((status(&gate, "/a"), status(&gate, "/b")), ("200".into(), "403".into()));

    // A file more in a folder that an import searches.
    put("parts/b.yaml", &rule("b", "ALLOW"));
    let said = gate.until("changed");
    assert!(said.contains("parts"), "{said}");
    gate.until("reloaded");
    assert_eq!(status(&gate, "/b"), "200");

    // A mistake in an import: told with its place, once; and the repaired file is taken.
    put("parts/b.yaml", &rule("b", "DNEY"));
    gate.until("cannot reload");
    gate.until("parts/b.yaml:1");
    assert_eq!(status(&gate, "/b"), "200");
    put("parts/b.yaml", &rule("b", "DENY"));
    gate.until("reloaded");
    assert_eq!(status(&gate, "/b"), "403");

    symlink("v2", path("next")).expect("the folder is ours");
    fs::rename(path("next"), path("..data")).expect("the folder is ours");
    gate.until("reloaded");
    assert_eq!(status(&gate, "/none"), "200");

    // The settings are watched too, and without them nothing falls back to defaults.
    put("tollgate.yaml", "policy: policy.yaml\nreload: {watch: 100ms}\nshadow: true\n");
    gate.until("reloaded");
    assert_eq!(status(&gate, "/b"), "200");
    fs::remove_file(path("tollgate.yaml")).expect("it is ours");
    gate.until("cannot read the settings");
    gate.until("tollgate.yaml");
    assert_eq!(status(&gate, "/b"), "200");
    let metrics = get(gate.address("admin"), "/metrics", "");
    for line in [
        r#"tollgate_reloads_total{outcome="ok"} 4"#,
        r#"tollgate_reloads_total{outcome="failed"} 2"#,
        "tollgate_reload_failed 1",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    assert_eq!(gate.end().0, 0);
}

#[test]
fn sites_are_checked_and_explained_by_host_and_by_name() {
    let folder = folder();
    let main = "version: tollgate/v1\ndefault: DENY\nbots:\n- {name: a, action: DENY, paths: [/a]}\nsites:\n  shop: {hosts: ['*.shop.example'], policy: shop.yaml}\n";
    write(&folder, "policy.yaml", main);
    write(
        &folder,
        "shop.yaml",
        "version: tollgate/v1\ndefault: ALLOW\nbots:\n- {name: b, action: DENY, paths: [/b]}\n",
    );
    let (code, out, err) = run(&folder, &["check", "--policy", "policy.yaml"]);
    assert_eq!((code, out.as_str()), (0, "fine: 2 rules in 2 policies, 0 lints\n"), "{err}");
    let explain = |more: &[&str]| {
        let arguments = [&["explain", "--policy", "policy.yaml", "-t", "/c"], more].concat();
        let (code, out, err) = run(&folder, &arguments);
        assert_eq!(code, 0, "{err}");
        out
    };
    for (more, verdict, policy) in [
        (&["--host", "a.shop.example"][..], "allow by default/allow", "policy shop\n"),
        (&["--host", "shop.example"], "deny by default/deny", "policy default\n"),
        (&["--policy-name", "shop"], "allow by default/allow", "policy shop\n"),
        (&["--host", "a.shop.example", "--policy-name", "default"], "deny by", "policy default\n"),
        (&["--host", "a.shop.example", "--policy-name", "none"], "deny by", "there is no policy \"none\""),
    ] {
        let out = explain(more);
        assert!(out.contains(verdict) && out.contains(policy), "{more:?}\n{out}");
    }
    assert!(explain(&["--json", "--host", "a.shop.example"]).contains(r#""policy":"shop""#));
    write(&folder, "shop.yaml", "bots: [{name: b, action: DNEY, paths: [/b]}]\n");
    let (code, _, err) = run(&folder, &["check", "--policy", "policy.yaml"]);
    assert!(code == 64 && err.contains("shop.yaml:1") && err.contains("imported from policy.yaml"), "{err}");
}

#[test]
fn networks_and_countries_are_looked_up_and_a_broken_database_changes_nothing() {
    let folder = folder();
    write(
        &folder,
        "policy.yaml",
        "version: tollgate/v1\ndefault: ALLOW\nbots:\n  - {name: network, action: DENY, asns: {match: [4242]}}\n  - {name: country, action: DENY, geoip: {countries: [nz]}}\n",
    );
    write(&folder, "tollgate.yaml", "policy: policy.yaml\n");
    let (code, _, err) = run(&folder, &["check"]);
    assert!(code == 64 && err.contains("L12") && err.contains("set `geo.asn`"), "{code} {err}");
    write(
        &folder,
        "tollgate.yaml",
        "policy: policy.yaml\nclient: {header: x-real-ip}\ngeo: {asn: asn.mmdb, country: country.mmdb}\n",
    );
    let (code, _, err) = run(&folder, &["check"]);
    assert!(code == 64 && err.contains("asn.mmdb`: No such file"), "{code} {err}");
    assert!(err.contains("country.mmdb`: No such file") && !err.contains("L12"), "{err}");
    let put = |name: &str, bytes: Vec<u8>| {
        fs::write(folder.path().join(name), bytes).expect("the folder is ours");
    };
    put("asn.mmdb", mmdb::database("ASN", &[("192.0.2.0/24", mmdb::asn(4242))]));
    put("country.mmdb", mmdb::database("Country", &[("2001:db8::/32", mmdb::country("NZ"))]));
    assert_eq!(run(&folder, &["check"]).0, 0);

    let mut gate = Running::on_free_ports(&folder);
    let status = |gate: &Running, client: &str| {
        get(gate.address("http"), "/check/", &format!("User-Agent: x\r\nX-Real-Ip: {client}\r\n"))[9..12]
            .to_owned()
    };
    let seen = |gate: &Running| ["192.0.2.1", "2001:db8::1", "198.51.100.1"].map(|c| status(gate, c));
    assert_eq!(seen(&gate), ["403", "403", "200"]);
    put("asn.mmdb", mmdb::database("ASN", &[("198.51.100.0/24", mmdb::asn(4242))]));
    gate.signal("-HUP");
    gate.until("reloaded");
    assert_eq!(seen(&gate), ["200", "403", "403"]);
    put("asn.mmdb", b"cut off".to_vec());
    gate.signal("-HUP");
    gate.until("cannot reload");
    assert_eq!(seen(&gate), ["200", "403", "403"]);
    assert_eq!(gate.end().0, 0);
}

#[test]
fn names_are_looked_up_and_silence_takes_the_strict_side() {
    let server = name_server::start(&[
        ("1.2.0.192.in-addr.arpa.", "crawl.good.example."),
        ("2.2.0.192.in-addr.arpa.", "crawl.good.example."),
        ("3.2.0.192.in-addr.arpa.", "dead"),
        ("crawl.good.example.", "192.0.2.1"),
        ("4.2.0.192.dnsbl.dronebl.org.", "127.0.0.3"),
    ]);
    let folder = folder();
    write(
        &folder,
        "policy.yaml",
        "version: tollgate/v1\ndefault: DENY\ndnsbl: true\nbots:\n  - name: good\n    action: ALLOW\n    expression: verifyFCrDNS(remoteAddress, \"[.]good[.]example$\")\n  - {name: open, action: ALLOW, paths: [/open]}\n",
    );
    write(
        &folder,
        "tollgate.yaml",
        &format!("policy: policy.yaml\nclient: {{header: x-real-ip}}\ndns: {{servers: ['{server}']}}\n"),
    );
    let (code, out, err) = run(&folder, &["check"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let gate = Running::on_free_ports(&folder);
    let status = |client: &str, path: &str| {
        let headers = format!("User-Agent: x\r\nX-Real-Ip: {client}\r\n");
        get(gate.address("http"), &format!("/check{path}"), &headers)[9..12].to_owned()
    };
    for (client, path, want) in
        [("192.0.2.1", "/", "200"), ("192.0.2.4", "/open", "403"), ("192.0.2.5", "/open", "200")]
    {
        // An answer that misses the deadline is there for a later request.
        assert!((0..20).any(|_| status(client, path) == want), "{client} {path} never gets {want}");
    }
    for (face, method, uri) in [
        ("nginx", "X-Original-Method", "X-Original-Uri"),
        ("forward", "X-Forwarded-Method", "X-Forwarded-Uri"),
    ] {
        let headers = format!(
            "User-Agent: x\r\nX-Real-Ip: 192.0.2.1\r\n{method}: GET\r\n{uri}: /\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https\r\n"
        );
        let allows = || get(gate.address("http"), &format!("/auth/{face}"), &headers)[9..].starts_with('2');
        assert!((0..20).any(|_| allows()), "{face} looks names up too");
    }
    let explained = || run(&folder, &["explain", "--client", "192.0.2.1", "--json"]).1;
    assert!((0..20).any(|_| explained().contains(r#""rule":"bot/good""#)), "{}", explained());
    for client in ["192.0.2.2", "192.0.2.3"] {
        assert!(
            (0..3).all(|_| status(client, "/") == "403"),
            "{client} is not let in for a name it only claims"
        );
    }
    assert_eq!(gate.end().0, 0);
}

#[test]
fn the_admin_token_guards_everything_but_health() {
    let folder = folder();
    write(&folder, "token", "0123456789abcdef\n");
    fs::set_permissions(folder.path().join("token"), fs::Permissions::from_mode(0o600)).expect("it is ours");
    write(&folder, "tollgate.yaml", "admin: {token_file: token}\n");
    let gate = Running::on_free_ports(&folder);
    let status = |path: &str, headers: &str| get(gate.address("admin"), path, headers)[9..12].to_owned();
    for (path, headers, want) in [
        ("/healthz", "", "200"),
        ("/readyz", "", "200"),
        ("/metrics", "", "401"),
        ("/metrics", "Authorization: Bearer 0123456789abcdeF\r\n", "401"),
        ("/metrics", "Authorization: Bearer 0123456789abcdef\r\n", "200"),
        ("/tollgate.admin.v1.Admin/Reload", "", "401"),
    ] {
        assert_eq!(status(path, headers), want, "{path} {headers}");
    }
}

#[test]
fn a_page_of_another_site_cannot_reload_the_gate() {
    let gate = Running::on_free_ports(&folder());
    let post = |headers: &str| {
        let stream = TcpStream::connect(gate.address("admin")).expect("the admin listener");
        let reply = exchange_as("POST", stream, "localhost", "/tollgate.admin.v1.Admin/Reload", headers);
        reply[9..12].to_owned()
    };
    assert_eq!(post("Content-Type: text/plain\r\n"), "415");
    assert_eq!(post("Content-Type: application/grpc\r\nOrigin: https://evil.example\r\n"), "415");
    assert!(!get(gate.address("admin"), "/metrics", "").contains("tollgate_reloads_total{outcome=\"ok\"} 1"));
}

#[test]
fn the_demo_challenges_and_solve_pays() {
    let folder = folder();
    let mut child = tollgate(folder.path(), &["demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let url = lines
        .map(|line| line.expect("text"))
        .find_map(|line| line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned))
        .expect("it says what to open");
    let at: SocketAddr = url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let status = |path: &str, headers: &str| {
        get(at, path, &format!("User-Agent: test\r\n{headers}"))[9..12].to_owned()
    };
    assert_eq!(
        (status("/", ""), status("/open", ""), status("/denied", "")),
        ("403".into(), "200".into(), "403".into())
    );
    let (code, cookie, err) = run(&folder, &["solve", &url, "--user-agent", "test"]);
    assert_eq!(code, 0, "{err}");
    let paid = format!("Cookie: {}\r\n", cookie.trim());
    assert!(cookie.starts_with("tollgate="), "{cookie}");
    for (path, want) in
        [("/", "200"), ("/denied", "403"), ("/challenge-me", "403"), ("/undecided", "503"), ("/none", "404")]
    {
        assert_eq!(status(path, &paid), want, "{path}");
    }
    let (code, _, err) = run(&folder, &["solve", &format!("{url}open")]);
    assert!(code == 1 && err.contains("asks nothing"), "{err}");
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(done.success());
    assert_eq!(child.wait().expect("it is ours").code(), Some(0));
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    let folder = folder();
    write(&folder, "p.yaml", "bots:\n  - {name: deny, action: DENY, path_regex: .*}\n");
    write(&folder, "tollgate.yaml", "policy: p.yaml\nlisten: {grpc: off}\nlog: {decisions: 1000000}\n");
    let gate = Running::start(&folder, &["--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(gate.address("http")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can wait");
    // More than the pipe of stderr and the queue before it can hold.
    let batch = format!("GET /check/{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(200)).repeat(100);
    let mut read = [0; 65536];
    for _ in 0..150 {
        stream.write_all(batch.as_bytes()).expect("it reads");
        let mut answers = String::new();
        while answers.matches("HTTP/1.1 403").count() < 100 {
            let more = stream.read(&mut read).expect("it answers");
            assert_ne!(more, 0, "it closed");
            answers += &String::from_utf8_lossy(&read[..more]);
        }
    }
    let metrics = get(gate.address("admin"), "/metrics", "");
    let lost = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tollgate_log_lost_total "))
        .expect("it is counted");
    assert_ne!(lost, "0", "a queue has an end");
}

#[test]
fn a_flood_of_refusals_is_logged_in_part_and_said_to_be() {
    let folder = folder();
    write(&folder, "p.yaml", "bots:\n  - {name: deny, action: DENY, path_regex: .*}\n");
    write(&folder, "tollgate.yaml", "policy: p.yaml\nlisten: {grpc: off}\nlog: {decisions: 2}\n");
    let mut gate = Running::start(&folder, &["--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    // Until a second has more refusals than are logged, and another one follows it.
    let asking = AtomicBool::new(true);
    let http = gate.address("http");
    let said = thread::scope(|scope| {
        scope.spawn(|| {
            while asking.load(Ordering::Relaxed) {
                assert!(get(http, "/check/x", "").starts_with("HTTP/1.1 403"));
            }
        });
        let said = gate.until("log.decisions");
        asking.store(false, Ordering::Relaxed);
        said
    });
    assert!(said.contains("skipped="), "{said}");
    let metrics = get(gate.address("admin"), "/metrics", "");
    let skipped = metrics.lines().find_map(|line| line.strip_prefix("tollgate_log_skipped_total "));
    assert_ne!(skipped.expect("it is counted"), "0");
}
