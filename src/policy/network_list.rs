//! Files of networks, as their owners publish them: a list with one a line, or JSON.

use ipnet::IpNet;
use serde_json::Value;

use crate::request::{parse_address, parse_network};

/// The most networks in one list.
const MAX_NETWORKS: usize = 1_000_000;

/// The keys under which published JSON files keep networks: those of Google, Bing and OpenAI, and those of AWS.
const KEYS: [&str; 4] = ["ipv4Prefix", "ipv6Prefix", "ip_prefix", "ipv6_prefix"];

/// Why a list is refused, and on which of its lines, if it is on one.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Refusal {
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

impl Refusal {
    fn new(line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self { line: line.into(), message: message.into() }
    }
}

/// Reads a list. JSON is what starts with a bracket; anything else has a network or an address a line, and comments after `#` or `;`.
/// A list that holds nothing is refused: it is more likely cut off than meant.
pub(super) fn parse(text: &str) -> Result<Vec<IpNet>, Refusal> {
    let text = text.trim_start_matches('\u{feff}');
    let networks = if text.trim_start().starts_with(['{', '[']) { json(text)? } else { lines(text)? };
    match networks.len() {
        0 => Err(Refusal::new(None, "it holds no network")),
        1..=MAX_NETWORKS => Ok(networks),
        _ => Err(Refusal::new(None, format!("it holds more than {MAX_NETWORKS} networks"))),
    }
}

/// Reads a network, or an address as a network of its own. Everybody is no network.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let network = match parse_address(text.as_bytes()) {
        Some(address) => IpNet::from(address),
        None => parse_network(text).map_err(|error| error.to_string())?,
    };
    match network.prefix_len() {
        0 => Err(format!("`{text}` is every address there is")),
        _ => Ok(network),
    }
}

fn lines(text: &str) -> Result<Vec<IpNet>, Refusal> {
    let written = text.lines().map(|line| line.split(['#', ';']).next().unwrap_or_default().trim());
    let numbered = (1..).zip(written).filter(|(_, line)| !line.is_empty());
    numbered.map(|(number, line)| network(line).map_err(|message| Refusal::new(number, message))).collect()
}

fn json(text: &str) -> Result<Vec<IpNet>, Refusal> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Refusal::new(error.line(), format!("no JSON: {error}")))?;
    let mut texts = Vec::new();
    collect(&value, &mut texts);
    texts.into_iter().map(network).collect::<Result<_, _>>().map_err(|message| Refusal::new(None, message))
}

/// The texts under the keys that are known, and those that stand in a list of their own.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| match item {
            Value::String(text) => texts.push(text),
            other => collect(other, texts),
        }),
        Value::Object(entries) => entries.iter().for_each(|(key, value)| match value {
            Value::String(text) if KEYS.contains(&&**key) => texts.push(text),
            // A list of texts under any other key may be anything.
            Value::Array(items) if items.iter().any(Value::is_string) => {}
            other => collect(other, texts),
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, want: &[&str]) {
        let networks: Vec<_> = parse(text).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(networks, want);
    }

    #[track_caller]
    fn refuses(text: &str, line: Option<usize>, part: &str) {
        let refusal = parse(text).unwrap_err();
        assert_eq!(refusal.line, line, "{}", refusal.message);
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }

    #[test]
    fn a_list_has_a_network_or_an_address_a_line() {
        let text = "\u{feff}# ours\n192.0.2.0/24 ; office\r\n\n2001:db8::/32\n198.51.100.7\n::ffff:203.0.113.0/120\n";
        reads(text, &["192.0.2.0/24", "2001:db8::/32", "198.51.100.7/32", "203.0.113.0/24"]);
    }

    #[test]
    fn the_json_of_those_who_publish_networks_is_read() {
        let google = r#"{"creationTime": "2026", "prefixes": [{"ipv6Prefix": "2001:db8::/64"}, {"ipv4Prefix": "192.0.2.0/27"}]}"#;
        reads(google, &["2001:db8::/64", "192.0.2.0/27"]);
        let aws = r#"{"prefixes": [{"ip_prefix": "192.0.2.0/24", "region": "x"}], "ipv6_prefixes": [{"ipv6_prefix": "2001:db8::/32"}]}"#;
        reads(aws, &["2001:db8::/32", "192.0.2.0/24"]);
        reads(r#" ["192.0.2.0/24", "2001:db8::1"]"#, &["192.0.2.0/24", "2001:db8::1/128"]);
    }

    #[test]
    fn what_is_no_list_is_refused_with_its_line() {
        refuses("192.0.2.0/24\n\nhello\n", Some(3), "hello");
        refuses("192.0.2.0/33", Some(1), "192.0.2.0/33");
        refuses("0.0.0.0/0", Some(1), "every address");
        refuses("# nothing\n", None, "no network");
        refuses("", None, "no network");
        refuses("{\"prefixes\": [\n{\"ipv4Prefix\": \"192.0.2.0/24\"}", Some(2), "no JSON");
        refuses(r#"{"hosts": ["example.com"]}"#, None, "no network");
        refuses(r#"{"prefixes": [{"ipv4Prefix": "nowhere"}]}"#, None, "nowhere");
    }
}
