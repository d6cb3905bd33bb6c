//! A set of rules as bits, which are gone through in the order of the rules.

use smallvec::SmallVec;

/// A set of rules by index. Ten thousand of them fit without an allocation.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Set(SmallVec<[u64; 160]>);

impl Set {
    /// An empty set for so many rules.
    pub(in crate::policy) fn for_rules(rules: usize) -> Self {
        Self(SmallVec::from_elem(0, rules.div_ceil(64)))
    }

    /// Adds a rule.
    pub(in crate::policy) fn add(&mut self, rule: u32) {
        self.0[rule as usize / 64] |= 1 << (rule % 64);
    }

    /// Adds a rule, and tells whether it was new.
    pub(super) fn insert(&mut self, rule: u32) -> bool {
        let (word, bit) = (&mut self.0[rule as usize / 64], 1 << (rule % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Becomes the set with these words, which are another one's.
    pub(in crate::policy) fn copy_from(&mut self, words: &[u64]) {
        self.0.clear();
        self.0.extend_from_slice(words);
    }

    /// The bits, rule by rule.
    pub(in crate::policy) fn words(&self) -> &[u64] {
        &self.0
    }

    /// Takes out the rules that fail a test.
    pub(in crate::policy) fn retain(&mut self, mut test: impl FnMut(usize) -> bool) {
        for (at, word) in self.0.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if !test(at * 64 + bit as usize) {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// The rules of a set, or all there are where there is no set.
    pub(in crate::policy) fn or_all(set: Option<&Self>, rules: usize) -> impl Iterator<Item = usize> {
        let all = if set.is_none() { rules } else { 0 };
        set.into_iter().flat_map(Self::iter).chain(0..all)
    }

    /// The rules, in order.
    fn iter(&self) -> Rules<'_> {
        Rules { words: self.0.iter(), word: 0, base: 0, next: 0 }
    }
}

/// The rules of a set, in order.
struct Rules<'s> {
    words: std::slice::Iter<'s, u64>,
    /// What is left of the word that is gone through, and the rule that its lowest bit stands for.
    word: u64,
    base: usize,
    /// The rule that the next word begins with.
    next: usize,
}

impl Iterator for Rules<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.word = *self.words.next()?;
            self.base = self.next;
            self.next += 64;
        }
        let rule = self.base + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(rule)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_added_comes_in_order(rules in prop::collection::btree_set(0_u32..3_000, 0..50)) {
            let mut set = Set::for_rules(3_000);
            rules.iter().rev().for_each(|rule| set.add(*rule));
            prop_assert!(set.iter().eq(rules.iter().map(|rule| *rule as usize)));
        }
    }
}
