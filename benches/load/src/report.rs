//! Tells a comparison: tables in Markdown, everything in JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::chart;
use crate::compare::{Outcome, Point};
use crate::measure::{Cost, LIMIT_MS, median};
use crate::scenario::Scenario;
use crate::summary::Points;

/// Under which circumstances it was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Circumstances {
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) command: String,
    pub(crate) rounds: usize,
}

#[derive(Serialize)]
struct Results<'a> {
    #[serde(flatten)]
    circumstances: &'a Circumstances,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// Writes `results.json`, `results.md` and the charts, and yields the Markdown.
pub(crate) fn write(
    folder: &Path,
    circumstances: &Circumstances,
    outcome: &Outcome,
    verdicts: &str,
) -> anyhow::Result<String> {
    let put = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let text = markdown(circumstances, outcome, verdicts);
    put("results.md", &text)?;
    put("results.json", &serde_json::to_string_pretty(&Results { circumstances, outcome })?)?;
    for (name, svg) in chart::all(Points(&outcome.points)).context("cannot draw the charts")? {
        put(&name, &svg)?;
    }
    Ok(text)
}

/// Rows of a table; a row without a value anywhere is left out.
struct Table {
    text: String,
}

impl Table {
    fn new(columns: &[String]) -> Self {
        let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
        let head = line(columns.iter().map(String::as_str).collect());
        let rule = line(columns.iter().map(|_| "---").collect());
        Self { text: head + &rule }
    }

    fn row(&mut self, labels: &[&str], cells: &[String]) {
        if cells.iter().any(|cell| !cell.is_empty()) {
            let labels = labels.iter().map(|label| (*label).to_owned());
            let all: Vec<_> = labels.chain(cells.iter().cloned()).collect();
            writeln!(self.text, "| {} |", all.join(" | ")).expect("a string takes it");
        }
    }
}

