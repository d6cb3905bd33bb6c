//! HTTP/1.1, byte for byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::gate::PATIENCE;

/// An answer; its status is 0 where the connection was closed without one.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("the answer is text")
    }
}

pub(crate) fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap_or_else(|e| panic!("cannot connect to {to}: {e}"));
    stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
    stream.set_write_timeout(Some(PATIENCE)).expect("not zero");
    stream.set_nodelay(true).expect("it is a TCP socket");
    stream
}

/// Sends a request over a connection of its own, and reads the answer.
pub(crate) fn ask(to: SocketAddr, request: impl AsRef<[u8]>) -> Reply {
    let mut stream = connect(to);
    // A server that has seen enough may close before it has read everything; its answer is there all the same.
    let _ = stream.write_all(request.as_ref());
    read(&mut stream)
}

/// Reads one answer.
pub(crate) fn read(stream: &mut TcpStream) -> Reply {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    loop {
        if let Some(reply) = parse(&bytes) {
            return reply;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return Reply { status: 0, bytes },
            Ok(read) => bytes.extend(&chunk[..read]),
        }
    }
}

/// The answer, once all of it is there.
fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(Some(0), |length| length.parse().ok())?;
    (bytes.len() >= end + length).then(|| Reply { status, bytes: bytes.to_vec() })
}
