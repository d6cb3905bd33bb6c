//! Floods of frames: each ends its own connection or costs its sender what it costs us; whoever asks beside it is answered.

use crate::frames::{
    CONTINUATION, Connection, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, Push, RESET, SETTINGS,
    WINDOW_UPDATE, block, frame, question, request,
};
use crate::gate::{Gate, until};

/// What a flood may take for a time: buffers of one connection, and what the allocator keeps.
const ROOM: u64 = 24 << 20;
const FRAME_SIZE_ERROR: u32 = 6;
const ENHANCE_YOUR_CALM: u32 = 11;
const FLOOD: &str = r#"tollgate_connections_ended_total{why="flood"}"#;
const MALFORMED: &str = r#"tollgate_connections_ended_total{why="malformed"}"#;

/// Both listeners speak HTTP/2. What memory grows by is asked after the flood and before its connection ends.
fn both(attack: impl Fn(&Gate, &mut Connection, bool)) {
    let gate = Gate::start();
    gate.serves();
    for grpc in [true, false] {
        let at = if grpc { gate.grpc } else { gate.http };
        let before = gate.memory();
        let mut connection = Connection::open(at);
        attack(&gate, &mut connection, grpc);
        gate.serves();
        let after = gate.memory();
        assert!(after < before + ROOM, "grpc {grpc}: {} KiB more", (after - before) / 1024);
        drop(connection);
        gate.serves();
    }
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
    assert_eq!(gate.end(), Some(0));
}

fn head(grpc: bool) -> Vec<u8> {
    block(&if grpc { question() } else { request() })
}

/// Sends something again and again until the other side closes, at most so many times; returns how often it was taken.
fn flood(connection: &mut Connection, times: usize, bytes: &[u8]) -> usize {
    (0..times).take_while(|_| connection.push(bytes) == Push::Taken).count()
}

/// Whether the other side ends the connection, for this reason if it is heard: what lies unread when it closes overtakes its word.
fn is_ended(connection: &mut Connection, reason: u32) -> bool {
    connection.farewell().is_none_or(|code| code == reason)
}

#[test]
fn a_head_that_never_ends_is_ended() {
    both(|gate, connection, grpc| {
        let before = gate.metric(FLOOD);
        let stream = connection.stream();
        assert!(connection.send(&frame(HEADERS, END_STREAM, stream, &head(grpc))));
        let part = frame(CONTINUATION, 0, stream, &block(&[("a", "b")]));
        flood(connection, 1_000_000, &part);
        assert!(is_ended(connection, ENHANCE_YOUR_CALM));
        until("it is counted", || gate.metric(FLOOD) == before + 1);
    });
}

#[test]
fn a_head_of_empty_parts_is_ended() {
    both(|gate, connection, grpc| {
        let before = gate.metric(FLOOD);
        let stream = connection.stream();
        assert!(connection.send(&frame(HEADERS, END_STREAM, stream, &head(grpc))));
        flood(connection, 1_000_000, &frame(CONTINUATION, 0, stream, b""));
        assert!(is_ended(connection, ENHANCE_YOUR_CALM));
        until("it is counted", || gate.metric(FLOOD) == before + 1);
    });
}

#[test]
fn a_head_that_unpacks_to_megabytes_is_refused() {
    both(|_, connection, grpc| {
        // Put into the table once, four kilobytes are one byte each time after.
        let mut bomb = vec![0x40];
        bomb.extend(&block(&[("x", &"y".repeat(3900))])[1..]);
        bomb.extend(vec![0xbe; 15_000 - bomb.len()]);
        for _ in 0..100 {
            let stream = connection.stream();
            let bytes = frame(HEADERS, END_HEADERS | END_STREAM, stream, &[&head(grpc)[..], &bomb].concat());
            if !connection.send(&bytes) {
                break;
            }
        }
        let allowed = std::iter::from_fn(|| connection.frame()).take_while(|f| f.kind != 7);
        // The one status that is written as a byte of its own, 0x88, is 200.
        assert_eq!(allowed.filter(|f| f.kind == HEADERS && f.payload.contains(&0x88)).count(), 0);
    });
}

#[test]
fn streams_that_are_given_up_at_once_cost_what_they_cost() {
    both(|gate, connection, grpc| {
        let head = head(grpc);
        let mut given_up = 0;
        for _ in 0..200 {
            let many: Vec<u8> = (0..100)
                .flat_map(|_| {
                    let stream = connection.stream();
                    let end = if grpc { 0 } else { END_STREAM };
                    let mut bytes = frame(HEADERS, END_HEADERS | end, stream, &head);
                    bytes.extend(frame(RESET, 0, stream, &8u32.to_be_bytes()));
                    bytes
                })
                .collect();
            if !connection.send(&many) {
                break;
            }
            given_up += 100;
        }
        assert!(given_up > 0);
        gate.serves();
    });
}

