//! Where the server is that replicas meet on, as an operator writes it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use zeroize::Zeroizing;

use super::one_line::Stream;

/// A server: its place, and who to be there. Never shows its password.
#[derive(Clone)]
pub struct Address {
    text: Zeroizing<String>,
    place: Place,
    pub(super) login: RedisConnectionInfo,
}

#[derive(Clone)]
enum Place {
    Tcp { host: String, port: u16, tls: bool },
    Unix(PathBuf),
}

impl Address {
    /// Reads `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, the same with `rediss://` for TLS, and
    /// `unix:/PATH[?db=&user=&pass=]`; `valkey` for `redis` is the same.
    pub fn parse(text: &str) -> Result<Self, String> {
        // The crate's own messages may show what it was given.
        let wrong = |what: &str| {
            format!(
                "{what}; write redis://USER:PASSWORD@HOST:PORT, rediss:// for TLS, or unix:/PATH; user, password and port may be left out"
            )
        };
        let (scheme, rest) =
            text.split_once(':').ok_or_else(|| wrong("this is no address of a Valkey or Redis server"))?;
        let (plain, tls) = match scheme {
            "redis" | "valkey" | "unix" => (scheme, false),
            "rediss" | "valkeys" => ("redis", true),
            _ => return Err(wrong("this is no address of a Valkey or Redis server")),
        };
        if text.contains('#') {
            return Err(wrong("an address has no `#`; in a password it is %23"));
        }
        if plain != "unix" && text.contains('?') {
            return Err(wrong("an address has no `?`; in a password it is %3F"));
        }
        let info = format!("{plain}:{rest}");
        let info = Zeroizing::new(info)
            .as_str()
            .into_connection_info()
            .map_err(|_| wrong("this cannot be read as an address"))?;
        let place = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Place::Tcp { host: host.clone(), port: *port, tls },
            ConnectionAddr::Unix(path) => Place::Unix(path.clone()),
            _ => return Err(wrong("this is no address of a Valkey or Redis server")),
        };
        if let Place::Tcp { host, tls: true, .. } = &place
            && ServerName::try_from(host.as_str()).is_err()
        {
            return Err(wrong("this host has no name that a certificate could hold"));
        }
        // Its replies are lines, and it need not know who calls.
        let login =
            info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
        Ok(Self { text: Zeroizing::new(text.to_owned()), place, login })
    }

    /// The address without its password; nothing of one that cannot be read, whose password may be anywhere.
    pub fn redacted(text: &str) -> String {
        Self::parse(text).map_or_else(|_| "(redacted)".to_owned(), |address| address.to_string())
    }

    /// Whether the way there is to be kept secret.
    pub(super) const fn is_tls(&self) -> bool {
        matches!(self.place, Place::Tcp { tls: true, .. })
    }

    /// Opens a stream to it. Bounded in time by the caller.
    pub(super) async fn connect(&self, tls: Option<&TlsConnector>) -> io::Result<Box<dyn Stream>> {
        let (host, port) = match &self.place {
            Place::Unix(path) => return Ok(Box::new(UnixStream::connect(path).await?)),
            Place::Tcp { host, port, .. } => (host.as_str(), *port),
        };
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A user without a password may be one that stands in the wrong place.
        let user = match (self.login.username(), self.login.password()) {
            (None, None) => None,
            (Some(user), Some(_)) => Some(user),
            (None, Some(_)) | (Some(_), None) => Some(""),
        };
        let database = Some(self.login.db()).filter(|database| *database != 0);
        match &self.place {
            Place::Unix(path) => {
                write!(f, "unix:{}", path.display().to_string().escape_debug())?;
                let mut before = '?';
                for part in [
                    database.map(|database| format!("db={database}")),
                    user.map(|user| format!("user={}&pass=(redacted)", user.escape_debug())),
                ]
                .into_iter()
                .flatten()
                {
                    write!(f, "{before}{part}")?;
                    before = '&';
                }
                Ok(())
            }
            Place::Tcp { host, port, tls } => {
                f.write_str(if *tls { "rediss://" } else { "redis://" })?;
                user.map_or(Ok(()), |user| write!(f, "{}:(redacted)@", user.escape_debug()))?;
                let host = host.escape_debug();
                if host.clone().any(|sign| sign == ':') {
                    write!(f, "[{host}]:{port}")?
                } else {
                    write!(f, "{host}:{port}")?
                }
                database.map_or(Ok(()), |database| write!(f, "/{database}"))
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_whether_over_tls_and_who() {
        for (text, tls, user, password, shown) in [
            ("redis://localhost", false, None, None, "redis://localhost:6379"),
            ("valkey://10.0.0.1:6380/3", false, None, None, "redis://10.0.0.1:6380/3"),
            ("redis://[::1]:6379", false, None, None, "redis://[::1]:6379"),
            ("redis://:pa%23ss@h", false, None, Some("pa#ss"), "redis://:(redacted)@h:6379"),
            (
                "rediss://me:word@h.example:1/2",
                true,
                Some("me"),
                Some("word"),
                "rediss://me:(redacted)@h.example:1/2",
            ),
            ("unix:/run/valkey.sock", false, None, None, "unix:/run/valkey.sock"),
            (
                "unix:///run/v.sock?user=me&pass=word",
                false,
                Some("me"),
                Some("word"),
                "unix:/run/v.sock?user=me&pass=(redacted)",
            ),
        ] {
            let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (address.is_tls(), address.login.username(), address.login.password()),
                (tls, user, password),
                "{text}"
            );
            assert_eq!(address.to_string(), shown);
            assert_eq!(format!("{address:?}"), format!("Address({shown})"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_not_shown() {
        for text in [
            "",
            "h:6379",
            "http://me:hunter2@h",
            "redis://",
            "redis://me:hunter2@h:port",
            "redis://me:hunter2@h/x",
            "unix:",
            "redis:hunter2",
            "rediss://me:hunter2@h#insecure",
            "redis://me:hun#ter2@h",
            "rediss://me:hunter2@a_b c",
            "redis://:hunter2",
            "redis://me:hun@ter?2@h",
        ] {
            let error = Address::parse(text).expect_err(text);
            assert!(
                error.contains("redis://USER:PASSWORD@HOST:PORT")
                    && !error.contains("hunter2")
                    && !error.contains("ter2"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn no_password_is_shown_however_it_is_written() {
        for text in [
            "redis://:hunter2@h",
            "redis://me:hunter2@h:1/2",
            "redis:me:hunter2@h",
            "me:hunter2@h",
            "redis://me:hun@ter2@h",
            "unix:/x?pass=hunter2",
            "redis://me:hunter2?@h",
            "redis://me@hunter2@h",
            "redis:/:hunter2@h",
            "hunter2@h",
            "redis://hunter2@h",
            "redis://:hunter2",
            "redis:hunter2",
            "redis://me:hun@ter2?2@h",
            "redis://me:hun/ter2@h",
            "redis://me:6/ter2@h",
            "unix:hunter2",
            "unix://hunter2/x",
            "unix:me:hunter2@h",
            "unix:///x?user=hunter2",
        ] {
            let shown = Address::redacted(text);
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{text}: {shown}");
        }
    }
}
