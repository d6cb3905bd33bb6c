//! Every command, with settings that are right and with every mistake that brings a secret near an error.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::canary::{ADMIN, TRUST, assert_kept, key, ring};

/// A folder with private files, in which commands run with none of this machine's settings.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder for the test"));
        files.iter().for_each(|(name, text)| folder.write(name, text));
        folder
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).expect("the folder is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("the file is ours");
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(arguments).current_dir(self.path()).env_clear();
        command
    }

    /// Runs a command; its exit code, and all that it printed.
    pub(crate) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // It may end before it has read all of it.
        drop(child.stdin.take().expect("it is piped").write_all(b"{\"target\": \"/\"}\n"));
        let done = child.wait_with_output().expect("it is ours");
        let printed = [done.stdout, done.stderr].concat();
        (done.status.code().expect("it was not killed"), String::from_utf8_lossy(&printed).into_owned())
    }
}

/// Settings that name every file of secrets.
pub(crate) const SETTINGS: &str = "keys: {file: keys.yaml}
trust: {secret_file: proxies}
admin: {token_file: operators}
log: {level: trace}
";

pub(crate) fn folder() -> Folder {
    Folder::new(&[
        ("tollgate.yaml", SETTINGS),
        ("keys.yaml", &ring()),
        ("proxies", TRUST),
        ("operators", ADMIN),
    ])
}

#[test]
fn no_command_prints_a_secret_that_it_was_given() {
    let folder = folder();
    folder.write("requests.jsonl", "{\"target\": \"/admin\", \"headers\": {\"User-Agent\": \"curl/8\"}}\n");
    folder.write(
        "access.log",
        "198.51.100.7 - - [01/Jan/2027:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"curl/8\"\n",
    );
    folder.write("cases.yaml", "tests:\n- {name: t, request: {target: /}, expect: {verdict: challenge}}\n");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listener.local_addr().expect("it is bound").to_string();
    for arguments in [
        &["check"][..],
        &["check", "--json"],
        &["config"],
        &["config", "--json"],
        &["config", "--schema"],
        &["explain", "-t", "/"],
        &["explain", "--json", "-t", "/"],
        &["explain", "--requests", "requests.jsonl"],
        &["replay", "access.log"],
        &["test", "cases.yaml"],
        &["policy", "show"],
        &["page", "--preview", "pages"],
        &["keygen", "--file", "keys.yaml"],
        &["completions", "bash"],
        &["--help"],
        &["solve", "http://127.0.0.1:1/"],
        &["serve", "--grpc", &taken, "--http", "off", "--admin", "off"],
        // Last, since it changes the file.
        &["keygen", "--file", "keys.yaml", "--rotate"],
    ] {
        let (code, printed) = folder.run(arguments, &[]);
        assert!(code != 101, "{arguments:?} panicked: {printed}");
        assert_kept(&format!("{arguments:?}"), &printed, &[]);
    }
    for page in fs::read_dir(folder.path().join("pages")).expect("they were written") {
        let page = page.expect("it is there").path();
        assert_kept("a page", &String::from_utf8_lossy(&fs::read(page).unwrap_or_default()), &[]);
    }
}

