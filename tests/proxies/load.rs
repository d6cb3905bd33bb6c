//! Visitors who keep coming while something happens to the gates: none may get past them, and what failed is told.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::client::{Ask, Connection, Reply};
use crate::site::Site;

/// Visitors at once, each with a connection of its own.
const VISITORS: usize = 8;

/// What visitors met.
#[derive(Debug, Default)]
pub(crate) struct Met {
    /// How many answers were right: an allow that the app says it saw, a refusal for what the policy refuses.
    pub(crate) right: usize,
    /// How many reached the app.
    pub(crate) allowed: usize,
    /// The statuses of all others, and how often each came.
    pub(crate) failed: BTreeMap<u16, usize>,
}

/// Has visitors come while `happens` runs, and tells what they met. An answer that lets somebody through without a verdict, or
/// in spite of one, ends the test.
pub(crate) fn during(site: &mut Site, happens: impl FnOnce(&mut Site, &Progress)) -> Met {
    let (door, before) = (site.door(), site.app.reached());
    let progress = Progress::default();
    let met = thread::scope(|scope| {
        let visitors: Vec<_> = (0..VISITORS).map(|_| scope.spawn(|| visit(door, &progress))).collect();
        // Whatever happens, visitors must go home.
        let end = End(&progress);
        progress.wait_for(100);
        happens(site, &progress);
        progress.wait_for(100);
        drop(end);
        visitors
            .into_iter()
            .map(|visitor| visitor.join().expect("no visitor met what must not be"))
            .fold(Met::default(), Met::and)
    });
    assert_eq!(site.app.reached() - before, met.allowed, "nobody else reached the app");
    met
}

/// How far the visitors are.
#[derive(Default)]
pub(crate) struct Progress {
    answers: AtomicUsize,
    over: AtomicBool,
}

impl Progress {
    /// Waits until so many more answers have come.
    pub(crate) fn wait_for(&self, more: usize) {
        let enough = self.answers.load(Ordering::Relaxed) + more;
        while self.answers.load(Ordering::Relaxed) < enough && !self.over.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }
}

struct End<'p>(&'p Progress);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

impl Met {
    fn and(mut self, other: Self) -> Self {
        self.right += other.right;
        self.allowed += other.allowed;
        for (status, count) in other.failed {
            *self.failed.entry(status).or_default() += count;
        }
        self
    }

    fn note(&mut self, target: &str, reply: &Reply) {
        match (target, reply.status) {
            ("/ok", 200) => {
                assert_eq!(reply.seen().all("x-tollgate-verdict"), ["allow"], "an allow without a verdict");
                self.right += 1;
                self.allowed += 1;
            }
            ("/deny" | "/chal", 403) => self.right += 1,
            (_, 200) => panic!("{target} was let through: {reply:?}"),
            (_, status) => *self.failed.entry(status).or_default() += 1,
        }
    }
}

fn visit(door: SocketAddr, progress: &Progress) -> Met {
    let mut met = Met::default();
    let mut connection = Connection::open(door);
    for target in ["/ok", "/deny", "/ok", "/chal"].into_iter().cycle() {
        if progress.over.load(Ordering::Relaxed) {
            break;
        }
        let reply = connection.send(&Ask::get(target));
        if reply.header("connection") == Some("close") {
            connection = Connection::open(door);
        }
        met.note(target, &reply);
        progress.answers.fetch_add(1, Ordering::Relaxed);
    }
    met
}
