//! Ratios that hold on any machine: two pieces of work take turns in short batches, so that whatever else the machine does meets
//! both alike, and the middle of the batches' ratios counts. `benches/budgets.toml` says what they may be.

#![expect(clippy::disallowed_methods, reason = "this is a stopwatch")]

use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How many times both take a turn.
const BATCHES: usize = 201;
/// How long a turn is about.
const BATCH: Duration = Duration::from_millis(1);

/// Prints how much more one piece of work costs than the other.
pub(crate) fn ratio(name: &str, mut cheap: impl FnMut(), mut dear: impl FnMut()) {
    let (cheaps, dears) = (turns(&mut cheap), turns(&mut dear));
    let mut ratios: Vec<_> = (0..BATCHES)
        .map(|_| {
            let first = time(&mut cheap, cheaps) / cheaps as f64;
            time(&mut dear, dears) / dears as f64 / first
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("ratio: {name}: {:.3}", ratios[BATCHES / 2]);
}

fn time(run: &mut dyn FnMut(), turns: usize) -> f64 {
    let start = Instant::now();
    (0..turns).for_each(|_| run());
    start.elapsed().as_secs_f64()
}

/// How often it must be done to fill a turn. The first times fill caches and are not looked at.
fn turns(run: &mut dyn FnMut()) -> usize {
    (0..8).for_each(|_| run());
    let mut turns = 1;
    while time(run, turns) < BATCH.as_secs_f64() {
        turns *= 2;
    }
    turns
}

/// A yardstick: a MAC of 100 bytes with a key that is prepared, 126 ns on one core of an AMD EPYC with SHA instructions.
/// What is budgeted in microseconds is budgeted here in so many of these.
pub(crate) fn mac() -> impl FnMut() {
    let keyed = Hmac::<Sha256>::new_from_slice(&[7; 32]).expect("any length is a key");
    let message = [3u8; 100];
    move || {
        std::hint::black_box(keyed.clone().chain_update(std::hint::black_box(message)).finalize());
    }
}
