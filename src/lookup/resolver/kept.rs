//! Replies that are kept, in a bounded number of bytes, each as long as it holds.

use std::fmt;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::sync::Cache;

use super::{Lives, Question, Reply};

/// The most bytes that replies take, with what they reply to. A name and its address have some 300.
const MAX_BYTES: u64 = 4 << 20;
/// What an entry takes beside its texts, in bytes, as the cache needs it.
const ENTRY: usize = 200;
/// The longest that a reply is kept.
const MAX_LIFE: Duration = Duration::from_secs(86_400);
/// How long a failure is kept: requests that hang on a dead name server wait once for it and not each, and it is soon asked again.
const FAILED: Duration = Duration::from_secs(5);

/// The replies of one resolver.
pub(super) struct Kept(Cache<Question, Reply>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({})", self.0.entry_count())
    }
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(lives: Lives) -> Self {
        let cache = Cache::builder()
            .max_capacity(MAX_BYTES)
            .weigher(|question: &Question, reply: &Reply| {
                u32::try_from(ENTRY + question.bytes() + reply.bytes()).unwrap_or(u32::MAX)
            })
            .expire_after(lives)
            .build();
        Self(cache)
    }

    /// What is known already.
    pub(super) fn get(&self, question: &Question) -> Option<Reply> {
        self.0.get(question)
    }

    /// Keeps a reply.
    pub(super) fn keep(&self, question: Question, reply: &Reply) {
        self.0.insert(question, reply.clone());
    }
}

impl Expiry<Question, Reply> for Lives {
    fn expire_after_create(&self, question: &Question, reply: &Reply, _: Instant) -> Option<Duration> {
        let life = match (reply, question) {
            (Reply::Failed, _) => FAILED,
            (_, Question::Names(_)) => self.reverse,
            (_, Question::Addresses(_) | Question::Listed(_)) => self.forward,
        };
        Some(life.min(MAX_LIFE))
    }

    fn expire_after_update(
        &self,
        question: &Question,
        reply: &Reply,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        self.expire_after_create(question, reply, now)
    }
}

impl Question {
    fn bytes(&self) -> usize {
        match self {
            Self::Addresses(name) => name.len(),
            Self::Listed(_) | Self::Names(_) => 0,
        }
    }
}

impl Reply {
    fn bytes(&self) -> usize {
        match self {
            Self::Addresses(addresses) => size_of_val(&**addresses),
            Self::Names(names) => names.iter().map(|name| size_of::<String>() + name.len()).sum(),
            Self::Failed | Self::Listed(_) => 0,
        }
    }
}
