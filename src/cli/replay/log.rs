//! Lines of access logs: the common and the combined format of Apache and nginx, and JSON objects of any server.
//! Takes what it knows and passes over the rest; a line without a request is none.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Map, Value};

use crate::request::parse_address;

/// A request as a log tells it.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Entry {
    pub(super) client: Option<IpAddr>,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: Option<String>,
    pub(super) scheme: Option<String>,
    /// The header lines that are told.
    pub(super) headers: Vec<(String, String)>,
}

impl Entry {
    /// Reads a line, whatever its format.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('{') { Self::json(line) } else { Self::combined(line) }
    }

    /// `ADDRESS - USER [TIME] "REQUEST" STATUS SIZE "REFERRER" "AGENT"`; the last two may be missing, more may follow.
    fn combined(line: &str) -> Option<Self> {
        let (client, rest) = line.split_once(' ')?;
        // A name of a user may hold anything but this.
        let (_, rest) = rest.split_once("] \"").or_else(|| rest.split_once(" \""))?;
        let (request, rest) = quoted(rest)?;
        let mut entry = Self::default().with_request(&request)?;
        entry.client = address(client);
        let mut rest = rest;
        for name in ["Referer", "User-Agent"] {
            let Some((_, after)) = rest.split_once('"') else { break };
            // A line that was cut short has told enough.
            let Some((value, after)) = quoted(after) else {
                entry.add(name, after);
                break;
            };
            entry.add(name, &value);
            rest = after;
        }
        Some(entry)
    }

    /// An object with the names that nginx, Apache, Caddy, Envoy and Traefik give these things.
    fn json(line: &str) -> Option<Self> {
        let object: Map<String, Value> = serde_json::from_str(line).ok()?;
        // Caddy tells the request in an object of its own.
        let inner = object.get("request").and_then(Value::as_object);
        let find = |names: &[&str]| {
            let texts = [inner, Some(&object)].into_iter().flatten();
            let mut found =
                texts.flat_map(|object| names.iter().filter_map(|name| object.get(*name)?.as_str()));
            found.find(|text| !matches!(*text, "" | "-")).map(str::to_owned)
        };
        let mut entry = Self::default();
        match (find(&["method", "request_method", "RequestMethod"]), find(&TARGETS)) {
            (Some(method), Some(target)) => (entry.method, entry.target) = (method, target),
            _ => entry = entry.with_request(&find(&["request", "request_line"])?)?,
        }
        entry.client = find(&CLIENTS).as_deref().and_then(address);
        entry.host =
            find(&["host", "http_host", "authority", ":authority", "vhost", "server_name", "RequestHost"]);
        entry.scheme = find(&["scheme", "request_scheme", "RequestScheme"])
            .filter(|s| matches!(s.as_str(), "http" | "https"));
        let headers = inner.and_then(|inner| inner.get("headers")).or_else(|| object.get("headers"));
        for (name, value) in headers.and_then(Value::as_object).into_iter().flatten() {
            match value {
                Value::Array(values) => {
                    values.iter().filter_map(Value::as_str).for_each(|v| entry.add(name, v))
                }
                value => value.as_str().into_iter().for_each(|v| entry.add(name, v)),
            }
        }
        for (name, keys) in [("User-Agent", &AGENTS[..]), ("Referer", &REFERRERS[..])] {
            if let (false, Some(value)) = (entry.has(name), find(keys)) {
                entry.add(name, &value);
            }
        }
        Some(entry)
    }

    /// `METHOD TARGET PROTOCOL`; the protocol may be missing, as in HTTP/0.9.
    fn with_request(mut self, request: &str) -> Option<Self> {
        let (method, rest) = request.split_once(' ')?;
        let target = rest.rsplit_once(" HTTP/").map_or(rest, |(target, _)| target);
        (self.method, self.target) = (method.to_owned(), target.to_owned());
        Some(self)
    }

    /// A dash is how logs say that there is none.
    fn add(&mut self, name: &str, value: &str) {
        if value != "-" {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// The names under which servers log what they were asked for, and by whom. nginx's `uri` is decoded and has no query, so that
/// `request_uri` comes before it.
const TARGETS: [&str; 8] =
    ["target", "request_uri", "uri", "path", ":path", "RequestPath", "request_target", "url"];
const CLIENTS: [&str; 9] = [
    "client_ip",
    "client",
    "remote_addr",
    "remote_ip",
    "remoteIp",
    "ClientHost",
    "ip",
    "downstream_remote_address",
    "downstream_direct_remote_address",
];
const AGENTS: [&str; 6] =
    ["user_agent", "http_user_agent", "agent", "userAgent", "user-agent", "request_User-Agent"];
const REFERRERS: [&str; 4] = ["referer", "http_referer", "referrer", "request_Referer"];

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<SocketAddr>().ok().map(|a| a.ip().to_canonical());
    parse_address(text.as_bytes()).or_else(with_port)
}

/// The text up to the closing quote, without its escapes, and what follows. nginx writes `\x22`, Apache `\"`.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => return Some((String::from_utf8_lossy(&out).into_owned(), &text[at + 1..])),
            b'\\' => {
                let (byte, length) = match *bytes.get(at + 1)? {
                    b'x' => match text.get(at + 2..at + 4).and_then(byte) {
                        Some(byte) => (byte, 4),
                        None => (b'\\', 1),
                    },
                    b'n' => (b'\n', 2),
                    b'r' => (b'\r', 2),
                    b't' => (b'\t', 2),
                    other => (other, 2),
                };
                out.push(byte);
                at += length;
            }
            byte => {
                out.push(*byte);
                at += 1;
            }
        }
    }
}

