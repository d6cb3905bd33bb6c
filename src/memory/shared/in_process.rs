//! Replicas in one process: what a server of theirs has to do, in Rust. Tests run on it, and hold the server's scripts against it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{About, Ask, Calls, Error, Misdeeds, Name, Reply, Shared};
use crate::clock::Timestamp;
use crate::memory::reputation::{FADED, Score, WORTH};

/// A place to meet for replicas in one process. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct InProcess(Arc<Mutex<HashMap<Name, Held>>>);

/// What is held under a name.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// An arrival time, in microseconds since 1970.
    Arrival(u64),
    /// Points, and when they stood so, in milliseconds since 1970.
    Score(Score, u64),
}

impl InProcess {
    /// How many names are held.
    pub fn names(&self) -> usize {
        self.held().len()
    }

    /// Loses everything.
    pub fn clear(&self) {
        self.held().clear();
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<Name, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared for InProcess {
    async fn exchange(&mut self, asks: &[Ask], now: Timestamp) -> Result<Vec<Reply>, Error> {
        let mut all = self.held();
        let one = |ask: &Ask| {
            let (held, reply) = match &ask.about {
                About::Calls(calls) => calls_after(all.get(&ask.name), calls, now),
                About::Misdeeds(misdeeds) => misdeeds_after(all.get(&ask.name), misdeeds, now),
            };
            match held {
                Some(held) => all.insert(ask.name, held),
                None => all.remove(&ask.name),
            };
            reply
        };
        Ok(asks.iter().map(one).collect())
    }
}

/// Calls put a client further ahead; one of which nothing is known stands where it stands for whoever tells.
fn calls_after(held: Option<&Held>, calls: &Calls, now: Timestamp) -> (Option<Held>, Reply) {
    let now = now.millis().saturating_mul(1000);
    let ahead = match held {
        Some(Held::Arrival(at)) if *at > now => (at - now).saturating_add(calls.cost),
        _ => calls.own,
    };
    let ahead = ahead.min(calls.most);
    let held = (ahead > 0).then_some(Held::Arrival(now.saturating_add(ahead)));
    (held, Reply::Calls(ahead))
}

/// The same for points. What is not worth it makes no name, and what has faded leaves none.
fn misdeeds_after(held: Option<&Held>, misdeeds: &Misdeeds, now: Timestamp) -> (Option<Held>, Reply) {
    let score = match held {
        Some(Held::Score(score, at)) => {
            score.after(now.millis().saturating_sub(*at) as f32 / 1000.0).plus(misdeeds.more)
        }
        _ => misdeeds.own,
    };
    let keeps =
        if matches!(held, Some(Held::Score(..))) { score.points >= FADED } else { score.points >= WORTH };
    (keeps.then_some(Held::Score(score, now.millis())), Reply::Misdeeds(score))
}
