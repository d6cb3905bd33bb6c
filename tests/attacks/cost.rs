//! What a hostile question may take of memory: a few times its own size while it is judged, and nothing afterwards.

use std::net::IpAddr;

use allocation_counter::measure;
use tollgate::clock::Timestamp;
use tollgate::crypto::Seed;
use tollgate::gate::{Answer, Face, Gate, Moment};
use tollgate::request::{Headers, MAX_TARGET, Parts, Request, Target};

use crate::stand::{NOW, Stand};
use crate::visit::BROWSER;

#[test]
fn readings_take_eight_times_the_path_at_most_and_only_while_it_is_judged() {
    let longest = |piece: &str, end: &str| {
        let mut path = String::from("/x");
        while path.len() + piece.len() + end.len() <= MAX_TARGET {
            path.push_str(piece);
        }
        path + end
    };
    let paths = [
        longest("/..", "/admin"),
        longest(";", "/admin"),
        longest("%25", "/admin"),
        longest("%2561", ""),
        longest("/%2e%2e/a", "/admin"),
        longest("\\", "admin"),
        longest("/.", ""),
        longest("a;b/", "%2fadmin"),
        longest("\u{e9}", "/admin"),
        format!("/{}", "/".repeat(65_000)),
    ];
    for path in paths {
        let used = measure(|| drop(Target::parse(path.as_bytes(), false)));
        // Four readings beside the raw one, none of them longer than it, and the steps on the way to them.
        let most = 8 * path.len() as u64 + 1024;
        assert!(used.bytes_max <= most, "{} bytes for {} of {}", used.bytes_max, path.len(), &path[..20]);
        assert_eq!(used.bytes_current, 0, "{}", &path[..20]);
    }
}

fn asked(gate: &Gate, client: [u8; 4], seed: u8) -> usize {
    let mut headers = Headers::default();
    headers.push(b"user-agent", BROWSER.as_bytes());
    headers.push(b"accept", b"text/html");
    let parts = Parts {
        method: b"GET",
        target: b"/page",
        host: b"example.com",
        scheme: b"https",
        client: Some(IpAddr::from(client)),
        headers,
    };
    let moment = Moment {
        now: Timestamp::from_seconds(NOW),
        seed: Seed::from_bytes(&[seed; 48]),
        known: Vec::new(),
        origin: None,
        learn: true,
    };
    let Answer::Refuse(_, response) = gate.answer(Face::Check, None, &Request::new(parts), &moment) else {
        panic!("a browser is challenged")
    };
    response.body().len()
}

#[test]
fn issuing_leaves_nothing_behind() {
    let stand = Stand::start();
    let gate = stand.fresh();
    // Everybody is known, and every cell of memory that they need is taken.
    let clients = || (0..=255).flat_map(|a| (0..8).map(move |b| [10, 0, b, a]));
    let round = |seed| clients().map(|client| asked(&gate, client, seed)).sum::<usize>();
    round(1);
    let after = [2, 3, 4].map(|seed| measure(|| assert!(round(seed) > 1 << 20)).bytes_current);
    // Memory of behaviour has a fixed size, which it takes as it is used.
    let kept = after.iter().sum::<i64>();
    assert!(kept < 64 << 10, "6,144 challenges left {after:?} bytes behind");
}
