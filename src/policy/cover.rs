//! Which rules an earlier one leaves nothing to: whatever the later matches, the earlier one has already decided.
//! Says so only where it is certain; a rule that is covered in a way that its matchers do not show is not found.

use std::cell::OnceCell;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use ipnet::IpNet;

use super::glob::Globs;
use super::pattern::{Openings, Pattern, Reach};
use super::rule::{Matchers, Rule};

/// The most earlier rules that one rule is compared with: more than share a network, a path or a name in any policy that
/// somebody wrote, and a bound for those that nobody did.
const MAX_COMPARED: usize = 256;

/// The rules so far that end the evaluation for what they match, found by what that is.
pub(super) struct Above<'r> {
    rules: &'r [Rule],
    /// The rules under each item of their most telling matcher, in order.
    by_item: HashMap<Item<'r>, Vec<usize>>,
    /// The rules with networks, until one below them asks: there may be a hundred thousand, and none may ask.
    waiting: Vec<usize>,
    agents: Agents<'r>,
    reaches: Vec<OnceCell<Reach>>,
}

/// One of the things that a matcher lets through.
#[derive(Eq, Hash, PartialEq)]
enum Item<'r> {
    Asn(u32),
    Country([u8; 2]),
    Expression(&'r str),
    /// A name in lower case.
    Header(String),
    /// An entry of `hosts`; `*.example.com` is `.example.com`.
    Host(&'r str),
    Method(&'r str),
    Network(IpNet),
    Path(&'r str),
    /// An entry of `paths`; `/x/**` is `/x/`.
    Prefix(&'r str),
    Scheme(&'static str),
}

impl<'r> Above<'r> {
    pub(super) fn new(rules: &'r [Rule]) -> Self {
        let agents = Agents::of(rules);
        Self {
            rules,
            by_item: HashMap::new(),
            waiting: Vec::new(),
            agents,
            reaches: vec![OnceCell::new(); rules.len()],
        }
    }

    /// The first rule so far that matches whatever the rule of this index does.
    pub(super) fn covering(&mut self, index: usize) -> Option<&'r Rule> {
        let rule = &self.rules[index];
        if !rule.matchers.addresses.is_empty() {
            std::mem::take(&mut self.waiting).into_iter().for_each(|index| self.file(index));
        }
        self.search(index, rule)
    }

    fn search(&self, index: usize, rule: &Rule) -> Option<&'r Rule> {
        let mut found: Vec<usize> = Vec::new();
        for matcher in items(&rule.matchers) {
            // What covers the rule lets all of its items through, so any of them leads to it. Headers are all asked.
            let asked = if let Some(Item::Header(_)) = matcher.first() { matcher.len() } else { 1 };
            for item in matcher.into_iter().take(asked) {
                wider(item, |item| {
                    found.extend(self.by_item.get(&item).into_iter().flatten().take(MAX_COMPARED));
                });
            }
        }
        if let Some(agent) = &rule.matchers.agent {
            self.agents.candidates(index, agent, &mut found);
        }
        found.retain(|at| *at < index);
        found.sort_unstable();
        found.dedup();
        // Costs as much as reading the pattern did, and few rules have a candidate.
        let openings = OnceCell::new();
        let openings = || openings.get_or_init(|| rule.matchers.agent.as_ref()?.openings()).as_ref();
        let covers = |at: &usize| self.covers(*at, &rule.matchers, openings);
        found.into_iter().take(MAX_COMPARED).find(covers).map(|at| &self.rules[at])
    }

    /// Adds a rule that none above it covers.
    pub(super) fn add(&mut self, index: usize) {
        if !ends(&self.rules[index]) {
            return;
        }
        let matchers = &self.rules[index].matchers;
        // Rules that their agents tell apart are known from the beginning.
        match (told_by_agent(matchers), matchers.addresses.is_empty()) {
            (true, _) => {}
            (false, true) => self.file(index),
            (false, false) => self.waiting.push(index),
        }
    }

    fn file(&mut self, index: usize) {
        let items = items(&self.rules[index].matchers).next().into_iter().flatten();
        items.for_each(|item| self.by_item.entry(item).or_default().push(index));
    }

    /// Whether the rule of an index matches whatever these matchers do, for certain. What costs most comes last.
    fn covers<'o>(
        &self,
        at: usize,
        narrow: &Matchers,
        openings: impl FnOnce() -> Option<&'o Openings>,
    ) -> bool {
        let wide = &self.rules[at].matchers;
        // Every matcher by name, so that a new one is not forgotten here.
        let Matchers {
            addresses,
            agent,
            path,
            headers,
            methods,
            hosts,
            ja4,
            paths,
            scheme,
            expression,
            asns,
            countries,
            signals,
        } = wide;
        let inside = |net: &IpNet| addresses.iter().any(|wide| wide.contains(net));
        // What is remembered changes from one request to the next.
        signals.is_none()
            && (scheme.is_none() || *scheme == narrow.scheme)
            && (methods.is_empty() || among(&narrow.methods, methods))
            && path.as_ref().is_none_or(|wide| {
                wide.matches_everything()
                    || narrow.path.as_ref().is_some_and(|narrow| narrow.source() == wide.source())
            })
            && covers_globs(paths.as_ref(), narrow.paths.as_ref())
            && covers_globs(hosts.as_ref(), narrow.hosts.as_ref())
            && covers_globs(ja4.as_ref(), narrow.ja4.as_ref())
            && expression.as_ref().is_none_or(|wide| {
                let same = |narrow: &super::cel::Expression| narrow.source() == wide.source();
                wide.always_holds() || (!wide.is_random() && narrow.expression.as_ref().is_some_and(same))
            })
            && headers.iter().all(|(name, wide)| covers_header(name, wide, narrow))
            && asns.as_ref().is_none_or(|wide| narrow.asns.as_ref().is_some_and(|n| among(n, wide)))
            && countries.as_ref().is_none_or(|wide| narrow.countries.as_ref().is_some_and(|n| among(n, wide)))
            && (addresses.is_empty() || (!narrow.addresses.is_empty() && narrow.addresses.iter().all(inside)))
            && agent.as_ref().is_none_or(|wide| {
                wide.matches_everything()
                    || narrow.agent.as_ref().is_some_and(|narrow| {
                        narrow.source() == wide.source() || self.finds(at, wide, openings)
                    })
            })
    }

    /// Whether a pattern of agents is found in whatever begins with one of these texts.
    fn finds<'o>(&self, at: usize, wide: &Pattern, openings: impl FnOnce() -> Option<&'o Openings>) -> bool {
        let reach = *self.reaches[at].get_or_init(|| wide.reach());
        if reach == Reach::Unknown {
            return false;
        }
        let Some(Openings { texts, any_case }) = openings() else { return false };
        (reach == Reach::AnywhereInAnyCase || !any_case) && texts.iter().all(|text| wide.is_match(text))
    }
}

/// Whether a rule ends the evaluation for what it matches.
pub(super) fn ends(rule: &Rule) -> bool {
    rule.asks.terminal().is_some() && !rule.shadow
}

/// Whether a list that is not empty holds only what the other holds.
fn among<T: PartialEq>(narrow: &[T], wide: &[T]) -> bool {
    !narrow.is_empty() && narrow.iter().all(|item| wide.contains(item))
}

fn covers_globs(wide: Option<&Globs>, narrow: Option<&Globs>) -> bool {
    wide.is_none_or(|wide| wide.match_everything() || narrow.is_some_and(|narrow| wide.cover(narrow)))
}

fn covers_header(name: &str, wide: &Pattern, narrow: &Matchers) -> bool {
    // `.*` is "there, and not empty"; any other pattern that matches everything matches what is not there as well.
    let present = wide.source() == ".*";
    let covers = |narrow: &Pattern| narrow.source() == wide.source() || (present && !narrow.is_match(b""));
    (!present && wide.matches_everything())
        || narrow.headers.iter().any(|(n, narrow)| n.eq_ignore_ascii_case(name) && covers(narrow))
}

/// The matchers that look at more than the agent, each with its items, the most telling first.
fn items(matchers: &Matchers) -> impl Iterator<Item = Vec<Item<'_>>> {
    fn globs(globs: Option<&Globs>) -> impl Iterator<Item = &str> {
        globs.filter(|g| !g.match_everything()).into_iter().flat_map(|g| g.sources()).map(String::as_str)
    }
    let expression = matchers.expression.as_ref().filter(|e| !e.always_holds() && !e.is_random());
    let path = matchers.path.as_ref().filter(|p| !p.matches_everything());
    let all: [Vec<Item<'_>>; 10] = [
        path.map(|p| Item::Path(p.source())).into_iter().collect(),
        globs(matchers.paths.as_ref()).map(|s| Item::Prefix(s.strip_suffix("**").unwrap_or(s))).collect(),
        matchers.addresses.iter().map(|net| Item::Network(*net)).collect(),
        expression.map(|e| Item::Expression(e.source())).into_iter().collect(),
        matchers.headers.iter().map(|(name, _)| Item::Header(name.to_ascii_lowercase())).collect(),
        globs(matchers.hosts.as_ref()).map(|s| Item::Host(s.strip_prefix('*').unwrap_or(s))).collect(),
        matchers.asns.iter().flatten().map(|n| Item::Asn(*n)).collect(),
        matchers.countries.iter().flatten().map(|c| Item::Country(*c)).collect(),
        matchers.methods.iter().map(|m| Item::Method(m)).collect(),
        matchers.scheme.map(|s| Item::Scheme(s.as_str())).into_iter().collect(),
    ];
    all.into_iter().filter(|items| !items.is_empty())
}

