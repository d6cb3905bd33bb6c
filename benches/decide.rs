//! What a decision costs, and what it does not depend on: how many rules there are, what an attacker makes of the agent, and how the server is
//! that replicas share.

mod browser;
mod generated;
mod stopwatch;

use std::cell::Cell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use browser::{CHROME, HEADERS};
use criterion::{Criterion, criterion_group, criterion_main};
use generated::{networks, rules};
use stopwatch::{mac, ratio};
use tollgate::clearance::{Lives, seal};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Claims, Kind, Ring, Secret, Seed, Visitor};
use tollgate::gate::{Face, Gate, Moment, Settings, State, Verdict};
use tollgate::memory::Others;
use tollgate::memory::shared::{Address, InProcess, Shared, Valkey};
use tollgate::policy::{Loader, Source};
use tollgate::request::{Parts, Request};

const NOW: u32 = 1_800_000_000;

fn ring() -> Ring {
    Ring::single(Secret::new([7; 32]))
}

fn gate(source: &Source) -> Gate {
    gate_beside(source, Others::default())
}

fn gate_beside(source: &Source, others: Others) -> Gate {
    let loader = Loader { root: ".".into(), ..Loader::default() };
    let policy = loader.load(source).unwrap_or_else(|e| panic!("{e}")).policy;
    let settings = Settings { others, ..Settings::default() };
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    Gate::new(settings, ring(), policy, state).expect("the settings are the default ones")
}

/// A moment. The visitor comes every ten seconds for five days and then again, so that behaviour tells nothing against it.
fn moment(visit: u64) -> Moment {
    Moment {
        now: Timestamp::from_seconds(u64::from(NOW) + 5 + visit % 43_200 * 10),
        seed: Seed::from_bytes(&[3; 48]),
        known: Vec::new(),
        origin: None,
        learn: true,
    }
}

fn request<'a>(agent: &'a str, target: &'a str, cookie: &'a str) -> Request<'a> {
    let lines = HEADERS.into_iter().chain([("user-agent", agent)]);
    let lines = lines.chain((!cookie.is_empty()).then_some(("cookie", cookie)));
    Request::new(Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: b"www.example.org",
        scheme: b"https",
        client: Some(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7))),
        headers: lines.map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
    })
    .expect("the request is well formed")
}

/// A cookie that pays for any challenge of the shipped policies.
fn cookie() -> String {
    let ring = ring();
    let visitor = Visitor { host: "www.example.org", agent: CHROME.as_bytes(), net: b"", ja4: b"" };
    let binding = visitor.binding(ring.signing());
    let claims = Claims { key_id: 0, kind: Kind::Work, level: 18, issued: NOW, id: [3; 16], binding };
    let sealed = seal(&ring, &claims, &Lives::default()).expect("the key is in the ring");
    format!("theme=dark; __Host-tollgate={}; session=5f2c1b0e", sealed.text)
}

/// The source of a policy with so many rules.
fn generated(count: usize) -> Source {
    Source::Text { name: format!("{count}-rules.yaml"), text: format!("bots:\n{}", rules(count)) }
}

fn shipped(name: &str) -> Source {
    Source::Embedded(name.to_owned())
}

/// Decides once and shows how often that allocated.
fn allocations(name: &str, gate: &Gate, request: Request<'_>, want: Verdict) {
    let (request, moment) = (Ok(request), moment(0));
    let mut verdict = None;
    let decide = |verdict: &mut Option<Verdict>| {
        *verdict = Some(gate.decide(Face::Grpc, None, &request, &moment).verdict)
    };
    // The first decisions fill what is made on first use: searches keep their tables, and agents that come again are remembered.
    (0..8).for_each(|_| decide(&mut verdict));
    let measured = allocation_counter::measure(|| decide(&mut verdict));
    assert_eq!(verdict, Some(want));
    println!("allocations: {name}: {}", measured.count_total);
}

fn one(c: &mut Criterion, name: &str, gate: &Gate, cookie: &str, want: Verdict) {
    allocations(name, gate, request(CHROME, "/articles/2026/a-page?from=feed", cookie), want);
    let (request, visits) = (Ok(request(CHROME, "/articles/2026/a-page?from=feed", cookie)), Cell::new(1));
    c.bench_function(name, |b| {
        b.iter(|| {
            let moment = moment(visits.replace(visits.get() + 1));
            assert_eq!(gate.decide(Face::Grpc, None, black_box(&request), &moment).verdict, want);
        })
    });
}

