//! Ten thousand connections that say nothing: whoever speaks is heard at once.

use std::net::TcpStream;

use crate::frames::Connection;
use crate::gate::{Gate, Start, until};
use crate::http::connect;

const MANY: usize = 10_000;
/// What a connection that waits may take, in bytes.
const EACH: u64 = 40 << 10;

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
    let gate = gate();
    let places = usize::try_from(gate.metric("tollgate_connections_max")).expect("it fits");
    let share = places * 3 / 4;
    // Each of ours is a descriptor here too.
    let held: Vec<TcpStream> = (0..share + 100).map(|_| connect(gate.http)).collect();
    let refused = r#"tollgate_connections_refused_total{why="peer"}"#;
    until("some are closed", || gate.metric(refused) >= 100);
    let other = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    other.bind(&std::net::SocketAddr::from(([127, 0, 0, 2], 0)).into()).expect("loopback is wide");
    other.connect(&gate.http.into()).expect("it listens");
    let mut other: TcpStream = other.into();
    let question = b"GET /auth/nginx HTTP/1.1\r\nhost: gate\r\nx-original-uri: /ok\r\nx-forwarded-host: a.example\r\n\r\n";
    std::io::Write::write_all(&mut other, question).expect("it is connected");
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
