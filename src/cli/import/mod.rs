//! `import`: turns a robots.txt into rules, so that those who do not obey it are held to it.

mod robots;
mod rules;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;

use super::{Failure, input};
use robots::{MAX_FILE, Robots};

/// The flags of `import`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// The robots.txt; `-` is stdin
    #[arg(value_name = "ROBOTS.TXT", default_value = "-")]
    file: PathBuf,
    /// Write the list to this file instead of stdout
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

const HELP: &str = "\
The list denies the agents that the file names what it disallows them, as RFC 9309 says: the longest
pattern decides, Allow wins a tie, `*` and `$` are understood. What it allows is left to other rules.
`User-agent: *` is taken to speak to agents that say they are robots; people are no robots.
Patterns with a query are followed as far as a rule can see one; the list says where it differs.

Examples:
  tollgate import robots.txt -o robots.yaml       # then, in the policy: - import: robots.yaml
  curl -s https://example.com/robots.txt | tollgate import";

/// Reads a robots.txt and writes a list of rules.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let name = input::name(&arguments.file);
    let (mut bytes, longer) =
        input::read(&arguments.file, MAX_FILE).with_context(|| format!("cannot read {name}"))?;
    let mut stderr = io::stderr().lock();
    if longer {
        // The line that is cut would say something else.
        bytes.truncate(bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1));
        writeln!(stderr, "warning: {name} is longer than {} KiB; the rest does not count", MAX_FILE >> 10)?;
    }
    if bytes.trim_ascii_start().starts_with(b"<") {
        return Err(anyhow!("{name} is a web page and no robots.txt").into());
    }
    let robots = Robots::parse(&bytes);
    for line in &robots.strange {
        writeln!(stderr, "warning: {name}:{line} says nothing that is known")?;
    }
    let list =
        rules::list(&robots, &name).map_err(|reason| anyhow!("cannot turn {name} into rules: {reason}"))?;
    for note in &list.notes {
        writeln!(stderr, "warning: {}", note.escape_debug())?;
    }
    match &arguments.output {
        Some(path) => {
            fs::write(path, &list.text).with_context(|| format!("cannot write {}", path.display()))?;
            writeln!(stderr, "{}: {} rules", path.display(), list.rules)?;
        }
        None => io::stdout().lock().write_all(list.text.as_bytes())?,
    }
    Ok(())
}
