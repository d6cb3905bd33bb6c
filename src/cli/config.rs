//! `config`: the settings in force, and where each comes from.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use super::Failure;
use super::flags::SettingFlags;
use crate::config::{self, Problems, Sources};
use crate::policy::Severity;

/// The flags of `config`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Print a JSON array instead of columns
    #[arg(long)]
    json: bool,
    /// Print the table of all settings in Markdown, as the README has it
    #[arg(long, conflicts_with = "json")]
    table: bool,
    /// Print a JSON schema of the settings file, for editors
    #[arg(long, conflicts_with_all = ["json", "table"])]
    schema: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Examples:
  tollgate config                                 # every setting in force, and where it comes from
  tollgate config --json | jq -r '.[] | select(.origin != \"default\") | .key'
  tollgate config --schema > tollgate.schema.json";

#[derive(Serialize)]
struct Row<'s> {
    key: &'static str,
    value: Option<&'s str>,
    origin: &'s str,
    meaning: &'static str,
}

/// Prints every setting; secrets are redacted. Fails if any is wrong.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let mut stdout = io::stdout().lock();
    if arguments.table {
        return Ok(write!(stdout, "{}", config::markdown())?);
    }
    if arguments.schema {
        serde_json::to_writer_pretty(&mut stdout, &config::schema())?;
        return Ok(writeln!(stdout)?);
    }
    let (settings, problems) = config::effective(&sources);
    if arguments.json {
        let rows = settings.iter().map(|s| Row {
            key: s.key.name,
            value: s.value.as_deref(),
            origin: &s.origin,
            meaning: s.key.meaning,
        });
        serde_json::to_writer_pretty(&mut stdout, &rows.collect::<Vec<_>>())?;
        writeln!(stdout)?;
    } else {
        let wide = |column: fn(&config::Effective) -> usize| settings.iter().map(column).max().unwrap_or(0);
        let names = wide(|s| s.key.name.len());
        let values = wide(|s| s.value.as_ref().map_or(1, |v| v.chars().count())).min(40);
        for s in &settings {
            writeln!(
                stdout,
                "{:names$}  {:values$}  {}",
                s.key.name,
                s.value.as_deref().unwrap_or("-"),
                s.origin
            )?;
        }
    }
    let wrong: Vec<_> = problems.into_iter().filter(|p| p.level == Severity::Error).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Problems(Problems(wrong))) }
}
