//! Answers and clearances, worked out before the clock starts: an answer takes 16,384 attempts, and the generator has other
//! things to do. That changes nothing for the gate, which stores no challenge: it does the same for an answer whenever it comes.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::face::Face;
use crate::solver;
use crate::visitor::{self, Expect, HOST, Step, Via};
use crate::wire::{Address, Lane, Protocol, lanes};

/// What one visitor has worked for.
#[derive(Clone, Debug)]
pub(crate) struct Paid {
    /// The text of the answer.
    pub(crate) answer: String,
    /// The value of the cookie that it buys.
    pub(crate) clearance: String,
}

/// So many visitors who have paid.
#[derive(Debug, Default)]
pub(crate) struct Purse {
    paid: Vec<Paid>,
    /// When the oldest of them was challenged.
    since: Option<Instant>,
}

/// How long an answer is used: well below the ten minutes for which it is good where speed is measured.
const FRESH: Duration = Duration::from_secs(450);

impl Purse {
    /// Visitors whose answers are fresh. `gate` sells what is missing.
    pub(crate) async fn fresh(&mut self, gate: &Address, visitors: usize) -> anyhow::Result<&[Paid]> {
        self.younger_than(FRESH, gate, visitors).await
    }

    /// Visitors whose answers are no older than that.
    pub(crate) async fn younger_than(
        &mut self,
        age: Duration,
        gate: &Address,
        visitors: usize,
    ) -> anyhow::Result<&[Paid]> {
        if self.since.is_none_or(|since| since.elapsed() > age) || self.paid.len() < visitors {
            self.fill(gate, visitors).await?;
        }
        Ok(&self.paid)
    }

    /// Visitors whose clearances are good, as they are for a week.
    pub(crate) async fn cleared(&mut self, gate: &Address, visitors: usize) -> anyhow::Result<&[Paid]> {
        if self.paid.len() < visitors {
            self.fill(gate, visitors).await?;
        }
        Ok(&self.paid)
    }

    async fn fill(&mut self, gate: &Address, visitors: usize) -> anyhow::Result<()> {
        let mut lane = lanes(gate, Protocol::Http1 { connections: 1, many_addresses: false }).remove(0);
        self.since = Some(Instant::now());
        self.paid.clear();
        for number in 0..visitors {
            self.paid.push(buy(&mut lane, number as u64).await.context("cannot buy a clearance")?);
        }
        Ok(())
    }
}

/// Buys a clearance as a browser does.
async fn buy(lane: &mut Lane, number: u64) -> anyhow::Result<Paid> {
    let question = Face::Forward.freeze(&visitor::browser("/"));
    let page = lane.ask(&question, number, number, true).await?;
    ensure!(page.status == question.expect, "a browser gets status {} and no challenge", page.status);
    let token = solver::Solver::Tollgate.solve(&page.body)?;
    let answer = token.into_iter().map(|(_, text)| text).next().context("no answer")?;
    let question = Face::Forward.freeze(&visitor::answer(&answer, &format!("https://{HOST}")));
    let reply = lane.ask(&question, number, number, true).await?;
    ensure!(
        reply.status == question.expect,
        "the answer is refused with status {}: {}",
        reply.status,
        String::from_utf8_lossy(&reply.body)
    );
    let cookie = reply.cookies.first().context("an answer that buys no cookie")?;
    let (_, clearance) = cookie.split_once('=').context("a cookie without a value")?;
    Ok(Paid { answer, clearance: clearance.to_owned() })
}

impl Paid {
    /// The visit of somebody who pays: request, page, answer, request.
    pub(crate) fn visit(&self, https: bool) -> Vec<Step> {
        let origin = format!("{}://{HOST}", if https { "https" } else { "http" });
        vec![
            visitor::browser("/articles/2026/a-page?from=feed"),
            visitor::browser("/articles/2026/a-page?from=feed").via(Via::Page).expecting(Expect::Page),
            visitor::answer(&self.answer, &origin),
            self.returning(https),
        ]
    }

    /// The request of somebody who has paid.
    pub(crate) fn returning(&self, https: bool) -> Step {
        let prefix = if https { "__Host-" } else { "" };
        visitor::returning("/articles/2026/a-page?from=feed", &format!("{prefix}tollgate={}", self.clearance))
    }

    /// An answer whose first nonce is wrong.
    pub(crate) fn wrong(&self) -> anyhow::Result<String> {
        solver::spoiled(&self.answer)
    }
}
