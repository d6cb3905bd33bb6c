//! What it costs to remember: taking a request in, telling what is known of its sender, and deriving every signal.
//!
//! The table is warm and half full, so that cells of a visitor lie in the processor's cache as those of a busy one do;
//! "a crowd" goes through 20,000 visitors in turn, so that they do not.

mod browser;

use std::cell::Cell;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use browser::{CHROME, HEADERS};
use criterion::{Criterion, criterion_group, criterion_main};
use tollgate::behaviour::Figures;
use tollgate::clock::Timestamp;
use tollgate::memory::{Counted, DEFAULT_BYTES, Deed, Fate, Limit, Memory, Pace, Sight};
use tollgate::request::{Parts, Request};
use tollgate::signal;

const PASSED: Deed = Deed { fate: Fate::Passed, probe: None, trap: false };

fn request<'a>(target: &'a str, client: u32) -> Request<'a> {
    Request::new(Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: b"www.example.org",
        scheme: b"https",
        client: Some(IpAddr::V4(Ipv4Addr::from(client))),
        headers: HEADERS
            .into_iter()
            .chain([("user-agent", CHROME)])
            .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
            .collect(),
    })
    .expect("the request is well formed")
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + ms)
}

/// Memory that has seen 100,000 visitors.
fn warm() -> Memory {
    let memory = Memory::new(DEFAULT_BYTES, &[7; 16]);
    for client in 0..100_000 {
        let target = format!("/page/{client}");
        let sight = memory.sight(&request(&target, 0x0a00_0000 + client * 37), None);
        memory.record(&sight, Some(&[1; 16]), PASSED, at(u64::from(client)));
    }
    memory
}

fn limits(memory: &Memory, request: &Request<'_>, now: Timestamp) -> bool {
    let pace = Pace::new(Limit { count: 600, per: Duration::from_secs(60), burst: 120 });
    memory.take(&pace, 1, Counted::Client(request.client), now).is_ok()
}

/// Everything that is done about a visitor beside the rules.
fn everything(memory: &Memory, request: &Request<'_>, now: Timestamp) -> Figures {
    let sight = memory.sight(request, None);
    let figures = memory.tell(&sight, Some(&[1; 16]), now);
    black_box(signal::detect(request, &figures));
    black_box(limits(memory, request, now));
    black_box(signal::probe(request.target.raw));
    memory.record(&sight, Some(&[1; 16]), PASSED, now);
    figures
}

fn memory(c: &mut Criterion) {
    let memory = warm();
    let visit = request("/articles/2026/11/what-a-gate-remembers?page=7", 0xc633_6407);
    let sight = memory.sight(&visit, None);
    let clock = Cell::new(200_000);
    let tick = || at(clock.replace(clock.get() + 1));
    (0..50).for_each(|_| memory.record(&sight, Some(&[1; 16]), PASSED, tick()));
    let figures = memory.tell(&sight, Some(&[1; 16]), tick());

    // Parts of the tables, and the list of probes, come into being when they are first touched.
    everything(&memory, &visit, tick());
    let allocations = allocation_counter::measure(|| {
        black_box(everything(&memory, &visit, tick()));
    });
    println!("allocations: memory/everything: {}", allocations.count_total);

    c.bench_function("memory/sight", |b| b.iter(|| memory.sight(black_box(&visit), None)));
    c.bench_function("memory/record", |b| b.iter(|| memory.record(black_box(&sight), None, PASSED, tick())));
    c.bench_function("memory/tell", |b| b.iter(|| memory.tell(black_box(&sight), None, tick())));
    c.bench_function("memory/record and tell", |b| {
        b.iter(|| {
            memory.record(black_box(&sight), None, PASSED, tick());
            memory.tell(&sight, None, tick())
        });
    });
    c.bench_function("memory/limit", |b| b.iter(|| limits(&memory, black_box(&visit), tick())));
    c.bench_function("memory/signals", |b| b.iter(|| signal::detect(black_box(&visit), black_box(&figures))));
    c.bench_function("memory/probe", |b| b.iter(|| signal::probe(black_box(visit.target.raw))));
    c.bench_function("memory/everything", |b| b.iter(|| everything(&memory, black_box(&visit), tick())));

    let crowd: Vec<Sight> =
        (0..20_000).map(|n| memory.sight(&request("/", 0x0a00_0000 + n * 37), None)).collect();
    let mut next = crowd.iter().cycle();
    c.bench_function("memory/record, a crowd", |b| {
        b.iter(|| memory.record(next.next().expect("a cycle has no end"), None, PASSED, tick()));
    });
}

criterion_group!(benches, memory);
criterion_main!(benches);