/// The byte that two digits are.
fn byte(hex: &str) -> Option<u8> {
    let digits = hex.bytes().all(|b| b.is_ascii_hexdigit());
    u8::from_str_radix(hex, 16).ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: (&str, &str, Option<&str>, &[(&str, &str)])) {
        let entry = Entry::parse(line).unwrap_or_else(|| panic!("{line}"));
        let (method, target, client, headers) = want;
        assert_eq!((entry.method.as_str(), entry.target.as_str()), (method, target), "{line}");
        assert_eq!(entry.client.map(|c| c.to_string()).as_deref(), client, "{line}");
        let got: Vec<_> = entry.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(got, headers, "{line}");
    }

    #[test]
    fn lines_of_every_format_are_read() {
        let agent = &[("User-Agent", "Mozilla/5.0 \"x\"")];
        check(
            r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 203023 "-" "Mozilla/5.0 \"x\"""#,
            ("GET", "/a?b=c", Some("192.0.2.1"), agent),
        );
        check(
            r#"2001:db8::1 - a b [17/May/2015:10:05:03 +0000] "POST / HTTP/2.0" 200 1 "https://a/" "Mozilla/5.0 \x22x\x22" "more" 0.1"#,
            (
                "POST",
                "/",
                Some("2001:db8::1"),
                &[("Referer", "https://a/"), ("User-Agent", "Mozilla/5.0 \"x\"")],
            ),
        );
        check(
            r#"192.0.2.1 - - [x] "GET / HTTP/1.1" 200 5 "-" "Mozi"#,
            ("GET", "/", Some("192.0.2.1"), &[("User-Agent", "Mozi")]),
        );
        check(r#"host.example - - [x] "GET / HTTP/1.0" 200 -"#, ("GET", "/", None, &[]));
        check(
            r#"::ffff:192.0.2.1 - - [x] "GET /a b HTTP/1.0" 400 -"#,
            ("GET", "/a b", Some("192.0.2.1"), &[]),
        );
        check(
            r#"{"remote_addr":"192.0.2.1","request":"GET /x HTTP/1.1","http_user_agent":"Mozilla/5.0 \"x\"","http_referer":"-"}"#,
            ("GET", "/x", Some("192.0.2.1"), agent),
        );
        check(
            r#"{"level":"info","request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.2","method":"GET","host":"a","uri":"/x","headers":{"User-Agent":["Mozilla/5.0 \"x\""]}},"status":200}"#,
            ("GET", "/x", Some("192.0.2.2"), agent),
        );
        check(
            r#"{"method":"GET","path":"/x","downstream_remote_address":"192.0.2.1:4711","user_agent":"Mozilla/5.0 \"x\"","authority":"a"}"#,
            ("GET", "/x", Some("192.0.2.1"), agent),
        );
        check(
            r#"{"ClientHost":"192.0.2.1","RequestMethod":"GET","RequestPath":"/x"}"#,
            ("GET", "/x", Some("192.0.2.1"), &[]),
        );
    }

    #[test]
    fn what_is_no_request_is_none() {
        for line in [
            "",
            "x",
            "{",
            "{}",
            r#"{"message":"started"}"#,
            r#"192.0.2.1 - - [x] "-" 400 0"#,
            r#"192.0.2.1 - - [x] "\x16\x03\x01" 400 0"#,
            r#"192.0.2.1 - - [x] "GET / HTTP/1.1"#.trim_end_matches("1.1"),
        ] {
            assert_eq!(Entry::parse(line), None, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_panics(line in "[\\PC\"\\\\x\\[\\] ]{0,60}") {
            let _ = Entry::parse(&line);
            let _ = Entry::parse(&format!("1 - [] \"{line}"));
        }
    }
}
