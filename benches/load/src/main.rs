//! Asks a gate at a constant rate, whatever it answers, and measures what that costs it. See benches/README.md.

mod board;
mod budget;
mod chart;
mod compare;
mod face;
mod fleet;
mod frozen;
#[path = "../../generated/mod.rs"]
mod generated;
mod hostile;
mod measure;
mod peer;
mod process;
mod purse;
mod report;
mod run;
mod scale;
mod scenario;
mod script;
mod soak;
mod solver;
mod subject;
mod summary;
mod trend;
mod upstream;
mod visitor;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Context;
use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, LocalOptions};

use report::Circumstances;
use subject::Place;

/// Measures Tollgate under load.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The repository, for its examples and files
    #[arg(long, global = true, value_name = "FOLDER", default_value = ".")]
    root: PathBuf,
    /// The program that is measured
    #[arg(long, global = true, value_name = "FILE", default_value = "target/release/tollgate")]
    tollgate: PathBuf,
    /// The servers that do nothing
    #[arg(long, global = true, value_name = "FILE", default_value = "target/bench-build/release/baseline")]
    baseline: PathBuf,
    /// The core that measured programs stay on; run this one on another, with `taskset -c 1 load`
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    core: usize,
    /// Where messages of measured programs go; without it nowhere
    #[arg(long, global = true, value_name = "FOLDER")]
    logs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every scenario at every door, beside the baselines and peers
    Compare(compare::Arguments),
    /// What a request costs as rules, networks, headers and visitors grow
    Scale(scale::Arguments),
    /// What inputs cost that aim at cost, to friendly ones
    Hostile(hostile::Arguments),
    /// A long mixed run, and what must not grow in it
    Soak(soak::Arguments),
    /// A fleet, simulated
    Fleet(fleet::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if process::may_run_on(arguments.core) {
        eprintln!(
            "warning: this generator may run on core {}, which is the measured one; start it with taskset -c ANOTHER",
            arguments.core
        );
    }
    let nanos =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("the clock stands before 1970")?;
    let work = std::env::temp_dir().join(format!("tollgate-load-{}", std::process::id()));
    std::fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
    let root = arguments.root.canonicalize().with_context(|| format!("no {}", arguments.root.display()))?;
    let place = Place {
        root,
        tollgate: arguments.tollgate.clone(),
        baseline: arguments.baseline.clone(),
        core: arguments.core,
        logs: arguments.logs.clone(),
        work: work.clone(),
        // A key for as long as the measurement lasts: nothing that it guards is worth more.
        secret: format!("{:064x}", nanos.as_nanos()),
    };
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let outcome = runtime.block_on(async {
        match &arguments.command {
            Command::Compare(compare) => {
                let circumstances = circumstances(&place.root, compare.rounds());
                let outcome = compare::run(&place, compare).await?;
                let (verdicts, all) =
                    budget::judge(&place.root.join("benches/budgets.toml"), &outcome.points)?;
                print!("{}", report::write(&compare.out, &circumstances, &outcome, &verdicts)?);
                Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Command::Scale(scale) => tell(&place, &scale::run(&place, scale).await?),
            Command::Hostile(hostile) => tell(&place, &hostile::run(&place, hostile).await?),
            Command::Soak(soak) => {
                Ok(if soak::run(&place, soak).await? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Command::Fleet(fleet) => {
                print!("{}", fleet::run(fleet));
                Ok(ExitCode::SUCCESS)
            }
        }
    });
    // Whatever came of it, the folder goes; the system's temporary folder is the second net.
    drop(std::fs::remove_dir_all(&work));
    outcome
}

/// Prints tables with what a reader needs to know about them.
fn tell(place: &Place, tables: &str) -> anyhow::Result<ExitCode> {
    let Circumstances { date, machine, commit, command, .. } = circumstances(&place.root, 1);
    println!("{date}, {machine}, commit {commit}: `{command}`\n\n{tables}");
    Ok(ExitCode::SUCCESS)
}

/// What a reader needs to know about the numbers.
fn circumstances(root: &Path, rounds: usize) -> Circumstances {
    let said = |program: &str, args: &[&str]| {
        let output = std::process::Command::new(program).args(args).current_dir(root).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        text.unwrap_or_default()
    };
    let name = |text: std::ffi::OsString| {
        Path::new(&text)
            .file_name()
            .map_or_else(|| text.clone(), ToOwned::to_owned)
            .to_string_lossy()
            .into_owned()
    };
    let mut words = std::env::args_os();
    let program = words.next().map(name).unwrap_or_default();
    let rest = words.map(|word| word.to_string_lossy().into_owned());
    Circumstances {
        date: said("date", &["-u", "+%F %H:%M UTC"]),
        machine: process::machine(),
        commit: said("git", &["describe", "--always", "--dirty"]),
        command: [program].into_iter().chain(rest).collect::<Vec<_>>().join(" "),
        rounds,
    }
}
