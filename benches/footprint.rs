//! What a crowd leaves behind in memory: a million clients, and then a million challenges that nobody answers.
//!
//! Prints sizes and times nothing, so it needs no harness. `benches/budgets.toml` says what they may be.

mod browser;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use browser::{CHROME, HEADERS};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Ring, Secret, Seed};
use tollgate::gate::{Answer, Face, Gate, Moment, Settings, State};
use tollgate::policy::{Loader, Source};
use tollgate::request::{Parts, Request};

/// The allocator of the program.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CROWD: u32 = 1_000_000;

fn gate(policy: &str, state: &Arc<State>) -> Gate {
    let policy = Loader::default().load(&Source::Embedded(policy.to_owned())).expect("it is shipped").policy;
    Gate::new(Settings::default(), Ring::single(Secret::new([7; 32])), policy, state.clone())
        .expect("the settings are the default ones")
}

/// A page that one of many clients opens, with its whole answer, as the grpc face would send it. Yields whether it is refused.
fn refused(gate: &Gate, client: u32) -> bool {
    let lines = HEADERS.into_iter().chain([("user-agent", CHROME)]);
    let request = Request::new(Parts {
        method: b"GET",
        target: b"/articles",
        host: b"www.example.org",
        scheme: b"https",
        client: Some(IpAddr::V4(Ipv4Addr::from(client))),
        headers: lines.map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect(),
    });
    let moment = Moment {
        now: Timestamp::from_millis(1_800_000_000_000 + u64::from(client % CROWD)),
        seed: Seed::from_bytes(&[3; 48]),
        known: Vec::new(),
        origin: None,
        learn: true,
    };
    matches!(gate.answer(Face::Grpc, None, &request, &moment), Answer::Refuse(..))
}

/// MiB of this process in memory.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has a size");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("it is a number");
    kib / 1024.0
}

fn main() {
    let settings = Settings::default();
    let cap = settings.memory as f64 / f64::from(1 << 20);
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    let (quiet, strict) = (gate("quiet.yaml", &state), gate("strict.yaml", &state));
    let crowd = |gate: &Gate, first: u32, size: u32| (0..size).filter(|n| refused(gate, first + n)).count();
    let (some, everybody) = (1_000, CROWD as usize);
    assert_eq!(
        (crowd(&quiet, 0, some), crowd(&strict, 0, some)),
        (0, 1_000),
        "the policies are what they were"
    );

    let before = resident();
    crowd(&quiet, 0x0a00_0000, CROWD);
    println!("size: a million distinct clients, of memory.max_bytes: {:.3}", (resident() - before) / cap);

    // Memory for clients is full after as many again, so what is added then is what challenges take.
    crowd(&strict, 0x1400_0000, CROWD);
    let before = resident();
    assert_eq!(crowd(&strict, 0x1e00_0000, CROWD), everybody, "all of them are challenged");
    println!("size: a million unanswered challenges, MiB: {:.2}", resident() - before);
}
