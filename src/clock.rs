//! Time as a value: a moment to compute with, and the one place that reads the system's clock.
//! Knows nothing of time zones or calendars; everything on the wire is seconds since the Unix epoch.

mod steps;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use steps::Steps;

/// A moment of wall-clock time, in whole milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment this many milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The moment this many seconds after the Unix epoch.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Whole milliseconds since the Unix epoch.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, as tokens carry them.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// This moment, moved into the future; stays at the end of time rather than wrap.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// Where a face, the server or a command gets its `now`; everything below them takes it as an argument.
#[derive(Clone, Debug)]
pub enum Clock {
    /// Stands still until it is set: for tests. Holds milliseconds since the Unix epoch.
    Manual(Arc<AtomicU64>),
    /// The system's wall clock.
    System,
}

impl Clock {
    /// A clock that stands at `now` until [`Clock::set`] moves it.
    pub fn manual(now: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicU64::new(now.millis())))
    }

    /// The present moment. A system clock before 1970 reads as 1970.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Manual(millis) => Timestamp(millis.load(Ordering::Relaxed)),
            #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
            Self::System => {
                Timestamp::default().after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
            }
        }
    }

    /// The time since a moment of this process, by a clock that nobody sets. Of a manual one it stands still.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    pub fn steady(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        match self {
            Self::Manual(_) => Duration::ZERO,
            Self::System => START.get_or_init(Instant::now).elapsed(),
        }
    }

    /// Moves a manual clock, and every clone of it; the system's clock is not ours to set.
    pub fn set(&self, now: Timestamp) {
        if let Self::Manual(millis) = self {
            millis.store(now.millis(), Ordering::Relaxed);
        }
    }
}
