//! The visits that are due, and who waits to make one. Knows no rate and no clock: see `run`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Instant;

/// One visit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    /// Which visit of the run it is.
    pub(crate) number: u64,
    /// When it was to begin, which is where its latency is counted from: a server that keeps its visitors waiting does
    /// not get to hide that by having them come later.
    pub(crate) due: Instant,
}

/// Tickets in the order they became due. Everything runs on one thread.
#[derive(Debug, Default)]
pub(crate) struct Board(RefCell<State>);

#[derive(Debug, Default)]
struct State {
    due: VecDeque<Ticket>,
    idle: VecDeque<Waker>,
    closed: bool,
}

impl Board {
    /// A visit is due. Whoever has been idle longest makes it.
    pub(crate) fn post(&self, ticket: Ticket) {
        let mut state = self.0.borrow_mut();
        state.due.push_back(ticket);
        if let Some(waker) = state.idle.pop_front() {
            waker.wake();
        }
    }

    /// The next visit, once there is one; `None` when there will be none.
    pub(crate) async fn take(&self) -> Option<Ticket> {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if let Some(ticket) = state.due.pop_front() {
                return Poll::Ready(Some(ticket));
            }
            if state.closed {
                return Poll::Ready(None);
            }
            state.idle.push_back(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Since when the visit has been due that has waited longest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.0.borrow().due.front().map(|ticket| ticket.due)
    }

    /// How many visits are due and not begun.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().due.len()
    }

    /// Nobody is to make the visits that are due.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().due.clear();
    }

    /// There will be no more visits. Yields those that nobody has begun.
    pub(crate) fn close(&self) -> Vec<Ticket> {
        let mut state = self.0.borrow_mut();
        state.closed = true;
        state.idle.drain(..).for_each(Waker::wake);
        state.due.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    fn ticket(number: u64) -> Ticket {
        Ticket { number, due: Instant::now() }
    }

    #[test]
    fn visits_are_made_in_the_order_they_became_due_and_the_rest_is_handed_back() {
        let runtime = Builder::new_current_thread().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let board = Rc::new(Board::default());
            let waiting = board.clone();
            // It waits before there is anything to take.
            let first = tokio::task::spawn_local(async move { waiting.take().await });
            tokio::task::yield_now().await;
            (0..4).for_each(|number| board.post(ticket(number)));
            assert_eq!(first.await.unwrap().unwrap().number, 0);
            assert_eq!(board.take().await.unwrap().number, 1);
            assert_eq!(board.close().iter().map(|ticket| ticket.number).collect::<Vec<_>>(), [2, 3]);
            assert!(board.take().await.is_none());
        });
    }
}