fn columns(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A number with commas between the thousands.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn micros(cost: &Cost) -> String {
    // Of a peer whose process nobody named there is nothing to tell.
    if cost.total_us() <= 0.0 {
        return String::new();
    }
    format!("{:.1} + {:.1}", cost.user_us, cost.kernel_us)
}

fn capacity(point: &Point) -> String {
    let middle = point.capacity();
    let bound = if point.is_idle_at_limit() { " †" } else { "" };
    if middle.value == 0.0 {
        return format!("0 ({} flat out){bound}", count(point.figure(|round| round.flat_out).value));
    }
    if point.rounds.len() > 1 {
        format!("{} ±{:.0} %{bound}", count(middle.value), middle.spread)
    } else {
        format!("{}{bound}", count(middle.value))
    }
}

const DOORS: [&str; 4] = ["grpc", "nginx", "check", "forward"];

fn markdown(circumstances: &Circumstances, outcome: &Outcome, verdicts: &str) -> String {
    let points = Points(&outcome.points);
    let Circumstances { date, machine, commit, command, rounds } = circumstances;
    let mut text = format!(
        "# Measured under load\n\n{date}, {machine}, commit {commit}: `{command}`, {rounds} round(s); medians, and ± half of what \
         lies between the lowest and the highest round.\n\
         † the measured core had time left at a rate that was missed: other programs had it, the generator was late, or the latency has other\n\
         reasons. Not to be read as what the server can do.\n"
    );
    let mut section = |title: &str, explanation: &str, table: Table| {
        // A head and a rule alone say nothing.
        if table.text.lines().count() > 2 {
            write!(text, "\n## {title}\n\n{explanation}\n\n{}", table.text).expect("a string takes it");
        }
    };
    section(
        "Capacity",
        &format!(
            "Visits a second on one core, 99 of 100 within {LIMIT_MS:.0} ms of when they were due; in brackets, of what an always-OK server \
             does. A visit is one request, but for `solved` (request, page, answer, request)."
        ),
        capacities(points),
    );
    section(
        "Processor time",
        "Microseconds a visit, user + kernel, at the same rate for all (10,000 visits a second; `solved` 1,000).",
        costs(points),
    );
    section(
        "Latency",
        "Milliseconds at that rate, half of the visits / 99 of 100 / 999 of 1,000 within.",
        latencies(points),
    );
    section("Memory", "MiB of the process before its first visit and at most.", memories(points));
    section(
        "Through proxies",
        "Proxy and gate together on one core, the app on the generator's; measured once. Visits a second as above, and microseconds a visit \
         of each at 2,000 visits a second (`solved` 500, large bodies 100).",
        proxies(points),
    );
    section(
        "Start",
        "Milliseconds from the start of the process to listening everywhere (wanted: 100).",
        starts(outcome),
    );
    for peer in points.peers() {
        section(
            &format!("Tollgate and {peer}"),
            "Tollgate's nginx face beside the peer's own endpoint: how many times its capacity, and what part of its processor time.",
            against(points, peer),
        );
    }
    text + verdicts
}

/// The scenarios that can be decided, under both kinds of rules.
fn rows() -> impl Iterator<Item = (Scenario, &'static str)> {
    Scenario::DECIDED.into_iter().flat_map(|scenario| [(scenario, "stock"), (scenario, "minimal")])
}

fn by_door(points: Points<'_>, cell: impl Fn(&Point) -> String) -> Table {
    let peers = points.peers();
    let mut table = Table::new(&columns(&[&["scenario", "rules"], &DOORS[..], &peers].concat()));
    for (scenario, rules) in rows() {
        let ours = DOORS.iter().map(|door| points.find("tollgate", door, rules, scenario));
        let theirs = peers.iter().map(|peer| points.find(peer, "own", rules, scenario));
        let cells: Vec<_> = ours.chain(theirs).map(|point| point.map_or_else(String::new, &cell)).collect();
        table.row(&[scenario.as_str(), rules], &cells);
    }
    for scenario in [Scenario::Allowed, Scenario::Returning] {
        let cells = DOORS.map(|door| points.find("baseline", door, "", scenario));
        table.row(
            &[scenario.as_str(), "always OK"],
            &cells.map(|point| point.map_or_else(String::new, &cell)),
        );
    }
    table
}

fn capacities(points: Points<'_>) -> Table {
    by_door(points, |point| {
        let ours = point.name.series == "tollgate";
        let base = points.baseline(&point.name.door, point.name.scenario).filter(|_| ours);
        // A visit of several requests is no match for a server that is asked once.
        let base = base.filter(|_| point.name.scenario != Scenario::Solved);
        let share =
            base.map(|base| format!(" ({:.2})", point.capacity().value / base.capacity().value.max(1.0)));
        capacity(point) + &share.unwrap_or_default()
    })
}

fn costs(points: Points<'_>) -> Table {
    by_door(points, |point| micros(&point.cost(None)))
}

fn latencies(points: Points<'_>) -> Table {
    by_door(points, |point| {
        let [half, most, nearly_all] =
            [point.figure(|r| r.p50_ms), point.figure(|r| r.p99_ms), point.figure(|r| r.p999_ms)];
        format!("{:.2} / {:.2} / {:.2}", half.value, most.value, nearly_all.value)
    })
}

fn memories(points: Points<'_>) -> Table {
    by_door(points, |point| {
        let process = point.rounds.iter().flat_map(|round| round.memory.keys()).next();
        process
            .and_then(|process| point.memory(process))
            .map_or_else(String::new, |(first, most)| format!("{first:.0}, {most:.0}"))
    })
}

fn starts(outcome: &Outcome) -> Table {
    let mut table = Table::new(&columns(&["rules", "median", "slowest"]));
    for (rules, starts) in &outcome.starts {
        let slowest = starts.iter().copied().fold(0.0, f64::max);
        table.row(&[rules], &[format!("{:.0}", median(starts.iter().copied())), format!("{slowest:.0}")]);
    }
    table
}

fn proxies(points: Points<'_>) -> Table {
    let mut table = Table::new(&columns(&[
        "scenario",
        "proxy",
        "no gate, visits/s",
        "with Tollgate, visits/s",
        "no gate, us",
        "the proxy, us",
        "Tollgate, us",
    ]));
    for scenario in Scenario::ALL {
        for proxy in ["nginx", "envoy"] {
            let door = format!("{proxy} + app");
            let bare = points.find("no gate", &door, "", scenario);
            let gated = points.find("tollgate", &door, "stock", scenario);
            let cells = [
                bare.map(capacity),
                gated.map(capacity),
                bare.map(|point| micros(&point.cost(None))),
                gated.map(|point| micros(&point.cost(Some(proxy)))),
                gated.map(|point| micros(&point.cost(Some("tollgate")))),
            ];
            table.row(&[scenario.as_str(), proxy], &cells.map(Option::unwrap_or_default));
        }
    }
    table
}

fn against(points: Points<'_>, peer: &str) -> Table {
    let mut table = Table::new(&columns(&["scenario", "rules", "capacity", "processor time"]));
    for (scenario, rules) in rows() {
        let (ours, theirs) =
            (points.find("tollgate", "nginx", rules, scenario), points.find(peer, "own", rules, scenario));
        let Some((ours, theirs)) = ours.zip(theirs) else { continue };
        let times = ours.capacity().value / theirs.capacity().value;
        let part = ours.cost(None).total_us() / theirs.cost(None).total_us();
        let shown = |value: f64, text: String| if value.is_finite() { text } else { String::new() };
        table.row(
            &[scenario.as_str(), rules],
            &[shown(times, format!("{times:.1} x")), shown(part, format!("{part:.2}"))],
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn thousands_are_set_apart() {
        let numbers = [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1_234_567.0, "1,234,567")];
        for (value, text) in numbers {
            assert_eq!(count(value), text);
        }
    }
}