#[test]
fn no_mistake_in_a_file_of_secrets_is_shown_with_the_secret() {
    let key = key();
    let typo = key.replacen('Y', "?", 1);
    let short = &key[..key.len() - 1];
    let rings = [
        ring().replace(&key, &typo),
        ring().replace(&key, short),
        ring().replace(&key, &format!("{key}{key}")),
        ring().replace(&key, &format!("\"{key}")),
        ring().replace(&key, &format!("[{key}]")),
        ring().replace(&key, &format!("*{key}")),
        ring().replace(&key, &format!("!!{key} x")),
        ring().replace("sign", "signs"),
        ring().replace("id: 3", "id: 16"),
        ring().replace("secret:", "secrets:"),
        ring().replace("keys:", "key:"),
        format!("{}  - {{ id: 4, state: sign, secret: {key} }}\n", ring()),
        format!("{{keys: [{{id: 1, state: sign, secret: {key}}}, }}"),
        format!("{key}\n"),
        format!("{{\"keys\": {{\"{key}\": 1}}}}"),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listener.local_addr().expect("it is bound").to_string();
    for ring in &rings {
        let folder = folder();
        folder.write("keys.yaml", ring);
        for arguments in [
            &["check"][..],
            &["check", "--json"],
            &["config"],
            &["keygen", "--file", "keys.yaml", "--rotate"],
            &["serve", "--grpc", &taken, "--http", "off", "--admin", "off"],
        ] {
            let (code, printed) = folder.run(arguments, &[]);
            // `config` shows what can be read, and a ring with two signers can be rotated into a sound one.
            assert!(
                code != 101 && (code != 0 || matches!(arguments[0], "config" | "keygen")),
                "{arguments:?} took {ring}"
            );
            assert_kept(&format!("{arguments:?} over {ring:?}"), &printed, &[]);
        }
    }
}

#[test]
fn a_secret_in_the_wrong_place_is_not_shown() {
    let (key, ring) = (key(), ring());
    let flow = format!("keys: [{{id: 3, state: sign, secret: {key}}}]");
    let folder = folder();
    folder.write("flow.yaml", &flow);
    folder.write("one.yaml", &format!("keys: {{secret: {}}}\n", &key[1..]));
    folder.write("list.yaml", &format!("keys: {{secret: [{key}]}}\n"));
    folder.write("both.yaml", &format!("keys: {{secret: {key}, file: keys.yaml}}\n"));
    folder.write("near.yaml", &format!("keys: {{secrets: {key}}}\n"));
    folder.write("broken.yaml", &format!("keys: {{secret: \"{key}\n"));
    folder.write("twice.yaml", &format!("keys: {{secret: {key}}}\nkeys: {{secret: {key}}}\n"));
    folder.write("one.toml", &format!("keys.secret = \"{key}\nlisten = 1\n"));
    folder.write("token.yaml", &format!("trust: {{secret_file: keys.yaml}}\nadmin: {{token_file: flow.yaml}}\nkeys: {{file: proxies}}\n# {ring}"));
    folder.write("store.yaml", "memory: {shared: 'rediss://me:canary-of-the-store-0123@store.invalid'}\n");
    folder.write(
        "no-store.yaml",
        "memory: {shared: 'redis://me:canary-of-the-store-0123@store.invalid:x/y'}\n",
    );
    for arguments in [
        &["check", "--config", "flow.yaml"][..],
        &["check", "--config", "keys.yaml"],
        &["check", "--config", "one.yaml"],
        &["check", "--config", "list.yaml"],
        &["check", "--config", "both.yaml"],
        &["check", "--config", "near.yaml"],
        &["check", "--config", "broken.yaml"],
        &["check", "--config", "twice.yaml"],
        &["check", "--config", "one.toml"],
        &["check", "--config", "token.yaml"],
        &["check", "--config", "store.yaml"],
        &["config", "--config", "store.yaml"],
        &["check", "--config", "no-store.yaml"],
        &["config", "--config", "no-store.yaml"],
        &["check", "--policy", "keys.yaml"],
        &["check", "--policy", "flow.yaml"],
        &["check", "--policy", "proxies"],
        &["test", "keys.yaml"],
        &["test", "flow.yaml"],
        &["replay", "keys.yaml"],
        &["explain", "--requests", "keys.yaml"],
        &["import", "keys.yaml"],
        &["import", "proxies"],
        &["keygen", "--file", "proxies", "--rotate"],
    ] {
        for json in [false, true] {
            let mut arguments = arguments.to_vec();
            if json {
                arguments.push("--json");
            }
            let (code, printed) = folder.run(&arguments, &[]);
            assert!(code != 101, "{arguments:?} panicked: {printed}");
            assert_kept(&format!("{arguments:?}"), &printed, &[]);
        }
    }
    folder.write("plain.yaml", "");
    for name in [
        "TOLLGATE_KEYS__SECRET",
        "TOLLGATE_KEYS__SECRETS",
        "TOLLGATE_KEYS__FILE__X",
        "TOLLGATE_KEY__SECRET",
        "TOLLGATE_TRUST__SECRET",
    ] {
        for value in [&key[1..], &key] {
            for command in ["check", "config"] {
                let (_, printed) = folder.run(&[command, "--config", "plain.yaml"], &[(name, value)]);
                assert_kept(&format!("{command} with {name}"), &printed, &[]);
            }
        }
    }
}
