//! `demo`: a small site behind the gate, on this machine only, for a first look in a browser.

mod site;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;

use super::flags::SettingFlags;
use super::logs::{self, Logs};
use super::{Failure, serve};
use crate::clock::Clock;
use crate::config::{self, Sources};
use crate::server::Server;
use site::Site;

/// The flags of `demo`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// Where the site stands; a loopback address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    #[command(flatten)]
    settings: SettingFlags,
}

const HELP: &str = "\
Examples:
  tollgate demo
  tollgate demo --listen 127.0.0.1:8081";

/// Every verdict on its own path, so that each can be looked at.
const POLICY: &str = include_str!("policy.yaml");

/// Serves the site until SIGTERM or SIGINT. Looks for no settings file and reads no environment: a first look depends on nothing.
pub(super) fn run(arguments: Arguments, mut sources: Sources) -> Result<(), Failure> {
    arguments.settings.add_to(&mut sources);
    sources.environment.clear();
    sources.folder = None;
    sources.policy = Some(("the demo's policy", POLICY));
    for listener in ["listen.grpc", "listen.http", "listen.admin"] {
        if sources.flags.iter().all(|(key, _)| *key != listener) {
            // The default ports may be a real gate's.
            sources.flags.push((listener, vec!["127.0.0.1:0".to_owned()]));
        }
    }
    // No proxy asks it, so there is none to go elsewhere.
    sources.flags.push(("drain.delay", vec!["0s".to_owned()]));
    if !arguments.listen.ip().is_loopback() {
        return Err(anyhow!(
            "{} is no loopback address; the demo is for this machine only",
            arguments.listen
        )
        .into());
    }
    let loaded = config::load(&sources).map_err(Failure::Problems)?;
    let logs = Logs::start(&loaded.settings.log);
    logs::lints(&loaded.lints);
    let listener = TcpListener::bind(arguments.listen).with_context(|| {
        format!("cannot listen on {}; choose another address with --listen", arguments.listen)
    })?;
    let at = listener.local_addr().context("the site has no address")?;
    let mut server = Server::bind(loaded, sources, Clock::System)?;
    logs.count_lost(&server.live().load().state().metrics);
    let site = Site::new(server.live(), Clock::System);
    server
        .serve_also(listener, Arc::new(move |request| site.answer(&request)))
        .context("cannot serve the site")?;
    let text = invitation(at, server.addresses().admin.as_deref());
    serve::until_told(server, &text)
}

fn invitation(at: SocketAddr, admin: Option<&str>) -> String {
    let counted = admin
        .map_or_else(String::new, |admin| format!("  http://{admin}/metrics    what the gate counted\n"));
    format!(
        "
Open this in a browser:

  http://{at}/             the challenge, then the site; its pages show the other verdicts

{counted}  tollgate solve http://{at}/    pays as a program can

Ctrl-C ends it."
    )
}
