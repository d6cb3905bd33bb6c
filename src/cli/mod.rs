//! The command line: one file for each subcommand. Data goes to stdout, everything else to stderr.
//! Exit codes: 0 fine, 1 failed at run, 2 usage, 64 bad settings or policy.

mod check;
mod completions;
mod config;
mod demo;
mod explain;
mod flags;
mod import;
mod input;
mod keygen;
mod logs;
mod page;
mod policy;
mod replay;
mod serve;
mod solve;
mod test;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::config::Problems;
use flags::SettingFlags;

/// The gate your proxy asks about every request: allow, deny, or a small proof of work first.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about, disable_help_subcommand = true, after_long_help = HELP)]
struct Arguments {
    #[command(flatten)]
    settings: SettingFlags,
    #[command(subcommand)]
    command: Option<Command>,
}

const HELP: &str = "\
Examples:
  tollgate demo                                   # a small site behind the gate, for a browser
  tollgate check                                  # is everything right?
  tollgate                                        # serve
  tollgate explain -t /.git/config                # how is a request judged, and why?

Each command has more: tollgate COMMAND --help.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve (the default)
    Serve(serve::Arguments),
    /// Serve a small site behind the gate on this machine, for a first look in a browser
    Demo(demo::Arguments),
    /// Load settings, keys and policy, and report everything that is wrong or doubtful
    Check(check::Arguments),
    /// Say how a request would be judged, and why
    Explain(explain::Arguments),
    /// Judge the requests of an access log, and count the verdicts
    Replay(replay::Arguments),
    /// Judge the requests of test files, and compare with what they expect
    Test(test::Arguments),
    /// Show the policy in force
    #[command(subcommand)]
    Policy(policy::Command),
    /// Turn a robots.txt into a list of rules
    Import(import::Arguments),
    /// Make a key, or rotate the keys of a file
    Keygen(keygen::Arguments),
    /// Fetch a challenged page's challenge, solve it, and print the cookie
    Solve(solve::Arguments),
    /// Show every page that a visitor may see, or print the template of ours
    Page(page::Arguments),
    /// Show the settings in force, and where each comes from
    Config(config::Arguments),
    /// Print completions for a shell
    Completions(completions::Arguments),
}

/// Why a command ended without success.
#[derive(Debug)]
enum Failure {
    /// The settings or the policy are wrong: 64.
    Problems(Problems),
    /// Something failed at run: 1.
    Run(anyhow::Error),
    /// As above, and everything has been said already.
    Silent(u8),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        // Whoever read our output has enough of it: `tollgate explain ... | head`.
        let pipe = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
        if error.downcast_ref().is_some_and(pipe) { Self::Silent(0) } else { Self::Run(error) }
    }
}

/// The exit code of bad settings or a bad policy.
const BAD_CONFIG: u8 = 64;

/// Runs a command line; its first word is the program's name. `environment` is the process's.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are no errors and go to stdout.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            drop(error.print());
            return code.into();
        }
    };
    let sources = parsed.settings.sources(environment);
    let done = match parsed.command.unwrap_or_else(|| Command::Serve(serve::Arguments::default())) {
        Command::Serve(arguments) => serve::run(arguments, sources),
        Command::Demo(arguments) => demo::run(arguments, sources),
        Command::Check(arguments) => check::run(arguments, sources),
        Command::Explain(arguments) => explain::run(arguments, sources),
        Command::Replay(arguments) => replay::run(arguments, sources),
        Command::Test(arguments) => test::run(arguments, sources),
        Command::Policy(policy::Command::Show(arguments)) => policy::show(arguments, sources),
        Command::Import(arguments) => import::run(arguments),
        Command::Keygen(arguments) => keygen::run(arguments, &sources),
        Command::Solve(arguments) => solve::run(arguments),
        Command::Page(arguments) => page::run(arguments, sources),
        Command::Config(arguments) => config::run(arguments, sources),
        Command::Completions(arguments) => completions::run(arguments, Arguments::command()),
    };
    let mut stderr = io::stderr().lock();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silent(code)) => code.into(),
        Err(Failure::Problems(problems)) => {
            drop(writeln!(stderr, "{problems}"));
            BAD_CONFIG.into()
        }
        Err(Failure::Run(error)) => {
            drop(writeln!(stderr, "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
