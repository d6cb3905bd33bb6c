//! File descriptors: each connection is one, and many systems give a process no more than 1,024 unless it asks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What everything beside the connections of proxies needs: standard streams, logs, files that are read, name servers, the admin
/// listener.
const OTHERS: usize = 32;
/// What a worker needs: its sockets, and what its runtime waits on.
const EACH_WORKER: usize = 8;

/// Asks for as many as this process may have, and tells how many connections of proxies they are good for.
pub(super) fn for_connections(workers: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // One that is refused stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let current =
        getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    current.saturating_sub(OTHERS + EACH_WORKER * workers)
}
