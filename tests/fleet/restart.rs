//! What outlives a restart, and a file that does not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tempfile::TempDir;

use crate::client::BROWSER;
use crate::program::tollgate;
use crate::replica::{Replica, SECRET, folder, get, until, write_keys};
use crate::server::Server;

const FILE: &str = "memory: {file: kept}";

/// A replica with a file.
fn keeping() -> (TempDir, Replica) {
    let folder = folder();
    let replica = Replica::start(folder.path(), "a", FILE);
    (folder, replica)
}

/// Earns a client a bad name.
fn spoil(replica: &Replica, client: &str) {
    (0..11).for_each(|_| assert_eq!(replica.ask(&get("/closed", client)).status, 403));
}

fn is_bad(replica: &Replica, client: &str) -> bool {
    replica.ask(&get("/unwanted", client)).status == 403
}

fn rows(replica: &Replica) -> u64 {
    replica.metric("tollgate_file_rows")
}

#[test]
fn a_bad_name_outlives_an_end_in_order_and_nobody_can_read_whose_it_is() {
    let (_folder, replica) = keeping();
    spoil(&replica, "198.51.100.7");
    assert!(is_bad(&replica, "198.51.100.7"));
    // At once: what was not written yet is written at the end.
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
    assert!(!is_bad(&replica, "198.51.100.8"));
    replica.stands(1);
    replica.says("WARN", 0);
    let file = replica.path("kept");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).unwrap();
    for secret in [b"198.51.100.7".as_slice(), &[198, 51, 100, 7], BROWSER.as_bytes(), b"shop.example"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{secret:?} stands in the file");
    }
}

/// Whenever it is killed, the file can be read again, and what was written is there.
#[test]
fn killed_again_and_again() {
    let (_folder, mut replica) = keeping();
    for round in 0..8_u8 {
        // Everybody of the rounds before is known.
        for known in 0..round {
            until("a name from before", || is_bad(&replica, &format!("198.51.{known}.7")));
        }
        let before = rows(&replica);
        spoil(&replica, &format!("198.51.{round}.7"));
        until("a row more", || rows(&replica) > before);
        // A crowd keeps the disk busy, and it is killed in the midst of it.
        for visitor in 0..=round * 12 {
            (0..3).for_each(|_| drop(replica.ask(&get("/closed", &format!("203.0.{round}.{visitor}")))));
        }
        replica = replica.kill_and_restart();
    }
    replica.says("cannot", 0);
    let files = fs::read_dir(replica.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<_> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(!files.iter().any(|name| name.contains("unreadable")), "{files:?}");
}

/// Nothing is stored of a challenge, so nothing of it can be lost.
#[test]
fn a_challenge_outlives_whoever_issued_it() {
    let folder = folder();
    let replicas = ["a", "b"].map(|name| Replica::start(folder.path(), name, ""));
    let answer = replicas[0].solved("198.51.100.7");
    let [one, other] = replicas.map(Replica::kill_and_restart);
    let paid = other.answer("198.51.100.7", &answer);
    assert_eq!(paid.status, 204, "{paid:?}");
    let cookie = paid.header("set-cookie").unwrap().split(';').next().unwrap();
    assert_eq!(one.ask(&get("/page", "198.51.100.7").add("cookie", cookie)).status, 200);
}

#[test]
fn one_that_cannot_be_read_is_set_aside_with_a_warning() {
    let folder = folder();
    let path = folder.path().join("a");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("kept"), "no store\n").unwrap();
    let replica = Replica::start(folder.path(), "a", FILE);
    replica.says("it is set aside", 1);
    let aside = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let aside: Vec<_> = aside.filter(|path| path.to_string_lossy().contains("kept.unreadable-")).collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read_to_string(&aside[0]).unwrap(), "no store\n");
    spoil(&replica, "198.51.100.7");
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
    replica.says("it is set aside", 1);
}

#[test]
fn one_that_another_process_has_is_left_to_it() {
    let (folder, replica) = keeping();
    let other = folder.path().join("b");
    fs::create_dir(&other).unwrap();
    let copied = ["policy.yaml", "keys.yaml"];
    for name in copied {
        fs::copy(replica.path(name), other.join(name)).unwrap();
    }
    let settings =
        fs::read_to_string(replica.path("tollgate.yaml")).unwrap().replace("file: kept", "file: ../a/kept");
    fs::write(other.join("tollgate.yaml"), settings).unwrap();
    let done = Command::new(tollgate()).arg("serve").current_dir(&other).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("`memory.file`") && said.contains("is open in another process"), "{said}");
    spoil(&replica, "198.51.100.7");
}

#[test]
fn names_follow_the_keys() {
    let (folder, replica) = keeping();
    spoil(&replica, "198.51.100.7");
    // A new key signs, and the old one still verifies: whoever was known is.
    let home = folder.path().join("a");
    write_keys(&home, &[(1, [8; 32], "sign"), (0, SECRET, "verify")]);
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
    // The old one is gone: it was written anew, under the name that the new key makes.
    write_keys(&home, &[(1, [8; 32], "sign")]);
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
    // None of them: nobody is known.
    write_keys(&home, &[(2, [9; 32], "sign")]);
    let replica = replica.restart();
    let before = rows(&replica);
    spoil(&replica, "198.51.100.8");
    until("a row more", || rows(&replica) > before);
    assert!(!is_bad(&replica, "198.51.100.7"));
}

#[test]
fn beside_a_server_that_replicas_share() {
    let folder = folder();
    let mut server = Server::start(folder.path(), "server", &[]);
    let settings = format!("memory: {{file: kept, shared: '{}'}}", server.address());
    let replica = Replica::start(folder.path(), "a", &settings);
    replica.wait_until_degraded_is(0);
    spoil(&replica, "198.51.100.7");
    // The replica and the server go down together.
    server.kill();
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
    replica.stands(1);
    server.start_again(&[]);
    replica.wait_until_degraded_is(0);
    until("the name on the server", || {
        assert!(is_bad(&replica, "198.51.100.7"));
        server.keys().iter().any(|key| key.starts_with("tollgate:m:"))
    });
}

/// A disk that is full, for this process: whoever is cleared passes, and the operator hears of it once.
#[test]
fn a_full_disk() {
    let folder = folder();
    // The log is a file too, and has room for what is said here.
    let settings = format!("{FILE}\nlog: {{level: 'warn,tollgate::server=info'}}");
    drop(Replica::start(folder.path(), "a", &settings));
    let home = folder.path().join("a");
    // Room for some rows more than what an empty file takes.
    let blocks = fs::metadata(home.join("kept")).unwrap().len() / 512 + 64;
    let mut command = Command::new("sh");
    let limited = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$0\" serve");
    command.args(["-c", &limited]).arg(tollgate());
    let replica = Replica::run(command, home);
    let mut visitor = 0_u32;
    until("a full disk", || {
        for _ in 0..20 {
            let [.., a, b] = visitor.to_be_bytes();
            (0..3).for_each(|_| drop(replica.ask(&get("/closed", &format!("203.0.{a}.{b}")))));
            visitor += 1;
        }
        replica.metric("tollgate_file_degraded") == 1
    });
    replica.stands(1);
    replica.says("cannot keep what should outlive a restart", 1);
    // Room again.
    let pid = replica.pid().to_string();
    assert!(Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap().success());
    until("a disk with room", || {
        spoil(&replica, "203.0.113.1");
        replica.metric("tollgate_file_degraded") == 0
    });
    replica.says("is kept again", 1);
    spoil(&replica, "198.51.100.7");
    let replica = replica.restart();
    until("a bad name", || is_bad(&replica, "198.51.100.7"));
}
