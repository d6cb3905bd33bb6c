//! Which patterns an agent can match at all: one pass over its bytes in place of a search for each pattern.
//!
//! Every match of a pattern begins with one of a few literals, or the pattern is always tried. One automaton finds which
//! of all patterns' literals an agent holds; only those patterns are then searched for. Its cost is fixed by the agent's
//! length: it keeps no cache that ever new agents could thrash.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use smallvec::SmallVec;

use super::pattern::Pattern;

/// Finds the patterns that are worth a search.
#[derive(Debug, Default)]
pub(super) struct Sieve {
    automaton: Option<AhoCorasick>,
    /// For each literal, the patterns it may begin a match of.
    owners: Vec<Vec<usize>>,
    /// The patterns that no literal speaks for.
    always: Chosen,
}

/// A set of patterns, by index. 256 of them fit without an allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen(SmallVec<[u64; 4]>);

impl Chosen {
    fn add(&mut self, index: usize) {
        if self.0.len() <= index / 64 {
            self.0.resize(index / 64 + 1, 0);
        }
        self.0[index / 64] |= 1 << (index % 64);
    }

    /// Whether a pattern is in the set.
    pub(super) fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }
}

impl Sieve {
    /// Builds the automaton from patterns with their indices.
    pub(super) fn new<'p>(patterns: impl Iterator<Item = (usize, &'p Pattern)>) -> Self {
        let mut sieve = Self::default();
        let mut literals: Vec<(Vec<u8>, usize)> = Vec::new();
        for (index, pattern) in patterns {
            match pattern.beginnings() {
                Some(beginnings) => {
                    literals.extend(beginnings.into_iter().map(|l| (l.to_ascii_lowercase(), index)))
                }
                None => sieve.always.add(index),
            }
        }
        literals.sort();
        literals.dedup();
        let mut words: Vec<Vec<u8>> = Vec::new();
        for (literal, index) in literals {
            if words.last() != Some(&literal) {
                words.push(literal);
                sieve.owners.push(Vec::new());
            }
            if let Some(owners) = sieve.owners.last_mut() {
                owners.push(index);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words);
        match automaton {
            Ok(automaton) => sieve.automaton = Some(automaton),
            // More literals than an automaton can hold: then each pattern is searched for, as without a sieve.
            Err(_) => sieve.owners.drain(..).flatten().for_each(|index| sieve.always.add(index)),
        }
        sieve
    }

    /// The patterns that may match this agent; all others do not.
    pub(super) fn choose(&self, agent: &[u8]) -> Chosen {
        let mut chosen = self.always.clone();
        for found in self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(agent)) {
            self.owners[found.pattern().as_usize()].iter().for_each(|index| chosen.add(*index));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATTERNS: [&str; 12] = [
        "Googlebot",
        "(?i:gptbot|claude)",
        "^curl/",
        "^$",
        ".*",
        r"\bChrome/(?:7[6-9]|[89][0-9])\.",
        "(?i)spider|crawl",
        "[A-Z]{3}bot",
        "a|",
        "x*y",
        "(foo|bar)+baz",
        "\u{17f}ame",
    ];

    fn patterns() -> Vec<Pattern> {
        PATTERNS.iter().map(|source| Pattern::compile(source).unwrap()).collect()
    }

    fn sieve(patterns: &[Pattern]) -> Sieve {
        Sieve::new(patterns.iter().enumerate())
    }

    #[test]
    fn what_cannot_match_is_sifted_out_and_what_matches_never_is() {
        let patterns = patterns();
        let sieve = sieve(&patterns);
        let chosen = |agent: &str| -> Vec<_> {
            let chosen = sieve.choose(agent.as_bytes());
            (0..PATTERNS.len()).filter(|index| chosen.has(*index)).map(|index| PATTERNS[index]).collect()
        };
        assert!(!chosen("Mozilla/5.0 Firefox/150.0").contains(&"Googlebot"));
        assert!(chosen("compatible; Googlebot/2.1").contains(&"Googlebot"));
        assert!(chosen("CLAUDE-web").contains(&"(?i:gptbot|claude)"));
        assert!(chosen("").contains(&"^$"));
    }

    proptest! {
        #[test]
        fn every_match_is_chosen(agent in "(Goog|goog|curl/|GPT|gpt|bot|Chrome/|7|9|\\.|spi|der|CRAWL|ABC|x|y|foo|bar|baz|s|ſ|ame| ){0,12}") {
            let patterns = patterns();
            let chosen = sieve(&patterns).choose(agent.as_bytes());
            for (index, pattern) in patterns.iter().enumerate() {
                prop_assert!(!pattern.is_match(agent.as_bytes()) || chosen.has(index), "{} on {agent}", PATTERNS[index]);
            }
        }
    }
}
