//! `serve`: runs until it is told to end.

use std::io::{self, Write};

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;
use super::flags::SettingFlags;
use super::logs::{self, Logs};
use crate::clock::Clock;
use crate::config::{self, Sources};
use crate::server::{Server, Stop};

/// The flags of `serve`.
#[derive(Args, Debug, Default)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Examples:
  tollgate                                        # the same as tollgate serve
  tollgate serve --config /etc/tollgate.yaml
  tollgate serve --policy '(data)/observe.yaml'   # decide and tell, but refuse nobody

SIGHUP reads settings, keys and policy again. SIGTERM ends it in order: for drain.delay it says that it is not ready
and serves on, so that proxies go elsewhere; then requests in flight finish, for drain.timeout at most. SIGINT ends
it without the delay, and either of them, sent again, ends what is being waited for.";

/// Serves until SIGTERM or SIGINT. Prints the addresses as one JSON line once it can be reached and ended.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    let mut loaded = config::load(&sources).map_err(Failure::Problems)?;
    let logs = Logs::start(&loaded.settings.log);
    let lints = std::mem::take(&mut loaded.lints);
    let (rules, policies) = (loaded.policies.rules(), loaded.policies.count());
    let server = Server::bind(loaded, sources, Clock::System)?;
    logs.count_lost(&server.live().load().state().metrics);
    // Only now, so that an address in use is one clear line.
    logs::lints(&lints);
    let addresses = server.addresses().clone();
    let line = serde_json::to_string(&addresses)?;
    tracing::info!(
        grpc = addresses.grpc,
        http = addresses.http,
        admin = addresses.admin,
        rules,
        policies,
        "serving"
    );
    until_told(server, &line)
}

/// Serves, and prints `text` once a signal would end the process in order.
pub(super) fn until_told(server: Server, text: &str) -> Result<(), Failure> {
    let (mut signals, mut failed) = (None, None);
    server.run_until(async || {
        if signals.is_none() {
            match Signals::new().and_then(|signals| say(text).map(|()| signals)) {
                Ok(ready) => signals = Some(ready),
                Err(error) => failed = Some(error),
            }
        }
        match &mut signals {
            Some(signals) => signals.next().await,
            None => Stop::AtOnce,
        }
    })?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// What ends the process.
struct Signals {
    /// An orchestrator's: others may still send requests here.
    terminate: Signal,
    /// A person's at the keyboard, who does not want to wait.
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt })
    }

    async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.terminate.recv() => Stop::Announced,
            _ = self.interrupt.recv() => Stop::AtOnce,
        }
    }
}

/// Writes all of it at once: whoever waits for the first line may then close the pipe.
fn say(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(format!("{text}\n").as_bytes())?;
    stdout.flush()
}
