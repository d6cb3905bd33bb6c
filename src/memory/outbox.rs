//! The list of what is to be told to others, or asked of them: bounded, written to by requests, read by one task.

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

/// One line of the list.
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

/// The list. Adding to it waits for nobody, and takes no lock but while the task waits for a line, which it does not.
pub(super) struct Outbox {
    sender: SyncSender<Note>,
    notes: Mutex<Receiver<Note>>,
    places: usize,
    /// Who reads it.
    pub(super) others: Others,
}

impl Outbox {
    /// A list that takes `bytes`.
    pub(super) fn new(bytes: usize, others: Others) -> Self {
        let places = (bytes / Self::PLACE).max(1);
        let (sender, notes) = sync_channel(places);
        Self { sender, notes: Mutex::new(notes), places, others }
    }

    /// What a line takes: itself, and the channel's stamp.
    const PLACE: usize = size_of::<Note>() + size_of::<usize>();

    /// The bytes it has taken.
    pub(super) const fn bytes(&self) -> usize {
        self.places * Self::PLACE
    }

    /// Adds a line, unless there is no room: whoever it is about comes again.
    pub(super) fn add(&self, note: Note) -> bool {
        self.sender.try_send(note).is_ok()
    }

    /// The oldest line, which goes off the list.
    pub(super) fn next(&self) -> Option<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
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
    fn a_full_list_takes_no_more_and_keeps_its_order() {
        let outbox = Outbox::new(3 * Outbox::PLACE, Others::default());
        let note = |cell| Note::Misdeeds { cell, of: Subject::new(1, b"") };
        assert!((0..3).all(|cell| outbox.add(note(cell))));
        assert!(!outbox.add(note(3)));
        let cell = |note| match note {
            Note::Calls { cell, .. } | Note::Misdeeds { cell, .. } => cell,
        };
        assert_eq!(outbox.next().map(cell), Some(0));
        assert!(outbox.add(note(4)));
        assert_eq!(std::iter::from_fn(|| outbox.next()).map(cell).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(outbox.bytes(), 3 * Outbox::PLACE);
    }
}
