//! The gate under test, behind its real listeners: the server of the program, with a clock that stands still.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;
use tollgate::clock::{Clock, Timestamp};
use tollgate::config::{self, Loaded, Sources};
use tollgate::gate::{Gate, Live, State};
use tollgate::server::Server;

use crate::forge::ring;

/// What the clock says, in Unix seconds.
pub(crate) const NOW: u64 = 1_800_000_000;

const NETWORKS: [&str; 4] = ["127.0.0.1/32", "::1/128", "10.0.0.0/8", "fd00::/8"];

/// A running server.
pub(crate) struct Stand {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    live: Live,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stand {
    pub(crate) fn start() -> Self {
        let clock = Clock::manual(Timestamp::from_seconds(NOW));
        let server = Server::bind(load(), sources(), clock).expect("loopback has free ports");
        let at = |address: &Option<String>| {
            address.as_deref().and_then(|a| a.parse().ok()).expect("the listener is on a TCP address")
        };
        let (grpc, http) = (at(&server.addresses().grpc), at(&server.addresses().http));
        let live = server.live();
        let (stop, stopped) = oneshot::channel::<()>();
        let run =
            move || server.run(async { drop(stopped.await) }).expect("the server ends when it is told to");
        Self { http, grpc, live, stop: Some(stop), thread: Some(thread::spawn(run)) }
    }

    /// Puts a gate in place that has seen nothing yet.
    pub(crate) fn fresh(&self) -> Arc<Gate> {
        let Loaded { settings, policies, .. } = load();
        let state = Arc::new(State::new(&settings.gate, &[9; 16], 1));
        let gate = Arc::new(Gate::new(settings.gate, ring(), policies, state).expect("a gate can be built"));
        self.live.store(gate.clone());
        gate
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server panicked");
        }
    }
}

fn load() -> Loaded {
    config::load(&sources()).unwrap_or_else(|problems| panic!("the settings do not load: {problems}"))
}

fn sources() -> Sources {
    let policy = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/attack_fixture.yaml");
    let one = |text: &str| vec![text.to_owned()];
    let networks = || NETWORKS.map(str::to_owned).to_vec();
    Sources {
        flags: vec![
            ("listen.grpc", one("127.0.0.1:0")),
            ("listen.http", one("127.0.0.1:0")),
            ("listen.admin", one("off")),
            ("workers", one("1")),
            ("policy", one(&policy.to_string_lossy())),
            ("trust.peers", networks()),
            ("client.trusted", networks()),
            ("challenge.level", one("12")),
            ("challenge.size", one("10")),
        ],
        ..Sources::default()
    }
}
