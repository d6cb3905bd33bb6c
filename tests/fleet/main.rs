//! Replicas that share what they remember: the real program, several times, on a real server (Redis or Valkey), and what
//! becomes of visitors when that server is not well.
//!
//! Each test starts what it needs in a folder of its own, on free ports and unix sockets, and stops it by its pid. A test
//! waits for what it asks about to come true, and for nothing else.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

#[path = "../proxies/client.rs"]
#[expect(dead_code, reason = "these tests have no app behind the gate")]
mod client;
#[path = "../proxies/program.rs"]
#[expect(dead_code, reason = "these tests need no proxy")]
mod program;

mod fake;
mod replica;
mod server;

mod agree;
mod hostile;
mod outage;
mod reach;
mod restart;
mod scripts;
