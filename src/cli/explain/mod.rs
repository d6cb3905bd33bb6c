//! `explain`: how a request would be judged, and why. Decides through the same code as the faces, and records nothing, but
//! for a line that says when it was asked: memory then runs on that clock, and a day of traffic is judged in seconds.

pub(super) mod line;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use tokio::runtime::Runtime;

use super::Failure;
use super::flags::SettingFlags;
use crate::clock::{Clock, Timestamp};
use crate::config::{self, Sources};
use crate::gate::{Decision, Gate, Moment};
use crate::policy::Trace;
use crate::{request, server};
use line::{Asked, Judged, Known};

/// The flags of `explain`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Path and query of the request
    #[arg(long, short = 't', default_value = "/", conflicts_with = "requests")]
    target: String,
    /// Its method
    #[arg(long, short = 'X', default_value = line::METHOD, conflicts_with = "requests")]
    method: String,
    /// Its host
    #[arg(long, default_value = line::HOST, conflicts_with = "requests")]
    host: String,
    /// `http` or `https`
    #[arg(long, default_value = line::SCHEME, value_parser = ["http", "https"], conflicts_with = "requests")]
    scheme: String,
    /// The visitor's address; without it there is no evidence for one
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "requests")]
    client: Option<String>,
    /// The policy that the proxy names; without it the host decides which one judges
    #[arg(long, value_name = "NAME", conflicts_with = "requests")]
    policy_name: Option<String>,
    /// A header, `Name: value`; may stand several times
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header, conflicts_with = "requests")]
    headers: Vec<(String, String)>,
    /// Judge one JSON request a line from this file (`-` is stdin), and print one JSON verdict a line. A line that says when
    /// (`"at"`, in seconds since 1970) counts for the lines behind it
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
    /// Trace every rule that was looked at in those lines, not only those that matched
    #[arg(long, requires = "requests")]
    every_step: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Examples:
  tollgate explain -t /.git/config
  tollgate explain -t /page --client 66.249.66.1 -H 'User-Agent: Googlebot/2.1'
  echo '{\"target\":\"/\",\"headers\":[[\"user-agent\",\"curl/8\"]]}' | tollgate explain --requests - --every-step";

/// The longest line of requests; a request's head has 64 KiB at most, and JSON may write six bytes for one.
const MAX_LINE: u64 = 1 << 20;
/// How much is read and written at once.
const BUFFER: usize = 1 << 18;

/// An address, as it was written.
fn address(text: &str) -> Result<String, &'static str> {
    request::parse_address(text.as_bytes()).map(|_| text.to_owned()).ok_or("it is no address")
}

/// A header line.
pub(super) fn header(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once(':').ok_or("it has no colon; write `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// Explains one request for people, or many for programs.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let (gate, runtime) = server::gate(config::load(&sources).map_err(Failure::Problems)?)?;
    let mut out = BufWriter::with_capacity(BUFFER, io::stdout().lock());
    let all_understood = match &arguments.requests {
        Some(path) if path.as_os_str() == "-" => {
            explain_lines(&gate, &runtime, arguments.every_step, io::stdin().lock(), &mut out)?
        }
        Some(path) => {
            let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            let file = BufReader::with_capacity(BUFFER, file);
            explain_lines(&gate, &runtime, arguments.every_step, file, &mut out)?
        }
        None => {
            explain_one(&gate, &runtime, &arguments, &mut out)?;
            true
        }
    };
    out.flush()?;
    if all_understood { Ok(()) } else { Err(Failure::Silent(1)) }
}

/// Answers every line in its place. A line that is no request gets an error in that place and the next one is read: whoever
/// pairs lines with answers must not lose count. Returns whether every line was understood.
fn explain_lines(
    gate: &Gate,
    runtime: &Runtime,
    every_step: bool,
    mut lines: impl BufRead,
    out: &mut impl Write,
) -> Result<bool, Failure> {
    let (mut line, mut number, mut all_understood) = (Vec::new(), 0u64, true);
    let mut trace = Trace { matches_only: !every_step, ..Trace::default() };
    loop {
        line.clear();
        let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(all_understood);
        }
        number += 1;
        let parsed = if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE {
            lines.skip_until(b'\n')?;
            Err(format!("the line is longer than {MAX_LINE} bytes"))
        } else {
            serde_json::from_slice::<Asked<'_>>(line.trim_ascii())
                .map_err(|error| error.to_string())
                .and_then(|asked| asked.at().map(|at| (asked, at)))
        };
        match parsed {
            Ok((asked, at)) => {
                trace.steps.clear();
                let (decision, known) = judge(gate, runtime, &asked, at, &mut trace);
                serde_json::to_writer(&mut *out, &Judged::new(&decision, &known, &trace))?;
            }
            Err(error) => {
                all_understood = false;
                serde_json::to_writer(&mut *out, &serde_json::json!({ "error": error, "line": number }))?;
            }
        }
        out.write_all(b"\n")?;
    }
}

