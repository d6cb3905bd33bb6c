//! The comparison: every scenario at every door of Tollgate, of the baselines and of peers, all in one run, taking turns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::face::Face;
use crate::measure::{Effort, Round, Subject};
use crate::peer::{Flag, Peer};
use crate::process::Process;
use crate::purse::Purse;
use crate::run::Crew;
use crate::scenario::Scenario;
use crate::script::Script;
use crate::subject::{FOR_SPEED, Place, Server};
use crate::upstream;
use crate::wire::{Address, Protocol};

/// The flags of `compare`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// How many times everything is measured
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// One short round, for a look
    #[arg(long)]
    quick: bool,
    /// Only points whose names hold this text, such as `grpc` or `solved`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// No real proxies
    #[arg(long)]
    no_proxies: bool,
    /// Another gate: NAME=URL[,file=FILE][,pid=PID][,rules=stock|minimal]; FILE is peers/NAME.toml unless named
    #[arg(long, value_name = "PEER")]
    peer: Vec<Flag>,
    /// How many addresses the visitors have who have not paid
    #[arg(long, default_value_t = 100_000)]
    clients: u64,
    /// How many visitors have paid
    #[arg(long, default_value_t = 64)]
    visitors: usize,
    /// Where results.json, results.md and the charts go
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    pub(crate) out: PathBuf,
}

impl Arguments {
    /// How many times everything is measured.
    pub(crate) const fn rounds(&self) -> usize {
        if self.quick { 1 } else { self.rounds }
    }
}

/// Where a visit is measured.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(crate) struct Name {
    /// `tollgate`, `baseline`, `no gate`, or a peer.
    pub(crate) series: String,
    /// The face; or the proxy in front and the app behind.
    pub(crate) door: String,
    /// `stock`, `minimal`, or nothing where there are none.
    pub(crate) rules: String,
    pub(crate) scenario: Scenario,
}

/// A point of the comparison, with all its rounds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Point {
    #[serde(flatten)]
    pub(crate) name: Name,
    /// Requests that a visit takes.
    pub(crate) requests: usize,
    pub(crate) rounds: Vec<Round>,
}

/// Visits a second at which latency and processor time are read, the same for everybody.
const fn fixed_rate(scenario: Scenario, through_a_proxy: bool) -> f64 {
    match (scenario, through_a_proxy) {
        (Scenario::AllowedLarge | Scenario::UploadLarge, _) => 100.0,
        (Scenario::Solved, true) => 500.0,
        (Scenario::Solved, false) => 1_000.0,
        (_, true) => 2_000.0,
        (_, false) => 10_000.0,
    }
}

/// As nginx and Envoy hold them: nginx keeps some dozens of connections, Envoy one a worker with any number of streams.
const NGINX: Protocol = Protocol::Http1 { connections: 64, many_addresses: false };
const ENVOY: Protocol = Protocol::Grpc { connections: 4, streams: 64 };
/// Browsers, each from an address of its own.
const BROWSERS: Protocol = Protocol::Http1 { connections: 64, many_addresses: true };

/// The connections of a face's proxy.
pub(crate) const fn protocol(face: Face) -> Protocol {
    if matches!(face, Face::Grpc) { ENVOY } else { NGINX }
}

/// The doors of a Tollgate and under which policies they are measured. `check` and `forward` differ from `nginx` in little
/// but the page that a refusal carries, so the stock policy tells enough.
const DOORS: [(&str, Face, &[&str]); 4] = [
    ("grpc", Face::Grpc, &["stock", "minimal"]),
    ("nginx", Face::Nginx, &["stock", "minimal"]),
    ("check", Face::Check, &["stock"]),
    ("forward", Face::Forward, &["stock"]),
];

/// All that was measured.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Outcome {
    pub(crate) points: Vec<Point>,
    /// Milliseconds from the start of a Tollgate to its listening, by policy.
    pub(crate) starts: BTreeMap<String, Vec<f64>>,
}

/// A comparison under way.
struct Comparison<'a> {
    place: &'a Place,
    arguments: &'a Arguments,
    effort: Effort,
    purse: Purse,
    outcome: Outcome,
}

/// Measures everything.
pub(crate) async fn run(place: &Place, arguments: &Arguments) -> anyhow::Result<Outcome> {
    let effort = if arguments.quick { Effort::QUICK } else { Effort::FULL };
    let mut comparison =
        Comparison { place, arguments, effort, purse: Purse::default(), outcome: Outcome::default() };
    let folder = place.root.join("benches/load/peers");
    let peers: Vec<_> =
        arguments.peer.iter().map(|flag| Peer::load(flag, &folder)).collect::<anyhow::Result<_>>()?;
    let rounds = arguments.rounds();
    for round in 1..=rounds {
        comparison.round(&format!("{round}/{rounds}"), &peers).await?;
    }
    if !arguments.no_proxies {
        comparison.proxies().await?;
    }
    Ok(comparison.outcome)
}

