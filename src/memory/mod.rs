//! Bounded per-client state: who does how much, and how.
//! Decides nothing; the gate asks, and says what follows. Time is an argument, and nothing here expires by a clock of its own.
//!
//! Cells stand in tables of fixed size by keyed hashes: no address, agent or path is kept, but for the addresses of those whom
//! others are to hear of, until they did some 250 ms later. A request is taken in once, when
//! it is known what became of it ([`Memory::record`]); what was there before is told on demand ([`Memory::tell`]).

mod alarm;
mod arrival;
mod clearance;
mod client;
mod exchange;
pub mod file;
mod fingerprint;
mod key;
mod network;
mod outbox;
mod pace;
mod reputation;
mod rhythm;
pub mod shared;
mod sight;
mod site;
mod sketch;
mod table;
mod window;

use std::net::IpAddr;
use std::time::Duration;

pub use alarm::{Alarm, Marks};
use arrival::Arrival;
use clearance::Clearance;
use client::Client;
use fingerprint::Fingerprint;
use key::{Keys, Kind};
use network::{Network, Told};
use outbox::{Note, Outbox, Subject};
pub use pace::{Limit, Pace};
pub use sight::Sight;
use site::Site;
use table::Table;

use crate::behaviour::{Figure, Figures, Probe};
use crate::clock::Timestamp;
use crate::request::{Prefix, Request};

/// The least that memory may take, in bytes.
pub const MIN_BYTES: usize = 1 << 20;
/// What memory may take unless it is told otherwise, in bytes.
pub const DEFAULT_BYTES: usize = 64 << 20;

/// What became of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It was challenged.
    Challenged,
    /// A clearance let it through.
    Cleared,
    /// It was denied.
    Denied,
    /// It was limited.
    Limited,
    /// It was let through without one.
    Passed,
}

/// What memory takes note of beside the request itself.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    /// What became of it.
    pub fate: Fate,
    /// Whether it asked for what scanners ask for.
    pub probe: Option<Probe>,
    /// Whether it asked for what only robots find.
    pub trap: bool,
}

/// Who remembers beside this process.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Others {
    /// A file of this process's own.
    pub file: bool,
    /// Other replicas.
    pub replicas: bool,
}

