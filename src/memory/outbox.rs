//! The lists of what is to be told to others, or asked of them: bounded, written to by requests, read by one task.

use std::fmt;
use std::mem::size_of;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::{Others, Pace};

/// Whom something is about, in so few bytes that a list of them is short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Subject {
    kind: u8,
    length: u8,
    bytes: [u8; 16],
}

impl Subject {
    /// What is longer than an id is kept as a digest.
    pub(super) fn new(kind: u8, bytes: &[u8]) -> Self {
        let mut subject = Self { kind, length: u8::try_from(bytes.len()).unwrap_or(u8::MAX), bytes: [0; 16] };
        match subject.bytes.get_mut(..bytes.len()) {
            Some(whole) => whole.copy_from_slice(bytes),
            None => subject.bytes.copy_from_slice(&Sha256::digest(bytes)[..16]),
        }
        subject
    }

    /// What a name is made of.
    pub(super) fn parts(&self) -> [u8; 18] {
        let mut parts = [0; 18];
        (parts[0], parts[1]) = (self.kind, self.length);
        parts[2..].copy_from_slice(&self.bytes);
        parts
    }
}

/// One line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Note {
    /// Calls under a limit.
    Calls {
        /// Where they are counted here.
        cell: u64,
        limit: u64,
        pace: Pace,
        of: Subject,
    },
    /// What a client did wrong.
    Misdeeds { cell: u64, of: Subject },
}

/// The lists: one of calls, and one of clients, so that a flood of strangers keeps nobody's calls back. Adding to one waits
/// for nobody.
pub(super) struct Outbox {
    calls: List,
    misdeeds: List,
    places: usize,
    /// Who reads them.
    pub(super) others: Others,
}

struct List {
    sender: SyncSender<Note>,
    notes: Mutex<Receiver<Note>>,
}

impl List {
    fn new(places: usize) -> Self {
        let (sender, notes) = sync_channel(places);
        Self { sender, notes: Mutex::new(notes) }
    }

    fn next(&self) -> Option<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }
}

impl Outbox {
    /// Lists that take `bytes` together.
    pub(super) fn new(bytes: usize, others: Others) -> Self {
        let places = (bytes / Self::PLACE / 2).max(1);
        Self { calls: List::new(places), misdeeds: List::new(places), places: 2 * places, others }
    }

    /// What a line takes: itself, and the channel's stamp.
    const PLACE: usize = size_of::<Note>() + size_of::<usize>();

    /// The bytes they have taken.
    pub(super) const fn bytes(&self) -> usize {
        self.places * Self::PLACE
    }

    /// Adds a line, unless there is no room: whoever it is about comes again.
    pub(super) fn add(&self, note: Note) -> bool {
        let list = match note {
            Note::Calls { .. } => &self.calls,
            Note::Misdeeds { .. } => &self.misdeeds,
        };
        list.sender.try_send(note).is_ok()
    }

    /// The oldest lines, which go off the lists: at most so many, and half of them calls if there are as many.
    pub(super) fn take(&self, most: usize) -> impl Iterator<Item = Note> {
        let calls = std::iter::from_fn(|| self.calls.next()).take(most / 2);
        calls.chain(std::iter::from_fn(|| self.misdeeds.next()).take(most - most / 2))
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("places", &self.places).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_differ_by_kind_length_and_every_byte() {
        let long = |last: u8| [&[7; 40][..], &[last]].concat();
        let subjects = [
            Subject::new(1, b""),
            Subject::new(1, &[0]),
            Subject::new(2, b""),
            Subject::new(1, &[0; 16]),
            Subject::new(1, &long(1)),
            Subject::new(1, &long(2)),
        ];
        for (at, subject) in subjects.iter().enumerate() {
            assert!(subjects[..at].iter().all(|other| other.parts() != subject.parts()), "{subject:?}");
        }
    }

    #[test]
    fn a_full_list_takes_no_more_keeps_its_order_and_keeps_nothing_back_on_the_other() {
        let outbox = Outbox::new(6 * Outbox::PLACE, Others::default());
        let of = Subject::new(1, b"");
        let misdeeds = |cell| Note::Misdeeds { cell, of };
        let limit = super::super::Limit { count: 1, per: std::time::Duration::from_secs(1), burst: 1 };
        let calls = |cell| Note::Calls { cell, limit: 1, pace: Pace::new(limit), of };
        assert!((0..3).all(|cell| outbox.add(misdeeds(cell))));
        assert!(!outbox.add(misdeeds(3)));
        assert!((10..13).all(|cell| outbox.add(calls(cell))));
        assert!(!outbox.add(calls(13)));
        let cells = |most| {
            let notes = outbox.take(most).map(|note| match note {
                Note::Calls { cell, .. } | Note::Misdeeds { cell, .. } => cell,
            });
            notes.collect::<Vec<_>>()
        };
        assert_eq!(cells(2), [10, 0]);
        assert!(outbox.add(misdeeds(4)));
        assert_eq!(cells(usize::MAX), [11, 12, 1, 2, 4]);
        assert!(cells(usize::MAX).is_empty());
        assert_eq!(outbox.bytes(), 6 * Outbox::PLACE);
    }
}
