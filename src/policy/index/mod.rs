//! Which rules a request can match at all, found without asking each of them.
//!
//! Every rule is filed under one of its matchers. A request is taken through what is filed (one automaton for each of
//! agent, path, host and header, one trie of networks, two tables) and what comes out is a set of rules: all that may
//! match, and hardly any other. Only these are then asked, in order, so that ten thousand rules cost what ten do.

mod key;
mod set;
mod sieve;

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use prefix_trie::PrefixMap;

pub(super) use key::Key;
pub(super) use set::Set;
use sieve::Sieve;

use super::pattern::{Needles, text};
use crate::request::{Headers, KnownName, Name, Names};

/// The longest name of a header that rules are filed under, in bytes.
const MAX_NAME: usize = 63;

/// What a request shows: everything that rules are filed under, but for agent and path.
pub(super) struct Shown<'s, 'r> {
    pub(super) asn: Option<u32>,
    pub(super) client: Option<IpAddr>,
    pub(super) country: Option<[u8; 2]>,
    pub(super) headers: &'s Headers<'r>,
    pub(super) host: &'s [u8],
}

/// All rules of a policy, each under its key.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The rules without a key.
    always: Set,
    agents: Sieve,
    hosts: Sieve,
    paths: Sieve,
    known_headers: Vec<(KnownName, Named)>,
    other_headers: HashMap<Box<[u8]>, Named>,
    /// The names in `other_headers`.
    names: Names,
    v4: PrefixMap<Ipv4Net, Vec<u32>>,
    v6: PrefixMap<Ipv6Net, Vec<u32>>,
    /// The rules that ask for a network, which a client without an address may meet too.
    located: Vec<u32>,
    asns: HashMap<u32, Vec<u32>>,
    countries: HashMap<[u8; 2], Vec<u32>>,
}

/// The rules under one header.
#[derive(Debug, Default)]
struct Named {
    /// Those that ask only whether it is there.
    present: Vec<u32>,
    values: Sieve,
}

/// What is filed while an index is built.
#[derive(Default)]
struct Filed {
    agents: Vec<(u32, Needles)>,
    hosts: Vec<(u32, Needles)>,
    paths: Vec<(u32, Needles)>,
    values: HashMap<Box<[u8]>, Vec<(u32, Needles)>>,
}

impl Index {
    /// Files the rules, whose keys come in their order; a rule without one is always asked.
    pub(super) fn new(keys: Vec<Option<Key>>) -> Self {
        let mut index = Self { always: Set::for_rules(keys.len()), ..Self::default() };
        let mut filed = Filed::default();
        for (rule, key) in (0..).zip(keys) {
            index.file(rule, key, &mut filed);
        }
        index.agents = Sieve::new(filed.agents);
        index.hosts = Sieve::new(filed.hosts);
        index.paths = Sieve::new(filed.paths);
        for (name, values) in filed.values {
            index.named(name).values = Sieve::new(values);
        }
        index.other_headers.keys().for_each(|name| index.names.add(name));
        index
    }

    fn file(&mut self, rule: u32, key: Option<Key>, filed: &mut Filed) {
        match key {
            Some(Key::Agent(needles)) => filed.agents.push((rule, needles)),
            Some(Key::Host(needles)) => filed.hosts.push((rule, needles)),
            Some(Key::Path(needles)) => filed.paths.push((rule, needles)),
            Some(Key::Header(name, needles)) if name.len() <= MAX_NAME => {
                let name: Box<[u8]> = name.into_bytes().into();
                if needles.is_empty() {
                    self.named(name).present.push(rule);
                } else {
                    filed.values.entry(name).or_default().push((rule, needles));
                }
            }
            Some(Key::Client(networks)) => {
                self.located.push(rule);
                for network in networks {
                    let rules = match network {
                        IpNet::V4(network) => self.v4.entry(network.trunc()).or_default(),
                        IpNet::V6(network) => self.v6.entry(network.trunc()).or_default(),
                    };
                    rules.push(rule);
                }
            }
            Some(Key::Asn(numbers)) => {
                numbers.iter().for_each(|n| self.asns.entry(*n).or_default().push(rule))
            }
            Some(Key::Country(codes)) => {
                codes.iter().for_each(|c| self.countries.entry(*c).or_default().push(rule))
            }
            Some(Key::Header(..)) | None => self.always.add(rule),
        }
    }

    /// The rules under a header, which are none yet where it is new.
    fn named(&mut self, name: Box<[u8]>) -> &mut Named {
        let Some(known) = Name::from(&*name).known() else {
            return self.other_headers.entry(name).or_default();
        };
        let place = self.known_headers.iter().position(|(held, _)| *held == known).unwrap_or_else(|| {
            self.known_headers.push((known, Named::default()));
            self.known_headers.len() - 1
        });
        &mut self.known_headers[place].1
    }

    /// Sets `chosen` to the rules that may match as far as the agent tells: those that wait for something in it, and those that wait for
    /// nothing at all.
    pub(super) fn by_agent(&self, agent: &[u8], chosen: &mut Set) {
        chosen.copy_from(self.always.words());
        self.agents.choose(agent, chosen);
    }

    /// Adds the rules that may match for anything but the agent; together with those no other rule does. `paths` are the
    /// readings of the path, as bytes and as text.
    pub(super) fn by_rest<'p>(
        &self,
        shown: &Shown<'_, '_>,
        paths: impl Iterator<Item = &'p [u8]>,
        chosen: &mut Set,
    ) {
        self.hosts.choose(shown.host, chosen);
        paths.for_each(|path| self.paths.choose(path, chosen));
        self.by_headers(shown.headers, chosen);
        let mut add = |rules: &Vec<u32>| rules.iter().for_each(|rule| chosen.add(*rule));
        match shown.client {
            Some(IpAddr::V4(client)) => self.v4.cover_values(&client.into()).for_each(&mut add),
            Some(IpAddr::V6(client)) => self.v6.cover_values(&client.into()).for_each(&mut add),
            None => add(&self.located),
        }
        shown.asn.iter().filter_map(|asn| self.asns.get(asn)).for_each(&mut add);
        shown.country.iter().filter_map(|country| self.countries.get(country)).for_each(&mut add);
    }

    /// Of other names than the known ones, only the headers that are there are looked up, however many the rules name.
    fn by_headers(&self, headers: &Headers<'_>, chosen: &mut Set) {
        let mut choose = |named: &Named, value: Option<Cow<'_, [u8]>>| {
            let Some(value) = value else { return };
            named.present.iter().for_each(|rule| chosen.add(*rule));
            named.values.choose(&text(&value), chosen);
        };
        self.known_headers.iter().for_each(|(name, named)| choose(named, headers.joined(*name)));
        if self.other_headers.is_empty() {
            return;
        }
        let mut lower = [0; MAX_NAME];
        for header in headers.among(self.names).filter(|h| h.name.len() <= MAX_NAME) {
            let name = &mut lower[..header.name.len()];
            name.copy_from_slice(header.name);
            name.make_ascii_lowercase();
            let Some(named) = self.other_headers.get(&*name) else { continue };
            // Lines of one name are one value, which must not be gone through once for each of them.
            let first = headers.iter().find(|h| h.name.eq_ignore_ascii_case(header.name));
            if first.is_some_and(|first| std::ptr::eq(first.value, header.value)) {
                choose(named, headers.joined(&*name));
            }
        }
    }
}

#[cfg(test)]
mod tests;