/// Whose calls a limit counts together. Where there is no evidence of one, all of those share a cell.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// An autonomous system.
    Asn(Option<u32>),
    /// A clearance, by its id.
    Clearance(&'a [u8; 16]),
    /// An address; of IPv6 its /64.
    Client(Option<IpAddr>),
    /// All alike.
    Everybody,
    /// A host.
    Host(&'a str),
    /// A /24 or /48.
    Network(Option<IpAddr>),
}

/// Everything that is remembered.
#[derive(Debug)]
pub struct Memory {
    keys: Keys,
    clients: Table<Client>,
    networks: Table<Network>,
    asns: Table<Network>,
    fingerprints: Table<Fingerprint>,
    clearances: Table<Clearance>,
    sites: Table<Site>,
    arrivals: Table<Arrival>,
    /// What is to be told to others; none where there are no others.
    outbox: Option<Outbox>,
    /// A 64th of the bytes.
    share: usize,
}

impl Memory {
    /// Empty memory that never takes more than `max_bytes`, but [`MIN_BYTES`] at least. `secret` keys the hashes, and
    /// should be fresh for every process. Memory is taken as visitors come.
    pub fn new(max_bytes: usize, secret: &[u8; 16]) -> Self {
        let share = max_bytes.max(MIN_BYTES) / 64;
        Self {
            keys: Keys::new(secret),
            clients: Table::new(34 * share),
            networks: Table::new(9 * share),
            asns: Table::new(share),
            fingerprints: Table::new(10 * share),
            clearances: Table::new(5 * share),
            sites: Table::new(share),
            arrivals: Table::new(4 * share),
            outbox: None,
            share,
        }
    }

    /// The most bytes it takes.
    pub fn max_bytes(&self) -> usize {
        let Self { clients, networks, asns, fingerprints, clearances, sites, arrivals, .. } = self;
        clients.max_bytes()
            + networks.max_bytes()
            + asns.max_bytes()
            + fingerprints.max_bytes()
            + clearances.max_bytes()
            + sites.max_bytes()
            + arrivals.max_bytes()
            + self.outbox.as_ref().map_or(0, Outbox::bytes)
    }

    /// The bytes it has taken so far.
    pub fn bytes(&self) -> usize {
        let Self { clients, networks, asns, fingerprints, clearances, sites, arrivals, .. } = self;
        clients.bytes()
            + networks.bytes()
            + asns.bytes()
            + fingerprints.bytes()
            + clearances.bytes()
            + sites.bytes()
            + arrivals.bytes()
            + self.outbox.as_ref().map_or(0, Outbox::bytes)
    }

    /// What there is to take in of a request. `asn` is the number of the visitor's network, if it is known.
    pub fn sight(&self, request: &Request<'_>, asn: Option<u32>) -> Sight {
        Sight::of(&self.keys, request, asn)
    }

    /// Takes in a request. `clearance` is the id of the clearance that it showed, if it counts.
    pub fn record(&self, sight: &Sight, clearance: Option<&[u8; 16]>, deed: Deed, now: Timestamp) {
        if let (Some(client), Some(network)) = (sight.client, sight.network) {
            self.clients.with(client, now, |cell| {
                cell.record(sight, deed, now);
                self.note(client, sight, cell, now);
            });
            self.networks.with(network, now, |cell| cell.record(client, deed.fate, now));
            if let Some(asn) = sight.asn {
                self.asns.with(asn, now, |cell| cell.record(network, deed.fate, now));
            }
        }
        // Many visitors share these, and so may all workers: who finds one in another's hand leaves it be.
        self.fingerprints.with_free(sight.fingerprint, now, |cell| cell.record(sight, now));
        self.sites.with_free(sight.site, now, |cell| cell.record(sight.what, now));
        if let Some(id) = clearance {
            let key = self.keys.of(Kind::Clearance, id);
            self.clearances.with(key, now, |cell| cell.record(sight.network, now));
        }
    }

    /// Takes note of a link that only robots follow, and of whom it was handed on by, if it was: the word of [`Memory::reader`].
    pub fn trapped(&self, sight: &Sight, reader: Option<u64>, now: Timestamp) {
        sight.client.iter().for_each(|key| {
            self.clients.with(*key, now, |cell| {
                cell.trapped(now);
                self.note(*key, sight, cell, now);
            });
        });
        // One that is not remembered, or of another process, is left out.
        if let Some(reader) = reader.filter(|reader| sight.client.is_some_and(|client| client != *reader)) {
            self.clients.change(reader, |cell| cell.trapped(now));
        }
    }

    /// A word for a client that tells nobody else who it is.
    pub fn reader(&self, client: IpAddr) -> u64 {
        self.keys.of(Kind::Client, &sight::subnet(client))
    }

    /// Takes note of an answer to a challenge that was accepted.
    pub fn answered(&self, sight: &Sight, now: Timestamp) {
        sight.client.iter().for_each(|key| {
            self.clients.with(*key, now, |cell| {
                cell.answered(now);
                self.note(*key, sight, cell, now);
            });
        });
        sight.network.iter().for_each(|key| self.networks.with(*key, now, |cell| cell.answered(now)));
        sight.asn.iter().for_each(|key| self.asns.with(*key, now, |cell| cell.answered(now)));
    }

    /// Takes down a client that others are to be told of, or asked about.
    fn note(&self, cell: u64, sight: &Sight, client: &mut Client, now: Timestamp) {
        let Some(outbox) = &self.outbox else { return };
        let reputation = client.reputation();
        if reputation.is_due(now, outbox.others) {
            reputation.set_noted(outbox.add(Note::Misdeeds { cell, of: sight.who }));
        }
    }

    /// What is remembered of whoever sent a request, before that request itself. Changes nothing.
    pub fn tell(&self, sight: &Sight, clearance: Option<&[u8; 16]>, now: Timestamp) -> Figures {
        let mut figures = Figures::with_evidence(sight.client.is_some()).and_asn(sight.asn.is_some());
        if let Some(key) = sight.client {
            self.clients.look(key, |cell| cell.tell(now, &mut figures));
        }
        let network = |table: &Table<Network>, key: Option<u64>| {
            key.and_then(|key| table.look(key, |cell| cell.tell(now))).unwrap_or_default()
        };
        let Told { rate, challenged, answered, clients } = network(&self.networks, sight.network);
        figures.set(Figure::NetworkRate, rate);
        figures.set(Figure::NetworkChallenged, challenged);
        figures.set(Figure::NetworkAnswered, answered);
        figures.set(Figure::NetworkUnsolved, challenged.saturating_sub(answered));
        figures.set(Figure::NetworkClients, clients);
        if sight.asn.is_some() {
            let asn = network(&self.asns, sight.asn);
            figures.set(Figure::AsnRate, asn.rate);
            figures.set(Figure::AsnUnsolved, asn.challenged.saturating_sub(asn.answered));
        }
        self.fingerprints.look(sight.fingerprint, |cell| cell.tell(now, &mut figures));
        self.sites.look(sight.site, |cell| cell.tell(now, &mut figures));
        if let Some(id) = clearance {
            self.tell_clearance(id, now, &mut figures);
        }
        figures
    }

    /// Adds what is remembered of a clearance; of several the highest figures count.
    pub fn tell_clearance(&self, id: &[u8; 16], now: Timestamp, figures: &mut Figures) {
        self.clearances.look(self.keys.of(Kind::Clearance, id), |cell| cell.tell(now, figures));
    }

    /// How many challenges a network got in the last ten minutes, and how many it answered.
    pub fn challenges(&self, client: IpAddr, now: Timestamp) -> (u32, u32) {
        let key = self.keys.of(Kind::Network, Prefix::of(client).as_bytes());
        self.networks.look(key, |cell| cell.tell(now)).map_or((0, 0), |told| (told.challenged, told.answered))
    }

    /// Counts a call under a limit, unless it came too early: then nothing is counted, and the error says after how long the
    /// next one is welcome. `limit` tells limits apart.
    pub fn take(
        &self,
        pace: &Pace,
        limit: u64,
        counted: Counted<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let cell = self.counted(limit, counted);
        self.arrivals.with(cell, now, |arrival| {
            arrival.take(pace, now)?;
            if let Some(outbox) = &self.outbox
                && arrival.note(pace, now)
            {
                let of = counted.with_bytes(Subject::new);
                arrival.set_noted(outbox.add(Note::Calls { cell, limit, pace: *pace, of }));
            }
            Ok(())
        })
    }

    /// What [`Memory::take`] would say, without counting anything.
    pub fn peek(
        &self,
        pace: &Pace,
        limit: u64,
        counted: Counted<'_>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let arrival = self.arrivals.look(self.counted(limit, counted), |arrival| *arrival);
        arrival.unwrap_or_default().peek(pace, now)
    }

    fn counted(&self, limit: u64, counted: Counted<'_>) -> u64 {
        counted.with_bytes(|kind, bytes| {
            self.keys.with(Kind::Limit, limit.rotate_left(8) ^ u64::from(kind), bytes)
        })
    }
}

impl Counted<'_> {
    /// Runs `make` on what tells them apart: a kind, and some bytes.
    fn with_bytes<T>(self, make: impl FnOnce(u8, &[u8]) -> T) -> T {
        match self {
            Self::Asn(asn) => make(1, &asn.map_or([0; 4], u32::to_be_bytes)),
            Self::Clearance(id) => make(2, id),
            Self::Client(client) => {
                make(3, client.map(sight::subnet).as_ref().map_or(&[][..], |bytes| bytes))
            }
            Self::Everybody => make(4, b""),
            Self::Host(host) => make(5, host.as_bytes()),
            Self::Network(client) => {
                make(6, client.map(Prefix::of).as_ref().map_or(&[][..], Prefix::as_bytes))
            }
        }
    }
}

#[cfg(test)]
mod tests;
