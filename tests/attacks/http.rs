//! Asks over HTTP/1.1, byte for byte, from an address of loopback's choice.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer; one without a status is a connection that was closed instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// The lines of a request. Nothing is checked, escaped or added.
pub(crate) struct Head(pub(crate) Vec<u8>);

impl Head {
    pub(crate) fn new(method: &[u8], target: &[u8]) -> Self {
        Self([method, b" ", target, b" HTTP/1.1\r\n"].concat())
    }

    pub(crate) fn line(&mut self, name: &str, value: &[u8]) {
        self.0.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }

    /// Sends it, and reads the answer.
    pub(crate) fn send(self, to: SocketAddr, from: IpAddr) -> Reply {
        self.send_with(b"", to, from)
    }

    /// Sends it with these bytes behind it, and reads the answer.
    pub(crate) fn send_with(mut self, body: &[u8], to: SocketAddr, from: IpAddr) -> Reply {
        self.0.extend(b"\r\n");
        let head_only = self.0.starts_with(b"HEAD ");
        let mut stream = connect(to, from);
        // A server that has seen enough may close before it has read everything; its answer is there all the same.
        let _ = stream.write_all(&self.0).and_then(|()| stream.write_all(body));
        read(stream, head_only)
    }

    /// Sends the bytes as they are and no more, which may be no request at all, and reads the answer if there is one.
    pub(crate) fn send_cut(self, to: SocketAddr, from: IpAddr) -> Reply {
        let head_only = self.0.starts_with(b"HEAD ");
        let mut stream = connect(to, from);
        // Whoever waits for more learns that there is none.
        let _ = stream.write_all(&[&self.0[..], b"\r\n"].concat());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        read(stream, head_only)
    }
}

fn connect(to: SocketAddr, from: IpAddr) -> TcpStream {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).expect("a socket can be made");
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap_or_else(|e| panic!("cannot ask from {from}: {e}"));
    socket.connect(&to.into()).unwrap_or_else(|e| panic!("cannot connect to {to}: {e}"));
    socket.set_read_timeout(Some(PATIENCE)).expect("not zero");
    socket.into()
}

fn read(mut stream: TcpStream, head_only: bool) -> Reply {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        if let Some(reply) = parse(&bytes, head_only) {
            return reply;
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Reply::default(),
            Ok(read) => bytes.extend(&chunk[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("no answer came within {PATIENCE:?}")
            }
            Err(_) => return Reply::default(),
        }
    }
}

/// The answer, once all of it is there.
fn parse(bytes: &[u8], head_only: bool) -> Option<Reply> {
    let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut reply = Reply { status: Some(status), headers, body: String::new() };
    if head_only || matches!(status, 204 | 304) {
        return Some(reply);
    }
    let length: usize = reply.header("content-length")?.parse().ok()?;
    let body = bytes.get(end + 4..end + 4 + length)?;
    reply.body = String::from_utf8_lossy(body).into_owned();
    Some(reply)
}
