//! What replicas tell each other: how far calls under limits have come, and who did wrong.
//!
//! Each replica decides by what it has itself, and tells and asks behind the requests' backs, many at a time. What is kept
//! in common is a state, not a sum of deltas since some moment: the arrival time of a limit, a client's points. So an answer
//! is right for a replica that never heard of a client before, nothing is lost where a counter's window would turn, and a
//! server that lost all is told all by the first to speak of it.

mod address;
mod in_process;
mod one_line;
mod valkey;

use std::fmt;
use std::future::Future;
use std::time::Duration;

pub use address::Address;
pub use in_process::InProcess;
pub use valkey::Valkey;

use super::outbox::Subject;
pub use super::reputation::Score;
use super::{Limit, Pace};
use crate::clock::Timestamp;
use crate::crypto;

/// What something is called among replicas: a MAC, which tells nobody else whom it is about.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Name(pub [u8; 16]);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crypto::encode(&self.0))
    }
}

/// Something to tell and to ask, in one.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What it is called among replicas.
    pub name: Name,
    /// What it is about.
    pub about: About,
    /// Where it stands in this process.
    pub(super) cell: u64,
    /// Whom it is about.
    pub(super) of: Subject,
}

impl Ask {
    /// Something that leaves next to nothing behind, to see whether it can be told.
    fn probe() -> Self {
        let pace = Pace::new(Limit { count: 1, per: Duration::from_millis(1), burst: 1 });
        let calls = Calls { cost: 1000, own: 1000, most: 1000, count: 0, pace };
        Self { name: Name([0; 16]), about: About::Calls(calls), cell: 0, of: Subject::new(0, b"") }
    }
}

/// What something to tell is about.
#[derive(Clone, Copy, Debug)]
pub enum About {
    /// Calls under a limit.
    Calls(Calls),
    /// What a client did wrong.
    Misdeeds(Misdeeds),
}

/// Calls under a limit that others did not hear of. Spans are in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Calls {
    /// How much further ahead they put a client.
    pub cost: u64,
    /// How far ahead it is by what this process knows, these calls included.
    pub own: u64,
    /// The furthest ahead that counts.
    pub most: u64,
    pub(super) count: u32,
    pub(super) pace: Pace,
}

/// What a client did wrong, or made good, that others did not hear of.
#[derive(Clone, Copy, Debug)]
pub struct Misdeeds {
    /// The points; below 0 where it made good.
    pub more: f32,
    /// Where it stands by what this process knows, these points included.
    pub own: Score,
    /// Whether the file, if there is one, was asked about it.
    pub known: bool,
    /// Whether it had kept something.
    pub returns: bool,
    /// The traps that it went into lately, and when it last did, in seconds since 1970.
    pub traps: (u16, u32),
}

/// Where something stands among all replicas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// How far ahead a client is, in microseconds.
    Calls(u64),
    /// What it has to its name.
    Misdeeds(Score),
}

/// Why there is no reply, in one line that holds nothing secret.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    /// Nothing was told.
    #[error("{0}")]
    Unsent(String),
    /// It was sent, and nobody knows what of it was heard.
    #[error("{0}")]
    Unknown(String),
}

/// Where replicas meet.
pub trait Shared {
    /// Tells and asks: as many replies as there were asks, in their order, or none. After [`Error::Unsent`] it may be told
    /// again; after [`Error::Unknown`] it must not, since what was heard would count twice. Without asks it says whether others
    /// can be told at all. An implementation bounds how long it takes and what it holds, whatever the other side sends.
    fn exchange(
        &mut self,
        asks: &[Ask],
        now: Timestamp,
    ) -> impl Future<Output = Result<Vec<Reply>, Error>> + Send;
}
