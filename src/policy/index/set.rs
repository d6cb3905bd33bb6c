//! A set of rules as bits, which are gone through in the order of the rules.

use smallvec::SmallVec;

/// A set of rules by index. A thousand of them fit without an allocation.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Set(SmallVec<[u64; 16]>);

impl Set {
    /// An empty set for so many rules.
    pub(super) fn for_rules(rules: usize) -> Self {
        Self(SmallVec::from_elem(0, rules.div_ceil(64)))
    }

    /// Adds a rule.
    pub(super) fn add(&mut self, rule: u32) {
        self.0[rule as usize / 64] |= 1 << (rule % 64);
    }

    /// The rules of a set, or all there are where there is no set.
    pub(in crate::policy) fn or_all(set: Option<&Self>, rules: usize) -> impl Iterator<Item = usize> {
        let all = if set.is_none() { rules } else { 0 };
        set.into_iter().flat_map(Self::iter).chain(0..all)
    }

    /// The rules, in order.
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
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
