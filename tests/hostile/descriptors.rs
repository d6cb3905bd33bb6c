//! File descriptors run out: whoever has a connection is served on, others are closed, and nothing spins or ends.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use crate::gate::{Gate, Start, until};
use crate::http::{connect, read};

const NGINX: &[u8] =
    b"GET /auth/nginx HTTP/1.1\r\nhost: gate\r\nx-original-uri: /ok\r\nx-forwarded-host: a.example\r\n\r\n";

fn asks(stream: &mut TcpStream) -> u16 {
    let _ = stream.write_all(NGINX);
    read(stream).status
}

/// A gate under a hard limit of 64, which leaves 16 places.
fn gate() -> Gate {
    Start { descriptors: Some(64), ..Start::default() }.go()
}

#[test]
fn what_exceeds_the_limit_is_closed_and_the_rest_is_served() {
    let gate = gate();
    gate.serves();
    let places = gate.metric("tollgate_connections_max");
    assert!((8..40).contains(&places), "{places}");
    let mut held: Vec<_> = (0..200).map(|_| connect(gate.http)).collect();
    let mut served = 0;
    held.retain_mut(|stream| {
        let status = asks(stream);
        assert!(matches!(status, 0 | 200), "{status}");
        served += u64::from(status == 200);
        status == 200
    });
    // One peer gets three quarters of the places.
    assert_eq!(served, (places * 3).div_ceil(4));
    assert_eq!(gate.metric(r#"tollgate_connections_refused_total{why="peer"}"#), 200 - served);
    assert!(gate.descriptors() < 64);
    for _ in 0..10 {
        assert!(held.iter_mut().all(|stream| asks(stream) == 200), "who is in stays in");
    }
    drop(held);
    until("there is room again", || asks(&mut connect(gate.http)) == 200);
    gate.serves();
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn operators_and_proxies_do_not_wait_for_each_other() {
    let gate = gate();
    gate.serves();
    let places = gate.metric("tollgate_connections_max");
    // More of either than there may be.
    let operators: Vec<_> = (0..100).map(|_| connect(gate.admin)).collect();
    let mut proxies: Vec<_> = (0..100).map(|_| connect(gate.http)).collect();
    let served = proxies.iter_mut().filter_map(|stream| (asks(stream) == 200).then_some(())).count() as u64;
    assert_eq!(served, (places * 3).div_ceil(4), "operators take nothing of proxies");
    drop(operators);
    until("operators are heard, though proxies have all", || gate.ask_admin("/healthz").status == 200);
    assert_eq!(gate.metric(r#"tollgate_connections_refused_total{why="system"}"#), 0);
    drop(proxies);
    until("there is room again", || asks(&mut connect(gate.http)) == 200);
    gate.serves();
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn a_system_that_gives_no_more_descriptors_is_asked_again_and_not_all_the_time() {
    let gate = gate();
    gate.serves();
    // What was divided at the start is taken away.
    let most = gate.allow_descriptors(3);
    let held: Vec<_> =
        (0..100).map(|_| TcpStream::connect(gate.http).expect("the queue is longer")).collect();
    let refused = r#"tollgate_connections_refused_total{why="system"}"#;
    until("descriptors run out", || gate.descriptors() >= most);
    // That nothing happens is seen by looking for a while, and by nothing else.
    let before = gate.ticks();
    thread::sleep(Duration::from_secs(1));
    let busy = gate.ticks() - before;
    assert!(busy < 50, "{busy} hundredths of a second went into waiting");
    drop(held);
    until("there is room again", || gate.ask_admin("/healthz").status == 200);
    assert!(gate.metric(refused) > 0);
    gate.serves();
    assert_eq!(gate.end(), Some(0));
}
