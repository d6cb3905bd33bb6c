//! Heads, paths, cookies and bodies of every excess: refused, never allowed, and nothing is kept of them.

use std::io::Write;

use crate::frames::{Connection, END_HEADERS, END_STREAM, HEADERS, block, frame, question, request};
use crate::gate::Gate;
use crate::http::{ask, connect, read};

/// A thousand of them may leave this behind.
const ROOM: u64 = 10 << 20;
const TIMES: usize = 1000;

/// Header lines of too much of something.
fn excesses() -> Vec<(&'static str, Vec<(String, String)>)> {
    let one = |name: &str, value: String| vec![(name.to_owned(), value)];
    vec![
        ("a cookie of 64 KiB", one("cookie", format!("tollgate={}", "a".repeat(64 << 10)))),
        ("5,000 cookies", one("cookie", "a=1; ".repeat(5000))),
        ("5,000 cookies of ours", one("cookie", "tollgate=1; ".repeat(5000))),
        ("4,000 lines", (0..4000).map(|n| (format!("x-{n}"), "1".to_owned())).collect()),
        ("4,000 cookie lines", vec![("cookie".to_owned(), "a=1".to_owned()); 4000]),
        ("an agent of 60 KiB", one("user-agent", "Mozilla ".repeat(7680))),
        ("languages without end", one("accept-language", "de;q=0.1,".repeat(6000))),
        ("proxies without end", one("x-forwarded-for", "10.0.0.1, ".repeat(6000))),
    ]
}

fn lines(excess: &[(String, String)]) -> String {
    excess.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
}

/// Has something done a thousand times, after a hundred times that warm up, and demands that it left nothing behind.
fn a_thousand_times(gate: &Gate, what: &str, once: impl Fn()) {
    (0..TIMES / 10).for_each(|_| once());
    let before = gate.memory();
    (0..TIMES).for_each(|_| once());
    let after = gate.memory();
    assert!(after < before + ROOM, "{what}: {} KiB more", (after - before) / 1024);
    gate.serves();
}

