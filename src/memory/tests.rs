//! Memory as a whole: what it tells of who did what, and that it stays within its bytes.

use super::*;
use crate::request::Parts;

pub(super) const CHROME: &[(&str, &str)] = &[
    (
        "user-agent",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36",
    ),
    ("accept", "text/html,*/*;q=0.8"),
    ("accept-language", "en"),
];

const PASSED: Deed = Deed { fate: Fate::Passed, probe: None, trap: false };

fn memory() -> Memory {
    Memory::new(DEFAULT_BYTES, &[7; 16])
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + ms)
}

pub(super) fn see(memory: &Memory, client: &str, target: &str, headers: &[(&str, &str)]) -> Sight {
    let parts = Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: b"example.org",
        scheme: b"https",
        client: client.parse().ok(),
        headers: headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
    };
    memory.sight(&Request::new(parts).unwrap(), Some(64_496))
}

/// The figures of a client after these requests, one a second.
fn after(requests: &[(&str, &str, Fate)], client: &str) -> Figures {
    let memory = memory();
    for (second, (client, target, fate)) in requests.iter().enumerate() {
        let sight = see(&memory, client, target, CHROME);
        memory.record(&sight, None, Deed { fate: *fate, probe: None, trap: false }, at(second as u64 * 1000));
    }
    memory.tell(&see(&memory, client, "/", CHROME), None, at(requests.len() as u64 * 1000))
}

#[test]
fn what_was_done_is_told_by_subject() {
    let figures = after(
        &[
            ("192.0.2.1", "/a", Fate::Passed),
            ("192.0.2.1", "/b", Fate::Challenged),
            ("192.0.2.1", "/b", Fate::Denied),
            ("192.0.2.9", "/c", Fate::Challenged),
            ("198.51.100.1", "/d", Fate::Limited),
        ],
        "192.0.2.1",
    );
    for (figure, want) in [
        (Figure::ClientRate, 3),
        (Figure::ClientDocuments, 3),
        (Figure::ClientPaths, 2),
        (Figure::ClientRefused, 2),
        (Figure::ClientChallenged, 1),
        (Figure::ClientAgents, 1),
        (Figure::NetworkRate, 4),
        (Figure::NetworkClients, 2),
        (Figure::NetworkUnsolved, 2),
        (Figure::AsnRate, 5),
        (Figure::FingerprintRate, 5),
        (Figure::FingerprintNetworks, 2),
        (Figure::FingerprintPaths, 4),
        (Figure::SiteDocuments, 5),
    ] {
        assert_eq!(figures.value(figure), want, "{}", figure.name());
    }
}

#[test]
fn an_answer_solves_for_its_client_and_its_network() {
    let memory = memory();
    let sight = see(&memory, "192.0.2.1", "/", CHROME);
    (0..3).for_each(|n| {
        memory.record(&sight, None, Deed { fate: Fate::Challenged, probe: None, trap: false }, at(n))
    });
    memory.answered(&sight, at(9));
    let figures = memory.tell(&sight, None, at(10));
    assert_eq!(figures.value(Figure::NetworkUnsolved), 2);
    assert_eq!(figures.value(Figure::ClientAnswered), 1);
    assert_eq!(memory.challenges("192.0.2.200".parse().unwrap(), at(10)), (3, 1));
    assert_eq!(memory.tell(&sight, None, at(700_000)).value(Figure::NetworkUnsolved), 0, "ten minutes later");
}

#[test]
fn numbers_that_count_up_are_steps_and_a_jump_is_none() {
    let pages: Vec<String> = (1..=12).map(|page| format!("/list?page={page}")).collect();
    let walk = |targets: &[&str]| {
        let requests: Vec<_> = targets.iter().map(|target| ("192.0.2.1", *target, Fate::Passed)).collect();
        after(&requests, "192.0.2.1").value(Figure::ClientSteps)
    };
    let list: Vec<_> = pages.iter().map(String::as_str).collect();
    assert_eq!(walk(&list), 11);
    assert_eq!(walk(&["/item/7", "/item/90", "/item/3"]), 0);
    let mut between = list.clone();
    between.insert(6, "/item/9000");
    assert_eq!(walk(&between), 10);
}