fn shipped_policies(c: &mut Criterion) {
    let cookie = cookie();
    one(c, "decide/quiet, browser", &gate(&shipped("quiet.yaml")), "", Verdict::Allow);
    one(c, "decide/quiet, browser with a clearance", &gate(&shipped("quiet.yaml")), &cookie, Verdict::Allow);
    one(
        c,
        "decide/strict, browser with a clearance",
        &gate(&shipped("strict.yaml")),
        &cookie,
        Verdict::Allow,
    );
    one(
        c,
        "decide/botPolicies, browser with a clearance",
        &gate(&shipped("botPolicies.yaml")),
        &cookie,
        Verdict::Allow,
    );
    one(c, "decide/strict, browser without one", &gate(&shipped("strict.yaml")), "", Verdict::Challenge);
}

fn many_rules(c: &mut Criterion) {
    for count in [10, 100, 1_000, 10_000] {
        one(c, &format!("decide/{count} rules"), &gate(&generated(count)), "", Verdict::Allow);
    }
}

/// Agents that never repeat: names of robots, lists of names, half names, long ones.
fn hostile_agents() -> Vec<String> {
    let names =
        ["Googlebot", "GPTBot", "ClaudeBot", "python-requests", "curl", "Scrapy", "bingbot", "Bytespider"];
    (0..4_096_usize)
        .map(|n| match n % 4 {
            0 => format!(
                "Mozilla/5.0 (compatible; {}/{n}.{}; +http://example.com/{n})",
                names[n / 4 % 8],
                n % 7
            ),
            1 => format!("{CHROME} {}/{n}", names[n / 4 % 8]),
            2 => CHROME.replace("153.0", &format!("{}.{n}", 90 + n % 60)),
            _ => format!("Robot{n}/ crawler-{n} {} spider-{}", names[n / 4 % 8], n * 7),
        })
        .collect()
}

fn rotating_agents(c: &mut Criterion) {
    let agents = hostile_agents();
    let requests: Vec<_> = agents.iter().map(|agent| Ok(request(agent, "/articles", ""))).collect();
    for (name, source) in [("quiet", shipped("quiet.yaml")), ("10000 rules", generated(10_000))] {
        let (gate, at) = (gate(&source), Cell::new(0));
        c.bench_function(&format!("decide/{name}, rotating agents"), |b| {
            b.iter(|| {
                at.set(at.get() + 1);
                let asked = &requests[at.get() % requests.len()];
                black_box(gate.decide(Face::Grpc, None, black_box(asked), &moment(at.get() as u64)).verdict)
            });
        });
    }
}

fn ratios(_: &mut Criterion) {
    let visits = Cell::new(0);
    let later = || moment(visits.replace(visits.get() + 1));
    let browser = Ok(request(CHROME, "/articles/2026/a-page", ""));
    let agents = hostile_agents();
    let hostile: Vec<_> =
        agents.iter().map(|agent| Ok(request(agent, "/articles/2026/a-page", ""))).collect();
    let at = Cell::new(0);
    let one = |gate: &Gate| {
        black_box(gate.decide(Face::Grpc, None, black_box(&browser), &later()));
    };
    let next = |gate: &Gate| {
        at.set((at.get() + 1) % hostile.len());
        black_box(gate.decide(Face::Grpc, None, black_box(&hostile[at.get()]), &later()));
    };
    let (few, many, quiet) = (gate(&generated(10)), gate(&generated(10_000)), gate(&shipped("quiet.yaml")));
    ratio("10,000 rules to 10", || one(&few), || one(&many));
    ratio("10,000 rules, rotating agents to one", || one(&many), || next(&many));
    ratio("quiet, rotating agents to one", || one(&quiet), || next(&quiet));

    let cookie = cookie();
    let cleared = Ok(request(CHROME, "/articles/2026/a-page", &cookie));
    let stock = gate(&shipped("botPolicies.yaml"));
    ratio("the stock policy with a clearance, in MACs", mac(), || {
        black_box(stock.decide(Face::Grpc, None, black_box(&cleared), &later()));
    });

    let large = large();
    let load = |source: &Source| drop(black_box(Loader::default().load(source).expect("it is sound")));
    ratio(
        "100,000 networks and 2,000 patterns to the default policy",
        || load(&shipped("quiet.yaml")),
        || load(&large),
    );
}

