//! `check`: loads everything and serves nothing.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::flags::SettingFlags;
use super::{BAD_CONFIG, Failure};
use crate::config::{self, Sources};
use crate::policy::{Problem, Severity, lint_table};
use crate::server;

/// The flags of `check`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Print one JSON object instead of drawings
    #[arg(long)]
    json: bool,
    /// Print the table of all lints in Markdown, as the documentation has it
    #[arg(long, conflicts_with = "json")]
    lints: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Examples:
  tollgate check                                  # settings, keys and policy as serve would read them
  tollgate check --policy new.yaml && systemctl reload tollgate
  tollgate check --json | jq -r '.problems[] | \"\\(.file):\\(.line) \\(.code) \\(.message)\"'

Exit codes: 0 it loads, perhaps with lints, 64 it does not.";

#[derive(Serialize)]
struct Report<'p> {
    ok: bool,
    rules: Option<usize>,
    policies: Option<usize>,
    problems: Vec<Line<'p>>,
}

/// A problem as JSON says it.
#[derive(Serialize)]
pub(super) struct Line<'p> {
    level: &'static str,
    code: Option<&'static str>,
    file: &'p str,
    line: usize,
    column: usize,
    key: Option<&'p str>,
    rule: Option<&'p str>,
    message: &'p str,
    help: Option<&'p str>,
}

impl<'p> From<&'p Problem> for Line<'p> {
    fn from(problem: &'p Problem) -> Self {
        Self {
            level: problem.level.as_str(),
            code: problem.code,
            file: &problem.file,
            line: problem.line,
            column: problem.column,
            key: problem.key.as_deref(),
            rule: problem.rule.as_deref(),
            message: &problem.message,
            help: problem.help.as_deref(),
        }
    }
}

/// Reports every problem and every lint; fails if anything is wrong.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    if arguments.lints {
        return Ok(write!(io::stdout().lock(), "{}", lint_table())?);
    }
    arguments.settings.add_to(&mut sources);
    let (problems, counted) = match config::load(&sources) {
        Ok(mut loaded) => {
            let lints = std::mem::take(&mut loaded.lints);
            let counted = (loaded.policies.rules(), loaded.policies.count());
            // The gate is built as well, so that nothing is left to go wrong at the start.
            server::gate(loaded)?;
            (lints, Some(counted))
        }
        Err(problems) => (problems.0, None),
    };
    let mut stdout = io::stdout().lock();
    if arguments.json {
        let (rules, policies) = counted.unzip();
        let problems = problems.iter().map(Line::from).collect();
        let report = Report { ok: counted.is_some(), rules, policies, problems };
        serde_json::to_writer(&mut stdout, &report)?;
        writeln!(stdout)?;
    } else {
        let mut stderr = io::stderr().lock();
        for problem in &problems {
            writeln!(stderr, "{problem}\n")?;
        }
        let errors = problems.iter().filter(|p| p.level == Severity::Error).count();
        let lints = problems.len() - errors;
        match counted {
            Some((rules, 1)) => writeln!(stdout, "fine: {rules} rules, {lints} lints")?,
            Some((rules, policies)) => {
                writeln!(stdout, "fine: {rules} rules in {policies} policies, {lints} lints")?;
            }
            None => writeln!(stderr, "errors: {errors}, lints: {lints}")?,
        }
    }
    if counted.is_some() { Ok(()) } else { Err(Failure::Silent(BAD_CONFIG)) }
}
