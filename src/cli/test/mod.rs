//! `test`: what a policy promises, as plain cases in YAML. Judges through the same gate as the faces, with every fact given
//! by the case: no name is looked up, no database asked, and time and chance stand still.

mod ask;
mod expect;
mod file;
mod keys;
mod paid;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::explain::line::{Judged, Known};
use super::flags::SettingFlags;
use super::{BAD_CONFIG, Failure, check};
use crate::clock::Timestamp;
use crate::config::{self, Given, Problems, Sources};
use crate::crypto::Seed;
use crate::files::Files;
use crate::gate::{Decision, Gate, Moment};
use crate::policy::{Databases, Problem, Trace};
use crate::{request, server};
use ask::Ask;
use expect::Difference;
use file::{Case, Suite};
use paid::Mint;

/// The flags of `test`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Test files; `-` is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
A test file:

  policy: ../policy.yaml             # from this file's folder, or (data)/...; without it the one in force
  headers:                           # sets of headers, for `headers: NAME`
    browser: {Accept: text/html, Accept-Language: en}
  cases:
    - name: secrets are denied
      request: {target: [/.env, /.git/config], headers: browser}
      expect: deny
    - name: who paid comes in
      request: {agent: Example/1.0, client: 192.0.2.1, clearance: {level: 14}}
      expect: {verdict: allow, rule: bot/everyone}

policies/README.md of the sources has every key.

Examples:
  tollgate test policies/tests/*.yaml
  tollgate test --policy new.yaml tests.yaml      # another policy than the file names
  tollgate test --json tests.yaml | jq '.cases[] | select(.passed | not)'

Exit codes: 0 every case passed, 1 one did not, 64 a test file or a policy is wrong.";

/// When every case happens. Only the ages of clearances count from it.
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// What became of one request of a case.
#[derive(Serialize)]
struct Outcome<'o> {
    file: &'o str,
    line: usize,
    name: &'o str,
    request: String,
    passed: bool,
    differences: Vec<Difference>,
    came: Judged<'o>,
}

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Judges every case of every file. A file or a policy that is wrong ends it before any case is judged.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let (mut suites, mut problems) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        match file::read(path).and_then(|suite| Ok((stage(&suite, &sources)?, suite))) {
            Ok(ready) => suites.push(ready),
            Err(wrong) => problems.extend(wrong),
        }
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if !problems.is_empty() {
        return refuse(problems, arguments.json, &mut out);
    }
    let mut rows = Vec::new();
    let mut count = Count::default();
    for (loaded, suite) in suites {
        let (loaded, mint) = loaded;
        let (gate, _runtime) = server::gate(loaded)?;
        for case in &suite.cases {
            for ask in &case.asks {
                let mut trace = Trace { matches_only: true, ..Trace::default() };
                let (decision, known) = judge(&gate, &mint, ask, &mut trace);
                let outcome = outcome(&suite, case, ask, (&decision, &known), &trace);
                if outcome.passed {
                    count.passed += 1
                } else {
                    count.failed += 1
                }
                if arguments.json {
                    rows.push(serde_json::to_value(&outcome)?);
                } else if !outcome.passed {
                    show(&outcome, &decision, &trace, &mut out)?;
                }
            }
        }
    }
    let Count { passed, failed } = count;
    if arguments.json {
        let report = serde_json::json!({ "passed": passed, "failed": failed, "cases": rows, "problems": [] });
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        let files = arguments.files.len();
        writeln!(out, "{passed} passed, {failed} failed, files: {files}")?;
    }
    out.flush()?;
    if failed == 0 { Ok(()) } else { Err(Failure::Silent(1)) }
}

/// Loads the policy of a test file: that of a flag, else the file's own, else the one in force.
fn stage(suite: &Suite, sources: &Sources) -> Result<(config::Loaded, Mint), Vec<Problem>> {
    let flagged = sources.flags.iter().any(|(key, _)| *key == "policy");
    let given = Given {
        databases: Databases { asn: true, country: true },
        policy: suite.policy.clone().filter(|_| !flagged),
    };
    let mut loaded = config::load_with(sources, Some(given), &mut Files::default())
        .map_err(|Problems(problems)| problems)?;
    let mint = Mint::new(&loaded.settings.gate);
    loaded.settings.ring = Some(mint.ring());
    Ok((loaded, mint))
}

fn refuse(problems: Vec<Problem>, json: bool, out: &mut impl Write) -> Result<(), Failure> {
    if !json {
        return Err(Failure::Problems(Problems(problems)));
    }
    let lines: Vec<_> = problems.iter().map(check::Line::from).collect();
    let report = serde_json::json!({ "passed": 0, "failed": 0, "cases": [], "problems": lines });
    serde_json::to_writer(&mut *out, &report)?;
    writeln!(out)?;
    out.flush()?;
    Err(Failure::Silent(BAD_CONFIG))
}

fn judge<'g>(gate: &'g Gate, mint: &Mint, ask: &Ask, trace: &mut Trace) -> (Decision<'g>, Known) {
    gate.state().set_load(ask.load);
    let moment = Moment {
        now: NOW,
        seed: Seed::from_bytes(&[0; 48]),
        known: ask.known.clone(),
        origin: Some(ask.origin),
        learn: true,
    };
    let paid = ask.paid.and_then(|paid| {
        let request = request::Request::new(ask.parts(None)).ok()?;
        mint.cookie(paid, &request, NOW)
    });
    let request = request::Request::new(ask.parts(paid.as_deref()));
    (gate.explain(None, &request, &moment, trace), Known::of(gate, &request, &moment))
}

fn outcome<'o>(
    suite: &'o Suite,
    case: &'o Case,
    ask: &Ask,
    (decision, known): (&Decision<'o>, &Known),
    trace: &'o Trace,
) -> Outcome<'o> {
    let differences = case.expected.differences(decision);
    Outcome {
        file: &suite.name,
        line: case.line,
        name: &case.name,
        request: ask.line(),
        passed: differences.is_empty(),
        differences,
        came: Judged::new(decision, known, trace),
    }
}

fn show(
    outcome: &Outcome<'_>,
    decision: &Decision<'_>,
    trace: &Trace,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "FAILED {}:{} {}", outcome.file, outcome.line, outcome.name.escape_debug())?;
    writeln!(out, "  {}", outcome.request)?;
    for Difference { what, expected, came } in &outcome.differences {
        writeln!(out, "  {what}: expected {}, came {}", expected.escape_debug(), came.escape_debug())?;
    }
    writeln!(
        out,
        "  came: {} by {}, weight {}",
        decision.verdict.as_str(),
        decision.rule.escape_debug(),
        decision.weight
    )?;
    for step in &trace.steps {
        writeln!(out, "    {:9}  {}: {}", step.action, step.rule.escape_debug(), step.why.escape_debug())?;
    }
    writeln!(out)
}