#[test]
fn no_excess_of_a_head_is_allowed_over_http() {
    let gate = Gate::start();
    for (what, excess) in excesses() {
        let request = format!("GET /check/other HTTP/1.1\r\nhost: a.example\r\n{}\r\n", lines(&excess));
        a_thousand_times(&gate, what, || {
            let status = ask(gate.http, &request).status;
            assert!(matches!(status, 0 | 400 | 403 | 413 | 414 | 431 | 503), "{what}: {status}");
        });
    }
    assert!(gate.metric(r#"tollgate_connections_ended_total{why="head"}"#) > 0);
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
}

#[test]
fn no_excess_of_a_head_is_allowed_in_a_question_of_envoys() {
    let gate = Gate::start();
    for (what, excess) in excesses() {
        let headers: Vec<_> = excess.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        a_thousand_times(&gate, what, || {
            let code = Connection::open(gate.grpc).check("/other", &headers);
            assert_ne!(code, 0, "{what}");
        });
    }
    // A target, which is no header.
    let target = format!("/{}", "a".repeat(64 << 10));
    a_thousand_times(&gate, "a path of 64 KiB", || {
        assert_ne!(Connection::open(gate.grpc).check(&target, &[]), 0);
    });
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
}

#[test]
fn no_excess_of_a_head_is_allowed_over_http2() {
    let gate = Gate::start();
    for grpc in [true, false] {
        for (what, excess) in excesses() {
            let mut all = if grpc { question() } else { request() };
            all[2].1 = if grpc { all[2].1 } else { "/check/other" };
            all.extend(excess.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let block = block(&all);
            let mut parts = block.chunks(16 << 10).enumerate().peekable();
            let mut bytes = Vec::new();
            while let Some((at, part)) = parts.next() {
                let end = if parts.peek().is_none() { END_HEADERS } else { 0 };
                let (kind, flags) = if at == 0 { (HEADERS, end | END_STREAM) } else { (9, end) };
                bytes.extend(frame(kind, flags, 1, part));
            }
            a_thousand_times(&gate, what, || {
                let mut connection = Connection::open(if grpc { gate.grpc } else { gate.http });
                connection.send(&bytes);
                let answer = std::iter::from_fn(|| connection.frame()).find(|f| f.stream == 1);
                // A byte of its own, 0x88, says 200, as gRPC does on every answer: there the message counts, and there is none.
                let ok = answer.is_some_and(|f| f.kind == HEADERS && f.payload.first() == Some(&0x88));
                assert!(!ok || grpc, "{what}");
            });
        }
    }
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
}

#[test]
fn a_path_without_end_is_refused() {
    let gate = Gate::start();
    for path in [
        "/".to_owned() + &"a".repeat(100 << 10),
        "/..".repeat(20_000),
        "/%25".repeat(15_000),
        ";".repeat(60_000),
    ] {
        let request = format!("GET /check{path} HTTP/1.1\r\nhost: a.example\r\n\r\n");
        a_thousand_times(&gate, "a path", || {
            let status = ask(gate.http, &request).status;
            assert!(matches!(status, 0 | 400 | 403 | 404 | 414 | 431), "{status}");
        });
    }
}

#[test]
fn a_body_without_end_is_not_read() {
    let gate = Gate::start();
    gate.serves();
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    let large = 64 << 20;
    for (head, statuses) in [
        (
            format!(
                "POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\n{form}content-length: {large}\r\n\r\n"
            ),
            [413, 0],
        ),
        (
            format!(
                "POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\n{form}transfer-encoding: chunked\r\n\r\n100000\r\n"
            ),
            [413, 0],
        ),
        (
            format!("POST /check/other HTTP/1.1\r\nhost: a.example\r\ncontent-length: {large}\r\n\r\n"),
            [403, 0],
        ),
        (
            format!("POST /auth/nginx HTTP/1.1\r\nhost: a.example\r\ncontent-length: {large}\r\n\r\n"),
            [500, 0],
        ),
    ] {
        let before = gate.memory();
        for _ in 0..20 {
            let mut stream = connect(gate.http);
            let _ = stream.write_all(head.as_bytes());
            let chunk = vec![b'a'; 1 << 20];
            let taken = (0..64).take_while(|_| stream.write_all(&chunk).is_ok()).count();
            assert!(taken < 64, "all of the body was read: {head}");
            let status = read(&mut stream).status;
            assert!(statuses.contains(&status), "{head}: {status}");
        }
        let after = gate.memory();
        assert!(after < before + ROOM, "{head}: {} KiB more", (after - before) / 1024);
        gate.serves();
    }
}

#[test]
fn a_message_that_is_too_large_is_no_question() {
    let gate = Gate::start();
    gate.serves();
    let before = gate.memory();
    for length in [300 << 10, 5 << 20, u32::MAX as usize] {
        for _ in 0..50 {
            let mut connection = Connection::open(gate.grpc);
            let stream = connection.stream();
            let mut bytes = frame(HEADERS, END_HEADERS, stream, &block(&question()));
            let mut start = vec![0];
            start.extend(u32::try_from(length).expect("it fits").to_be_bytes());
            start.extend([b'a'; 8000]);
            bytes.extend(frame(0, 0, stream, &start));
            assert!(connection.send(&bytes));
            let answer = std::iter::from_fn(|| connection.frame()).find(|f| f.stream == stream);
            let answer = answer.expect("it is answered before the rest has come");
            assert!(answer.flags & END_STREAM != 0, "in trailers alone, without a message: {answer:?}");
        }
    }
    let after = gate.memory();
    assert!(after < before + ROOM, "{} KiB more", (after - before) / 1024);
    assert_eq!(gate.metric(r#"tollgate_undecided_total{missing="message"}"#), 150);
    gate.serves();
}
