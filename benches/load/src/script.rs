//! A visit: its questions in their order, and what must come of each.

use std::time::{Duration, Instant};

use crate::face::Face;
use crate::frozen::{ANY, CLIENTS, Frozen};
use crate::solver::{Solution, Solver};
use crate::visitor::Step;
use crate::wire::{Lane, Reply};

/// What every visit of a run consists of.
pub(crate) enum Script {
    /// Questions that are known beforehand. With several visits each is one visitor's, with an address of his own; one alone is
    /// made by so many visitors in turn.
    Known { visits: Vec<Vec<Frozen>>, clients: u64 },
    /// Questions that need what was answered before: for peers that remember a challenge and take an answer but once.
    Live { face: Face, steps: Vec<Step>, solver: Option<Solver> },
    /// One of several, so many times in a hundred each.
    Mixed(Vec<(u64, Self)>),
}

impl Script {
    /// One question, asked by so many addresses.
    pub(crate) fn one(question: Frozen, clients: u64) -> Self {
        Self::Known { visits: vec![vec![question]], clients: clients.clamp(1, CLIENTS) }
    }

    /// How many requests a visit takes.
    pub(crate) fn requests(&self) -> usize {
        match self {
            Self::Known { visits, .. } => visits.first().map_or(0, Vec::len),
            Self::Live { steps, .. } => steps.len(),
            Self::Mixed(parts) => parts.first().map_or(0, |(_, script)| script.requests()),
        }
    }

    /// Makes one visit. Yields how long the visitor, not the server, took of it; or what went wrong.
    pub(crate) async fn visit(&self, lane: &mut Lane, number: u64) -> Result<Duration, String> {
        match self {
            Self::Known { visits, clients } => {
                let which = number % visits.len() as u64;
                let client = if visits.len() > 1 { which } else { number % clients };
                for question in &visits[which as usize] {
                    let reply = lane.ask(question, client, number, false).await.map_err(|e| e.to_string())?;
                    expect(question, &reply)?;
                }
                Ok(Duration::ZERO)
            }
            Self::Live { face, steps, solver } => {
                live(lane, *face, steps, *solver, number).await.map(|(_, solving)| solving)
            }
            Self::Mixed(parts) => {
                // By a multiple that shares no factor with a hundred, so that the parts take turns.
                let mut place = number * 37 % 100;
                for (share, script) in parts {
                    if place < *share {
                        return Box::pin(script.visit(lane, number)).await;
                    }
                    place -= share;
                }
                Err("the shares of a mixture are not a hundred".to_owned())
            }
        }
    }
}

fn expect(question: &Frozen, reply: &Reply) -> Result<(), String> {
    if reply.status == question.expect || (question.expect == ANY && reply.status < 500) {
        Ok(())
    } else {
        Err(format!("status {} instead of {}", reply.status, question.expect))
    }
}

/// Makes a visit whose questions are built on the way: cookies that are set are sent again, and what a solver found
/// takes the place of `{its name}`. Yields the cookies, and how long the solving took.
pub(crate) async fn live(
    lane: &mut Lane,
    face: Face,
    steps: &[Step],
    solver: Option<Solver>,
    number: u64,
) -> Result<(Vec<String>, Duration), String> {
    let (mut jar, mut found, mut solving) = (Vec::<String>::new(), Solution::new(), Duration::ZERO);
    for step in steps.iter().filter(|step| face.takes_part(step)) {
        let mut step = step.clone();
        for (name, value) in &found {
            let mark = format!("{{{name}}}");
            step.target = step.target.replace(&mark, value);
            step.headers.iter_mut().for_each(|(_, header)| *header = header.replace(&mark, value));
        }
        if !jar.is_empty() {
            step = step.with("cookie", &jar.join("; "));
        }
        let question = face.freeze(&step);
        let reply = lane.ask(&question, number, number, true).await.map_err(|e| e.to_string())?;
        expect(&question, &reply)?;
        for cookie in reply.cookies {
            let name = cookie.split('=').next().unwrap_or_default().to_owned() + "=";
            jar.retain(|known| !known.starts_with(&name));
            // Without a value it is taken back.
            if cookie.len() > name.len() {
                jar.push(cookie);
            }
        }
        if let Some(solver) = solver.filter(|_| holds_data(&reply.body)) {
            let start = Instant::now();
            found = solver.solve(&reply.body).map_err(|e| format!("{e:#}"))?;
            solving += start.elapsed();
        }
    }
    Ok((jar, solving))
}

/// Whether the answer is a page with data for its script, as pages with a puzzle are.
fn holds_data(body: &[u8]) -> bool {
    body.windows(16).any(|part| part == b"application/json")
}
