//! Gathers the facts of a request from where a proxy writes them, and from nowhere else.
//!
//! nginx copies the visitor's own headers into its question, so a header that the proxy did not set itself may be the
//! visitor's: sources of one fact that disagree therefore decide nothing, and precedence only chooses among those that agree.

use std::net::IpAddr;

use super::{Headers, Host, KnownName, Name, Networks, Parts, Request, Single, Unfit, name, parse_address};

/// The longest chain of proxies that is followed from right to left.
const MAX_HOPS: usize = 16;

/// Who asks a face.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Peer {
    /// A TCP peer, in canonical form.
    Address(IpAddr),
    /// A process that may write to our unix socket: the file's mode is its pass.
    Unix,
}

/// How the visitor's address is found.
#[derive(Clone, Debug, Default)]
pub struct ClientSettings {
    /// The trusted proxies in front of the one that asks.
    pub hops: Hops,
    /// A header that alone carries the address, lower case, such as `x-real-ip`: on every face, instead of all else.
    pub header: Option<String>,
    /// Whether Envoy itself writes `x-envoy-external-address` (`use_remote_address: true`).
    pub envoy_external: bool,
}

/// The trusted proxies in front of the one that asks.
#[derive(Clone, Debug)]
pub enum Hops {
    /// This many.
    Count(usize),
    /// All that lie in these networks.
    In(Networks),
}

impl Default for Hops {
    fn default() -> Self {
        Self::Count(0)
    }
}

/// Where the facts of a request stand.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In `X-Forwarded-*` and `X-Original-*` headers: nginx `auth_request`, Traefik, Caddy and their like.
    /// `host` is the question's own `Host`, the fallback for older set-ups.
    Forwarded {
        /// The `Host` of the question.
        host: &'a [u8],
    },
    /// In the question itself: Envoy's HTTP service. It hands on what the visitor says of a forwarded host, so that is inert.
    Literal {
        /// The question's method.
        method: &'a [u8],
        /// The question's target, our prefix already cut.
        target: &'a [u8],
        /// The question's `Host`.
        host: &'a [u8],
    },
    /// In the question itself, which is a visitor's request that a proxy routed to us. Many rewrite `Host` on such a route
    /// and say the visitor's in `X-Forwarded-Host`.
    Routed {
        /// The question's method.
        method: &'a [u8],
        /// The question's target.
        target: &'a [u8],
        /// The question's `Host`: the fallback where no host is forwarded.
        host: &'a [u8],
    },
    /// In the fields of Envoy's `CheckRequest`.
    Envoy {
        /// `http.method`.
        method: &'a [u8],
        /// `http.path`, with the query.
        target: &'a [u8],
        /// `http.host`.
        host: &'a [u8],
        /// `http.scheme`.
        scheme: &'a [u8],
        /// `source.address`, the TCP peer that Envoy saw; `None` for a pipe or an internal address.
        source: Option<IpAddr>,
    },
}

/// Gathers and checks the facts of a request that a trusted peer describes.
pub fn gather<'a>(
    source: Source<'a>,
    headers: Headers<'a>,
    peer: Peer,
    settings: &ClientSettings,
) -> Result<Request<'a>, Unfit> {
    let forwarded_scheme = || agreed(&headers, &[name::X_FORWARDED_PROTO, name::X_SCHEME], "scheme");
    let forwarded_host = || agreed(&headers, &[name::X_FORWARDED_HOST], "host");
    let parts = match source {
        Source::Envoy { method, target, host, scheme, source } => {
            let scheme = agreed(&headers, &[name::X_FORWARDED_PROTO], "scheme")?.unwrap_or(scheme);
            (method, target, host, scheme, client(&headers, source, true, settings))
        }
        Source::Literal { method, target, host } => {
            let scheme = agreed(&headers, &[name::X_FORWARDED_PROTO], "scheme")?.unwrap_or(b"http");
            (method, target, host, scheme, client(&headers, address(peer), false, settings))
        }
        Source::Routed { method, target, host } => {
            let host = forwarded_host()?.unwrap_or(host);
            (
                method,
                target,
                host,
                forwarded_scheme()?.unwrap_or(b"http"),
                client(&headers, address(peer), false, settings),
            )
        }
        Source::Forwarded { host } => {
            let url = match agreed(&headers, &[name::X_ORIGINAL_URL], "target")? {
                Some(url) => Some(Url::parse(url)?),
                None => None,
            };
            let method = agreed(&headers, &[name::X_FORWARDED_METHOD, name::X_ORIGINAL_METHOD], "method")?
                .unwrap_or(b"GET");
            let target = agreed(&headers, &[name::X_FORWARDED_URI, name::X_ORIGINAL_URI], "target")?;
            let target = either(target, url.as_ref().map(|u| u.target), "target")?
                .ok_or(Unfit::Incomplete("target"))?;
            let scheme =
                either(forwarded_scheme()?, url.as_ref().map(|u| u.scheme), "scheme")?.unwrap_or(b"http");
            let named = forwarded_host()?;
            if let (Some(named), Some(url)) = (named, &url)
                && *Host::parse(named)? != *Host::parse(url.host)?
            {
                return Err(Unfit::Incomplete("host"));
            }
            let host = named.or_else(|| url.map(|u| u.host)).unwrap_or(host);
            (method, target, host, scheme, client(&headers, address(peer), false, settings))
        }
    };
    let (method, target, host, scheme, client) = parts;
    Request::new(Parts { method, target, host, scheme, client, headers })
}

