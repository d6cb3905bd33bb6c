//! Facts of a request, face by face: each from its own source, and from nowhere else.

use std::net::IpAddr;

use tollgate::request::{
    ClientSettings, Headers, Hops, MAX_HEADERS, Networks, Peer, Request, Source, Unfit, gather,
};

use super::fixture::PEER;
use super::naive;

/// What the input says. Its first line chooses face and settings; the others are `name: value`, and names with a colon in front
/// are the question's own method, target, host, scheme and source.
struct Input<'a> {
    face: u8,
    settings: ClientSettings,
    unix: bool,
    own: [&'a [u8]; 4],
    source: Option<IpAddr>,
    lines: Vec<(&'a [u8], &'a [u8])>,
}

const OWN: [&[u8]; 4] = [b":method", b":path", b":authority", b":scheme"];

impl<'a> Input<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes.split(|b| *b == b'\n');
        let [face, hops, more, ..] = *rest.next()? else { return None };
        let networks = || Networks::parse(["10.0.0.0/8", "127.0.0.1/32", "fd00::/8"]).expect("they are some");
        let hops = match hops % 4 {
            3 => Hops::In(networks()),
            count => Hops::Count(usize::from(count)),
        };
        let header = (more & 1 == 1).then(|| "x-real-ip".to_owned());
        let settings = ClientSettings { hops, header, envoy_external: more & 2 == 2 };
        let mut input = Self {
            face: face % 4,
            settings,
            unix: more & 4 == 4,
            own: [b"GET", b"/", b"example.com", b"https"],
            source: None,
            lines: Vec::new(),
        };
        for line in rest {
            let colon = 1 + line.iter().skip(1).position(|b| *b == b':')?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii_start());
            match OWN.iter().position(|own| *own == name) {
                Some(at) => input.own[at] = value,
                None if name == b":source" => input.source = naive::address(value),
                None => input.lines.push((name, value)),
            }
        }
        Some(input)
    }

    fn peer(&self) -> Peer {
        if self.unix { Peer::Unix } else { Peer::Address(PEER) }
    }

    /// Gathers with the lines that pass.
    fn gather(&self, pass: impl Fn(&[u8]) -> bool) -> Result<Request<'a>, Unfit> {
        let [method, target, host, scheme] = self.own;
        let source = match self.face {
            0 => Source::Forwarded { host },
            1 => Source::Literal { method, target, host },
            2 => Source::Routed { method, target, host },
            _ => Source::Envoy { method, target, host, scheme, source: self.source },
        };
        let headers: Headers<'a> = self.lines.iter().filter(|(name, _)| pass(name)).copied().collect();
        gather(source, headers, self.peer(), &self.settings)
    }

    /// The values that stand under these names.
    fn values(&self, names: &[&str]) -> Vec<&'a [u8]> {
        let named = |name: &[u8]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
        self.lines.iter().filter(|(name, _)| named(name)).map(|(_, value)| *value).collect()
    }
}

/// What a request comes down to.
#[derive(Debug, PartialEq)]
struct Facts {
    method: String,
    target: Vec<u8>,
    host: String,
    scheme: &'static str,
    client: Option<IpAddr>,
}

fn facts(request: &Result<Request<'_>, Unfit>) -> Result<Facts, Unfit> {
    let request = request.as_ref().map_err(|unfit| *unfit)?;
    Ok(Facts {
        method: request.method.to_owned(),
        target: request.target.raw.to_vec(),
        host: request.host.to_string(),
        scheme: request.scheme.as_str(),
        client: request.client,
    })
}

