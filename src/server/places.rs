//! How many connections there may be: in all, of one peer, and of strangers. What comes in excess is closed at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::gauge::Gauge;

use crate::request::Peer;

/// The most connections of proxies, over all workers and both listeners: what a hundred of them with a hundred threads keep
/// open. An idle one takes some 10 KiB.
pub(super) const MAX_CONNECTIONS: usize = 16_384;
/// The same of the admin listener: an operator, a scraper and a probe need a few, and must never wait for proxies.
pub(super) const MAX_ADMIN: usize = 256;
/// The most connections of all peers that may not ask. They get an answer that says so, and health checks come from such; but what
/// proxies need is not theirs to take.
const MAX_STRANGERS: usize = 64;

/// The connections that there are.
#[derive(Debug)]
pub(super) struct Places {
    all: usize,
    taken: Mutex<Taken>,
    open: Gauge,
}

#[derive(Debug, Default)]
struct Taken {
    strangers: usize,
    all: usize,
    of: HashMap<Peer, usize>,
}

/// A connection's place, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    peer: Peer,
    stranger: bool,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Full {
    /// All are taken.
    All,
    /// This peer has its share, three quarters: one that leaks connections does not shut out the others.
    Peer,
    /// Strangers have theirs, or this one its quarter of that.
    Strangers,
}

impl Full {
    /// The word in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Peer => "peer",
            Self::Strangers => "strangers",
        }
    }
}

impl Places {
    /// So many places, at least one. `open` tells how many are taken.
    pub(super) fn new(all: usize, open: Gauge) -> Arc<Self> {
        Arc::new(Self { all: all.max(1), taken: Mutex::default(), open })
    }

    /// Takes a place for a connection of this peer.
    pub(super) fn take(self: &Arc<Self>, peer: Peer, stranger: bool) -> Result<Place, Full> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = taken.of.get(&peer).copied().unwrap_or(0);
        let strangers = MAX_STRANGERS.min(self.all.div_ceil(4));
        if taken.all >= self.all {
            return Err(Full::All);
        } else if stranger && (taken.strangers >= strangers || of_peer >= strangers.div_ceil(4)) {
            return Err(Full::Strangers);
        } else if of_peer >= (self.all * 3).div_ceil(4) {
            return Err(Full::Peer);
        }
        taken.all += 1;
        taken.strangers += usize::from(stranger);
        *taken.of.entry(peer).or_insert(0) += 1;
        self.open.inc();
        Ok(Place { places: self.clone(), peer, stranger })
    }
}

impl Place {
    /// Whether it is a stranger's.
    pub(super) fn is_strangers(&self) -> bool {
        self.stranger
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        taken.strangers -= usize::from(self.stranger);
        if let Entry::Occupied(mut of) = taken.of.entry(self.peer) {
            *of.get_mut() -= 1;
            if *of.get() == 0 {
                of.remove();
            }
        }
        self.places.open.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> Peer {
        Peer::Address([10, 0, 0, number].into())
    }

    #[test]
    fn no_peer_takes_all_and_all_is_all() {
        let open = Gauge::default();
        let places = Places::new(100, open.clone());
        let mut held: Vec<_> = (0..75).map(|_| places.take(peer(1), false).unwrap()).collect();
        assert_eq!(places.take(peer(1), false).unwrap_err(), Full::Peer);
        held.extend((0..25).map(|number| places.take(peer(2 + number), false).unwrap()));
        assert_eq!(places.take(peer(99), false).unwrap_err(), Full::All);
        assert_eq!(open.get(), 100);
        held.remove(0);
        held.push(places.take(Peer::Unix, false).unwrap());
        assert_eq!(places.take(Peer::Unix, false).unwrap_err(), Full::All);
        held.clear();
        assert_eq!(open.get(), 0);
        assert!(places.taken.lock().unwrap().of.is_empty(), "nothing is kept of peers that are gone");
    }

    #[test]
    fn strangers_share_a_few() {
        let places = Places::new(MAX_CONNECTIONS, Gauge::default());
        let mut held: Vec<_> = (0..16).map(|_| places.take(peer(1), true).unwrap()).collect();
        assert_eq!(places.take(peer(1), true).unwrap_err(), Full::Strangers);
        held.extend((0..48).map(|number| places.take(peer(2 + number), true).unwrap()));
        assert_eq!(places.take(peer(99), true).unwrap_err(), Full::Strangers);
        held.push(places.take(peer(1), false).unwrap());
        held.retain(|place| !place.is_strangers());
        assert!(places.take(peer(1), true).is_ok());
    }

    #[test]
    fn a_few_places_are_shared_too() {
        let places = Places::new(0, Gauge::default());
        let place = places.take(peer(1), true).unwrap();
        assert_eq!(places.take(peer(2), false).unwrap_err(), Full::All);
        drop(place);
        assert!(places.take(peer(2), false).is_ok());
    }
}
