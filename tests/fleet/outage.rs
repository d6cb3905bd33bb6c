//! A server that is down, hangs, is full, shuts us out or may not be written to: who is cleared passes, who is not is
//! challenged, who is denied stays denied, and the operator hears of it once.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::replica::{Replica, folder, get, until};
use crate::server::Server;

/// A replica on a server, both well. Nothing is told yet, so what goes wrong shows where the test looks.
fn well() -> (TempDir, Server, Replica) {
    let folder = folder();
    let server = Server::start(folder.path(), "server", &[]);
    let settings = format!("memory: {{shared: '{}'}}", server.address());
    let replica = Replica::start(folder.path(), "a", &settings);
    replica.wait_until_degraded_is(0);
    (folder, server, replica)
}

/// What holds when something goes wrong and is repaired. `says` is in the one line that the operator reads.
fn survives(says: &str, breaks: impl FnOnce(&mut Server), mends: impl FnOnce(&mut Server)) {
    let (_folder, mut server, replica) = well();
    breaks(&mut server);
    // Somebody comes, and there is something to tell.
    replica.stands(2);
    replica.wait_until_degraded_is(1);
    (3..9).for_each(|visitor| replica.stands(visitor));
    mends(&mut server);
    replica.wait_until_degraded_is(0);
    replica.stands(9);
    replica.says("memory is shared", 2);
    replica.says("cannot share memory", 1);
    replica.says(says, 1);
}

#[test]
fn killed_and_started_again() {
    survives("No such file", Server::kill, |server| server.start_again(&[]));
}

#[test]
fn stopped_in_its_tracks_and_going_on() {
    survives("100 ms", |server| server.signal("STOP"), |server| server.signal("CONT"));
}

#[test]
fn full() {
    // Not a byte more than it takes itself.
    let full = |server: &mut Server| {
        server.ask::<()>(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
        server.ask::<()>(&["CONFIG", "SET", "maxmemory", "1mb"]);
        // An empty server takes less than that, or hardly more.
        until("a full server", || {
            server
                .may_ask::<()>(&["SET", &format!("filler{}", server.keys().len()), &"x".repeat(1 << 16)])
                .is_none()
        });
    };
    survives("OOM", full, |server| server.ask(&["CONFIG", "SET", "maxmemory", "0"]));
}

#[test]
fn wanting_a_password() {
    let locks = |server: &mut Server| {
        // Who is in already would stay in.
        server.kill();
        server.start_again(&["--requirepass", "open-sesame"]);
    };
    let opens = |server: &mut Server| {
        server.kill();
        server.start_again(&[]);
    };
    survives("NOAUTH", locks, opens);
}

#[test]
fn a_replica_that_may_only_be_read() {
    let reads = |server: &mut Server| server.ask::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    survives("READONLY", reads, |server| server.ask(&["REPLICAOF", "NO", "ONE"]));
}

#[test]
fn keys_of_another_type_are_taken_over() {
    let (_folder, server, replica) = well();
    (0..11).for_each(|_| assert_eq!(replica.ask(&get("/closed", "198.51.100.7")).status, 403));
    let points = || server.keys().into_iter().find(|key| key.starts_with("tollgate:m:"));
    until("a key", || points().is_some());
    let key = points().unwrap();
    server.ask::<()>(&["DEL", &key]);
    server.ask::<()>(&["RPUSH", &key, "something", "else"]);
    until("a string again", || {
        replica.ask(&get("/closed", "198.51.100.7"));
        server.ask::<String>(&["TYPE", &key]) == "string"
    });
    assert!(server.ask::<i64>(&["PTTL", &key]) > 0);
    assert_eq!(replica.metric("tollgate_shared_degraded"), 0);
    replica.says("cannot share memory", 0);
}

#[test]
fn gone_from_the_start() {
    let folder = folder();
    let settings = format!("memory: {{shared: 'unix:{}'}}", folder.path().join("server.sock").display());
    let replica = Replica::start(folder.path(), "a", &settings);
    replica.says("cannot share memory", 1);
    replica.stands(1);
    let _server = Server::start(folder.path(), "server", &[]);
    replica.wait_until_degraded_is(0);
    replica.stands(2);
}

/// The place of a server is taken by its replica, to which the last writes may not have come.
#[test]
fn failed_over() {
    let folder = folder();
    let mut first = Server::start(folder.path(), "first", &["--port", "0"]);
    let second = Server::start(folder.path(), "second", &[]);
    let place = folder.path().join("place.sock");
    symlink(first.socket(), &place).unwrap();
    let settings = format!("memory: {{shared: 'unix:{}'}}", place.display());
    let [one, other] = ["a", "b"].map(|name| Replica::start(folder.path(), name, &settings));
    [&one, &other].iter().for_each(|replica| replica.wait_until_degraded_is(0));
    let unwanted = |replica: &Replica| replica.ask(&get("/unwanted", "198.51.100.7")).status == 403;
    (0..11).for_each(|_| assert_eq!(one.ask(&get("/closed", "198.51.100.7")).status, 403));
    until("a bad name elsewhere", || unwanted(&other));
    first.kill();
    fs::remove_file(&place).unwrap();
    symlink(second.socket(), &place).unwrap();
    // What everybody knew they still know, and what the new server does not know it is told.
    assert!(unwanted(&one) && unwanted(&other));
    [&one, &other].iter().for_each(|replica| replica.stands(1));
    until("the name on the new server", || {
        let _ = (unwanted(&one), unwanted(&other));
        second.keys().iter().any(|key| key.starts_with("tollgate:m:"))
    });
    [&one, &other].iter().for_each(|replica| replica.wait_until_degraded_is(0));
    assert!(unwanted(&one) && unwanted(&other));
}
