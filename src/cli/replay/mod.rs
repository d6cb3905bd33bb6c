//! `replay`: what a policy would have done with the requests of an access log. Decides through the same code as the faces,
//! and records nothing.

mod log;

use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use serde::Serialize;

use super::explain::{header, line};
use super::flags::SettingFlags;
use super::{Failure, input};
use crate::clock::Clock;
use crate::config::{self, Sources};
use crate::gate::{Decision, Gate, Moment, Verdict};
use crate::policy::Trace;
use crate::request::{Parts, Request};
use crate::server;
use log::Entry;

/// The flags of `replay`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Access logs; without one, or for `-`, stdin
    #[arg(value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Print one JSON object a request instead of totals
    #[arg(long)]
    json: bool,
    /// The host, where the log tells none
    #[arg(long, default_value = line::HOST)]
    host: String,
    /// `http` or `https`, where the log tells neither
    #[arg(long, default_value = line::SCHEME, value_parser = ["http", "https"])]
    scheme: String,
    /// A header to add where the log tells none of its name, `Name: value`; may stand several times
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Ask name servers where rules do; without it every lookup fails
    #[arg(long)]
    look_up: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Understands the common and the combined format, and JSON lines with the names of nginx, Apache,
Caddy, Envoy or Traefik, each line by itself.

A log tells few headers. Rules about others find them missing, and those that weigh browsers by what
they send will take everybody for a liar: add what browsers send with -H, or log headers as JSON.
Nobody in a log has a clearance, so a challenge is what a new visitor would meet.

Examples:
  tollgate replay /var/log/nginx/access.log
  tollgate replay --policy new.yaml -H 'Accept-Language: en' -H 'Sec-Fetch-Mode: navigate' access.log
  tollgate replay --json access.log | jq -r 'select(.verdict == \"deny\") | .target'";

/// The longest line that is read: a request's head has 64 KiB at most, and an escape makes four bytes of one.
const MAX_LINE: u64 = 1 << 20;

/// How many rules the totals name for people; the rest is one line.
const MAX_ROWS: usize = 40;

/// What a request came to.
#[derive(Serialize)]
struct Row<'r> {
    line: u64,
    client: Option<String>,
    method: &'r str,
    target: &'r str,
    agent: Option<&'r str>,
    verdict: &'static str,
    rule: &'r str,
    weight: i64,
    shadow: Option<&'static str>,
}

