//! The long run: everything that visitors do, mixed, at a moderate rate, with reloads; and what must not grow meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use hdrhistogram::Histogram;

use crate::compare::protocol;
use crate::face::Face;
use crate::frozen::SERIAL;
use crate::purse::{Paid, Purse};
use crate::run::{Crew, Measured, Order, Pace};
use crate::script::Script;
use crate::solver::Solver;
use crate::subject::{Place, Server};
use crate::trend::{Sample, Trend};
use crate::visitor::{self, Expect, HOST, Step, Via};
use crate::wire::{Address, Protocol, lanes};

/// The flags of `soak`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How long
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Visits a second, of all faces together
    #[arg(long, default_value_t = 200.0)]
    rate: f64,
}

/// What is watched is read so often.
const SEGMENT: Duration = Duration::from_secs(10);
/// The policy is written anew, and so read anew, after so many segments.
const RELOAD: usize = 6;
/// The first part of the run, in which tables fill and allocators settle, is not judged.
const WARM_UP: f64 = 0.25;
/// Addresses of visitors: more than the run has visits, so that nobody comes twice unless he is to.
const CLIENTS: u64 = crate::frozen::CLIENTS;
/// Visitors who come again and again.
const REGULARS: usize = 64;

/// How often the policy is written anew meanwhile, three seconds apart: the first reloads leave an allocator with more pages than before.
const FILLS: usize = 10;
/// Visits a second until the memory for visitors is full.
const FILLING: f64 = 4_000.0;

/// How long an answer is used: well below the five minutes for which it is good.
const FRESH: Duration = Duration::from_secs(150);

/// A little memory for visitors, so that it is full, and at its bound, before the run is judged.
const SETTINGS: [(&str, &str); 3] = [
    ("TOLLGATE_MEMORY__MAX_BYTES", "4MiB"),
    ("TOLLGATE_RELOAD__WATCH", "1s"),
    ("TOLLGATE_CHALLENGE__MIN_LEVEL", "4"),
];

const FACES: [Face; 4] = [Face::Grpc, Face::Nginx, Face::Check, Face::Forward];

/// Runs it, prints what it watches, and yields whether everything held.
pub(crate) async fn run(place: &Place, arguments: &Arguments) -> anyhow::Result<bool> {
    let policy = Policy::new(place)?;
    let gate = place.tollgate(&policy.file.display().to_string(), 1, &SETTINGS)?;
    let mut crews: Vec<_> = FACES.map(|face| (face, Crew::new(address(&gate, face), few(face)))).into();
    let (mut purse, mut trend) = (Purse::default(), Trend::default());
    let end = Duration::from_secs_f64(arguments.minutes * 60.0);
    fill(&gate, &policy, &mut purse).await?;
    let before = reloads(&gate).await?;
    println!("minute     RSS MiB  descriptors   visits  errors   p50 ms   p99 ms");
    let (start, mut segment) = (Instant::now(), 0);
    while start.elapsed() < end {
        segment += 1;
        if segment % RELOAD == 0 {
            policy.write(FILLS + segment)?;
        }
        let paid = purse.younger_than(FRESH, &gate.http, REGULARS).await?;
        let rate = arguments.rate / FACES.len() as f64;
        let order = Order { pace: Pace::Gentle(rate), time: SEGMENT, give_up: None };
        let scripts: Vec<_> =
            FACES.iter().map(|face| mixture(*face, paid).map(Rc::new)).collect::<anyhow::Result<_>>()?;
        let mut runs = crews.iter_mut().zip(&scripts).map(|((_, crew), script)| crew.run(script, order));
        let (Some(a), Some(b), Some(c), Some(d)) = (runs.next(), runs.next(), runs.next(), runs.next())
        else {
            unreachable!("there are four faces")
        };
        let (a, b, c, d) = tokio::join!(a, b, c, d);
        let sample = sample(&gate, start.elapsed(), &[a, b, c, d])?;
        println!("{sample}");
        trend.push(sample);
    }
    let after = reloads(&gate).await?;
    let reloads = (after.0 - before.0, after.1);
    let wanted = (segment / RELOAD) as u64;
    let holds = trend.judge(WARM_UP);
    println!("reloads: {} of {wanted} taken, {} refused", reloads.0, reloads.1);
    // The last may still be on its way.
    Ok(holds && reloads.1 == 0 && reloads.0 + 1 >= wanted)
}

/// The policy's file, which is written again to be read again.
struct Policy {
    text: String,
    file: PathBuf,
}

impl Policy {
    fn new(place: &Place) -> anyhow::Result<Self> {
        let source = place.root.join("benches/load/soak.yaml");
        let text =
            fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let policy = Self { text, file: place.work.join("soak.yaml") };
        policy.write(0)?;
        Ok(policy)
    }

