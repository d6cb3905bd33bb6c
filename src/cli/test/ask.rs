//! The requests of a case: what a proxy would say, and the facts that lookups and databases would add.

use std::collections::HashMap;
use std::net::IpAddr;

use super::keys::{self, Keys};
use super::paid::Paid;
use crate::cli::explain::line::{HOST, METHOD, SCHEME};
use crate::gate::Origin;
use crate::policy::document::{Node, Resolved};
use crate::policy::{Answer, Lookup, Problem};
use crate::request::{Parts, parse_address};

/// One request, ready to be asked.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: String,
    pub(super) scheme: String,
    pub(super) client: Option<IpAddr>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) origin: Origin,
    pub(super) known: Vec<(Lookup, Answer)>,
    pub(super) load: [f64; 3],
    pub(super) paid: Option<Paid>,
}

/// The named sets of headers of a test file.
pub(super) struct HeaderSets<'n>(HashMap<&'n str, &'n Node>);

/// The keys of `request`.
const KEYS: [&str; 12] = [
    "method",
    "target",
    "host",
    "scheme",
    "client",
    "agent",
    "headers",
    "asn",
    "country",
    "dns",
    "load",
    "clearance",
];

/// The most requests that the lists of one case make together.
const MAX_ASKS: usize = 10_000;

impl<'n> HeaderSets<'n> {
    /// Reads the sets; each is a map, and is looked at even where no case uses it.
    pub(super) fn read(node: Option<&'n Node>, problems: &mut Vec<Problem>) -> Self {
        let Some(node) = node else { return Self(HashMap::new()) };
        let Some(entries) = node.entries() else {
            problems.push(node.problem("`headers` must be a map of named sets of headers"));
            return Self(HashMap::new());
        };
        for entry in entries {
            if entry.value.entries().is_none() {
                problems.push(entry.value.problem("a set of headers must be a map of names and values"));
            }
            add(&entry.value, &mut Vec::new(), problems);
        }
        Self(entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect())
    }

    fn find(&self, name: &str, node: &Node, problems: &mut Vec<Problem>) -> Option<&'n Node> {
        let set = self.0.get(name).copied();
        if set.is_none() {
            let known = self.0.keys().copied();
            let help = match crate::policy::nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "the sets stand under `headers` at the top of the file".to_owned(),
            };
            let message = format!("there is no set of headers `{}`", name.escape_debug());
            problems.push(node.problem(message).with_help(help));
        }
        set
    }
}

/// Reads the requests of a case: `request`, over the `request` of the whole file. A list of targets, agents or clients
/// makes one request each, in every combination.
pub(super) fn read(
    case: &Node,
    defaults: Option<&Node>,
    request: Option<&Node>,
    sets: &HeaderSets<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Ask> {
    let layers: Vec<_> = [request, defaults]
        .into_iter()
        .flatten()
        .filter_map(|node| Keys::read(node, "a request", &KEYS, problems))
        .collect();
    let reader = Layers { layers, sets };
    let base = reader.base(problems);
    let mut asks = vec![base];
    let list = |key: &str, problems: &mut Vec<Problem>| reader.find(key).and_then(|k| k.texts(key, problems));
    if let Some(targets) = list("target", problems) {
        asks = combined(
            &asks,
            &targets,
            |ask, target| {
                ask.target = target.to_owned();
                Ok(())
            },
            problems,
        );
    }
    if let Some(clients) = list("client", problems) {
        asks = combined(
            &asks,
            &clients,
            |ask, client| {
                ask.client = Some(address(client)?);
                Ok(())
            },
            problems,
        );
    }
    if let Some(agents) = list("agent", problems) {
        asks = combined(
            &asks,
            &agents,
            |ask, agent| {
                ask.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("user-agent"));
                ask.headers.push(("User-Agent".to_owned(), agent.to_owned()));
                Ok(())
            },
            problems,
        );
    }
    if asks.is_empty() || asks.len() > MAX_ASKS {
        let message = format!("the lists of this case make {} requests; 1 to {MAX_ASKS} can be", asks.len());
        problems.push(case.problem(message));
    }
    asks.into_iter().map(Ask::with_listed).collect()
}

