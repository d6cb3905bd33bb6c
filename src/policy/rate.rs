//! LIMIT: how often whom, and the rules of a request that ask it. What was counted so far is not known here.

use std::time::Duration;

/// How often something may be asked for. Both numbers are at least 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    /// How often, evenly spread.
    pub count: u32,
    /// In how long.
    pub per: Duration,
    /// How often in a row after a long rest.
    pub burst: u32,
    /// Whose requests are counted together.
    pub by: By,
}

/// Whose requests a rate counts together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By {
    /// The autonomous system of the address.
    Asn,
    /// The clearance; where none came along, the client.
    Clearance,
    /// The address; of IPv6 the /64.
    Client,
    /// The host.
    Host,
    /// The /24 or /48.
    Network,
    /// Everybody.
    Rule,
}

impl By {
    /// All of them, by name.
    pub(super) const ALL: [Self; 6] =
        [Self::Asn, Self::Clearance, Self::Client, Self::Host, Self::Network, Self::Rule];

    /// The word in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asn => "asn",
            Self::Clearance => "clearance",
            Self::Client => "client",
            Self::Host => "host",
            Self::Network => "network",
            Self::Rule => "rule",
        }
    }
}

/// The most LIMIT rules of a policy: the matching ones of a request are kept as bits.
pub(super) const MAX_LIMITS: usize = 64;

/// Which LIMIT rules a request met, by their number among those of the policy.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits(u64);

impl Limits {
    pub(super) fn add(&mut self, number: usize) {
        self.0 |= 1 << (number % MAX_LIMITS);
    }

    pub(super) fn numbers(self) -> impl Iterator<Item = usize> {
        (0..MAX_LIMITS).filter(move |number| self.0 >> number & 1 == 1)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A LIMIT rule.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LimitRule<'p> {
    /// `bot/NAME`.
    pub rule: &'p str,
    /// The rate.
    pub rate: &'p Rate,
    /// Whether it only observes.
    pub shadow: bool,
}
