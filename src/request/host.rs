//! The host of a request: checked against a grammar, then lower case, without port and final dot.

use std::borrow::Cow;
use std::net::Ipv6Addr;
use std::ops::Deref;

use super::{Scheme, Unfit};

/// The longest host that is taken for one, port included: DNS allows 253 bytes, a port takes six.
const MAX_HOST: usize = 260;

/// A host as rules and bindings see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Host<'a> {
    name: Cow<'a, str>,
    /// Host and port as sent: what a browser's `Origin` repeats.
    sent: &'a str,
    port: Option<u16>,
}

impl<'a> Host<'a> {
    /// Accepts a name of letters, digits, `-`, `.` and `_`, or an IP literal in brackets, each with an optional port.
    /// User names, lists, empty labels and anything else are malformed: `a.example..` would be another name to a rule than
    /// to a server that drops its dots.
    pub fn parse(raw: &'a [u8]) -> Result<Self, Unfit> {
        let bad = Unfit::Malformed("host");
        let sent = std::str::from_utf8(raw).ok().filter(|text| text.len() <= MAX_HOST).ok_or(bad)?;
        let literal = sent.starts_with('[');
        let end = if literal { sent.find(']').ok_or(bad)? + 1 } else { sent.find(':').unwrap_or(sent.len()) };
        let (name, port) = sent.split_at(end);
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().map_err(|_| bad)?)
            }
            None if port.is_empty() => None,
            _ => return Err(bad),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if literal {
            return Ok(Self { name: Cow::Owned(canonical_literal(name).ok_or(bad)?), sent, port });
        }
        let label = |label: &[u8]| !label.is_empty() && label.iter().all(plain);
        if !name.as_bytes().split(|b| *b == b'.').all(label) {
            return Err(bad);
        }
        let upper = name.bytes().any(|b| b.is_ascii_uppercase());
        let name = if upper { Cow::Owned(name.to_ascii_lowercase()) } else { Cow::Borrowed(name) };
        Ok(Self { name, sent, port })
    }

    /// Host and port as a browser writes them into `Origin`: a scheme's own port is left out. Case is kept.
    pub fn authority(&self, scheme: Scheme) -> &'a [u8] {
        let own = match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        };
        let end = if self.port == Some(own) {
            self.sent.rfind(':').unwrap_or(self.sent.len())
        } else {
            self.sent.len()
        };
        &self.sent.as_bytes()[..end]
    }
}

/// An IP literal such as `[2001:db8::1]` in its one spelling (RFC 5952): an address has many, and a rule names one.
pub fn canonical_literal(text: &str) -> Option<String> {
    let address: Ipv6Addr = text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    Some(format!("[{address}]"))
}

impl Deref for Host<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_lose_case_port_and_final_dot() {
        let rows = [
            ("example.com", "example.com"),
            ("EXAMPLE.com:443", "example.com"),
            ("example.com.", "example.com"),
            ("example.com.:80", "example.com"),
            ("a_b.example", "a_b.example"),
            ("127.0.0.1:8080", "127.0.0.1"),
            ("[2001:DB8::1]", "[2001:db8::1]"),
            ("[::1]:443", "[::1]"),
            ("[2001:db8:0:0:0:0:0:1]", "[2001:db8::1]"),
            ("[2001:0db8::0:1]:8443", "[2001:db8::1]"),
        ];
        for (raw, want) in rows {
            assert_eq!(Host::parse(raw.as_bytes()).map(|h| h.to_string()), Ok(want.to_owned()), "{raw}");
        }
    }

    #[test]
    fn the_authority_keeps_a_port_that_is_not_the_scheme_s_own() {
        let rows = [
            ("h.example", Scheme::Https, "h.example"),
            ("H.example:443", Scheme::Https, "H.example"),
            ("h.example:443", Scheme::Http, "h.example:443"),
            ("h.example:8080", Scheme::Http, "h.example:8080"),
            ("[::1]:80", Scheme::Http, "[::1]"),
        ];
        for (raw, scheme, want) in rows {
            assert_eq!(Host::parse(raw.as_bytes()).unwrap().authority(scheme), want.as_bytes(), "{raw}");
        }
    }

    #[test]
    fn what_is_no_host_is_malformed() {
        let long = "a".repeat(300);
        let rows = [
            "",
            ".",
            ".a",
            "a..b",
            "a..",
            "a b",
            "a,b",
            "user@h",
            "h/../x",
            "evil\"><script>",
            "h:",
            "h:x",
            "h:99999",
            "h:1:2",
            "[::1",
            "[::1]x",
            "[zz]",
            "[]",
            "::1",
            "h\0",
            "h\u{e9}",
            "http://h",
            long.as_str(),
        ];
        for raw in rows {
            assert_eq!(Host::parse(raw.as_bytes()), Err(Unfit::Malformed("host")), "{raw:?}");
        }
        assert!(Host::parse(b"\xff").is_err());
    }
}
