//! `probe`: the client asked within the last hour for what only scanners ask for, or for the doors of three products.
//!
//! Two tiers, listed in `policies/behaviour/probes.txt`: what no site has, where one request tells; and what sites of one
//! product have, where the people who run a site use it every day, but not three products on one site. A request counts for
//! those behind it: the policy's rules by path judge it itself. May wrong: whoever shares an address with a scanner.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::Counted;
use crate::behaviour::{Figure, Probe, Signal};

pub(super) const DETECTOR: Counted = Counted {
    signal: Signal::Probe,
    figures: &[Figure::ClientProbes, Figure::ClientProducts],
    raised: |figures| figures.value(Figure::ClientProbes) >= 1 || figures.value(Figure::ClientProducts) >= 3,
};

/// The longest beginning of a target that is searched, in bytes: no entry of the list is found behind it.
const MAX_SEARCHED: usize = 512;

static LIST: LazyLock<List> =
    LazyLock::new(|| List::parse(include_str!("../../policies/behaviour/probes.txt")));

/// Whether a target is one that scanners ask for. Costs one pass, whatever the target.
pub fn probe(target: &[u8]) -> Option<Probe> {
    LIST.find(target)
}

struct List {
    automaton: Option<AhoCorasick>,
    /// For each piece what it tells, and whether it must end the path.
    entries: Vec<(Probe, bool)>,
}

impl List {
    /// Reads the list. It is part of the program, and a test reads every line of it.
    fn parse(text: &str) -> Self {
        let (mut pieces, mut entries, mut products) = (Vec::new(), Vec::new(), Vec::new());
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for (tier, piece) in lines.filter_map(|line| line.split_once(' ')) {
            let probe = if tier == "never" {
                Probe::Never
            } else {
                let at = products.iter().position(|known| *known == tier).unwrap_or_else(|| {
                    products.push(tier);
                    products.len() - 1
                });
                Probe::Product(u8::try_from(at).unwrap_or(u8::MAX))
            };
            entries.push((probe, piece.ends_with('$')));
            pieces.push(piece.trim_end_matches('$'));
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .build(pieces);
        Self { automaton: automaton.ok(), entries }
    }

    fn find(&self, target: &[u8]) -> Option<Probe> {
        let target = &target[..target.len().min(MAX_SEARCHED)];
        let path = memchr::memchr(b'?', target).unwrap_or(target.len());
        let mut product = None;
        for found in self.automaton.as_ref()?.find_iter(target) {
            match self.entries[found.pattern().as_usize()] {
                (_, true) if found.end() != path => {}
                // A query may hold anything; what is looked for begins in the path.
                _ if found.start() >= path => {}
                (Probe::Never, _) => return Some(Probe::Never),
                (probe, _) => product = product.or(Some(probe)),
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_understood_and_found() {
        let text = include_str!("../../policies/behaviour/probes.txt");
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert_eq!(LIST.entries.len(), lines.len());
        assert!(LIST.automaton.is_some());
        assert!(LIST.entries.iter().all(|(probe, _)| !matches!(probe, Probe::Product(16..))));
        for line in lines {
            let (tier, piece) = line.split_once(' ').unwrap();
            assert!(piece.starts_with('/') && piece.len() <= 64 && *piece == piece.to_lowercase(), "{line}");
            let found = probe(piece.trim_end_matches('$').as_bytes());
            assert_eq!(found == Some(Probe::Never), tier == "never", "{line}: {found:?}");
            assert!(found.is_some(), "{line}");
        }
    }

    #[test]
    fn case_and_depth_do_not_hide_a_probe_and_queries_are_none() {
        for target in ["/.ENV", "/app/.env.production", "/x/.git/config?y", "/wp-content/../.ssh/id"] {
            assert_eq!(probe(target.as_bytes()), Some(Probe::Never), "{target}");
        }
        for target in
            ["/", "/blog/environment", "/search?q=/.env", "/git/config", "/users/sign_in/help", "/wp"]
        {
            assert_eq!(probe(target.as_bytes()), None, "{target}");
        }
        let [a, b] = ["/wp-login.php", "/wp-admin/post.php"].map(|target| probe(target.as_bytes()));
        assert!(a == b && matches!(a, Some(Probe::Product(_))));
    }
}
