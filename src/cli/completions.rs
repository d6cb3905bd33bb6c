//! `completions`: what a shell needs to complete commands and flags, made from the flags themselves.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::Failure;

/// The flags of `completions`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

const HELP: &str = "\
Examples:
  tollgate completions bash > /etc/bash_completion.d/tollgate
  tollgate completions zsh > \"${fpath[1]}/_tollgate\"
  tollgate completions fish > ~/.config/fish/completions/tollgate.fish";

/// Prints a script.
pub(super) fn run(arguments: Arguments, mut command: Command) -> Result<(), Failure> {
    // Written at once: the generator panics where a reader has gone away.
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "tollgate", &mut script);
    Ok(io::stdout().lock().write_all(&script)?)
}
