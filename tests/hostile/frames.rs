//! HTTP/2, frame for frame: what no library would send.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::address::Address as Place;
use envoy_types::pb::envoy::config::core::v3::{Address, SocketAddress};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};
use prost::Message as _;

use crate::http::connect;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GO_AWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// A frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is small").to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Header lines, each spelt out, so that nothing depends on what was sent before.
pub(crate) fn block(lines: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in lines {
        bytes.push(0);
        for text in [name, value] {
            let mut rest = text.len();
            if rest < 127 {
                bytes.push(u8::try_from(rest).expect("it is small"));
            } else {
                bytes.push(127);
                rest -= 127;
                while rest >= 128 {
                    bytes.push(u8::try_from(rest % 128 + 128).expect("eight bits"));
                    rest /= 128;
                }
                bytes.push(u8::try_from(rest).expect("seven bits"));
            }
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

/// The head of a gRPC question.
pub(crate) fn question() -> Vec<(&'static str, &'static str)> {
    vec![
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/envoy.service.auth.v3.Authorization/Check"),
        (":authority", "gate"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ]
}

/// The head of a request to the http listener that is answered at once.
pub(crate) fn request() -> Vec<(&'static str, &'static str)> {
    vec![(":method", "GET"), (":scheme", "http"), (":path", "/check/ok"), (":authority", "a.example")]
}

/// A connection that has sent its preface.
pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
    next: u32,
}

/// A frame that came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> Self {
        Self::open_with(to, &[])
    }

    /// Opens one with these settings.
    pub(crate) fn open_with(to: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let mut connection = Self { stream: connect(to), unread: Vec::new(), next: 1 };
        let settings: Vec<u8> = settings
            .iter()
            .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
            .collect();
        assert!(connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
        assert!(connection.send(&frame(SETTINGS, 0, 0, &settings)));
        connection
    }

    /// Sends bytes; false once the other side has closed, or does not read any more.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends as much as the other side takes within a moment; false once it has closed.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Push {
        self.stream.set_write_timeout(Some(Duration::from_millis(300))).expect("not zero");
        match self.stream.write(bytes) {
            // A frame that is cut in two would be another attack.
            Ok(all) if all == bytes.len() => Push::Taken,
            Ok(_) => Push::Full,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Push::Full,
            Err(_) => Push::Closed,
        }
    }

    /// The id of a new stream.
    pub(crate) fn stream(&mut self) -> u32 {
        self.next += 2;
        self.next - 2
    }

    /// The next frame; none once the other side has closed.
    pub(crate) fn frame(&mut self) -> Option<Frame> {
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(head) = self.unread.get(..9) {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                if self.unread.len() >= 9 + length {
                    let bytes: Vec<_> = self.unread.drain(..9 + length).collect();
                    let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
                    return Some(Frame {
                        kind: bytes[3],
                        flags: bytes[4],
                        stream,
                        payload: bytes[9..].to_vec(),
                    });
                }
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(read) => self.unread.extend(&chunk[..read]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("neither a frame nor the end came")
                }
                Err(_) => return None,
            }
        }
    }

    /// Reads until the other side closes; returns the code of its GOAWAY, if it sent one. Whoever says farewell in order asks
    /// whether that was heard.
    pub(crate) fn farewell(&mut self) -> Option<u32> {
        let mut code = None;
        while let Some(Frame { kind, flags, payload, .. }) = self.frame() {
            match kind {
                GO_AWAY => code = Some(u32::from_be_bytes(payload[4..8].try_into().expect("four bytes"))),
                PING if flags & ACK == 0 => {
                    self.send(&frame(PING, ACK, 0, &payload));
                }
                _ => {}
            }
        }
        code
    }

    /// Waits until everything sent so far has been taken in: a PING is answered in its turn. False where the other side closed.
    pub(crate) fn settle(&mut self) -> bool {
        let ours = |f: &Frame| f.kind == PING && f.payload == b"settled?";
        self.send(&frame(PING, 0, 0, b"settled?")) && std::iter::from_fn(|| self.frame()).any(|f| ours(&f))
    }

    /// Asks Envoy's question about a target; returns the code of the answer, which is 0 for an allow and nothing else.
    pub(crate) fn check(&mut self, target: &str, headers: &[(&str, &str)]) -> i32 {
        let stream = self.stream();
        let message = check_request(target, headers);
        let mut bytes = frame(HEADERS, END_HEADERS, stream, &block(&question()));
        let mut parts = message.chunks(16 * 1024).peekable();
        while let Some(part) = parts.next() {
            let flags = if parts.peek().is_none() { END_STREAM } else { 0 };
            bytes.extend(frame(DATA, flags, stream, part));
        }
        self.send(&bytes);
        let mut body = Vec::new();
        while let Some(frame) = self.frame() {
            if frame.stream == stream {
                if frame.kind == DATA {
                    body.extend(frame.payload);
                }
                if frame.kind == RESET || frame.flags & END_STREAM != 0 {
                    break;
                }
            }
        }
        let message = body.get(5..).and_then(|message| CheckResponse::decode(message).ok());
        // A refusal in trailers alone has no message.
        message.map_or(-1, |message| message.status.map_or(0, |status| status.code))
    }
}

/// How a push went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Push {
    Taken,
    /// The other side does not read.
    Full,
    Closed,
}

/// A question in gRPC's envelope.
pub(crate) fn check_request(target: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let socket = SocketAddress { address: "198.51.100.7".into(), ..SocketAddress::default() };
    let address = Address { address: Some(Place::SocketAddress(socket)) };
    let http = HttpRequest {
        method: "GET".into(),
        path: target.into(),
        host: "a.example".into(),
        scheme: "https".into(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        source: Some(Peer { address: Some(address), ..Peer::default() }),
        request: Some(Request { http: Some(http), ..Request::default() }),
        ..AttributeContext::default()
    };
    let message = CheckRequest { attributes: Some(attributes) }.encode_to_vec();
    let mut bytes = vec![0];
    bytes.extend(u32::try_from(message.len()).expect("it fits").to_be_bytes());
    bytes.extend(message);
    bytes
}
