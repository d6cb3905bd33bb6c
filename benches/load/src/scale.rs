//! What a request costs as policies, requests and the crowd of visitors grow.

use std::fmt::Write as _;
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use crate::compare::protocol;
use crate::face::Face;
use crate::generated::{networks, rules};
use crate::measure::{Effort, Round, Subject};
use crate::report::count;
use crate::run::{Crew, Order, Pace};
use crate::script::Script;
use crate::subject::{FOR_SPEED, Place};
use crate::visitor::{self, Step};

/// The flags of `scale`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Short steps, for a look
    #[arg(long)]
    quick: bool,
    /// Only tables whose names hold this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// Visits a second for the table of workers: few enough that a shared core can take them.
const EASY: f64 = 2_000.0;
/// Visits a second for latency and processor time everywhere else.
const RATE: f64 = 10_000.0;
/// Addresses of visitors, where they are not what grows.
const CLIENTS: u64 = 10_000;

/// One line of a table.
struct Line {
    what: u64,
    round: Round,
}

/// Measures all tables.
pub(crate) async fn run(place: &Place, arguments: &Arguments) -> anyhow::Result<String> {
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let scale = Scale { place, effort };
    let page = visitor::reader("/articles/2026/a-page?from=feed");
    let mut text = String::new();
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|only| name.contains(only.as_str()));

    if wanted("rules") {
        let policy = |n: usize| format!("bots:\n{}", rules(n));
        let lines = scale.policies(&[10, 100, 1_000, 10_000], policy, &page).await?;
        table(&mut text, "rules", &lines);
    }
    if wanted("networks") {
        let policy = |n: usize| format!("bots:\n{}", networks(n));
        let lines = scale.policies(&[100, 1_000, 10_000, 100_000], policy, &page).await?;
        table(&mut text, "networks", &lines);
    }
    if wanted("headers") {
        let mut lines = Vec::new();
        for n in [10, 20, 40, 80, 120] {
            let more = n - page.headers.len();
            let step = (0..more)
                .fold(page.clone(), |step, n| step.with(&format!("x-more-{n}"), "a value of a usual length"));
            lines.push(Line { what: n as u64, round: scale.stock(&step, CLIENTS, 1, RATE).await? });
        }
        table(&mut text, "headers", &lines);
    }
    if wanted("clients") {
        let mut lines = Vec::new();
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            lines.push(Line { what: n, round: scale.crowd(n).await? });
        }
        table(&mut text, "distinct clients", &lines);
    }
    if wanted("workers") {
        // Two workers would need the generator's core. So they share one, and what shows is what sharing state costs.
        let mut lines = Vec::new();
        for n in [1, 2] {
            lines.push(Line { what: n as u64, round: scale.stock(&page, CLIENTS, n, EASY).await? });
        }
        table(&mut text, "workers on one core", &lines);
    }
    text.push_str(
        "† the measured core had time left at a rate that was missed: not what the server can do.\n",
    );
    Ok(text)
}

struct Scale<'a> {
    place: &'a Place,
    effort: Effort,
}

impl Scale<'_> {
    /// Policies of several sizes.
    async fn policies(
        &self,
        sizes: &[usize],
        policy: impl Fn(usize) -> String,
        step: &Step,
    ) -> anyhow::Result<Vec<Line>> {
        let mut lines = Vec::new();
        for size in sizes {
            let file = self.place.work.join(format!("{size}.yaml"));
            fs::write(&file, policy(*size)).with_context(|| format!("cannot write {}", file.display()))?;
            let policy = file.display().to_string();
            lines.push(Line {
                what: *size as u64,
                round: self.measure(&policy, step, CLIENTS, 1, RATE).await?,
            });
        }
        Ok(lines)
    }

    async fn stock(&self, step: &Step, clients: u64, workers: usize, rate: f64) -> anyhow::Result<Round> {
        self.measure("(data)/botPolicies.yaml", step, clients, workers, rate).await
    }

    async fn measure(
        &self,
        policy: &str,
        step: &Step,
        clients: u64,
        workers: usize,
        rate: f64,
    ) -> anyhow::Result<Round> {
        let gate = self.place.tollgate(policy, workers, &FOR_SPEED)?;
        let mut crew = Crew::new(&gate.grpc, protocol(Face::Grpc));
        let script = Rc::new(Script::one(Face::Grpc.freeze(step), clients));
        let mut subject = Subject { crew: &mut crew, script, processes: vec![&gate.process], rate };
        subject.measure(&self.effort).await
    }

    /// So many clients under the default policy, which remembers them: each has been there once before the clock starts.
    async fn crowd(&self, clients: u64) -> anyhow::Result<Round> {
        let gate = self.place.tollgate("(data)/quiet.yaml", 1, &FOR_SPEED)?;
        let mut crew = Crew::new(&gate.grpc, protocol(Face::Grpc));
        // Whatever they are told: that a million addresses are curious about one page may look like what it is not.
        let step = visitor::browser("/articles/2026/a-page").expecting(visitor::Expect::Any);
        let script = Rc::new(Script::one(Face::Grpc.freeze(&step), clients));
        let mut seen = 0;
        while seen < clients {
            let order = Order { pace: Pace::FlatOut, time: Duration::from_secs(1), give_up: None };
            seen += crew.run(&script, order).await.served.max(1);
        }
        let mut subject = Subject { crew: &mut crew, script, processes: vec![&gate.process], rate: RATE };
        subject.measure(&self.effort).await
    }
}

fn table(text: &mut String, name: &str, lines: &[Line]) {
    let first = lines.first().map_or(f64::NAN, cost);
    writeln!(
        text,
        "| {name} | visits a second | us, flat out | to the first | us at the fixed rate | p99, ms | MiB |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    .expect("a string takes it");
    for line in lines {
        let fixed: f64 = line.round.cost.values().map(|cost| cost.total_us()).sum();
        let size = line.round.memory.values().flatten().map(|(_, size)| *size).fold(0.0, f64::max);
        writeln!(
            text,
            "| {} | {}{} | {:.1} | {:.2} | {fixed:.1} | {:.2} | {size:.0} |",
            count(line.what as f64),
            count(line.round.capacity),
            if line.round.idle_at_limit { " †" } else { "" },
            cost(line),
            cost(line) / first,
            line.round.p99_ms
        )
        .expect("a string takes it");
    }
    text.push('\n');
}

fn cost(line: &Line) -> f64 {
    line.round.cost_flat_out.values().map(|cost| cost.total_us()).sum()
}
