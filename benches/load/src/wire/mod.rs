//! How a question reaches a server: bytes that were made before the clock started, over HTTP/1.1 or as gRPC.

mod grpc;
mod http1;
mod http2;
pub(crate) mod message;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, UnixStream};

use crate::frozen::Frozen;
use grpc::{Channel, Grpc};
use http1::Http1;

/// Where a server listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = anyhow::Error;

    /// `host:port` or `unix:/path`, also with `http://` in front.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let text = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        if text.starts_with("https://") {
            bail!("{text}: what is measured is asked without TLS");
        }
        let found = std::net::ToSocketAddrs::to_socket_addrs(text)
            .with_context(|| format!("{text} is no address; write host:port or unix:/path"))?
            .next();
        found.map(Self::Tcp).ok_or_else(|| anyhow!("{text} has no address"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(at) => at.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

impl Address {
    /// Opens a connection, from a loopback address of its own where `from` says so.
    async fn connect(&self, from: Option<Ipv4Addr>) -> io::Result<Box<dyn Socket>> {
        match self {
            Self::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
            Self::Tcp(at) => {
                let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
                if let Some(from) = from {
                    socket.bind(SocketAddr::new(from.into(), 0))?;
                }
                let stream = socket.connect(*at).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    /// The status that a visitor would see; 200 where the request passes.
    pub(crate) status: u16,
    /// `name=value` of every cookie that was set.
    pub(crate) cookies: Vec<String>,
    /// The body, where it was asked for.
    pub(crate) body: Bytes,
    /// How many bytes it had, asked for or not.
    pub(crate) length: u64,
}

/// One request at a time: a connection of HTTP/1.1, or one of the streams of an HTTP/2 connection.
pub(crate) enum Lane {
    Http1(Http1),
    Grpc(Grpc),
}

impl Lane {
    /// Asks, and waits for the whole answer. `client` and `serial` are the visitor's address and number.
    pub(crate) async fn ask(
        &mut self,
        question: &Frozen,
        client: u64,
        serial: u64,
        keep: bool,
    ) -> io::Result<Reply> {
        match self {
            Self::Http1(lane) => lane.ask(question, client, serial, keep).await,
            Self::Grpc(lane) => lane.ask(question, client, serial, keep).await,
        }
    }
}

/// Which protocol an address speaks, and how many connections and streams a proxy would hold there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    /// So many connections; each from a loopback address of its own where a proxy is to see many visitors.
    Http1 { connections: usize, many_addresses: bool },
    /// So many connections with so many streams each.
    Grpc { connections: usize, streams: usize },
}

/// Lanes to an address. None is open before its first question.
pub(crate) fn lanes(address: &Address, protocol: Protocol) -> Vec<Lane> {
    match protocol {
        Protocol::Http1 { connections, many_addresses } => (0..connections)
            .map(|n| {
                let from = many_addresses.then(|| loopback(n));
                Lane::Http1(Http1::new(address.clone(), from))
            })
            .collect(),
        Protocol::Grpc { connections, streams } => (0..connections)
            .flat_map(|_| {
                let channel = Rc::new(Channel::new(address.clone(), streams));
                (0..streams).map(move |seat| Lane::Grpc(Grpc::new(channel.clone(), seat)))
            })
            .collect(),
    }
}

/// A loopback address in a /24 of its own.
fn loopback(n: usize) -> Ipv4Addr {
    let [.., high, low] = n.to_be_bytes();
    Ipv4Addr::new(127, 64 + high, low, 1)
}
