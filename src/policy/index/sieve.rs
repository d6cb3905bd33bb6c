//! Which rules a text may match at all: one pass over its bytes in place of a search for each rule's pattern.
//!
//! One automaton finds which of all rules' needles the text holds. Its cost is fixed by the text's length: it keeps no
//! cache that ever new texts could thrash.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::set::Set;
use crate::policy::pattern::Needles;

/// How many bytes of needles an automaton may have to be laid out for speed rather than for space.
const FAST: usize = 32 << 10;

/// Finds the rules that are worth a closer look.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    automaton: Option<AhoCorasick>,
    /// For each needle, the rules that wait for it.
    owners: Vec<Box<[u32]>>,
    /// The rules that wait for any of their needles, where no automaton could be built.
    always: Vec<u32>,
}

impl Sieve {
    /// Builds the automaton from rules and their needles.
    pub(super) fn new(filed: Vec<(u32, Needles)>) -> Self {
        let mut pairs: Vec<_> =
            filed.into_iter().flat_map(|(rule, all)| all.into_iter().map(move |n| (n, rule))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let (words, owners): (Vec<_>, Vec<Box<[u32]>>) = pairs
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| (&same[0].0, same.iter().map(|(_, rule)| *rule).collect()))
            .unzip();
        if words.is_empty() {
            return Self::default();
        }
        let small = words.iter().map(|word| word.len()).sum::<usize>() <= FAST;
        let kind = if small { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        match AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(kind)).build(words) {
            Ok(automaton) => Self { automaton: Some(automaton), owners, always: Vec::new() },
            // More needles than an automaton can hold: then each of the rules is looked at.
            Err(_) => Self { always: owners.iter().flatten().copied().collect(), ..Self::default() },
        }
    }

    /// Adds the rules that may match the text; all others of this sieve do not.
    pub(super) fn choose(&self, text: &[u8], chosen: &mut Set) {
        self.always.iter().for_each(|rule| chosen.add(*rule));
        let Some(automaton) = &self.automaton else { return };
        // However often a needle stands in the text, its rules are added once.
        let mut known = Set::for_rules(self.owners.len());
        for found in automaton.find_overlapping_iter(text) {
            if known.insert(found.pattern().as_u32()) {
                self.owners[found.pattern().as_usize()].iter().for_each(|rule| chosen.add(*rule));
            }
        }
    }
}
