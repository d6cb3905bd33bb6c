//! `policy`: the policy in force, with everything it imports.

use std::io::{self, Write};

use clap::{Args, Subcommand};

use super::Failure;
use super::flags::SettingFlags;
use crate::config::{self, Sources};

/// What can be done with the policy.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the policy with all its imports in their places, and where each rule comes from
    Show(Arguments),
}

/// The flags of `policy show`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Print JSON instead of YAML
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
What is printed loads again, and judges every request as the policy does.

Examples:
  tollgate policy show                                      # the policy in force
  tollgate policy show --policy '(data)/strict.yaml' > one-file.yaml
  tollgate policy show --json | jq -r '.rules[] | [.file, .line, .name] | @tsv'";

/// Prints the policy.
pub(super) fn show(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let expanded = config::expand(&sources).map_err(Failure::Problems)?;
    let mut stdout = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut stdout, &expanded.json())?;
        writeln!(stdout)?;
    } else {
        stdout.write_all(expanded.yaml().as_bytes())?;
    }
    Ok(())
}
