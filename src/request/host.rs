//! The host of a request: checked against a grammar, then lower case, without port and final dot.

use std::borrow::Cow;
use std::net::Ipv6Addr;
use std::ops::Deref;

use super::Unfit;

/// The longest host that is taken for one, port included: DNS allows 253 bytes, a port takes six.
const MAX_HOST: usize = 260;

/// A host as rules and bindings see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Host<'a>(Cow<'a, str>);

impl<'a> Host<'a> {
    /// Accepts a name of letters, digits, `-`, `.` and `_`, or an IP literal in brackets, each with an optional port.
    /// User names, lists, empty labels at the front and anything else are malformed.
    pub fn parse(raw: &'a [u8]) -> Result<Self, Unfit> {
        let bad = Unfit::Malformed("host");
        let text = std::str::from_utf8(raw).map_err(|_| bad)?;
        if text.len() > MAX_HOST {
            return Err(bad);
        }
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inside, after)) => {
                inside.parse::<Ipv6Addr>().map_err(|_| bad)?;
                (
                    &text[..inside.len() + 2],
                    after.strip_prefix(':').or_else(|| after.is_empty().then_some("0")),
                )
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, Some("0")),
            },
        };
        let port = port.ok_or(bad)?;
        if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) || port.parse::<u16>().is_err() {
            return Err(bad);
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if name.is_empty() || name.starts_with('.') || !(name.starts_with('[') || name.bytes().all(plain)) {
            return Err(bad);
        }
        let upper = name.bytes().any(|b| b.is_ascii_uppercase());
        Ok(Self(if upper { Cow::Owned(name.to_ascii_lowercase()) } else { Cow::Borrowed(name) }))
    }
}

impl Deref for Host<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
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
        ];
        for (raw, want) in rows {
            assert_eq!(Host::parse(raw.as_bytes()).as_deref(), Ok(want), "{raw}");
        }
    }

    #[test]
    fn what_is_no_host_is_malformed() {
        let long = "a".repeat(300);
        let rows = [
            "",
            ".",
            ".a",
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