/// Every request with every value of a list.
fn combined(
    asks: &[Ask],
    values: &[(&str, &Node)],
    set: impl Fn(&mut Ask, &str) -> Result<(), String>,
    problems: &mut Vec<Problem>,
) -> Vec<Ask> {
    let mut out = Vec::new();
    for (index, (value, node)) in values.iter().enumerate() {
        for ask in asks.iter().take(MAX_ASKS.saturating_sub(out.len()) + 1) {
            let mut ask = ask.clone();
            if let Err(message) = set(&mut ask, value) {
                problems.push(node.problem(message));
                break;
            }
            out.push(ask);
        }
        if out.len() > MAX_ASKS && index + 1 < values.len() {
            break;
        }
    }
    out
}

/// The `request` of a case over that of the file.
struct Layers<'n, 's> {
    layers: Vec<Keys<'n>>,
    sets: &'s HeaderSets<'n>,
}

impl<'n> Layers<'n, '_> {
    /// The first layer that says something under a key.
    fn find(&self, key: &str) -> Option<&Keys<'n>> {
        self.layers.iter().find(|layer| layer.get(key).is_some())
    }

    fn text(&self, key: &str, fallback: &str, problems: &mut Vec<Problem>) -> String {
        self.find(key).and_then(|layer| layer.text(key, problems)).unwrap_or(fallback).to_owned()
    }

    /// All but what may be a list.
    fn base(&self, problems: &mut Vec<Problem>) -> Ask {
        let scheme = self.find("scheme").and_then(|layer| layer.parsed("scheme", scheme, problems));
        let asn = self.find("asn").and_then(|layer| layer.integer("asn", problems));
        let country = self.find("country").and_then(|layer| layer.parsed("country", country, problems));
        let load = self.find("load").and_then(|layer| layer.get("load"));
        let dns = self.find("dns").and_then(|layer| layer.get("dns"));
        let paid = self.find("clearance").and_then(|layer| layer.get("clearance"));
        Ask {
            method: self.text("method", METHOD, problems),
            target: "/".to_owned(),
            host: self.text("host", HOST, problems),
            scheme: scheme.unwrap_or_else(|| SCHEME.to_owned()),
            client: None,
            headers: self.headers(problems),
            origin: Origin { asn, country },
            known: dns.map(|node| known(node, problems)).unwrap_or_default(),
            load: load.map(|node| averages(node, problems)).unwrap_or_default(),
            paid: paid.and_then(|node| Paid::read(node, problems)),
        }
    }

    /// The name of a set, a map, or a list of these, where later ones win.
    fn headers(&self, problems: &mut Vec<Problem>) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let Some(node) = self.find("headers").and_then(|layer| layer.get("headers")) else { return lines };
        for item in node.items().unwrap_or_else(|| std::slice::from_ref(node)) {
            if item.entries().is_some() {
                add(item, &mut lines, problems);
                continue;
            }
            let what = "`headers` (a map, the name of a set, or a list of these)";
            let set = keys::text(item, what, problems).and_then(|name| self.sets.find(name, item, problems));
            if let Some(set) = set {
                // What is wrong with a set was said where it stands.
                add(set, &mut lines, &mut Vec::new());
            }
        }
        lines
    }
}

/// Adds header lines: a name with one text or a list of them, one line each. It takes the place of what was there under
/// this name, and a name without a value only takes that away.
fn add(node: &Node, lines: &mut Vec<(String, String)>, problems: &mut Vec<Problem>) {
    for entry in node.entries().unwrap_or_default() {
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if entry.key.is_empty() || !entry.key.bytes().all(token) {
            let message = format!("`{}` is no name of a header", entry.key.escape_debug());
            problems.push(Problem::new(&entry.place, message));
        }
        lines.retain(|(name, _)| !name.eq_ignore_ascii_case(&entry.key));
        if entry.value.is_null() {
            continue;
        }
        for (value, _) in keys::texts(&entry.value, &format!("the header `{}`", entry.key), problems) {
            lines.push((entry.key.clone(), value.to_owned()));
        }
    }
}

fn scheme(text: &str) -> Result<String, String> {
    match text {
        "http" | "https" => Ok(text.to_owned()),
        _ => Err(format!("`{}` is no scheme: http or https", text.escape_debug())),
    }
}

