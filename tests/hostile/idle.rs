//! Ten thousand connections that say nothing: whoever speaks is heard at once.

use std::env;
use std::io::{Write, stderr};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::frames::Connection;
use crate::gate::{Gate, Start, until};
use crate::http::connect;

const MANY: usize = 10_000;
/// What a connection that waits may take, in bytes.
const EACH: u64 = 40 << 10;

/// Each connection is a file descriptor here too: these tests take turns, and need as many as the system may not give.
#[expect(clippy::disallowed_methods, reason = "whether this is CI is no setting of the product")]
fn turn(needed: usize) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    if limit.maximum.is_some_and(|most| most < needed as u64 + 1000) {
        let why =
            format!("{needed} connections: this system gives a process {:?} file descriptors", limit.maximum);
        assert!(env::var_os("CI").is_none_or(|ci| ci.is_empty()), "{why}, and in CI nothing may be skipped");
        let _ = writeln!(stderr(), "skipped: {why}");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn gate() -> Gate {
    let gate = Start { workers: 2, ..Start::default() }.go();
    gate.serves();
    gate
}

fn hold<T>(gate: &Gate, open: impl Fn(&Gate) -> T) -> Vec<T> {
    let before = gate.memory();
    let held: Vec<_> = (0..MANY).map(|_| open(gate)).collect();
    until("all are accepted", || gate.metric("tollgate_connections") >= MANY as u64);
    let more = gate.memory().saturating_sub(before);
    assert!(more < MANY as u64 * EACH, "{} bytes each", more / MANY as u64);
    gate.serves();
    held
}

#[test]
fn ten_thousand_silent_connections_keep_nobody_out() {
    let Some(_turn) = turn(MANY) else { return };
    let gate = gate();
    let held = hold(&gate, |gate| connect(gate.http));
    for _ in 0..50 {
        gate.serves();
    }
    drop(held);
    until("they are gone", || gate.metric("tollgate_connections") < 10);
    // Those that have begun to speak HTTP/2 keep more, and are asked whether they are there.
    let held = hold(&gate, |gate| Connection::open(gate.grpc));
    drop(held);
    until("they are gone", || gate.metric("tollgate_connections") < 10);
    gate.serves();
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn one_peer_cannot_take_every_place() {
    let Some(_turn) = turn(12_500) else { return };
    let gate = gate();
    let places = usize::try_from(gate.metric("tollgate_connections_max")).expect("it fits");
    let share = places * 3 / 4;
    let held: Vec<TcpStream> = (0..share + 100).map(|_| connect(gate.http)).collect();
    let refused = r#"tollgate_connections_refused_total{why="peer"}"#;
    until("some are closed", || gate.metric(refused) >= 100);
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    other.bind(&std::net::SocketAddr::from(([127, 0, 0, 2], 0)).into()).expect("loopback is wide");
    other.connect(&gate.http.into()).expect("it listens");
    let mut other: TcpStream = other.into();
    let question = b"GET /auth/nginx HTTP/1.1\r\nhost: gate\r\nx-original-uri: /ok\r\nx-forwarded-host: a.example\r\n\r\n";
    other.write_all(question).expect("it is connected");
    assert_eq!(crate::http::read(&mut other).status, 200);
    drop(held);
    until("there is room again", || gate.metric("tollgate_connections") < 10);
    gate.serves();
}

#[test]
fn strangers_take_none_of_the_places_of_proxies() {
    let gate = Start { settings: "trust: {peers: [127.0.0.2]}\n", ..Start::default() }.go();
    let held: Vec<_> = (0..200).map(|_| connect(gate.http)).collect();
    until("most are closed", || {
        gate.metric(r#"tollgate_connections_refused_total{why="strangers"}"#) == 200 - 16
    });
    assert_eq!(gate.metric("tollgate_connections"), 16 + 1, "and the operator's");
    drop(held);
    until("they are gone", || gate.metric("tollgate_connections") == 1);
    // Each is told that it may not ask.
    let question = "GET /auth/nginx HTTP/1.1\r\nhost: gate\r\nx-original-uri: /ok\r\nx-forwarded-host: a.example\r\n\r\n";
    assert_eq!(crate::http::ask(gate.http, question).status, 500);
}
