//! What it costs to ask, and what it costs to be answered: rightly, wrongly, and with a forgery.

mod stopwatch;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use sha2::{Digest, Sha256};
use stopwatch::{mac, ratio};
use tollgate::challenge::{Check, Limits, Stamp, answer_text, issue_work, policy_id, solve};
use tollgate::clearance::{Lives, open, seal};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Claims, Kind, Refusal, Ring, Secret, Visitor};

const AGENT: &[u8] =
    b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
const VISITOR: Visitor<'static> = Visitor { host: "www.example.org", agent: AGENT, net: b"", ja4: b"" };

fn challenge(c: &mut Criterion) {
    let ring = Ring::single(Secret::new([7; 32]));
    let (policy, now) = (policy_id("default"), Timestamp::from_seconds(1_800_000_000));
    let limits = Limits {
        max_ttl: 600,
        policies: vec![(policy, 12..=18)],
        max_k: 64,
        sizes: vec![12],
        min_wait: 1,
        max_wait: 60,
        max_wait_level: 16,
    };
    let check = Check { ring: &ring, limits: &limits, visitor: &VISITOR, now };
    let stamp =
        Stamp { ring: &ring, visitor: &VISITOR, policy, id: [3; 16], now, ttl: Duration::from_secs(300) };
    let outcome = |text: &[u8]| check.answer(text).and_then(|answer| answer.verify());

    let token = issue_work(&stamp, 14, 12);
    let nonces = solve(&token);
    let right = answer_text(&token, &nonces);
    let mut false_start = nonces;
    // A nonce just before the smallest solution solves nothing; where that is 0, the one after it hardly ever does.
    false_start[0] = false_start[0].checked_sub(1).unwrap_or(1);
    let wrong = answer_text(&token, &false_start);
    let forged = right.replacen(&right[10..14], "AAAA", 1);
    let expected = [(&right, Ok(())), (&wrong, Err(Refusal::Wrong)), (&forged, Err(Refusal::Forged))];
    for (text, want) in expected {
        assert_eq!(outcome(text.as_bytes()), want);
    }

    c.bench_function("challenge/issue", |b| b.iter(|| issue_work(black_box(&stamp), 14, 12).text()));
    for (name, text) in [("forged", &forged), ("wrong first nonce", &wrong), ("accepted", &right)] {
        c.bench_function(&format!("challenge/answer/{name}"), |b| {
            b.iter(|| outcome(black_box(text.as_bytes())));
        });
    }

    let answer = |text: &String| {
        let _ = black_box(outcome(black_box(text.as_bytes())));
    };
    ratio("issuing a challenge, in MACs", mac(), || {
        black_box(issue_work(black_box(&stamp), 14, 12).text());
    });
    ratio("a forged answer, in MACs", mac(), || answer(&forged));
    ratio("an answer whose first nonce is wrong to a right one", || answer(&right), || answer(&wrong));
    // Sixteen messages of 4 KiB, and what fills them: an answer cannot be checked for less.
    let hashed = vec![3u8; 17 * 4096];
    let hashing = || {
        black_box(Sha256::digest(black_box(&hashed)));
    };
    ratio("a right answer to hashing its messages", hashing, || answer(&right));
}

fn clearance(c: &mut Criterion) {
    let (ring, lives) = (Ring::single(Secret::new([7; 32])), Lives::default());
    let (issued, now) = (1_800_000_000, Timestamp::from_seconds(1_800_000_005));
    let binding = VISITOR.binding(ring.signing());
    let claims = Claims { key_id: 0, kind: Kind::Work, level: 14, issued, id: [3; 16], binding };
    let sealed = seal(&ring, &claims, &lives).expect("the key is in the ring");
    c.bench_function("clearance/seal", |b| b.iter(|| seal(&ring, black_box(&claims), &lives)));
    c.bench_function("clearance/open", |b| {
        b.iter(|| open(&ring, &lives, &VISITOR, now, black_box(sealed.text.as_bytes()), |_| true, 14));
    });
}

criterion_group!(benches, challenge, clearance);
criterion_main!(benches);