/// The value that all of these headers agree on, whichever are there.
fn agreed<'a>(
    headers: &Headers<'a>,
    names: &[KnownName],
    fact: &'static str,
) -> Result<Option<&'a [u8]>, Unfit> {
    let mut found = None;
    for name in names {
        let value = match headers.single(*name) {
            Single::Absent => None,
            Single::Conflict => return Err(Unfit::Incomplete(fact)),
            Single::One(value) => Some(value),
        };
        found = either(found, value, fact)?;
    }
    Ok(found)
}

fn either<'a>(
    a: Option<&'a [u8]>,
    b: Option<&'a [u8]>,
    fact: &'static str,
) -> Result<Option<&'a [u8]>, Unfit> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Err(Unfit::Incomplete(fact)),
        _ => Ok(a.or(b)),
    }
}

/// The parts of ingress-nginx's `X-Original-URL`.
struct Url<'a> {
    scheme: &'a [u8],
    host: &'a [u8],
    target: &'a [u8],
}

impl<'a> Url<'a> {
    /// Splits without a URL parser: those normalise, and what they would cut or mend here is what an attacker sends.
    fn parse(url: &'a [u8]) -> Result<Self, Unfit> {
        let bad = Unfit::Malformed("target");
        let scheme = if url.starts_with(b"https://") { &url[..5] } else { &url[..4.min(url.len())] };
        let rest = url[scheme.len()..]
            .strip_prefix(b"://")
            .filter(|_| matches!(scheme, b"http" | b"https"))
            .ok_or(bad)?;
        let slash = rest.iter().position(|b| *b == b'/').ok_or(bad)?;
        let (host, target) = rest.split_at(slash);
        Host::parse(host)?;
        Ok(Self { scheme, host, target })
    }
}

fn address(peer: Peer) -> Option<IpAddr> {
    match peer {
        Peer::Address(address) => Some(address),
        Peer::Unix => None,
    }
}

/// The visitor's address: the first one from the right that is not a trusted hop. `seen` is what the proxy's own
/// connection says (over grpc), or the proxy itself (over HTTP, where the last entry is what it saw).
fn client(
    headers: &Headers<'_>,
    seen: Option<IpAddr>,
    seen_is_visitor: bool,
    settings: &ClientSettings,
) -> Option<IpAddr> {
    let only = |name: Name<'_>| match headers.single(name) {
        Single::One(value) => parse_address(value),
        Single::Absent | Single::Conflict => None,
    };
    if let Some(name) = &settings.header {
        return only(name.as_str().into());
    }
    if settings.envoy_external && headers.contains(name::X_ENVOY_EXTERNAL_ADDRESS) {
        return only(name::X_ENVOY_EXTERNAL_ADDRESS.into());
    }
    let listed = headers.joined(name::X_FORWARDED_FOR);
    let mut chain = listed
        .as_deref()
        .map(|l| l.rsplit(|b| *b == b','))
        .into_iter()
        .flatten()
        .map(<[u8]>::trim_ascii)
        .map(parse_address);
    if !seen_is_visitor && listed.is_none() {
        // The proxy did not say whom it serves, so all that is known is the proxy. Where stations should lie between, not even that.
        return seen.filter(|_| !matches!(settings.hops, Hops::Count(1..)));
    }
    // Envoy appends the peer it saw; that entry and `source.address` are one station, not two.
    let mut current = if seen_is_visitor { Some(seen?) } else { chain.next()? };
    let mut first = seen_is_visitor;
    for passed in 0..=MAX_HOPS {
        let address = current?;
        let trusted = match &settings.hops {
            Hops::Count(count) => passed < *count,
            Hops::In(networks) => networks.contains(address),
        };
        if !trusted {
            return Some(address);
        }
        let mut next = chain.next();
        if first && next == Some(current) {
            next = chain.next();
        }
        first = false;
        current = match (next, &settings.hops) {
            (Some(next), _) => next,
            // The outermost trusted hop asks for itself.
            (None, Hops::In(_)) => return Some(address),
            // Fewer stations than configured: the request came another way, and nothing about it is known.
            (None, Hops::Count(_)) => return None,
        };
    }
    None
}

#[cfg(test)]
mod tests;
