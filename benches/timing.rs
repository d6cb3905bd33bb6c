//! Whether the time of a MAC's check tells how much of a MAC is right: Welch's t between right tags, tags that are wrong in their
//! first byte and tags that are wrong in their last, 100,000 of each in random order.
//!
//! Not a test of the suite, since a busy machine has its own differences. Prints t for every pair, and fails above 4.5: two
//! equal things come that far apart once in 150,000 runs.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use tollgate::clearance::{self, Lives};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Claims, Kind, Refusal, Ring, Secret, Visitor, encode};

/// How many checks of each kind.
const CHECKS: usize = 100_000;
/// Where two kinds count as told apart.
const MOST: f64 = 4.5;
/// The slowest share of all checks that is left out: what interrupts them says nothing about them.
const LEFT_OUT: usize = 20;

/// Mean, variance and number of what was measured.
#[derive(Clone, Copy)]
struct Sample {
    mean: f64,
    variance: f64,
    count: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { mean, variance, count }
    }

    fn t(self, other: Self) -> f64 {
        (self.mean - other.mean) / (self.variance / self.count + other.variance / other.count).sqrt()
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }
}

/// Times the check of one of these inputs after the other, in random order, and tells the largest t of all pairs.
#[expect(clippy::disallowed_methods, reason = "it is time that is measured")]
fn compare<const N: usize>(what: &str, inputs: [(&str, &[u8]); N], check: impl Fn(&[u8]) -> bool) -> f64 {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut taken = [const { Vec::new() }; N];
    let mut all = Vec::with_capacity(N * CHECKS);
    // Every input stands in the same place when it is checked, so that only its bytes differ.
    let mut place = inputs[0].1.to_vec();
    while taken.iter().any(|taken: &Vec<f64>| taken.len() < CHECKS) {
        let kind = dice.roll(N);
        place.copy_from_slice(inputs[kind].1);
        let start = Instant::now();
        black_box(check(black_box(&place)));
        let nanos = start.elapsed().as_nanos() as f64;
        if taken[kind].len() < CHECKS {
            taken[kind].push(nanos);
            all.push(nanos);
        }
    }
    all.sort_by(f64::total_cmp);
    let most = all[all.len() - all.len() / LEFT_OUT];
    let samples =
        taken.map(|taken| Sample::of(&taken.into_iter().filter(|v| *v <= most).collect::<Vec<_>>()));
    let mut worst: f64 = 0.0;
    for (a, b) in (0..N).flat_map(|a| (a + 1..N).map(move |b| (a, b))) {
        let t = samples[a].t(samples[b]);
        let ((one, _), (other, _)) = (inputs[a], inputs[b]);
        println!("{what}: {one} {:.1} ns, {other} {:.1} ns, t = {t:+.2}", samples[a].mean, samples[b].mean);
        worst = worst.max(t.abs());
    }
    worst
}

fn main() -> ExitCode {
    let ring = Ring::single(Secret::new([7; 32]));
    let key = ring.signing();
    let message = [0x5a; 36];
    let right = key.clearance.tag(&[&message]);
    let turned = |at: usize| {
        let mut tag = right;
        tag[at] ^= 1;
        tag
    };
    let (first, last) = (turned(0), turned(15));
    let tags =
        [("right", &right[..]), ("wrong in its first byte", &first[..]), ("wrong in its last", &last[..])];
    let mac = compare("MAC", tags, |tag| key.clearance.verify(&[&message], tag));

    let visitor = Visitor { host: "example.com", agent: b"Mozilla/5.0", net: b"", ja4: b"" };
    let claims = Claims {
        key_id: 0,
        kind: Kind::Work,
        level: 14,
        issued: 1_800_000_000,
        id: [3; 16],
        binding: visitor.binding(key),
    };
    let sealed = clearance::seal(&ring, &claims, &Lives::default()).expect("the key is there").text;
    let mut buffer = [0; 52];
    let bytes = tollgate::crypto::decode(sealed.as_bytes(), &mut buffer).expect("it was encoded").to_vec();
    let turned = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        encode(&bytes)
    };
    let (first, last) = (turned(36), turned(51));
    let now = Timestamp::from_seconds(1_800_000_000);
    let cookies = [("MAC wrong in its first byte", first.as_bytes()), ("in its last", last.as_bytes())];
    let cookie = compare("clearance", cookies, |text| {
        let opened = clearance::open(&ring, &Lives::default(), &visitor, now, text, |_| true, 14);
        opened == Err(Refusal::Forged)
    });

    let worst = mac.max(cookie);
    println!("largest |t| = {worst:.2}, wanted below {MOST}");
    if worst < MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
