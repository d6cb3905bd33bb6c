//! Where the three listeners stand.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The three listeners.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listen {
    /// Envoy's gRPC.
    pub grpc: Address,
    /// The HTTP faces and the public prefix.
    pub http: Address,
    /// Metrics, health and the admin API.
    pub admin: Address,
    /// The file mode of unix sockets.
    pub mode: u32,
}

/// Where one listener stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Address {
    /// Nowhere.
    Off,
    /// On TCP; port 0 picks a free one.
    Tcp(SocketAddr),
    /// On a unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Reads `host:port`, `unix:/path` or `off`. A host name is looked up once, and its first address counts.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        // YAML 1.1 takes a bare `off` for the boolean.
        if text == "off" || text == "false" {
            return Ok(Self::Off);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            let short = path.len() < MAX_SOCKET_PATH;
            return match path.starts_with('/') && short {
                true => Ok(Self::Unix(path.into())),
                false => Err(format!(
                    "`{text}` is no socket; write unix:/path, absolute and below {MAX_SOCKET_PATH} bytes"
                )),
            };
        }
        let bad = || format!("`{text}` is no address; write host:port, unix:/path or off");
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let port: u16 = port.parse().map_err(|_| bad())?;
        let found = (host, port).to_socket_addrs().ok().and_then(|mut all| all.next());
        found
            .filter(|_| !host.is_empty())
            .map(Self::Tcp)
            .ok_or_else(|| format!("`{host}` in `{text}` is no address and no name that can be found"))
    }

    /// Whether only this machine's own users can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Off | Self::Unix(_) => true,
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }
}

/// What Linux's `sockaddr_un` holds with its final zero is 108; a socket is made beside its place first, under a longer name.
const MAX_SOCKET_PATH: usize = 96;

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_tcp_unix_or_off() {
        for text in ["off", "unix:/run/tollgate.sock", "127.0.0.1:0", "[::1]:9001", "0.0.0.0:80"] {
            assert_eq!(Address::parse(text).map(|a| a.to_string()).as_deref(), Ok(text));
        }
        assert!(matches!(Address::parse("localhost:9"), Ok(Address::Tcp(_))));
        let long = format!("unix:/{}", "x".repeat(107));
        for text in
            ["", "9001", ":9001", "127.0.0.1", "127.0.0.1:99999", "unix:", "unix:run", &long, "http://x:1"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_loopback_and_sockets_are_local() {
        for (text, local) in [
            ("127.9.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("unix:/a", true),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_local(), local, "{text}");
        }
    }
}
