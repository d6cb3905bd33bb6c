//! A log that cannot be written: the gate serves on, and counts what was lost.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use crate::gate::{Start, until};

const LOST: &str = "tollgate_log_lines_lost_total";

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

#[test]
fn a_reader_that_has_stopped_reading_costs_lines_and_no_request() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let gate = Start { stderr: OwnedFd::from(writer).into(), ..Start::default() }.go();
    // The pipe holds 64 KiB, the queue some thousand lines.
    until("the queue is full", || {
        gate.serves();
        gate.metric(LOST) > 0
    });
    let memory = gate.memory();
    for _ in 0..100 {
        gate.serves();
    }
    assert!(gate.memory() < memory + (8 << 20), "{} after {memory}", gate.memory());
    // One who reads again gets whole lines again.
    let ended = std::thread::spawn(move || gate.end());
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("text");
    assert!(
        said.lines().filter(|line| line.contains("rule=bot/closed")).count() > 100,
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
