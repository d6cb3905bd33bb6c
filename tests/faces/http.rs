//! A client of HTTP/1.1 that sends exactly the bytes it is given, and reads answers strictly by their announced length.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Bytes of the status line and the headers.
    pub(crate) head: usize,
}

impl Reply {
    /// The one value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} stands twice: {self:?}");
        value
    }
}

/// A connection that is kept.
pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), unread: Vec::new() }
    }

    /// Sends a request and reads its answer. Surplus bytes would surface as the start of the next one.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        let request = request.as_ref();
        self.stream.write_all(request).await.unwrap();
        let end = loop {
            if let Some(at) = self.unread.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(self.read().await, "closed before an answer to {}", String::from_utf8_lossy(request));
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut reply = Reply { status, headers, body: Vec::new(), head: end };
        if !request.starts_with(b"HEAD ") && !matches!(status, 204 | 304) {
            let length = reply.header("content-length").expect("a length").parse().unwrap();
            while self.unread.len() < length {
                assert!(self.read().await, "closed in the middle of a body");
            }
            reply.body = self.unread.drain(..length).collect();
        }
        reply
    }

    async fn read(&mut self) -> bool {
        self.stream.read_buf(&mut self.unread).await.is_ok_and(|read| read > 0)
    }

    /// Whether the server has closed its side.
    pub(crate) async fn is_closed(&mut self) -> bool {
        !self.read().await
    }
}

/// One question on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Reply {
    Connection::open(address).await.ask(request).await
}