    /// Writes it beside itself and renames it, as an operator should.
    fn write(&self, number: usize) -> anyhow::Result<()> {
        let beside: &Path = &self.file.with_extension("new");
        fs::write(beside, format!("# {number}\n{}", self.text))?;
        fs::rename(beside, &self.file).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

fn address(gate: &Server, face: Face) -> &Address {
    if face == Face::Grpc { &gate.grpc } else { &gate.http }
}

/// As many lanes as a moderate rate needs.
const fn few(face: Face) -> Protocol {
    match face {
        Face::Grpc => Protocol::Grpc { connections: 2, streams: 16 },
        _ => Protocol::Http1 { connections: 16, many_addresses: false },
    }
}

/// So many visitors before the clock starts that all the memory there is for visitors is in use, and reloads have happened: each that reads, is challenged or
/// answers wrongly has a network of his own, of which there are more than a gate remembers.
async fn fill(gate: &Server, policy: &Policy, purse: &mut Purse) -> anyhow::Result<()> {
    let paid = purse.fresh(&gate.http, 1).await?.first().context("nobody has paid")?;
    let wrong = visitor::answer(&paid.wrong()?, &format!("https://{HOST}"));
    let everybody = [(40, visitor::reader("/")), (20, visitor::browser("/")), (40, wrong)];
    let parts = everybody.map(|(share, step)| {
        (share, Script::one(Face::Forward.freeze(&step.expecting(Expect::Any)), CLIENTS))
    });
    let script = Rc::new(Script::Mixed(parts.into()));
    let mut crew = Crew::new(&gate.http, protocol(Face::Forward));
    for part in 0..FILLS {
        policy.write(part)?;
        let order = Order { pace: Pace::Gentle(FILLING), time: Duration::from_secs(3), give_up: None };
        crew.run(&script, order).await;
    }
    Ok(())
}

/// What everybody does, in parts of a hundred.
fn mixture(face: Face, paid: &[Paid]) -> anyhow::Result<Script> {
    let one = |step: Step| Script::one(face.freeze(&step), CLIENTS);
    let each = |steps: Vec<Step>| Script::Known {
        visits: steps.iter().map(|step| vec![face.freeze(step)]).collect(),
        clients: CLIENTS,
    };
    let unique = visitor::reader(&format!("/articles/{SERIAL}"))
        .without("user-agent")
        .with("user-agent", &format!("Reader/2.{SERIAL}"));
    let wrong = paid.iter().map(|paid| {
        Ok(visitor::answer(&paid.wrong()?, &format!("https://{HOST}")).expecting(Expect::Status(403)))
    });
    let solved = vec![
        visitor::browser("/articles/2026/a-page"),
        visitor::browser("/articles/2026/a-page").via(Via::Page).expecting(Expect::Page),
        visitor::answer("{answer}", &format!("https://{HOST}")),
        visitor::browser("/articles/2026/a-page").expecting(Expect::Allow),
    ];
    Ok(Script::Mixed(vec![
        (30, one(unique)),
        (25, one(visitor::browser(&format!("/articles/{SERIAL}")))),
        (15, one(visitor::robot("/articles/2026/a-page"))),
        (10, each(wrong.collect::<anyhow::Result<_>>()?)),
        (10, Script::Live { face, steps: solved, solver: Some(Solver::Tollgate) }),
        (10, each(paid.iter().map(|paid| paid.returning(true)).collect())),
    ]))
}

fn sample(gate: &Server, at: Duration, runs: &[Measured]) -> anyhow::Result<Sample> {
    let mut latency: Histogram<u64> = runs[0].latency.clone();
    for run in &runs[1..] {
        latency.add(&run.latency)?;
    }
    let usage = gate.process.usage();
    let errors: u64 = runs.iter().map(Measured::failed).sum();
    for (fault, times) in runs.iter().flat_map(|run| &run.faults) {
        println!("error, {times} times: {fault}");
    }
    Ok(Sample {
        minutes: at.as_secs_f64() / 60.0,
        rss_mib: usage.rss_kib as f64 / 1024.0,
        descriptors: usage.descriptors,
        visits: runs.iter().map(|run| run.served).sum::<u64>() + errors,
        errors,
        p50_ms: latency.value_at_percentile(50.0) as f64 / 1e6,
        p99_ms: latency.value_at_percentile(99.0) as f64 / 1e6,
    })
}

/// How many reloads were taken and how many refused, as the gate counts them.
async fn reloads(gate: &Server) -> anyhow::Result<(u64, u64)> {
    let admin = gate.admin.as_ref().context("the gate has no admin listener")?;
    let mut lane = lanes(admin, Protocol::Http1 { connections: 1, many_addresses: false }).remove(0);
    // The admin listener answers nobody who has been sent there under the name of a site.
    let page = Step::get("/metrics", "soak", &[], Expect::Allow).with("host", &admin.to_string());
    let question = Face::Plain.freeze(&page);
    let reply = lane.ask(&question, 0, 0, true).await?;
    ensure!(reply.status == question.expect, "the gate's metrics cannot be read: status {}", reply.status);
    let text = String::from_utf8_lossy(&reply.body);
    let counter = |result: &str| {
        let start = format!("tollgate_reloads_total{{outcome=\"{result}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&start));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Ok((counter("ok"), counter("failed")))
}