/// The decision, and what was known of the sender before it.
fn judge<'g>(
    gate: &'g Gate,
    runtime: &Runtime,
    asked: &Asked<'_>,
    at: Option<Timestamp>,
    trace: &mut Trace,
) -> (Decision<'g>, Known) {
    let (mut moment, _) = Moment::draw(&Clock::System);
    moment.now = at.unwrap_or(moment.now);
    let request = request::Request::new(asked.parts());
    if gate.looks_up() {
        runtime.block_on(gate.look_up(asked.policy(), &request, &mut moment));
    }
    let known = Known::of(gate, &request, &moment);
    let decision = match at {
        Some(_) => gate.replay(asked.policy(), &request, &moment, trace),
        None => gate.explain(asked.policy(), &request, &moment, trace),
    };
    (decision, known)
}

fn explain_one(
    gate: &Gate,
    runtime: &Runtime,
    arguments: &Arguments,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut asked = Asked::new(&arguments.method, &arguments.target, &arguments.host, &arguments.scheme);
    if let Some(client) = &arguments.client {
        asked.set_client(client);
    }
    if let Some(name) = &arguments.policy_name {
        asked.set_policy(name);
    }
    for (name, value) in &arguments.headers {
        asked.add_header(name, value);
    }
    let mut trace = Trace::default();
    let (decision, known) = judge(gate, runtime, &asked, None, &mut trace);
    if arguments.json {
        serde_json::to_writer(&mut *out, &Judged::new(&decision, &known, &trace))?;
        writeln!(out)?;
        return Ok(());
    }
    for step in &trace.steps {
        let mark = if step.matched { "yes" } else { "no" };
        writeln!(out, "{mark:3}  {:9}  {}: {}", step.action, step.rule, step.why)?;
    }
    writeln!(out)?;
    for finding in &known.findings {
        let mark = if finding.raised { "yes" } else { "no" };
        writeln!(out, "{mark:3}  signal     {}: {}", finding.signal.name(), finding.why)?;
    }
    writeln!(out, "\n{} by {}, weight {}", decision.verdict.as_str(), decision.rule, decision.weight)?;
    writeln!(out, "judged by the policy {}", decision.policy)?;
    if let Some(name) = asked.policy().filter(|name| *name != decision.policy) {
        writeln!(out, "there is no policy {:?}, so the default one judges", name)?;
    }
    if let Some(asks) = line::asks(&decision) {
        writeln!(out, "asks for {}, level {}: {} attempts", asks.kind, asks.level, asks.attempts)?;
    }
    if let Some(shadow) = decision.shadow {
        writeln!(out, "in shadow: {} by {}", shadow.verdict.as_str(), shadow.rule)?;
    }
    if let Some(prior) = decision.prior {
        writeln!(out, "the clearance that came along does not count: {}", prior.code())?;
    }
    Ok(())
}
