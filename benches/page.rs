//! What it costs to write a page, and how often it asks for memory: a flood of visitors gets a page each.

mod stopwatch;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use stopwatch::{mac, ratio};
use tollgate::challenge::page::{ChallengeView, Notice, NoticeView, Pages, Settings, WaitLink, Work};

const TOKEN: &str = "EAEQDAAQAABrSdIAASwAAQMDAwMDAwMDAwMDAwMDAwMBAgMEBQYHCAECAwQFBgcICQoLDA0ODxA";
const LANE: &str = "/.tollgate/wait?t=EAIOAAAAAAVrSdIAASwAAQMDAwMDAwMDAwMDAwMDAwMBAgMEBQYHCAECAwQFBgcICQoLDA0ODxA&r=L2EvcGFnZT9sYW5nPWVu&s=AQIDBAUGBwgJCgsMDQ4PEA";
const NONCE: &str = "AQIDBAUGBwgJCgsMDQ4PEA";
const REQUEST: &str = "0123456789abcdef0123456789abcdef";
const HOST: &str = "www.example.org";

fn challenge(accept_language: &'static [u8]) -> ChallengeView<'static> {
    ChallengeView {
        accept_language,
        host: HOST,
        request_id: REQUEST,
        nonce: NONCE,
        method: "GET",
        work: Some(Work { token: TOKEN, k: 16, size: 12, target: 1 << 22, ttl: 300 }),
        wait: Some(WaitLink { seconds: 5, url: LANE }),
        prior: None,
        prior_is_fresh: false,
        trap: Some("/.tollgate/list/EGtJ0gABI0VniavN7wECAwQFBgcICQoLDA0ODxA"),
        original: "/articles/2026/11/a-page?lang=en&q=%22",
    }
}

fn page(c: &mut Criterion) {
    let pages = Pages::new(&Settings::default(), "/.tollgate/").expect("the stock pages can be built");
    let notice = NoticeView {
        accept_language: b"en",
        host: HOST,
        request_id: REQUEST,
        nonce: NONCE,
        notice: Notice::Deny,
    };
    let english = challenge(b"en-GB,en;q=0.9,de;q=0.8");
    let arabic = challenge(b"ar,en;q=0.5");

    for (name, write) in [
        ("challenge", &(|| pages.challenge(black_box(&english)).html) as &dyn Fn() -> String),
        ("challenge, Arabic", &|| pages.challenge(black_box(&arabic)).html),
        ("deny", &|| pages.notice(black_box(&notice)).html),
    ] {
        let bytes = write().len();
        let allocations = allocation_counter::measure(|| drop(black_box(write()))).count_total;
        println!("page/{name}: {bytes} bytes");
        println!("allocations: page/{name}: {allocations}");
        c.bench_function(&format!("page/{name}"), |b| b.iter(write));
    }
    ratio("a challenge page, in MACs", mac(), || drop(black_box(pages.challenge(black_box(&english)).html)));
}

criterion_group!(benches, page);
criterion_main!(benches);
