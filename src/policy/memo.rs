//! Remembers which rules the last agents can match, so that a browser's patterns are not searched for on every request.
//!
//! Only a memory of what is computed anyway: with it and without it every request is judged alike. Each thread has its
//! own, so that no thread waits for another, and its size is fixed, so that ever new agents can only push out others.

use std::cell::RefCell;

use super::index::Set;

/// How many agents a thread remembers. A busy site meets a few hundred.
const SLOTS: usize = 512;

/// The longest agent that is remembered, in bytes.
const MAX_AGENT: usize = 512;

/// The largest set that is remembered, in words of 64 rules: all of 10,000 rules.
const MAX_WORDS: usize = 160;

thread_local! {
    static RECENT: RefCell<Vec<Slot>> = const { RefCell::new(Vec::new()) };
}

/// An agent and what came of it.
#[derive(Clone, Debug, Default)]
struct Slot {
    policy: u64,
    agent: Vec<u8>,
    rules: Vec<u64>,
    /// Whether the rules were narrowed.
    narrow: bool,
}

/// Sets `rules` to those that an agent may match under a policy, which is never 0: `find` finds them, and the second time
/// an agent comes `narrow` takes out those that it does not match after all. An agent that comes only once is not worth that.
pub(super) fn recall(
    policy: u64,
    agent: &[u8],
    rules: &mut Set,
    find: impl FnOnce(&mut Set),
    narrow: impl FnOnce(&mut Set),
) {
    if agent.len() > MAX_AGENT {
        return find(rules);
    }
    RECENT.with_borrow_mut(|slots| {
        if slots.is_empty() {
            slots.resize(SLOTS, Slot::default());
        }
        let slot = &mut slots[place(policy, agent)];
        // The agent itself is compared: two that share a place must not share what they can match.
        let known = slot.policy == policy && slot.agent == agent;
        match known {
            true => rules.copy_from(&slot.rules),
            false => find(rules),
        }
        if !known {
            slot.policy = policy;
            slot.agent.clear();
            slot.agent.extend_from_slice(agent);
        } else if !slot.narrow {
            narrow(rules);
        } else {
            return;
        }
        slot.narrow = known;
        slot.rules.clear();
        if rules.words().len() > MAX_WORDS {
            slot.policy = 0;
            return;
        }
        slot.rules.extend_from_slice(rules.words());
    });
}

/// Mixes words of eight bytes. Whoever aims at a place only makes the thread compute.
fn place(policy: u64, agent: &[u8]) -> usize {
    let (words, rest) = agent.as_chunks::<8>();
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let hash = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .chain([last, agent.len() as u64, policy])
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
    usize::try_from(hash >> 40).unwrap_or(0) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules that are told, where an agent new to the memory has `rule` and the next one.
    fn recalled(policy: u64, agent: &str, rule: u32) -> Vec<usize> {
        let mut set = Set::default();
        let find = |set: &mut Set| {
            *set = Set::for_rules(128);
            set.add(rule);
            set.add(rule + 1);
        };
        recall(policy, agent.as_bytes(), &mut set, find, |set| set.retain(|rule| rule % 2 == 1));
        Set::or_all(Some(&set), 128).collect()
    }

    #[test]
    fn what_was_found_is_remembered_by_agent_and_policy_and_narrowed_once() {
        assert_eq!(recalled(1, "one", 3), [3, 4]);
        assert_eq!(recalled(1, "one", 7), [3]);
        assert_eq!(recalled(1, "one", 7), [3]);
        assert_eq!(recalled(2, "one", 4), [4, 5]);
        assert_eq!(recalled(1, "one", 5), [3]);
    }

    #[test]
    fn agents_that_share_a_place_push_each_other_out() {
        for round in 0..3 {
            for agent in 0..2_000_u32 {
                let rule = agent * 7 % 100;
                let found = recalled(9, &format!("agent-{agent}"), rule);
                let odd = if rule % 2 == 1 { rule } else { rule + 1 } as usize;
                let whole = [rule as usize, rule as usize + 1];
                assert!(found == whole || (round > 0 && found == [odd]), "{agent}: {found:?}");
            }
        }
    }
}
