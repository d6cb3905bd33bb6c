//! A server that answers with garbage, without an end, or not at all: the connection ends, memory stays bounded, and visitors
//! notice nothing.

use std::sync::atomic::Ordering;
use std::thread;

use crate::fake::{Fake, Script};
use crate::replica::{Replica, folder, until};
use crate::server::Server;

/// What the operator reads of each, and what it sends: one text, and then another for as long as anybody listens.
type Case = (&'static str, &'static [u8], &'static [u8]);

const STRANGE: &str = "it answers with what we do not ask for";
const CASES: &[Case] = &[
    // Nothing.
    ("it did not answer within 100 ms", b"", b""),
    // Garbage, and another protocol.
    (STRANGE, b"\x00\xff\x1b[31mnonsense\r\n", b"and more of it\r\n"),
    (STRANGE, b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", b""),
    // A bulk of 512 MiB, an array without an end, arrays in arrays, a line without an end.
    (STRANGE, b"$536870912\r\n", &[b'x'; 1 << 16]),
    (STRANGE, b"*2147483647\r\n", b":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
    (STRANGE, b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
    ("its reply has no end", b"-", &[b'x'; 1 << 16]),
    // More replies than questions, and some that are no answer.
    ("it speaks unasked", b":1\r\n:1\r\n:1\r\n", b":1\r\n:1\r\n:1\r\n:1\r\n"),
    (STRANGE, b":-1\r\n", b""),
    (STRANGE, b"+OK\r\n", b""),
    // Errors: of a server that has only begun, and one that would draw on the terminal.
    ("it says LOADING Redis is loading", b"-LOADING Redis is loading the dataset in memory\r\n", b""),
    (r"it says ERR \u{1b}[2J", b"-ERR \x1b[2J\r\n", b""),
];

/// All at once: each mostly waits for the next try.
#[test]
fn whatever_it_sends() {
    thread::scope(|scope| CASES.iter().for_each(|case| drop(scope.spawn(|| survives(*case)))));
}

fn survives((says, first, then): Case) {
    let folder = folder();
    let socket = folder.path().join("server.sock");
    let settings = format!("memory: {{shared: 'unix:{}'}}", socket.display());
    let fake = Fake::start(&socket, Script { first, then });
    let replica = Replica::start(folder.path(), "a", &settings);
    replica.says("cannot share memory", 1);
    replica.stands(1);
    let before = replica.resident();
    // It is tried again, and again it is left.
    until("a second try", || fake.dropped.load(Ordering::Relaxed) >= 2);
    (2..5).for_each(|visitor| replica.stands(visitor));
    let grown = replica.resident().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more, {} were sent", fake.sent.load(Ordering::Relaxed));
    assert_eq!(replica.metric("tollgate_shared_degraded"), 1);
    replica.says("cannot share memory", 1);
    replica.says(says, 1);
    // A real one in its place is taken at its word.
    drop(fake);
    let _server = Server::start(folder.path(), "server", &[]);
    replica.wait_until_degraded_is(0);
    replica.stands(5);
}
