//! What a decision says in the log: one line, as long as there are not too many.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::field::display;
use tracing::{Level, enabled, info, warn};

use super::{Decision, DecisionId, Face, Gate, Moment, Verdict};
use crate::clock::Timestamp;
use crate::request::{Prefix, Request, Unfit};

/// The longest path in a log line, in bytes, escapes included.
const MAX_LOGGED: usize = 512;

/// A visitor's bytes, escaped, and cut between two of them.
struct Logged<'a>(&'a [u8]);

impl fmt::Display for Logged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut room = MAX_LOGGED;
        for byte in self.0 {
            let shown = std::ascii::escape_default(*byte);
            room = match room.checked_sub(shown.len()) {
                Some(left) => left,
                None => return Ok(()),
            };
            write!(f, "{shown}")?;
        }
        Ok(())
    }
}

impl Gate {
    /// One line a decision: a refusal is worth reading, an allow only when asked for. The visitor's texts are escaped and
    /// cut, the address is cut to its network, and the query stays out. A flood of refusals says nothing new: what goes beyond
    /// `log.decisions` within a second is counted.
    pub(super) fn log(
        &self,
        face: Face,
        request: &Result<Request<'_>, Unfit>,
        decision: &Decision<'_>,
        now: Timestamp,
    ) {
        let quiet = decision.verdict == Verdict::Allow && decision.shadow.is_none();
        let wanted = if quiet { enabled!(Level::DEBUG) } else { enabled!(Level::INFO) };
        if !(wanted && self.line_is_due(now)) {
            return;
        }
        macro_rules! line {
            ($level:expr) => {{
                let request = request.as_ref().ok();
                let path = request.map(|r| r.target.path()).unwrap_or_default();
                tracing::event!(
                    $level,
                    face = face.as_str(),
                    verdict = decision.verdict.as_str(),
                    rule = %decision.rule.escape_debug(),
                    weight = decision.weight,
                    policy = decision.policy,
                    id = %decision.id,
                    shadow = decision.shadow.map(|shadow| shadow.verdict.as_str()),
                    network = request.and_then(|r| r.client).map(Prefix::of).map(display),
                    host = request.map(|r| &*r.host),
                    method = request.map(|r| r.method),
                    path = %Logged(path),
                )
            }};
        }
        if quiet { line!(Level::DEBUG) } else { line!(Level::INFO) }
    }

    /// One line about what a visitor asked of us, where it came to nothing.
    pub(super) fn log_outcome(
        &self,
        kind: &'static str,
        outcome: &'static str,
        request: &Request<'_>,
        moment: &Moment,
    ) {
        if enabled!(Level::INFO) && self.line_is_due(moment.now) {
            let id = DecisionId::new(moment.seed.decision);
            let network = request.client.map(Prefix::of).map(display);
            info!(kind, outcome, %id, network, host = &*request.host, "answered a visitor");
        }
    }

    /// Counts a line.
    fn line_is_due(&self, now: Timestamp) -> bool {
        match self.state.lines.take(self.settings.logged, now) {
            None => {
                self.state.metrics.log_skipped.inc();
                return false;
            }
            Some(0) => {}
            Some(skipped) => {
                warn!(skipped, "more decisions than `log.decisions` within a second: these were not logged");
            }
        }
        true
    }
}

/// How many lines were asked for within a second: the second, and the number in the lower half.
#[derive(Debug, Default)]
pub(super) struct Lines(AtomicU64);

impl Lines {
    /// Takes one of so many lines a second; `None` when they are used up. The first of a second is told how many were refused
    /// in the one before it.
    fn take(&self, most: u32, now: Timestamp) -> Option<u32> {
        let second = now.seconds() & u64::from(u32::MAX);
        let next = |lines: u64| {
            // Threads may be a moment apart; a clock that was set back opens a new second all the same.
            let goes_on = second == lines >> 32 || second + 1 == lines >> 32;
            if goes_on { lines + u64::from(lines as u32 != u32::MAX) } else { second << 32 | 1 }
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |lines| Some(next(lines)));
        let before = before.unwrap_or_else(|same| same);
        let taken = next(before) as u32;
        let skipped = if taken == 1 { (before as u32).saturating_sub(most) } else { 0 };
        (taken <= most).then_some(skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_lines_a_second_and_the_next_second_says_what_was_left_out() {
        let lines = Lines::default();
        let take = |second: u64| lines.take(3, Timestamp::from_seconds(1_800_000_000 + second));
        let seconds = [0, 0, 0, 0, 0, 1, 1, 0, 5];
        let want = [Some(0), Some(0), Some(0), None, None, Some(2), Some(0), Some(0), Some(0)];
        assert_eq!(seconds.map(take), want, "threads may be a moment apart");
        assert_eq!([100; 4].map(take), [Some(0), Some(0), Some(0), None]);
        assert_eq!(
            take(40),
            Some(1),
            "a clock that is set back does not silence the log until it has caught up"
        );
        assert_eq!(Lines::default().take(0, Timestamp::from_seconds(1)), None, "none at all");
    }
}