#[derive(Default)]
struct Totals {
    requests: u64,
    /// Lines that tell no request, and the first of them.
    strange: u64,
    first_strange: Option<String>,
    verdicts: BTreeMap<&'static str, u64>,
    rules: BTreeMap<(String, &'static str), u64>,
    shadows: BTreeMap<(String, &'static str), u64>,
}

/// Replays logs.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let (gate, runtime) = server::gate(config::load(&sources).map_err(Failure::Problems)?)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut totals = Totals::default();
    let stdin = [PathBuf::from("-")];
    let logs = if arguments.logs.is_empty() { &stdin[..] } else { &arguments.logs };
    for path in logs {
        let name = input::name(path);
        let reader = input::open(path).with_context(|| format!("cannot open {name}"))?;
        let mut reader = BufReader::new(reader);
        let (mut line, mut number) = (Vec::new(), 0);
        while input::next_line(&mut reader, &mut line, MAX_LINE)
            .with_context(|| format!("cannot read {name}"))?
        {
            number += 1;
            let line = String::from_utf8_lossy(&line);
            let Some(mut entry) = Entry::parse(&line) else {
                if !line.trim().is_empty() {
                    totals.strange += 1;
                    totals.first_strange.get_or_insert_with(|| format!("{name}:{number}"));
                }
                continue;
            };
            complete(&mut entry, &arguments);
            let (mut moment, _) = Moment::draw(&Clock::System);
            let request = Request::new(parts(&entry, &arguments));
            if arguments.look_up && gate.looks_up() {
                runtime.block_on(gate.look_up(None, &request, &mut moment));
            }
            let mut trace = Trace { matches_only: true, ..Trace::default() };
            let decision = gate.explain(None, &request, &moment, &mut trace);
            totals.add(&decision);
            if arguments.json {
                serde_json::to_writer(&mut out, &row(number, &entry, &decision))?;
                writeln!(out)?;
            }
        }
    }
    finish(&totals, arguments.json, &gate, &mut out)
}

/// Adds the headers of the flags that the log does not tell.
fn complete(entry: &mut Entry, arguments: &Arguments) {
    let told: Vec<String> = entry.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let missing = arguments.headers.iter().filter(|(name, _)| !told.contains(&name.to_ascii_lowercase()));
    entry.headers.extend(missing.cloned());
}

fn parts<'e>(entry: &'e Entry, arguments: &'e Arguments) -> Parts<'e> {
    Parts {
        method: entry.method.as_bytes(),
        target: entry.target.as_bytes(),
        host: entry.host.as_ref().unwrap_or(&arguments.host).as_bytes(),
        scheme: entry.scheme.as_ref().unwrap_or(&arguments.scheme).as_bytes(),
        client: entry.client,
        headers: entry.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect(),
    }
}

fn row<'r>(line: u64, entry: &'r Entry, decision: &Decision<'r>) -> Row<'r> {
    let agent = entry.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
    Row {
        line,
        client: entry.client.map(|client| client.to_string()),
        method: &entry.method,
        target: &entry.target,
        agent: agent.map(|(_, value)| value.as_str()),
        verdict: decision.verdict.as_str(),
        rule: decision.rule,
        weight: decision.weight,
        shadow: decision.shadow.map(|shadow| shadow.verdict.as_str()),
    }
}

impl Totals {
    fn add(&mut self, decision: &Decision<'_>) {
        self.requests += 1;
        *self.verdicts.entry(decision.verdict.as_str()).or_default() += 1;
        *self.rules.entry((decision.rule.to_owned(), decision.verdict.as_str())).or_default() += 1;
        if let Some(shadow) = decision.shadow {
            *self.shadows.entry((shadow.rule.to_owned(), shadow.verdict.as_str())).or_default() += 1;
        }
    }
}

/// Prints the totals, and fails where nothing was understood.
fn finish(totals: &Totals, json: bool, gate: &Gate, out: &mut impl Write) -> Result<(), Failure> {
    if !json {
        writeln!(out, "requests: {}, rules: {}\n", totals.requests, gate.policies().rules())?;
        for verdict in Verdict::ALL {
            let count = totals.verdicts.get(verdict.as_str()).copied().unwrap_or(0);
            if count > 0 {
                writeln!(out, "{count:9}  {:>5}  {}", share(count, totals.requests), verdict.as_str())?;
            }
        }
        table("by rule", &totals.rules, totals.requests, out)?;
        table("in shadow", &totals.shadows, totals.requests, out)?;
    }
    out.flush()?;
    if let Some(first) = &totals.first_strange {
        writeln!(
            io::stderr().lock(),
            "warning: lines that tell no request: {}, the first is {first}",
            totals.strange
        )?;
        if totals.requests == 0 {
            Err(anyhow!("no line is a request of the common or combined format or in JSON"))?;
        }
    }
    Ok(())
}

fn table(
    title: &str,
    counts: &BTreeMap<(String, &'static str), u64>,
    all: u64,
    out: &mut impl Write,
) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for ((rule, verdict), count) in rows.iter().take(MAX_ROWS) {
        writeln!(out, "{count:9}  {:>5}  {verdict:9}  {}", share(**count, all), rule.escape_debug())?;
    }
    if let Some(rest) = rows.get(MAX_ROWS..).filter(|rest| !rest.is_empty()) {
        let count: u64 = rest.iter().map(|(_, count)| **count).sum();
        writeln!(out, "{count:9}  {:>5}  other rules: {}", share(count, all), rest.len())?;
    }
    Ok(())
}

/// A share in percent, in whole tenths.
fn share(count: u64, all: u64) -> String {
    let tenths = count.saturating_mul(1000).checked_div(all).unwrap_or(0);
    format!("{}.{}%", tenths / 10, tenths % 10)
}
