//! What becomes of what cannot be told, in this process.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::*;
use crate::memory::{Counted, Limit, Pace};
use crate::server::tests::bound;

const KEYS: &str = "keys: [{id: 0, secret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, state: sign}]\n";

/// Whoever a process of that folder tells, and its gate.
fn telling(folder: &Path, memory: &str) -> (Exchange, Live) {
    let keys = folder.join("keys.yaml");
    fs::write(&keys, KEYS).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let (server, _) = bound(folder, &format!("keys: {{file: keys.yaml}}\nmemory: {{{memory}}}\n"));
    (server.exchange, server.live)
}

#[test]
fn what_was_not_sent_is_told_again_and_what_may_have_been_heard_is_not() {
    for listens in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _silent = listens.then(|| UnixListener::bind(&socket).unwrap());
        let (mut exchange, live) = telling(folder.path(), &format!("shared: 'unix:{}'", socket.display()));
        let gate = live.load_full();
        let (memory, mac) = (gate.state().memory(), gate.naming().next().unwrap());
        let pace = Pace::new(Limit { count: 60, per: Duration::from_secs(60), burst: 30 });
        let now = Clock::System.now();
        let calls = |count| {
            (0..count).for_each(|_| memory.take(&pace, 1, Counted::Everybody, now).unwrap());
        };
        calls(20);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        assert_eq!(runtime.unwrap().block_on(exchange.turn()), 1);
        calls(1);
        let asks = memory.asks(mac, 9, now);
        let [Ask { about: About::Calls(told), .. }] = &asks[..] else { panic!("{asks:?}") };
        assert_eq!(told.cost, if listens { 1_000_000 } else { 21_000_000 }, "listens: {listens}");
    }
}

#[test]
fn where_the_task_dies_that_shows_for_each_that_it_told() {
    for (shared, file) in [(true, false), (false, true)] {
        let folder = tempfile::tempdir().unwrap();
        let memory = if shared {
            "shared: 'unix:/nowhere/socket'".to_owned()
        } else {
            format!("file: '{}'", folder.path().join("kept").display())
        };
        let (exchange, live) = telling(folder.path(), &memory);
        let gate = live.load_full();
        let metrics = &gate.state().metrics;
        metrics.shared_degraded.set(0);
        let died = std::thread::spawn(move || {
            let _exchange = exchange;
            panic!("as a bug would have it");
        });
        assert!(died.join().is_err());
        let shown = (metrics.shared_degraded.get(), metrics.file_degraded.get(), metrics.panics.get());
        assert_eq!(shown, (shared.into(), file.into(), 1));
    }
}
