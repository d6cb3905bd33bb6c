//! One run: visits become due at a constant rate, whatever the server does about those before, and each is timed from when it
//! was due.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use hdrhistogram::Histogram;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{sleep, timeout};

use crate::board::{Board, Ticket};
use crate::script::Script;
use crate::wire::{Address, Lane, Protocol, lanes};

/// When visits become due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    /// So many a second, to the microsecond: between two of them the generator turns round and round on its core.
    Exact(f64),
    /// So many a second, to the millisecond: the generator sleeps in between, for machines that others use too.
    Gentle(f64),
    /// Whenever somebody is free: what a server can do at most, and no latency worth reading.
    FlatOut,
}

/// How long to run, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) pace: Pace,
    pub(crate) time: Duration,
    /// The run is over as soon as a visit has waited so long for its turn: the rate is too high, and nothing more is to be learnt.
    pub(crate) give_up: Option<Duration>,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// Visits that ended as they should.
    pub(crate) served: u64,
    /// What went wrong with others, and how often.
    pub(crate) faults: BTreeMap<String, u64>,
    /// Nanoseconds from when a visit was due to its end, also of those that ended wrong or had not ended.
    pub(crate) latency: Histogram<u64>,
    /// From the first visit due to the last one's end.
    pub(crate) elapsed: Duration,
    /// Whether the run was given up.
    pub(crate) gave_up: bool,
}

