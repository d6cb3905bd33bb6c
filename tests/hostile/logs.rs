//! A log that cannot be written: the gate serves on, and counts what was lost.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use crate::gate::{Gate, Start, until};
use crate::http::{ask, connect};

const LOST: &str = "tollgate_log_lost_total";

#[test]
fn a_full_disk_costs_lines_and_no_request() {
    let full = File::options().write(true).open("/dev/full").expect("Linux has one");
    let gate = Start { stderr: full.into(), ..Start::default() }.go();
    for _ in 0..20 {
        gate.serves();
    }
    assert!(gate.metric(LOST) > 40, "{}", gate.metric(LOST));
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn the_last_line_that_is_lost_is_counted_too() {
    let full = File::options().write(true).open("/dev/full").expect("Linux has one");
    // Nothing is said but who is refused.
    let settings = "log: {level: 'off,tollgate::gate=info'}\n";
    let gate = Start { stderr: full.into(), settings, ..Start::default() }.go();
    assert_eq!(gate.metric(LOST), 0);
    assert_eq!(ask(gate.http, "GET /check/closed HTTP/1.1\r\nhost: a.example\r\n\r\n").status, 403);
    until("the only line is lost", || gate.metric(LOST) == 1);
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn a_reader_that_is_gone_costs_lines_and_no_request() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let gate = Start { stderr: OwnedFd::from(writer).into(), ..Start::default() }.go();
    drop(reader);
    for _ in 0..20 {
        gate.serves();
    }
    assert!(gate.metric(LOST) > 40, "{}", gate.metric(LOST));
    assert_eq!(gate.metric("tollgate_panics_total"), 0);
    assert_eq!(gate.end(), Some(0));
}

/// Has a thousand requests refused, each of which is a line.
fn refuse_a_thousand(gate: &Gate) {
    const ONE: &str = "GET /check/closed HTTP/1.1\r\nhost: a.example\r\n\r\n";
    let mut stream = connect(gate.http);
    for _ in 0..10 {
        stream.write_all(ONE.repeat(100).as_bytes()).expect("it reads");
        let mut answers: Vec<u8> = Vec::new();
        while answers.windows(13).filter(|w| w == b"HTTP/1.1 403 ").count() < 100 {
            let mut some = [0; 64 << 10];
            let read = stream.read(&mut some).expect("it answers");
            assert_ne!(read, 0, "it keeps the connection");
            answers.extend(&some[..read]);
        }
    }
}

#[test]
fn a_reader_that_has_stopped_reading_costs_lines_and_no_request() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let settings = "log: {decisions: 1000000}\n";
    let gate = Start { stderr: OwnedFd::from(writer).into(), settings, ..Start::default() }.go();
    // The pipe holds 64 KiB, the queue ten thousand lines.
    until("the queue is full", || {
        refuse_a_thousand(&gate);
        gate.metric(LOST) > 0
    });
    let memory = gate.memory();
    refuse_a_thousand(&gate);
    gate.serves();
    assert!(gate.memory() < memory + (8 << 20), "{} after {memory}", gate.memory());
    // One who reads again gets whole lines again.
    let ended = std::thread::spawn(move || gate.end());
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("text");
    assert!(
        said.lines().filter(|line| line.contains("rule=bot/closed")).count() > 5000,
        "{} bytes",
        said.len()
    );
    assert_eq!(ended.join().expect("it is waited for"), Some(0));
}

#[test]
fn no_log_at_all_costs_nothing() {
    let gate = Start { stderr: Stdio::null(), ..Start::default() }.go();
    gate.serves();
    assert_eq!(gate.metric(LOST), 0);
    assert_eq!(gate.end(), Some(0));
}
