//! What a rule is filed under: the one of its matchers that the fewest requests meet.

use ipnet::IpNet;

use crate::policy::pattern::{Needles, Pattern, is_common};

/// What a request must show for a rule to match. A key may let through what the rule then turns down, never the reverse.
#[derive(Clone, Debug)]
pub(in crate::policy) enum Key {
    /// The `User-Agent` holds one of these.
    Agent(Needles),
    /// The client's network has one of these numbers.
    Asn(Vec<u32>),
    /// The client lies in one of these networks, or has no known address.
    Client(Vec<IpNet>),
    /// The client lies in one of these countries.
    Country(Vec<[u8; 2]>),
    /// The header is there, and holds one of these, if there are any.
    Header(String, Needles),
    /// The host holds one of these.
    Host(Needles),
    /// Some reading of the path holds one of these.
    Path(Needles),
}

/// Headers that nearly every request has.
const COMMON: [&str; 12] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "connection",
    "sec-ch-ua",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "upgrade-insecure-requests",
    "user-agent",
    "x-forwarded-for",
    "x-forwarded-proto",
];

impl Key {
    /// What a pattern of agents needs.
    pub(in crate::policy) fn agent(pattern: &Pattern) -> Option<Self> {
        pattern.needles().cloned().map(Self::Agent)
    }

    /// What a pattern of paths needs.
    pub(in crate::policy) fn path(pattern: &Pattern) -> Option<Self> {
        pattern.needles().cloned().map(Self::Path)
    }

    /// What a pattern of a header needs. One that matches nothing at all also matches where the header is missing.
    pub(in crate::policy) fn header(name: &str, pattern: &Pattern) -> Option<Self> {
        let present = pattern.source() == ".*" || !pattern.is_match(b"");
        present
            .then(|| Self::Header(name.to_ascii_lowercase(), pattern.needles().cloned().unwrap_or_default()))
    }

    /// The better one of two that must both be met.
    pub(in crate::policy) fn better(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    /// What must be met where one of two must be: only what is of one kind can be said.
    pub(in crate::policy) fn either(self, other: Self) -> Option<Self> {
        let join = |mut a: Needles, b: Needles| {
            a.extend(b);
            a
        };
        match (self, other) {
            (Self::Agent(a), Self::Agent(b)) => Some(Self::Agent(join(a, b))),
            (Self::Host(a), Self::Host(b)) => Some(Self::Host(join(a, b))),
            (Self::Path(a), Self::Path(b)) => Some(Self::Path(join(a, b))),
            // Without needles the mere presence counts, and it must go on counting.
            (Self::Header(name, a), Self::Header(other, b)) if name == other => {
                let needles = if a.is_empty() || b.is_empty() { Vec::new() } else { join(a, b) };
                Some(Self::Header(name, needles))
            }
            _ => None,
        }
    }

    /// How few requests meet it, by experience: the higher, the fewer.
    fn rank(&self) -> u8 {
        match self {
            Self::Agent(needles) if needles.iter().any(|n| is_common(n)) => 1,
            Self::Header(name, needles) if needles.is_empty() && COMMON.contains(&&**name) => 0,
            Self::Country(_) => 2,
            Self::Header(_, needles) if needles.is_empty() => 3,
            Self::Path(needles) if needles.iter().any(|n| n.len() < 4) => 3,
            Self::Host(_) | Self::Header(..) => 4,
            Self::Path(_) => 5,
            Self::Agent(needles) if needles.iter().any(|n| n.len() < 4) => 5,
            Self::Client(networks) if networks.iter().any(|n| n.prefix_len() < 8) => 2,
            Self::Agent(_) | Self::Asn(_) | Self::Client(_) => 6,
        }
    }
}
