//! A visitor's request as a proxy describes it, in borrowed, proxy-neutral form.
//! Parses and judges shape only; what a request may do is for the policy, who may ask is for the gate.

mod address;
mod cookie;
mod facts;
mod header;
mod host;
pub mod name;
mod reading;
mod target;
mod wants;

use std::borrow::Cow;
use std::net::IpAddr;

pub use address::{NetworkError, Networks, Prefix, is_public, parse_address, parse_network};
pub use cookie::{MAX_COOKIES, cookie_values, cookies_without, joined_cookie_values};
pub use facts::{ClientSettings, Hops, Peer, Source, gather};
pub use header::{Header, Headers, MAX_HEADERS, Names, Single};
pub use host::{Host, canonical_literal};
pub use name::{KnownName, Name};
pub use reading::Readings;
pub use target::{MAX_TARGET, Target};
pub use wants::Wants;

/// The raw facts of a request, before anything is known to be well formed.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The method as sent.
    pub method: &'a [u8],
    /// The origin-form target as sent: path and query, undecoded.
    pub target: &'a [u8],
    /// The host as sent, with or without a port.
    pub host: &'a [u8],
    /// `http` or `https`, as the proxy says.
    pub scheme: &'a [u8],
    /// The visitor's address, if there is evidence for one.
    pub client: Option<IpAddr>,
    /// Every header that counts.
    pub headers: Headers<'a>,
}

/// A well-formed request. Everything the gate decides on is in here.
#[derive(Debug)]
pub struct Request<'a> {
    /// The method: a token of at most [`MAX_METHOD`] bytes, case kept.
    pub method: &'a str,
    /// The target, with the readings of its path.
    pub target: Target<'a>,
    /// The host: lower case, without port or final dot.
    pub host: Host<'a>,
    /// How the visitor reached the proxy.
    pub scheme: Scheme,
    /// The visitor's address, IPv4-mapped forms unmapped; `None` is "no evidence", never "anyone".
    pub client: Option<IpAddr>,
    /// Every header that counts (see [`Headers::push`]).
    pub headers: Headers<'a>,
}

impl<'a> Request<'a> {
    /// Checks the shape of every part; what is not well formed is never judged as something else.
    pub fn new(parts: Parts<'a>) -> Result<Self, Unfit> {
        let method = parse_method(parts.method)?;
        let scheme = Scheme::parse(parts.scheme)?;
        let host = Host::parse(parts.host)?;
        let target = Target::parse(parts.target, method == "OPTIONS")?;
        if parts.headers.crowded() {
            return Err(Unfit::Malformed("headers"));
        }
        Ok(Self { method, target, host, scheme, client: parts.client, headers: parts.headers })
    }

    /// The value of a header, several lines joined with `,` in arrival order; `None` when absent.
    pub fn header<'n>(&self, name: impl Into<Name<'n>>) -> Option<Cow<'a, [u8]>> {
        self.headers.joined(name)
    }

    /// The `User-Agent`, empty when absent.
    pub fn agent(&self) -> Cow<'a, [u8]> {
        self.header(name::USER_AGENT).unwrap_or_default()
    }

    /// The JA4 fingerprint that the proxy wrote into `x-tollgate-ja4`, if it did so exactly once.
    pub fn ja4(&self) -> Option<&'a [u8]> {
        match self.headers.single(name::X_TOLLGATE_JA4) {
            Single::One(value) if !value.is_empty() => Some(value),
            _ => None,
        }
    }
}

/// Why a request cannot be judged by the policy. The text names the part and is safe to log and to show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unfit {
    /// The proxy did not say enough, or two sources of one fact disagree: the gate cannot decide.
    Incomplete(&'static str),
    /// The visitor sent something that no honest client sends: the gate denies.
    Malformed(&'static str),
}

/// The visitor's side of the connection: plain or TLS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS or QUIC.
    Https,
}

impl Scheme {
    fn parse(text: &[u8]) -> Result<Self, Unfit> {
        match text {
            _ if text.eq_ignore_ascii_case(b"http") => Ok(Self::Http),
            _ if text.eq_ignore_ascii_case(b"https") => Ok(Self::Https),
            _ => Err(Unfit::Malformed("scheme")),
        }
    }

    /// As it stands in a URL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// The longest method that is taken for one; the registry's longest has 17 bytes (`UPDATEREDIRECTREF`).
pub const MAX_METHOD: usize = 32;

/// A method is a token (RFC 9110, 5.6.2). Tunnels and echoes are no requests for a page: they are refused outright.
fn parse_method(raw: &[u8]) -> Result<&str, Unfit> {
    let token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let refused = [&b"CONNECT"[..], b"TRACE", b"TRACK", b"PRI"];
    if raw.is_empty() || raw.len() > MAX_METHOD || !raw.iter().all(token) || refused.contains(&raw) {
        return Err(Unfit::Malformed("method"));
    }
    std::str::from_utf8(raw).map_err(|_| Unfit::Malformed("method"))
}
