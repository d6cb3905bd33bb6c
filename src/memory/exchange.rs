//! Between memory and whoever else remembers: what there is to tell and to ask, and what follows from the replies.
//! Does no I/O; the server's task does, behind the requests' backs.

use super::file::Kept;
use super::outbox::{Note, Outbox, Subject};
use super::reputation::{Score, WORTH};
use super::shared::{About, Ask, Misdeeds, Name, Reply};
use super::table::Table;
use super::{Memory, Others};
use crate::clock::Timestamp;
use crate::crypto::Mac;

impl Memory {
    /// Makes memory take down what is to be told to others. The lists take their bytes from those of clients, so call it before
    /// any came.
    #[must_use]
    pub fn exchanging(mut self, others: Others) -> Self {
        if others == Others::default() {
            return self;
        }
        self.clients = Table::new(33 * self.share);
        self.outbox = Some(Outbox::new(self.share, others));
        self
    }

    /// What there is to tell and to ask, as many as `most` at once, under names that `mac` makes. Each must come back to
    /// [`Memory::settle`] or [`Memory::take_back`].
    pub fn asks(&self, mac: &Mac, most: usize, now: Timestamp) -> Vec<Ask> {
        let notes = self.outbox.iter().flat_map(|outbox| outbox.take(most));
        notes.filter_map(|note| self.ask(mac, note, now)).collect()
    }

    fn ask(&self, mac: &Mac, note: Note, now: Timestamp) -> Option<Ask> {
        // A cell whose place another has taken has nothing left to tell.
        match note {
            Note::Calls { cell, limit, pace, of } => {
                let calls = self.arrivals.change(cell, |arrival| arrival.ask(&pace, now))??;
                let name = name(mac, b"calls", &limit.to_be_bytes(), of);
                Some(Ask { name, about: About::Calls(calls), cell, of })
            }
            Note::Misdeeds { cell, of } => {
                let misdeeds = self.clients.change(cell, |client| client.ask(now))?;
                Some(Ask { name: name(mac, LABEL, b"", of), about: About::Misdeeds(misdeeds), cell, of })
            }
        }
    }

    /// Takes in where something stands among all.
    pub fn settle(&self, ask: &Ask, reply: Reply, now: Timestamp) {
        match (&ask.about, reply) {
            (About::Calls(calls), Reply::Calls(ahead)) => {
                self.arrivals.change(ask.cell, |arrival| arrival.settle(calls, ahead, now));
            }
            (About::Misdeeds(_), Reply::Misdeeds(score)) => {
                self.clients.change(ask.cell, |client| client.reputation().settle(score, now));
            }
            (About::Calls(_), Reply::Misdeeds(_)) | (About::Misdeeds(_), Reply::Calls(_)) => {
                debug_assert!(false, "a reply of another kind than its ask");
            }
        }
    }

    /// Takes in what a file kept of a client from before this process, or that it kept nothing; the ask says so from then on.
    pub fn recalled(&self, ask: &mut Ask, kept: Option<&Kept>, now: Timestamp) {
        if let About::Misdeeds(misdeeds) = &mut ask.about {
            let after = self.clients.change(ask.cell, |client| client.recall(kept, now));
            *misdeeds = after.map_or(*misdeeds, |after| Misdeeds { more: misdeeds.more, ..after });
        }
    }

    /// Takes back what a client did, of whom the file said nothing in time: it is told and kept the next time.
    pub fn postpone(&self, ask: &mut Ask) {
        if let About::Misdeeds(misdeeds) = &mut ask.about {
            self.clients.change(ask.cell, |client| client.reputation().take_back(misdeeds));
            // Others are told where it stood without that, or they would count it twice.
            misdeeds.own = misdeeds.own.without(std::mem::take(&mut misdeeds.more));
        }
    }

    /// Takes back what was not told: it is told the next time, if whoever it is about comes again.
    pub fn take_back(&self, ask: &Ask) {
        match &ask.about {
            About::Calls(calls) => {
                self.arrivals.change(ask.cell, |arrival| arrival.take_back(calls));
            }
            About::Misdeeds(misdeeds) => {
                self.clients.change(ask.cell, |client| client.reputation().take_back(misdeeds));
            }
        }
    }
}

impl Ask {
    /// What is to outlive a restart of what this is about, if anything is. `all` is where it stands among all replicas, if there
    /// are any that say so.
    pub fn worth_keeping(&self, all: Option<Score>, now: Timestamp) -> Option<Kept> {
        // Of whom the file was not asked about, less is known than stands there.
        let About::Misdeeds(misdeeds @ Misdeeds { known: true, .. }) = &self.about else { return None };
        let score = all.unwrap_or(misdeeds.own);
        let (traps, trapped) = misdeeds.traps;
        let news =
            misdeeds.more != 0.0 || misdeeds.returns || (score.points - misdeeds.own.points).abs() >= 0.5;
        // Nobody's name is bad below this; who had something, or made good, may have a row that is to go.
        let worth = score.points >= WORTH || traps > 0 || misdeeds.returns || misdeeds.more < 0.0;
        let written = u32::try_from(now.seconds()).unwrap_or(u32::MAX);
        (news && worth).then_some(Kept { score, written, traps, trapped })
    }

    /// What a client, which this must be about, is called under another key.
    pub fn name_under(&self, mac: &Mac) -> Name {
        name(mac, LABEL, b"", self.of)
    }
}

const LABEL: &[u8] = b"misdeeds";

/// Labels differ in length, and what follows them has a length of its own: no two things have one name.
fn name(mac: &Mac, label: &[u8], limit: &[u8], of: Subject) -> Name {
    Name(mac.tag(&[label, limit, &of.parts()]))
}

#[cfg(test)]
mod tests;