/// Tells others of a gate's memory, as the process does it, but for the rest that it gives a server which fails.
fn tell(gate: Arc<Gate>, mut others: impl Shared + Send + 'static, stop: Arc<AtomicBool>) -> JoinHandle<()> {
    let turns = async move {
        let (memory, now) = (gate.state().memory(), Timestamp::from_seconds(NOW.into()));
        let naming = gate.naming().next().expect("a key signs");
        while !stop.load(Ordering::Relaxed) {
            let asks = memory.asks(naming, 2048, now);
            match others.exchange(&asks, now).await {
                Ok(replies) => {
                    asks.iter().zip(replies).for_each(|(ask, reply)| memory.settle(ask, reply, now))
                }
                Err(_) => asks.iter().for_each(|ask| memory.take_back(ask)),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    thread::spawn(move || runtime.block_on(turns))
}

/// A decision of a gate that tells others, who are well or hang, to one of a gate that tells nobody.
fn shared(_: &mut Criterion) {
    let cookie = cookie();
    let cleared = Ok(request(CHROME, "/articles/2026/a-page", &cookie));
    let visits = Cell::new(0);
    let one = |gate: &Gate| {
        let moment = moment(visits.replace(visits.get() + 1));
        let decision = gate.decide(Face::Grpc, None, black_box(&cleared), &moment);
        assert_eq!(black_box(decision).verdict, Verdict::Allow);
    };
    let alone = gate(&shipped("strict.yaml"));
    let telling = || {
        let gate = Arc::new(gate_beside(&shipped("strict.yaml"), Others { file: false, replicas: true }));
        allocations(
            "told to others",
            &gate,
            request(CHROME, "/articles/2026/a-page", &cookie),
            Verdict::Allow,
        );
        gate
    };
    let compare = |name: &str, gate: &Arc<Gate>, teller: JoinHandle<()>, stop: &AtomicBool| {
        ratio(name, || one(&alone), || one(gate));
        stop.store(true, Ordering::Relaxed);
        teller.join().expect("it does not panic");
    };

    let (gate, stop) = (telling(), Arc::new(AtomicBool::new(false)));
    let teller = tell(gate.clone(), InProcess::default(), stop.clone());
    compare("told to others who are well, to nobody", &gate, teller, &stop);

    // It takes connections and whatever comes over them, and never says a word.
    let folder = tempfile::tempdir().expect("a folder for a socket");
    let socket = folder.path().join("hung");
    let _door = UnixListener::bind(&socket).expect("the folder is ours");
    let address = Address::parse(&format!("unix:{}", socket.display())).expect("it is an address");
    let server = Valkey::new(address, "bench:".to_owned()).expect("it needs no certificates");
    let (gate, stop) = (telling(), Arc::new(AtomicBool::new(false)));
    let teller = tell(gate.clone(), server, stop.clone());
    compare("told to a server that hangs, to nobody", &gate, teller, &stop);
}

/// So many rules about agents, a quarter of them with two names.
fn patterns(count: usize) -> String {
    let mut text = String::new();
    for n in 0..count {
        let pattern =
            if n % 4 == 0 { format!("(?i:crawler-{n}|spider-{n})") } else { format!("Robot{n}/[0-9]") };
        writeln!(text, "- {{name: a{n}, action: DENY, user_agent_regex: '{pattern}'}}")
            .expect("a string takes it");
    }
    text
}

/// A policy with 100,000 networks and 2,000 patterns of agents.
fn large() -> Source {
    let text = format!("bots:\n{}{}", patterns(2_000), networks(100_000));
    Source::Text { name: "large.yaml".to_owned(), text }
}

fn load(c: &mut Criterion) {
    let source = large();
    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    group.bench_function("100000 networks and 2000 patterns", |b| {
        b.iter(|| Loader::default().load(&source).expect("it is sound"));
    });
    group.bench_function("quiet", |b| {
        b.iter(|| Loader::default().load(&shipped("quiet.yaml")).expect("it is sound"))
    });
}

criterion_group!(benches, shipped_policies, many_rules, rotating_agents, ratios, shared, load);
criterion_main!(benches);