/// Every item that lets through what this one does.
fn wider<'r>(item: Item<'r>, mut each: impl FnMut(Item<'r>)) {
    match item {
        Item::Network(net) => {
            let supernets = std::iter::successors(Some(net), IpNet::supernet);
            supernets.for_each(|net| each(Item::Network(net)));
        }
        Item::Prefix(path) => {
            each(Item::Prefix(path));
            path.match_indices('/').for_each(|(at, _)| each(Item::Prefix(&path[..=at])));
        }
        Item::Host(host) => {
            each(Item::Host(host));
            host.match_indices('.').for_each(|(at, _)| each(Item::Host(&host[at..])));
        }
        item => each(item),
    }
}

/// Whether a rule is best found by its pattern of agents: nothing that tells more is there.
fn told_by_agent(matchers: &Matchers) -> bool {
    let first = items(matchers).next().and_then(|items| items.into_iter().next());
    let more =
        matches!(first, Some(Item::Path(_) | Item::Prefix(_) | Item::Network(_) | Item::Expression(_)));
    matchers.agent.as_ref().is_some_and(|agent| !agent.matches_everything()) && !more
}

/// The rules that are found by their patterns of agents.
struct Agents<'r> {
    by_source: HashMap<&'r str, Vec<usize>>,
    /// Finds the needles of the patterns; each belongs to a rule.
    automaton: Option<AhoCorasick>,
    owners: Vec<usize>,
    /// The rules whose patterns have no needles.
    others: Vec<usize>,
}