#[test]
fn without_an_address_only_what_needs_none_is_counted() {
    let memory = memory();
    let sight = see(&memory, "", "/", CHROME);
    memory.record(&sight, Some(&[1; 16]), PASSED, at(0));
    let figures = memory.tell(&sight, Some(&[1; 16]), at(1));
    assert_eq!((figures.known(Figure::ClientRate), figures.known(Figure::NetworkRate)), (None, None));
    assert_eq!((figures.value(Figure::FingerprintRate), figures.value(Figure::ClearanceRate)), (1, 1));
    assert_eq!(figures.value(Figure::ClearanceNetworks), 0);
}

#[test]
fn a_clearance_is_seen_from_as_many_networks_as_show_it() {
    let memory = memory();
    for network in 0..5 {
        let sight = see(&memory, &format!("10.0.{network}.1"), "/", CHROME);
        memory.record(&sight, Some(&[1; 16]), PASSED, at(network * 100));
    }
    let told = |id: &[u8; 16]| {
        memory.tell(&see(&memory, "", "/", CHROME), Some(id), at(500)).value(Figure::ClearanceNetworks)
    };
    assert_eq!((told(&[1; 16]), told(&[2; 16])), (5, 0));
}

#[test]
fn limits_count_apart_by_limit_and_by_whom() {
    let memory = memory();
    let pace = Pace::new(Limit { count: 60, per: Duration::from_secs(60), burst: 1 });
    let address = |text: &str| Some(text.parse().unwrap());
    let all = [
        Counted::Asn(Some(1)),
        Counted::Asn(None),
        Counted::Clearance(&[0; 16]),
        Counted::Client(address("192.0.2.1")),
        Counted::Client(address("192.0.2.2")),
        Counted::Client(address("2001:db8::1")),
        Counted::Client(None),
        Counted::Everybody,
        Counted::Host("a"),
        Counted::Host("b"),
        Counted::Network(address("192.0.2.1")),
        Counted::Network(None),
    ];
    for limit in [1, 2, u64::MAX] {
        for counted in all {
            assert_eq!(memory.peek(&pace, limit, counted, at(0)), Ok(()), "{limit} {counted:?}");
            assert_eq!(memory.take(&pace, limit, counted, at(0)), Ok(()));
            assert_eq!(memory.peek(&pace, limit, counted, at(0)), Err(Duration::from_secs(1)));
            assert_eq!(memory.take(&pace, limit, counted, at(0)), Err(Duration::from_secs(1)));
        }
    }
    assert!(memory.take(&pace, 1, Counted::Network(address("192.0.2.77")), at(0)).is_err(), "one network");
    assert!(memory.take(&pace, 1, Counted::Client(address("2001:db8::2")), at(0)).is_err(), "one /64");
}

#[test]
fn threads_share_one_budget() {
    let memory = memory();
    let pace = Pace::new(Limit { count: 60, per: Duration::from_secs(60), burst: 100 });
    let calls = || (0..100).filter(|_| memory.take(&pace, 1, Counted::Everybody, at(0)).is_ok()).count();
    let passed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(calls)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(passed, 100);
}

#[test]
fn a_million_clients_take_no_more_than_was_said() {
    let memory = Memory::new(4 << 20, &[7; 16]);
    assert!(memory.max_bytes() <= 4 << 20 && memory.max_bytes() > 3 << 20);
    let before = memory.bytes();
    for n in 0..1_000_000_u32 {
        let sight = Sight {
            who: Subject::new(3, &n.to_be_bytes()),
            client: Some(u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            network: Some(u64::from(n / 3).wrapping_mul(0xbf58_476d_1ce4_e5b9)),
            asn: None,
            fingerprint: u64::from(n).wrapping_mul(0x94d0_49bb_1331_11eb),
            site: 1,
            agent: n.into(),
            shape: 1,
            target: n.into(),
            what: sight::What::Document,
            number: None,
        };
        memory.record(&sight, None, PASSED, at(u64::from(n)));
    }
    assert!(before < memory.bytes() && memory.bytes() <= memory.max_bytes());
}

#[test]
fn no_moment_breaks_the_arithmetic() {
    let memory = memory();
    let sight = see(&memory, "192.0.2.1", "/page/9", CHROME);
    for ms in [0, 1, u64::MAX, 0, u64::MAX / 2, 1_800_000_000_000] {
        let now = Timestamp::from_millis(ms);
        memory.record(
            &sight,
            Some(&[1; 16]),
            Deed { fate: Fate::Denied, probe: Some(Probe::Never), trap: false },
            now,
        );
        memory.answered(&sight, now);
        let _ = memory.tell(&sight, Some(&[1; 16]), now);
    }
}