#[test]
fn a_proxy_that_gives_up_on_all_its_questions_keeps_its_connection() {
    let gate = Gate::start();
    let mut connection = Connection::open(gate.grpc);
    for _ in 0..20 {
        let streams: Vec<_> = (0..1000).map(|_| connection.stream()).collect();
        let asked: Vec<u8> = streams
            .iter()
            .flat_map(|stream| frame(HEADERS, END_HEADERS, *stream, &block(&question())))
            .collect();
        let given_up: Vec<u8> =
            streams.iter().flat_map(|stream| frame(RESET, 0, *stream, &8u32.to_be_bytes())).collect();
        assert!(connection.send(&[asked, given_up].concat()) && connection.settle());
    }
    assert_eq!(connection.check("/ok", &[]), 0);
}

#[test]
fn mistakes_that_make_us_reset_streams_are_counted() {
    both(|gate, connection, grpc| {
        let before = gate.metric(FLOOD);
        // A window that grows too large is a mistake of its stream (CVE-2025-8671).
        let mistake = |stream| {
            let mut bytes = frame(HEADERS, END_HEADERS, stream, &head(grpc));
            bytes.extend(frame(WINDOW_UPDATE, 0, stream, &(u32::MAX >> 1).to_be_bytes()));
            bytes
        };
        for _ in 0..10_000 {
            let stream = connection.stream();
            if connection.push(&mistake(stream)) != Push::Taken {
                break;
            }
        }
        // The http listener answers at once, and what comes for a stream that is over is no mistake.
        if grpc {
            assert!(is_ended(connection, ENHANCE_YOUR_CALM));
            until("it is counted", || gate.metric(FLOOD) == before + 1);
        }
    });
}

#[test]
fn bodies_of_nothing_are_ended() {
    both(|_, connection, grpc| {
        let stream = connection.stream();
        assert!(connection.send(&frame(HEADERS, END_HEADERS, stream, &head(grpc))));
        let many = frame(DATA, 0, stream, b"").repeat(100);
        let sent = flood(connection, 20_000, &many);
        // The http listener has answered without the body, and takes no more of it.
        assert!(sent < 20_000 || !grpc, "{} frames were taken", sent * 100);
    });
}

#[test]
fn settings_and_pings_that_nobody_reads_the_answers_to_stop_being_read() {
    for one in [frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]), frame(PING, 0, 0, b"12345678")] {
        both(|_, connection, _| {
            let many = one.repeat(500);
            let sent = flood(connection, 20_000, &many);
            assert!(sent < 20_000, "{} frames were taken, and so were their answers", sent * 500);
        });
    }
}

#[test]
fn frames_that_ask_for_nothing_cost_no_memory() {
    for (kind, payload) in [
        (PRIORITY, &[0, 0, 0, 0, 16][..]),
        (WINDOW_UPDATE, &1u32.to_be_bytes()),
        // A kind that nobody knows.
        (0xbb, b"12345678"),
    ] {
        both(|_, connection, _| {
            let stream = if kind == WINDOW_UPDATE { 0 } else { connection.stream() };
            let many = frame(kind, 0, stream, payload).repeat(1000);
            for _ in 0..300 {
                if connection.push(&many) != Push::Taken {
                    break;
                }
            }
        });
    }
}

#[test]
fn a_frame_that_is_too_large_ends_its_connection() {
    both(|gate, connection, _| {
        let before = gate.metric(MALFORMED);
        let mut head = frame(DATA, 0, 1, b"");
        head[..3].copy_from_slice(&[0xff, 0xff, 0xff]);
        assert!(connection.send(&head));
        assert!(is_ended(connection, FRAME_SIZE_ERROR));
        until("it is counted", || gate.metric(MALFORMED) == before + 1);
    });
}

#[test]
fn more_streams_than_there_may_be_are_refused_one_by_one() {
    let gate = Gate::start();
    let mut connection = Connection::open(gate.grpc);
    let streams: Vec<_> = (0..1100).map(|_| connection.stream()).collect();
    for stream in &streams {
        assert!(connection.send(&frame(HEADERS, END_HEADERS, *stream, &block(&question()))));
    }
    let mut refused = Vec::new();
    while refused.len() < 76 {
        let frame = connection.frame().expect("the connection stays");
        if frame.kind == RESET {
            assert_eq!(frame.payload, 7u32.to_be_bytes(), "REFUSED_STREAM");
            refused.push(frame.stream);
        }
    }
    assert_eq!(refused, streams[1024..]);
    gate.serves();
    // The others are questions like any other.
    let message = crate::frames::check_request("/ok", &[]);
    assert!(connection.send(&frame(DATA, END_STREAM, streams[0], &message)));
    let answer = std::iter::from_fn(|| connection.frame()).find(|f| f.stream == streams[0]);
    assert_eq!(answer.map(|f| f.kind), Some(HEADERS));
}

#[test]
fn answers_that_nobody_takes_are_kept_for_some_streams_only() {
    let gate = Gate::start();
    gate.serves();
    let before = gate.memory();
    // Nothing may be sent to this one: its windows are closed.
    let mut connection = Connection::open_with(gate.http, &[(4, 0)]);
    let page = [
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/check/other"),
        (":authority", "a.example"),
        ("accept", "text/html"),
        ("user-agent", "Mozilla/5.0"),
    ];
    for _ in 0..5000 {
        let stream = connection.stream();
        if !connection.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(&page))) {
            break;
        }
    }
    gate.serves();
    let after = gate.memory();
    assert!(after < before + (64 << 20), "{} KiB more", (after - before) / 1024);
    drop(connection);
    gate.serves();
}