impl<'r> Agents<'r> {
    fn of(rules: &'r [Rule]) -> Self {
        let mut agents =
            Self { by_source: HashMap::new(), automaton: None, owners: Vec::new(), others: Vec::new() };
        let mut words = Vec::new();
        for (index, rule) in rules.iter().enumerate().filter(|(_, r)| ends(r) && told_by_agent(&r.matchers)) {
            let Some(agent) = &rule.matchers.agent else { continue };
            agents.by_source.entry(agent.source()).or_default().push(index);
            match agent.needles() {
                Some(needles) => {
                    agents.owners.extend(needles.iter().map(|_| index));
                    words.extend(needles);
                }
                None => agents.others.push(index),
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words);
        agents.automaton = automaton.ok();
        agents
    }

    /// The rules above the one of this index that may cover its pattern, out of order.
    fn candidates(&self, index: usize, agent: &Pattern, found: &mut Vec<usize>) {
        found.extend(self.by_source.get(agent.source()).into_iter().flatten().take(MAX_COMPARED));
        // Whatever finds all matches of this pattern finds one that is little more than its needle.
        let Some(sample) = agent.needles().and_then(|needles| needles.first()) else { return };
        found.extend(self.others.iter().take(MAX_COMPARED));
        let hits = self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(sample));
        let hits = hits.map(|hit| self.owners[hit.pattern().as_usize()]);
        found.extend(hits.filter(|at| *at < index).take(MAX_COMPARED));
    }
}