pub(crate) fn run(bytes: &[u8]) {
    let Some(input) = Input::read(bytes) else { return };
    let whole = input.gather(|_| true);
    let inert = |name: &[u8]| name.iter().any(|b| b"_.:".contains(b));
    let crowded = input.lines.iter().filter(|(name, _)| !inert(name)).count() > MAX_HEADERS;
    if !crowded {
        assert_eq!(facts(&whole), facts(&input.gather(|name| !inert(name))), "an alias counted");
        let elsewhere: &[&str] = match input.face {
            0 => &["x-rewrite-url", "forwarded", "via"],
            2 => &[
                "x-forwarded-uri",
                "x-original-uri",
                "x-original-url",
                "x-forwarded-method",
                "x-original-method",
            ],
            _ => &[
                "x-forwarded-uri",
                "x-original-uri",
                "x-original-url",
                "x-forwarded-method",
                "x-original-method",
                "x-forwarded-host",
                "x-scheme",
            ],
        };
        let other = |name: &[u8]| elsewhere.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
        assert_eq!(facts(&whole), facts(&input.gather(|name| !other(name))), "another face's source counted");
    }
    let Ok(request) = whole else { return };
    assert!(!crowded, "lines were dropped");
    let only = |values: &[&[u8]], fact: &[u8]| values.iter().all(|value| value.eq_ignore_ascii_case(fact));
    let exactly = |values: &[&[u8]], fact: &[u8]| values.iter().all(|value| *value == fact);
    let scheme = request.scheme.as_str().as_bytes();
    match input.face {
        0 => {
            let targets = input.values(&["x-forwarded-uri", "x-original-uri"]);
            let urls = input.values(&["x-original-url"]);
            assert!(!targets.is_empty() || !urls.is_empty());
            assert!(exactly(&targets, request.target.raw));
            for url in urls {
                let text = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(b"://"));
                let rest = text.expect("a scheme that differs is a contradiction");
                assert!(rest.ends_with(request.target.raw));
            }
            let methods = input.values(&["x-forwarded-method", "x-original-method"]);
            assert!(exactly(&methods, request.method.as_bytes()));
            assert!(!methods.is_empty() || request.method == "GET");
            assert!(only(&input.values(&["x-forwarded-proto", "x-scheme"]), scheme));
        }
        face => {
            assert_eq!((request.method.as_bytes(), request.target.raw), (input.own[0], input.own[1]));
            let named =
                if face == 2 { &["x-forwarded-proto", "x-scheme"][..] } else { &["x-forwarded-proto"][..] };
            assert!(only(&input.values(named), scheme));
        }
    }
    let name = |raw: &[u8]| {
        let text = String::from_utf8_lossy(raw).to_ascii_lowercase();
        if text.starts_with('[') {
            return None;
        }
        Some(text.split(':').next().unwrap_or_default().trim_end_matches('.').to_owned())
    };
    let hosts = if matches!(input.face, 0 | 2) { input.values(&["x-forwarded-host"]) } else { Vec::new() };
    let said = if hosts.is_empty() && input.values(&["x-original-url"]).is_empty() {
        vec![input.own[2]]
    } else {
        hosts
    };
    for host in said.into_iter().filter_map(name) {
        assert_eq!(host, &*request.host);
    }
    assert_eq!(
        request.client,
        client(&input),
        "{:?}",
        input
            .lines
            .iter()
            .map(|(n, v)| (n.escape_ascii().to_string(), v.escape_ascii().to_string()))
            .collect::<Vec<_>>()
    );
}

/// The visitor's address by the letter of the rules.
fn client(input: &Input<'_>) -> Option<IpAddr> {
    let one = |name: &str| {
        let values = input.values(&[name]);
        values
            .first()
            .filter(|first| values.iter().all(|value| value == *first))
            .and_then(|v| naive::address(v))
    };
    if input.settings.header.is_some() {
        return one("x-real-ip");
    }
    if input.settings.envoy_external && !input.values(&["x-envoy-external-address"]).is_empty() {
        return one("x-envoy-external-address");
    }
    let lines = input.values(&["x-forwarded-for"]);
    let listed = (!lines.is_empty()).then(|| lines.join(&b','));
    // From the visitor's end to ours. What is no address is a station that nobody can see past.
    let mut stations: Vec<Option<IpAddr>> = listed
        .as_deref()
        .map(|list| list.split(|b| *b == b',').map(|e| naive::address(e.trim_ascii())).collect())
        .unwrap_or_default();
    if input.face == 3 {
        let seen = input.source?;
        if stations.last() != Some(&Some(seen)) {
            stations.push(Some(seen));
        }
    } else if listed.is_none() {
        let peer = (!input.unix).then_some(PEER);
        return peer.filter(|_| !matches!(input.settings.hops, Hops::Count(1..)));
    }
    stations.reverse();
    match &input.settings.hops {
        // One station is the visitor's, whatever it is; the trusted ones before it must be addresses.
        Hops::Count(count) => {
            let trusted = stations.get(..*count)?;
            if trusted.iter().any(Option::is_none) { None } else { stations.get(*count).copied().flatten() }
        }
        Hops::In(networks) => {
            let trusted = |station: &Option<IpAddr>| station.is_some_and(|a| networks.contains(a));
            let passed = stations.iter().take_while(|s| trusted(s)).count();
            if passed > 16 {
                return None;
            }
            match stations.get(passed) {
                Some(station) => *station,
                // The outermost trusted hop asks for itself.
                None => stations.last().copied().flatten(),
            }
        }
    }
}