fn country(text: &str) -> Result<[u8; 2], String> {
    let code = <[u8; 2]>::try_from(text.to_ascii_uppercase().as_bytes()).ok();
    code.filter(|code| code.iter().all(u8::is_ascii_uppercase))
        .ok_or_else(|| format!("`{}` is no country code of two letters", text.escape_debug()))
}

fn address(text: &str) -> Result<IpAddr, String> {
    parse_address(text.as_bytes()).ok_or_else(|| format!("`{}` is no address", text.escape_debug()))
}

fn averages(node: &Node, problems: &mut Vec<Problem>) -> [f64; 3] {
    let number = |node: &Node| match node.resolved() {
        #[expect(clippy::cast_precision_loss, reason = "no load comes near to 2^53")]
        Some(Resolved::Int(number)) => Some(number as f64),
        Some(Resolved::Float(number)) => Some(number),
        _ => None,
    };
    let numbers: Option<Vec<f64>> = node.items().and_then(|items| items.iter().map(number).collect());
    match numbers.as_deref() {
        Some([one, five, fifteen]) => [*one, *five, *fifteen],
        _ => {
            problems.push(node.problem("`load` must be three numbers: of one, five and fifteen minutes"));
            [0.0; 3]
        }
    }
}

/// What name servers would say. A question without an answer here has failed, as when nobody answers in time.
fn known(node: &Node, problems: &mut Vec<Problem>) -> Vec<(Lookup, Answer)> {
    let Some(keys) = Keys::read(node, "`dns`", &["names", "addresses", "listed"], problems) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (key, value) in pairs(&keys, "names", problems) {
        match address(key) {
            Ok(address) => {
                let names = keys::texts(value, "`names`", problems);
                let names = names.into_iter().map(|(name, _)| name.to_owned()).collect();
                out.push((Lookup::Reverse(address), Answer::Names(names)));
            }
            Err(message) => problems.push(value.problem(message)),
        }
    }
    for (key, value) in pairs(&keys, "addresses", problems) {
        let mut found = Vec::new();
        for (text, node) in keys::texts(value, "`addresses`", problems) {
            match address(text) {
                Ok(address) => found.push(address),
                Err(message) => problems.push(node.problem(message)),
            }
        }
        let name = key.trim_end_matches('.').to_ascii_lowercase();
        out.push((Lookup::Forward(name), Answer::Addresses(found)));
    }
    if let Some(listed) = keys.boolean("listed", problems) {
        // Which address is meant is known once the request has one.
        out.push((Lookup::Listed(IpAddr::from([0, 0, 0, 0])), Answer::Listed(listed)));
    }
    out
}

fn pairs<'n>(keys: &Keys<'n>, key: &str, problems: &mut Vec<Problem>) -> Vec<(&'n str, &'n Node)> {
    let Some(node) = keys.get(key) else { return Vec::new() };
    let Some(entries) = node.entries() else {
        problems.push(node.problem(format!("`{key}` must be a map, but it is {}", node.noun())));
        return Vec::new();
    };
    entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect()
}

impl Ask {
    /// `dns.listed` speaks of the client.
    fn with_listed(mut self) -> Self {
        for (lookup, _) in &mut self.known {
            if let (Lookup::Listed(address), Some(client)) = (lookup, self.client) {
                *address = client;
            }
        }
        self
    }

    /// As a face hands it to the gate.
    pub(super) fn parts<'a>(&'a self, cookie: Option<&'a str>) -> Parts<'a> {
        let cookie = cookie.map(|text| (&b"cookie"[..], text.as_bytes()));
        Parts {
            method: self.method.as_bytes(),
            target: self.target.as_bytes(),
            host: self.host.as_bytes(),
            scheme: self.scheme.as_bytes(),
            client: self.client,
            headers: self
                .headers
                .iter()
                .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
                .chain(cookie)
                .collect(),
        }
    }

    /// The request in one line, for people.
    pub(super) fn line(&self) -> String {
        let agent = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        let agent = agent.map_or_else(|| "no agent".to_owned(), |(_, a)| format!("\"{}\"", a.escape_debug()));
        let client = self.client.map_or_else(|| "nowhere".to_owned(), |client| client.to_string());
        let [method, host, target] = [&self.method, &self.host, &self.target].map(|text| text.escape_debug());
        format!("{method} {}://{host}{target} from {client}, {agent}", self.scheme)
    }
}
