//! Addresses and networks: strict parsing, sets to trust, and the prefixes that limits count by.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use thiserror::Error;

/// Reads an address. Zone ids, octal and hexadecimal forms, ports and blanks are no address; an IPv4-mapped IPv6 address is the IPv4 one.
pub fn parse_address(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse::<IpAddr>().ok().map(|a| a.to_canonical())
}

/// Whether an address belongs to one network of the Internet, which lists and databases can know: not private, not local,
/// not shared between many.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && b & 0xc0 == 64;
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || a == 0
                || shared)
        }
        IpAddr::V6(v6) => {
            !(v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local())
        }
    }
}

/// Reads `address/length`; host bits are cut, `::ffff:a.b.c.d/96+n` is `a.b.c.d/n`. A bare address is refused.
pub fn parse_network(text: &str) -> Result<IpNet, NetworkError> {
    let bad = || NetworkError::Malformed(text.to_owned());
    let (address, length) = text.split_once('/').ok_or_else(bad)?;
    let digits = !length.is_empty()
        && length.bytes().all(|b| b.is_ascii_digit())
        && (length == "0" || !length.starts_with('0'));
    let length: u8 = length.parse().ok().filter(|_| digits).ok_or_else(bad)?;
    let net = match address.parse().map_err(|_| bad())? {
        IpAddr::V4(a) => Ipv4Net::new(a, length).map(IpNet::V4).map_err(|_| bad())?,
        IpAddr::V6(a) => match a.to_ipv4_mapped() {
            Some(v4) if length >= 96 => Ipv4Net::new(v4, length - 96).map(IpNet::V4).map_err(|_| bad())?,
            _ => Ipv6Net::new(a, length).map(IpNet::V6).map_err(|_| bad())?,
        },
    };
    Ok(net.trunc())
}

/// Networks that are trusted. Empty trusts nobody.
#[derive(Clone, Debug, Default)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Reads networks and bare addresses. Whatever covers all of IPv4 or all of IPv6 trusts anyone, so it is refused.
    pub fn parse<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<Self, NetworkError> {
        let networks: Vec<_> =
            entries.into_iter().map(|e| Self::entry(e.as_ref())).collect::<Result<_, _>>()?;
        // `0.0.0.0/1` and `128.0.0.0/1` are as good as all of it.
        match IpNet::aggregate(&networks).iter().find(|net| net.prefix_len() == 0) {
            Some(everyone) => Err(NetworkError::Everyone(everyone.to_string())),
            None => Ok(Self(networks)),
        }
    }

    fn entry(text: &str) -> Result<IpNet, NetworkError> {
        let net = match parse_address(text.as_bytes()) {
            Some(address) => IpNet::from(address),
            None => parse_network(text)?,
        };
        // `::ffff:0:0/90` and the like hold every IPv4 address in its mapped form.
        let mapped = IpAddr::V6(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped());
        if net.prefix_len() == 0 || (matches!(net, IpNet::V6(_)) && net.contains(&mapped)) {
            return Err(NetworkError::Everyone(text.to_owned()));
        }
        Ok(net)
    }

    /// Whether the address lies in one of the networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|net| net.contains(&address))
    }

    /// Whether nobody is trusted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This machine: `127.0.0.0/8` and `::1`.
    pub fn loopback() -> Self {
        Self(vec![
            IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
            IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)),
        ])
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4([a, b, c]) => write!(f, "{}/24", Ipv4Addr::new(*a, *b, *c, 0)),
            Self::V6([a, b, c, d, e, g]) => {
                let mut octets = [0; 16];
                octets[..6].copy_from_slice(&[*a, *b, *c, *d, *e, *g]);
                write!(f, "{}/48", Ipv6Addr::from(octets))
            }
        }
    }
}

/// Why a network was not accepted.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum NetworkError {
    /// It holds every address there is.
    #[error("`{0}` holds every address, so it would trust anyone; name the proxies' own networks")]
    Everyone(String),
    /// It is no network.
    #[error("`{0}` is no network; write it as address/length, such as 10.0.0.0/8 or 2001:db8::/32")]
    Malformed(String),
}

/// The network that a visitor's limits are counted by, and that a clearance may be bound to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Prefix {
    /// The first three bytes of an IPv4 address: its /24.
    V4([u8; 3]),
    /// The first six bytes of an IPv6 address: its /48, what one site usually gets.
    V6([u8; 6]),
}

impl Prefix {
    /// The prefix of a canonical address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(a) => {
                let [a, b, c, _] = a.octets();
                Self::V4([a, b, c])
            }
            IpAddr::V6(a) => {
                let [a, b, c, d, e, f, ..] = a.octets();
                Self::V6([a, b, c, d, e, f])
            }
        }
    }

    /// The bytes of the prefix: three or six.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::V4(bytes) => bytes,
            Self::V6(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_local_and_shared_addresses_are_not_public() {
        for (address, public) in [
            ("10.0.0.1", false),
            ("127.0.0.1", false),
            ("100.64.0.1", false),
            ("169.254.1.1", false),
            ("8.8.8.8", true),
            ("::1", false),
            ("fd00::1", false),
            ("2001:db8::1", true),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }

    #[test]
    fn addresses_are_strict_and_canonical() {
        let good = [("1.2.3.4", "1.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4"), ("2001:0DB8::1", "2001:db8::1")];
        for (text, want) in good {
            assert_eq!(
                parse_address(text.as_bytes()).map(|a| a.to_string()).as_deref(),
                Some(want),
                "{text}"
            );
        }
        let bad = [
            "",
            "1.2.3",
            "01.2.3.4",
            "0x1.2.3.4",
            "1.2.3.4:80",
            " 1.2.3.4",
            "fe80::1%eth0",
            "::1%25lo",
            "unknown",
            "[::1]",
            "::ffff:1.2.3.4%1",
        ];
        for text in bad {
            assert_eq!(parse_address(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn networks_are_cut_to_their_length_and_unmapped() {
        for (text, want) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("2001:db8::1/32", "2001:db8::/32"),
        ] {
            assert_eq!(parse_network(text).unwrap().to_string(), want);
        }
        for text in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0.0/08",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "fe80::1%e/64",
            "x/8",
            "1.2.3.4/-1",
        ] {
            assert!(parse_network(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_set_that_trusts_everyone_is_refused_and_an_empty_one_trusts_nobody() {
        for text in ["0.0.0.0/0", "::/0", "::ffff:0:0/96", "::ffff:10.0.0.0/8", "::/64"] {
            assert!(Networks::parse([text]).is_err(), "{text}");
        }
        assert!(!Networks::default().contains(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        assert!(Networks::parse(["0.0.0.0/1", "128.0.0.0/1"]).is_err());
        let set = Networks::parse(["10.0.0.0/8", "fd00::/8", "192.0.2.1"]).unwrap();
        assert!(set.contains("10.9.9.9".parse().unwrap()) && set.contains("192.0.2.1".parse().unwrap()));
        assert!(!set.contains("192.0.2.2".parse().unwrap()));
    }
}
