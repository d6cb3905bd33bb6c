//! The scripts on the server reckon as replicas in one process do.

use std::time::Duration;

use tokio::runtime::Runtime;
use tollgate::clock::{Clock, Timestamp};
use tollgate::crypto::{Ring, Secret};
use tollgate::memory::shared::{Address, InProcess, Reply, Shared, Valkey};
use tollgate::memory::{Counted, DEFAULT_BYTES, Deed, Fate, Limit, Memory, Others, Pace};
use tollgate::request::{Parts, Request};

use crate::replica::{folder, until};
use crate::server::Server;

/// One replica, and what is done there before it tells of it.
struct Teller {
    memory: Memory,
    pace: Pace,
}

impl Teller {
    fn new(secret: u8) -> Self {
        let memory =
            Memory::new(DEFAULT_BYTES, &[secret; 16]).exchanging(Others { file: false, replicas: true });
        Self { memory, pace: Pace::new(Limit { count: 6, per: Duration::from_secs(60), burst: 6 }) }
    }

    /// So many calls and misdeeds, and perhaps an answer that makes good.
    fn does(&self, calls: usize, denied: usize, answered: bool, now: Timestamp) {
        let parts = Parts {
            method: b"GET",
            target: b"/",
            host: b"example.org",
            scheme: b"https",
            client: "192.0.2.1".parse().ok(),
            headers: [(&b"user-agent"[..], &b"a"[..])].into_iter().collect(),
        };
        let sight = self.memory.sight(&Request::new(parts).unwrap(), None);
        for _ in 0..denied {
            self.memory.record(&sight, None, Deed { fate: Fate::Denied, probe: None, trap: false }, now);
        }
        if answered {
            self.memory.answered(&sight, now);
        }
        for _ in 0..calls {
            // Too many are refused, and not told of.
            let _ = self.memory.take(&self.pace, 1, Counted::Everybody, now);
        }
    }
}

/// How far apart two replies are: in seconds, or in points; more than that where they are of two kinds, or of two minds.
fn apart(one: Reply, other: Reply) -> f64 {
    match (one, other) {
        (Reply::Calls(a), Reply::Calls(b)) => a.abs_diff(b) as f64 / 1e6,
        (Reply::Misdeeds(a), Reply::Misdeeds(b)) if a.bad == b.bad => f64::from((a.points - b.points).abs()),
        _ => f64::INFINITY,
    }
}

#[test]
fn a_server_reckons_as_replicas_in_one_process_do() {
    let folder = folder();
    let server = Server::start(folder.path(), "server", &[]);
    let mut valkey = Valkey::new(Address::parse(&server.address()).unwrap(), "test:".to_owned()).unwrap();
    let (mut process, runtime) = (InProcess::default(), Runtime::new().unwrap());
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let tellers = [Teller::new(1), Teller::new(2)];
    assert_eq!(runtime.block_on(valkey.exchange(&[], Clock::System.now())), Ok(Vec::new()));
    let mut exchanged = 0;
    for (teller, calls, denied, answered) in [
        (0, 1, 1, false),
        (1, 2, 2, false),
        (0, 9, 9, false),
        (1, 1, 3, true),
        (0, 0, 0, true),
        (1, 6, 60, false),
        (0, 1, 0, true),
    ] {
        let (teller, now) = (&tellers[teller], Clock::System.now());
        teller.does(calls, denied, answered, now);
        let asks = teller.memory.asks(&mac, 100, now);
        let there = runtime.block_on(valkey.exchange(&asks, now)).unwrap();
        let here = runtime.block_on(process.exchange(&asks, now)).unwrap();
        for ((ask, there), here) in asks.iter().zip(there).zip(here) {
            // The two look at their clocks one after the other.
            assert!(apart(there, here) < 0.5, "{ask:?}: {there:?} there, {here:?} here");
            teller.memory.settle(ask, there, Clock::System.now());
            exchanged += 1;
        }
    }
    assert!(exchanged >= 10, "{exchanged}");
    assert_eq!(process.names(), 2);
    until("two keys, when the one that asked for nothing is gone", || server.keys().len() == 2);
    let keys = server.keys();
    assert!(keys.iter().all(|key| server.ask::<i64>(&["PTTL", key]) > 0));
}

/// Points fade on the server as they do here, a bad name stays one until few are left, and what has faded is gone.
#[test]
fn points_fade_on_the_server() {
    let folder = folder();
    let server = Server::start(folder.path(), "server", &[]);
    let mut valkey = Valkey::new(Address::parse(&server.address()).unwrap(), "test:".to_owned()).unwrap();
    let runtime = Runtime::new().unwrap();
    let mac = Ring::single(Secret::new([7; 32])).signing().memory.clone();
    let now = Clock::System.now();
    let asked = |valkey: &mut Valkey, secret: u8| {
        let teller = Teller::new(secret);
        teller.does(0, 1, false, now);
        let asks = teller.memory.asks(&mac, 100, now);
        assert_eq!(asks.len(), 1);
        runtime.block_on(valkey.exchange(&asks, now)).unwrap()[0]
    };
    let teller = Teller::new(1);
    teller.does(0, 12, false, now);
    let asks = teller.memory.asks(&mac, 100, now);
    runtime.block_on(valkey.exchange(&asks, now)).unwrap();
    let key = &server.keys()[0];
    // Two denials weigh 4; what stood there was written so many half hours ago.
    for (halves, points, bad) in
        [(0, 26.0, true), (1, 14.0, true), (2, 8.0, true), (3, 5.0, false), (5, 2.75, false)]
    {
        let written = now.millis() - halves * 1_800_000;
        server.ask::<()>(&["SET", key, &format!("24.000 {written} 1"), "PX", "60000"]);
        let Reply::Misdeeds(score) = asked(&mut valkey, 2 + u8::try_from(halves).unwrap()) else {
            panic!("a reply of another kind")
        };
        assert!((f64::from(score.points) - points).abs() < 0.05 && score.bad == bad, "{halves}: {score:?}");
    }
    // Until half a point is left: 24 points are that after five and a half half hours.
    let left: i64 = server.ask(&["PTTL", key]);
    assert!(left > 0 && left < 3 * 1_800_000, "{left} ms");
}
