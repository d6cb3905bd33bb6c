//! A visitor: HTTP/1.1 byte for byte, so that tests can send what no library would.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use serde_json::Value;
use socket2::{Domain, Socket, Type};

use crate::program::PATIENCE;

/// What an ordinary browser calls itself; a clearance is bound to it.
pub(crate) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
/// The host that visitors ask for.
pub(crate) const HOST: &str = "shop.example";

/// A request under construction. It starts as a browser's navigation.
#[derive(Clone)]
pub(crate) struct Ask {
    method: &'static str,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &'static str, target: impl Into<String>) -> Self {
        let headers = [
            ("host", HOST),
            ("user-agent", BROWSER),
            ("accept", "text/html,*/*;q=0.8"),
            ("sec-fetch-mode", "navigate"),
        ];
        let headers = headers.into_iter().chain([("sec-fetch-dest", "document")]);
        Self {
            method,
            target: target.into(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: Vec::new(),
        }
    }

    /// A request without any header.
    pub(crate) fn bare(method: &'static str, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    /// A GET by a script or a program, which cannot show a page.
    pub(crate) fn fetch(target: impl Into<String>) -> Self {
        Self::get(target)
            .set("accept", "application/json")
            .set("sec-fetch-mode", "cors")
            .set("sec-fetch-dest", "empty")
    }

    /// Adds a header, also under a name that is there already.
    pub(crate) fn add(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Replaces a header.
    pub(crate) fn set(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.retain(|(n, _)| n != name);
        self.add(name, value)
    }

    /// The body as it goes over the wire; `content-length` is the caller's to add.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it over a connection of its own.
    pub(crate) fn send(&self, to: SocketAddr) -> Reply {
        Connection::open(to).send(self)
    }
}

impl Ask {
    /// Sends it over a connection of its own, from this address.
    pub(crate) fn send_from(&self, to: SocketAddr, from: Ipv4Addr) -> Reply {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket can be made");
        socket
            .bind(&SocketAddr::from((from, 0)).into())
            .unwrap_or_else(|e| panic!("cannot ask from {from}: {e}"));
        socket.connect(&to.into()).unwrap_or_else(|e| panic!("cannot connect to {to}: {e}"));
        Connection::over(socket.into()).send(self)
    }
}

/// A connection that is kept, for tests of what follows on it.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> Self {
        Self::over(TcpStream::connect(to).unwrap_or_else(|e| panic!("cannot connect to {to}: {e}")))
    }

    fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("not zero");
        Self(BufReader::new(stream))
    }

    /// Sends one request and reads its answer. Under `expect: 100-continue` the body waits for the go-ahead.
    pub(crate) fn send(&mut self, ask: &Ask) -> Reply {
        let mut head = format!("{} {} HTTP/1.1\r\n", ask.method, ask.target);
        for (name, value) in &ask.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        let waits = ask.headers.iter().any(|(name, _)| name == "expect");
        if !waits {
            self.write(&ask.body);
        }
        let mut reply = self.read(ask.method == "HEAD");
        if waits && reply.status == 100 {
            self.write(&ask.body);
            reply = self.read(false);
        }
        reply
    }

    /// A proxy that refuses may close before it has read a body to its end; the answer is there all the same.
    fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.get_mut().write_all(bytes);
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap_or_else(|e| panic!("no answer came: {e}"));
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    fn read(&mut self, head_only: bool) -> Reply {
        let first = self.line();
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .unwrap_or_else(|| panic!("no status line: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut reply = Reply { status, headers, body: Vec::new() };
        if !head_only && status >= 200 && !matches!(status, 204 | 304) {
            reply.body = self.body(&reply);
        }
        reply
    }

    fn body(&mut self, head: &Reply) -> Vec<u8> {
        let mut body = Vec::new();
        if let Some(length) = head.header("content-length") {
            body.resize(length.parse().expect("a proxy writes a number"), 0);
            self.0.read_exact(&mut body).expect("the body is as long as was said");
        } else if head.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(&self.line(), 16).expect("a proxy writes a chunk's size");
                let mut chunk = vec![0; size];
                self.0.read_exact(&mut chunk).expect("the chunk is as long as was said");
                body.extend(chunk);
                self.line();
                if size == 0 {
                    break;
                }
            }
        } else {
            self.0.read_to_end(&mut body).expect("a body without a length ends with its connection");
        }
        body
    }
}

/// What a visitor received.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        self.headers.iter().try_for_each(|(name, value)| writeln!(f, "{name}: {value}"))?;
        write!(f, "\n{:.300}", String::from_utf8_lossy(&self.body))
    }
}

impl Reply {
    /// The first header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    /// What the app behind the gate says it saw.
    pub(crate) fn seen(&self) -> Seen {
        assert_eq!(self.status, 200, "the app was not reached: {self:?}");
        Seen(serde_json::from_slice(&self.body).expect("the app answers JSON"))
    }
}

/// A request as the app saw it.
pub(crate) struct Seen(Value);

impl Seen {
    pub(crate) fn method(&self) -> &str {
        self.0["method"].as_str().expect("the app says the method")
    }

    pub(crate) fn target(&self) -> &str {
        self.0["target"].as_str().expect("the app says the target")
    }

    pub(crate) fn body_bytes(&self) -> u64 {
        self.0["body_bytes"].as_u64().expect("the app counts the body")
    }

    /// All values of a header, under any spelling of its name that an app might take for the same.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.names_and_values()
            .filter(|(n, _)| n.replace(['_', '.'], "-") == name)
            .map(|(_, value)| value)
            .collect()
    }

    pub(crate) fn names_and_values(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.0["headers"].as_array().expect("the app says the headers");
        headers
            .iter()
            .map(|pair| (pair[0].as_str().unwrap_or_default(), pair[1].as_str().unwrap_or_default()))
    }
}
