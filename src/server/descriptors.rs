//! File descriptors: each connection is one, and many systems give a process no more than 1,024 unless it asks. They are divided, so
//! that nobody takes what somebody else needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::places::{MAX_ADMIN, MAX_CONNECTIONS};
use crate::lookup::MAX_OPEN;

/// What everything that has no share below needs: standard streams, logs, files that are read, a server that replicas share.
const OTHERS: usize = 32;
/// What a worker needs: its sockets, and what its runtime waits on.
const EACH_WORKER: usize = 8;
/// What a question to name servers needs: two records, each asked of two servers at once.
const EACH_QUESTION: usize = 4;
/// The share of the admin listener, and that of questions: one of so many parts, up to their caps.
const PARTS: usize = 8;
/// The fewest connections of the admin listener: an operator, a scraper and a probe.
const MIN_ADMIN: usize = 4;

/// How much of each there may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Shares {
    /// Connections of proxies.
    pub(super) proxies: usize,
    /// Connections of the admin listener.
    pub(super) admin: usize,
    /// Open questions to name servers.
    pub(super) questions: usize,
}

impl Shares {
    /// Asks for as many descriptors as this process may have, and divides them.
    pub(super) fn take(workers: usize) -> Self {
        let limit = getrlimit(Resource::Nofile);
        // One that is refused stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        let current = getrlimit(Resource::Nofile).current;
        Self::of(current.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)), workers)
    }

    fn of(limit: usize, workers: usize) -> Self {
        let rest = limit.saturating_sub(OTHERS + EACH_WORKER * workers);
        let admin = (rest / PARTS).clamp(MIN_ADMIN, MAX_ADMIN);
        let questions = (rest / PARTS / EACH_QUESTION).clamp(1, MAX_OPEN);
        let proxies = rest.saturating_sub(admin + EACH_QUESTION * questions).min(MAX_CONNECTIONS);
        Self { proxies, admin, questions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_share_and_together_they_are_no_more_than_there_is() {
        for (limit, workers, proxies, admin, questions) in [
            (64, 1, 16, 4, 1),
            (256, 2, 158, 26, 6),
            (1024, 4, 720, 120, 30),
            (65_536, 4, MAX_CONNECTIONS, MAX_ADMIN, MAX_OPEN),
            (usize::MAX, 64, MAX_CONNECTIONS, MAX_ADMIN, MAX_OPEN),
        ] {
            let shares = Shares::of(limit, workers);
            assert_eq!(shares, Shares { proxies, admin, questions }, "of {limit}");
            let all = OTHERS + EACH_WORKER * workers + proxies + admin + EACH_QUESTION * questions;
            assert!(all <= limit, "{all} of {limit}");
        }
        // Too few for anything: one of each is tried.
        assert_eq!(Shares::of(10, 1), Shares { proxies: 0, admin: MIN_ADMIN, questions: 1 });
    }
}
