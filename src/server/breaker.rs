//! Whether a server that others share is asked at all: one that failed is left alone for a while, then tried by one question.

use std::time::Duration;

use tokio::time::Instant;

/// How long a server that failed is left alone.
pub(super) const REST: Duration = Duration::from_secs(5);

/// What is known about a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Breaker {
    /// It failed the last time, which was then.
    Open(Instant),
    /// Nothing was asked yet.
    #[default]
    Untried,
    /// It answered the last time, which was then.
    Well(Instant),
}

/// What a question showed that was not known before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Change {
    /// It fails now.
    Failing,
    /// It answers now.
    Well,
}

impl Breaker {
    /// Whether to ask it now. With nothing to ask it is asked now and then all the same, so that what is shown of it is true.
    pub(super) fn admits(self, something: bool, now: Instant) -> bool {
        match self {
            Self::Open(then) => now.duration_since(then) >= REST,
            Self::Untried => true,
            Self::Well(then) => something || now.duration_since(then) >= REST,
        }
    }

    /// Takes note of how a question ended.
    pub(super) fn note(&mut self, answered: bool, now: Instant) -> Option<Change> {
        let before = std::mem::replace(self, if answered { Self::Well(now) } else { Self::Open(now) });
        match (before, answered) {
            (Self::Open(_), false) | (Self::Well(_), true) => None,
            (_, true) => Some(Change::Well),
            (_, false) => Some(Change::Failing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_failed_rests_and_is_tried_and_every_change_is_told_once() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut breaker = Breaker::default();
        // When, whether there is something to ask, whether it is asked, how that ends, and what is told.
        for (ms, something, asked, answered, told) in [
            (0, false, true, true, Some(Change::Well)),
            (250, false, false, true, None),
            (300, true, true, true, None),
            (600, true, true, false, Some(Change::Failing)),
            (700, true, false, false, None),
            (5599, true, false, false, None),
            (5600, false, true, false, None),
            (10_000, true, false, false, None),
            (10_600, true, true, true, Some(Change::Well)),
            (15_599, false, false, true, None),
            (15_600, false, true, false, Some(Change::Failing)),
        ] {
            assert_eq!(breaker.admits(something, at(ms)), asked, "at {ms}");
            if asked {
                assert_eq!(breaker.note(answered, at(ms)), told, "at {ms}");
            }
        }
        let mut breaker = Breaker::default();
        assert_eq!(
            breaker.note(false, start),
            Some(Change::Failing),
            "one that is never there is told of too"
        );
    }
}