impl Comparison<'_> {
    /// Everything once, each scenario at all doors before the next.
    async fn round(&mut self, label: &str, peers: &[Peer]) -> anyhow::Result<()> {
        let minimal = self.place.root.join("benches/load/minimal.yaml");
        let gates = [
            ("stock", self.place.tollgate("(data)/botPolicies.yaml", 1, &FOR_SPEED)?),
            ("minimal", self.place.tollgate(&minimal.display().to_string(), 1, &FOR_SPEED)?),
        ];
        for (rules, gate) in &gates {
            let starts = self.outcome.starts.entry((*rules).to_owned()).or_default();
            starts.push(gate.started.as_secs_f64() * 1e3);
        }
        let baseline = self.place.baseline()?;
        for scenario in Scenario::DECIDED {
            for (rules, gate) in &gates {
                for (door, face, _) in DOORS.iter().filter(|(.., under)| under.contains(rules)) {
                    let Some(name) = self.wanted("tollgate", door, rules, scenario) else { continue };
                    let address = if *face == Face::Grpc { &gate.grpc } else { &gate.http };
                    let mut crew = Crew::new(address, protocol(*face));
                    let script = self.script(scenario, *face, gate).await?;
                    self.point(label, name, &mut crew, script, &[&gate.process]).await?;
                }
            }
            if matches!(scenario, Scenario::Allowed | Scenario::Returning) {
                for (door, face, address) in
                    [("grpc", Face::Grpc, &baseline.grpc), ("nginx", Face::Nginx, &baseline.http)]
                {
                    let Some(name) = self.wanted("baseline", door, "", scenario) else { continue };
                    let mut crew = Crew::new(address, protocol(face));
                    let script = self.script(scenario, face, &gates[0].1).await?;
                    self.point(label, name, &mut crew, script, &[&baseline.process]).await?;
                }
            }
            for peer in peers {
                let Some(name) = self.wanted(&peer.name, "own", &peer.rules, scenario) else { continue };
                let (clients, visitors) = (self.arguments.clients, self.arguments.visitors);
                let Some(script) = peer.script(scenario, clients, visitors).await? else { continue };
                let mut crew = Crew::new(&peer.address, protocol(peer.face));
                let processes: Vec<_> = peer.process.iter().collect();
                self.point(label, name, &mut crew, script, &processes).await?;
            }
        }
        Ok(())
    }

    /// Every scenario once through real proxies, with the gate behind them and without: once is enough to tell what a
    /// visitor sees, since proxies take most of it.
    async fn proxies(&mut self) -> anyhow::Result<()> {
        let app = upstream::start().await?;
        let gate = self.place.tollgate("(data)/botPolicies.yaml", 1, &FOR_SPEED)?;
        for (proxy, start) in [("nginx", Place::nginx as Starter), ("envoy", Place::envoy as Starter)] {
            for gated in [false, true] {
                let (process, edge) = match start(self.place, &gate, app, gated) {
                    Ok(started) => started,
                    Err(error) => {
                        eprintln!("skipped: {proxy}: {error:#}");
                        continue;
                    }
                };
                for scenario in Scenario::ALL {
                    let bare = matches!(
                        scenario,
                        Scenario::Allowed | Scenario::AllowedLarge | Scenario::UploadLarge
                    );
                    if !gated && !bare {
                        continue;
                    }
                    let (series, rules) = if gated { ("tollgate", "stock") } else { ("no gate", "") };
                    let door = format!("{proxy} + app");
                    let Some(name) = self.wanted(series, &door, rules, scenario) else { continue };
                    let mut crew = Crew::new(&edge, BROWSERS);
                    let processes: Vec<_> =
                        if gated { vec![&process, &gate.process] } else { vec![&process] };
                    let script = self.script(scenario, Face::Plain, &gate).await?;
                    self.point("proxies", name, &mut crew, script, &processes).await?;
                }
            }
        }
        Ok(())
    }

    /// The name of a point, if it is to be measured.
    fn wanted(&self, series: &str, door: &str, rules: &str, scenario: Scenario) -> Option<Name> {
        let whole = format!("{series} {door} {rules} {}", scenario.as_str());
        let [series, door, rules] = [series, door, rules].map(str::to_owned);
        let wanted = self.arguments.only.as_ref().is_none_or(|text| whole.contains(text));
        wanted.then_some(Name { series, door, rules, scenario })
    }

    /// What is asked. Visitors pay at the door for programs, whichever door they then take.
    async fn script(&mut self, scenario: Scenario, face: Face, gate: &Server) -> anyhow::Result<Rc<Script>> {
        let visitors = self.arguments.visitors;
        let paid = match scenario {
            Scenario::Solved => self.purse.fresh(&gate.http, visitors).await?,
            Scenario::Returning => self.purse.cleared(&gate.http, visitors).await?,
            _ => &[],
        };
        Ok(scenario.script(face, paid, self.arguments.clients))
    }

    /// Measures one point once, and says so.
    async fn point(
        &mut self,
        label: &str,
        name: Name,
        crew: &mut Crew,
        script: Rc<Script>,
        processes: &[&Process],
    ) -> anyhow::Result<()> {
        let rate = fixed_rate(name.scenario, name.door.ends_with("app"));
        let requests = script.requests();
        let mut subject = Subject { crew, script, processes: processes.to_vec(), rate };
        let round = subject.measure(&self.effort).await.with_context(|| format!("{name:?}"))?;
        let cost: f64 = round.cost.values().map(|cost| cost.total_us()).sum();
        eprintln!(
            "{label:>7}  {:<10} {:<12} {:<8} {:<14} {:>9.0}/s  p99 {:>6.2} ms  {:>6.1} us{}{}",
            name.series,
            name.door,
            name.rules,
            name.scenario.as_str(),
            round.capacity,
            round.p99_ms,
            cost,
            if round.idle_at_limit { "  †" } else { "" },
            if round.faults.is_empty() { String::new() } else { format!("  {:?}", round.faults) },
        );
        match self.outcome.points.iter_mut().find(|point| point.name == name) {
            Some(point) => point.rounds.push(round),
            None => self.outcome.points.push(Point { name, requests, rounds: vec![round] }),
        }
        Ok(())
    }
}

type Starter = fn(&Place, &Server, std::net::SocketAddr, bool) -> anyhow::Result<(Process, Address)>;