/// How long visits that are due may take to begin when a run is over.
const GRACE: Duration = Duration::from_millis(500);
/// The same where other programs may have the machine for a while.
const LONG_GRACE: Duration = Duration::from_secs(20);
/// How long a lane may take after that before it is cut.
const PATIENCE: Duration = Duration::from_secs(3);

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 60_000_000_000, 3).expect("the bounds are in order")
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Measured {
    fn new() -> Self {
        Self {
            served: 0,
            faults: BTreeMap::new(),
            latency: histogram(),
            elapsed: Duration::ZERO,
            gave_up: false,
        }
    }

    /// Milliseconds that so many in a hundred visits stay below.
    pub(crate) fn latency_ms(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1e6
    }

    /// Visits a second that ended as they should.
    pub(crate) fn rate(&self) -> f64 {
        self.served as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// How many visits went wrong.
    pub(crate) fn failed(&self) -> u64 {
        self.faults.values().sum()
    }

    fn note(&mut self, ticket: Ticket, outcome: Result<Duration, String>) {
        let own = *outcome.as_ref().unwrap_or(&Duration::ZERO);
        self.latency.saturating_record(nanos(ticket.due.elapsed().saturating_sub(own)));
        match outcome {
            Ok(_) => self.served += 1,
            Err(fault) => *self.faults.entry(fault).or_default() += 1,
        }
    }
}

/// Connections to one address, kept from run to run as a proxy keeps them.
pub(crate) struct Crew {
    address: Address,
    protocol: Protocol,
    lanes: Vec<Lane>,
    /// The number of the next visit: no two runs make the same one.
    next: u64,
}

impl Crew {
    pub(crate) fn new(address: &Address, protocol: Protocol) -> Self {
        Self { address: address.clone(), protocol, lanes: lanes(address, protocol), next: 0 }
    }

    /// Makes one visit that must not fail.
    pub(crate) async fn try_once(&mut self, script: &Script) -> anyhow::Result<()> {
        self.next += 1;
        let visit = script.visit(&mut self.lanes[0], self.next);
        let outcome = timeout(PATIENCE, visit).await.unwrap_or_else(|_| Err("no answer".to_owned()));
        outcome.map_err(anyhow::Error::msg).with_context(|| format!("a visit at {}", self.address))?;
        Ok(())
    }

    /// Makes the visits of one run.
    pub(crate) async fn run(&mut self, script: &Rc<Script>, order: Order) -> Measured {
        let (board, tally) = (Rc::new(Board::default()), Rc::new(RefCell::new(Measured::new())));
        let hands: Vec<_> = self
            .lanes
            .drain(..)
            .map(|lane| {
                let (board, tally, script) = (board.clone(), tally.clone(), script.clone());
                tokio::task::spawn_local(carry(lane, board, tally, script))
            })
            .collect();
        let start = Instant::now();
        let gave_up = match order.pace {
            Pace::Exact(rate) | Pace::Gentle(rate) => {
                let exact = matches!(order.pace, Pace::Exact(_));
                self.post_all(rate, exact, order, &board).await
            }
            Pace::FlatOut => {
                self.keep_busy(hands.len(), order.time, &board).await;
                false
            }
        };
        let gentle = matches!(order.pace, Pace::Gentle(_));
        let deadline = Instant::now() + if gentle { LONG_GRACE } else { GRACE };
        while !gave_up && board.len() > 0 && Instant::now() < deadline {
            if gentle { sleep(Duration::from_millis(1)).await } else { yield_now().await }
        }
        for ticket in board.close() {
            tally.borrow_mut().note(ticket, Err("not begun in time".to_owned()));
        }
        self.gather(hands, if gentle { LONG_GRACE } else { PATIENCE }).await;
        let mut measured = tally.borrow().clone();
        (measured.elapsed, measured.gave_up) = (start.elapsed(), gave_up);
        measured
    }

    /// Posts visits as they become due. Yields whether the run was given up.
    async fn post_all(&mut self, rate: f64, exact: bool, order: Order, board: &Board) -> bool {
        let start = Instant::now();
        let visits = (order.time.as_secs_f64() * rate).ceil() as u64;
        let due = |number: u64| start + Duration::from_secs_f64(number as f64 / rate);
        let (mut posted, first) = (0, self.next);
        self.next += visits;
        while posted < visits {
            let now = Instant::now();
            while posted < visits && due(posted) <= now {
                let ticket = Ticket { number: first + posted, due: due(posted) };
                board.post(ticket);
                posted += 1;
            }
            let waited = board.oldest().map_or(Duration::ZERO, |due| now.saturating_duration_since(due));
            if order.give_up.is_some_and(|limit| waited > limit) {
                return true;
            }
            if exact { yield_now().await } else { sleep(due(posted).saturating_duration_since(now)).await }
        }
        false
    }

    /// Posts a visit whenever one has been taken, and never has anybody wait for one.
    async fn keep_busy(&mut self, hands: usize, time: Duration, board: &Board) {
        let end = Instant::now() + time;
        let mut now = Instant::now();
        while now < end {
            while board.len() < hands {
                board.post(Ticket { number: self.next, due: now });
                self.next += 1;
            }
            yield_now().await;
            now = Instant::now();
        }
        board.clear();
    }

    /// Has every lane back, or a fresh one for it.
    async fn gather(&mut self, hands: Vec<JoinHandle<Lane>>, patience: Duration) {
        let deadline = tokio::time::Instant::now() + patience;
        for mut hand in hands {
            match tokio::time::timeout_at(deadline, &mut hand).await {
                Ok(Ok(lane)) => self.lanes.push(lane),
                _ => hand.abort(),
            }
        }
        let missing = lanes(&self.address, self.protocol);
        let so_many = missing.len() - self.lanes.len();
        self.lanes.extend(missing.into_iter().take(so_many));
    }
}

/// Makes visits until there are none.
async fn carry(mut lane: Lane, board: Rc<Board>, tally: Rc<RefCell<Measured>>, script: Rc<Script>) -> Lane {
    while let Some(ticket) = board.take().await {
        let outcome = script.visit(&mut lane, ticket.number).await;
        tally.borrow_mut().note(ticket, outcome);
    }
    lane
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;
    use crate::face::Face;
    use crate::upstream;
    use crate::visitor::{self, Expect};

    #[test]
    fn latency_counts_from_when_a_visit_was_due_whenever_it_was_made() {
        let mut measured = Measured::new();
        let ago = |ms| Ticket { number: 0, due: Instant::now() - Duration::from_millis(ms) };
        measured.note(ago(300), Ok(Duration::ZERO));
        assert!(measured.latency_ms(100.0) >= 299.0, "{}", measured.latency_ms(100.0));
        measured.note(ago(900), Err("not begun in time".to_owned()));
        assert!(measured.latency_ms(100.0) >= 899.0, "what was not served waited all the same");
        let mut solving = Measured::new();
        solving.note(ago(300), Ok(Duration::from_millis(300)));
        assert!(solving.latency_ms(100.0) < 299.0, "what the visitor took is not the server's");
        assert_eq!((measured.served, measured.failed(), solving.served), (1, 1, 1));
    }

    /// A run against a server of this process: all of the visits that were due, neither more nor fewer.
    fn run(expect: Expect, pace: Pace, time: Duration) -> Measured {
        let runtime =
            Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let at = upstream::start().await.unwrap();
            let protocol = Protocol::Http1 { connections: 3, many_addresses: true };
            let mut crew = Crew::new(&Address::Tcp(at), protocol);
            let script = Rc::new(Script::one(Face::Plain.freeze(&visitor::reader("/").expecting(expect)), 9));
            crew.try_once(&script).await.map_or_else(|_| assert_ne!(expect, Expect::Allow), |()| ());
            let measured = crew.run(&script, Order { pace, time, give_up: None }).await;
            assert_eq!(crew.lanes.len(), 3, "every lane is back");
            measured
        })
    }

    #[test]
    fn as_many_visits_are_made_as_were_due() {
        for pace in [Pace::Exact(20_000.0), Pace::Gentle(20_000.0)] {
            let measured = run(Expect::Allow, pace, Duration::from_millis(20));
            assert_eq!(
                (measured.served, measured.failed(), measured.latency.len()),
                (400, 0, 400),
                "{pace:?}"
            );
        }
    }

    #[test]
    fn an_answer_that_is_not_the_right_one_is_a_fault() {
        let measured = run(Expect::Deny, Pace::Exact(20_000.0), Duration::from_millis(5));
        assert_eq!((measured.served, measured.failed()), (0, 100));
        assert_eq!(measured.faults.keys().collect::<Vec<_>>(), ["status 200 instead of 403"]);
    }
}
