//! A gate with keys of its own, and the few things that it ever made: whatever else counts was not made by it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use tollgate::challenge::{self, Stamp, answer_text, issue_wait, issue_work, policy_id, solve};
use tollgate::clearance::{self, Lives};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Entry, Ring, Secret, Seed, State as KeyState, Visitor};
use tollgate::gate::{Gate, Live, Moment, Settings, State};
use tollgate::policy::{Loader, Policy, Source};

/// When everything happens, in Unix seconds.
pub(crate) const NOW: u64 = 1_800_000_000;
/// The one host of the one visitor.
pub(crate) const HOST: &str = "example.com";
/// The visitor's browser.
pub(crate) const AGENT: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36";
/// Who asks.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The one visitor.
pub(crate) fn visitor() -> Visitor<'static> {
    Visitor { host: HOST, agent: AGENT.as_bytes(), net: b"", ja4: b"" }
}

/// 1 signs, 0 verifies, 2 is retired.
pub(crate) static RING: LazyLock<Ring> = LazyLock::new(|| {
    let entry = |id, state| Entry { id, state, secret: Secret::new([0x60 + id; 32]) };
    let entries = [entry(1, KeyState::Sign), entry(0, KeyState::Verify), entry(2, KeyState::Retired)];
    Ring::new(&entries).expect("one of them signs")
});

/// What the gate made.
pub(crate) struct Made {
    /// A challenge and its right answer.
    pub(crate) answer: String,
    /// The token of a wait that is over, as text.
    pub(crate) wait: String,
    /// What the answer and the wait buy.
    pub(crate) clearances: [String; 2],
}

/// What the gate made: nothing else may ever count.
pub(crate) static MADE: LazyLock<Made> = LazyLock::new(|| {
    let visitor = visitor();
    let stamp = Stamp {
        ring: &RING,
        visitor: &visitor,
        policy: policy_id("default"),
        id: [0x17; 16],
        now: Timestamp::from_seconds(NOW - 30),
        ttl: std::time::Duration::from_secs(300),
    };
    let work = issue_work(&stamp, 12, 10);
    let wait = issue_wait(&Stamp { id: [0x18; 16], ..stamp }, 12, 3);
    let bought = |token: challenge::Token| {
        clearance::seal(&RING, &token.claims(), &Lives::default()).expect("its key signs").text
    };
    Made {
        answer: answer_text(&work, &solve(&work)),
        wait: wait.text(),
        clearances: [bought(work), bought(wait)],
    }
});

/// A policy from its text, if it loads.
pub(crate) fn policy(name: &str, text: &str) -> Option<Policy> {
    let loader = Loader { root: PathBuf::from("tests/fuzz/nowhere"), ..Loader::default() };
    let source = Source::Text { name: name.to_owned(), text: text.to_owned() };
    loader.load(&source).ok().map(|loaded| loaded.policy)
}

/// A gate with a policy; no number of challenges raises its levels.
pub(crate) fn gate(name: &str, text: &str) -> Live {
    let mut settings = Settings { memory: 8 << 20, marks: [u32::MAX; 2], ..Settings::default() };
    settings.challenge.size = 10;
    let policy = policy(name, text).expect("it loads");
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    let gate = Gate::new(settings, RING.clone(), policy, state).expect("a gate can be built");
    Arc::new(ArcSwap::from_pointee(gate))
}

/// A gate with the policy of the attack table.
pub(crate) static GATE: LazyLock<Live> =
    LazyLock::new(|| gate("attacks.yaml", include_str!("../../data/attack_fixture.yaml")));

/// The one moment.
pub(crate) fn moment() -> Moment {
    Moment {
        now: Timestamp::from_seconds(NOW),
        seed: Seed::from_bytes(&[5; 48]),
        known: Vec::new(),
        origin: None,
        learn: true,
    }
}

/// Whether a text is a clearance that the gate made.
pub(crate) fn is_made(text: &[u8]) -> bool {
    MADE.clearances.iter().any(|made| made.as_bytes() == text)
}

/// The limits that the gate's own would be.
pub(crate) fn limits() -> challenge::Limits {
    challenge::Limits {
        max_ttl: 600,
        policies: vec![(policy_id("default"), 12..=18)],
        max_k: challenge::MAX_PUZZLES,
        sizes: vec![10],
        min_wait: 1,
        max_wait: 60,
        max_wait_level: 16,
    }
}

/// What stands before a MAC, from bytes of any number: the version and one of the keys that count, then the input.
pub(crate) fn head<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut head = [0; N];
    let taken = bytes.len().min(N);
    head[..taken].copy_from_slice(&bytes[..taken]);
    head[0] = 0x10 | (head[0] & 1);
    head
}
