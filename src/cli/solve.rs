//! `solve`: the reference client. Pays for a page as a program can, and prints the clearance.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;
use ureq::http::{HeaderValue, Response, Uri};
use ureq::{Agent, Body};

use super::Failure;
use crate::challenge::{Token, answer_text, solve};
use crate::crypto::Kind;

/// The flags of `solve`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// The challenged page
    url: Uri,
    /// The agent to be cleared; the clearance holds for this one only
    #[arg(long, short = 'A', value_name = "AGENT", default_value = concat!("tollgate-solve/", env!("CARGO_PKG_VERSION")))]
    user_agent: String,
    /// The visitor-facing paths of the site's gate
    #[arg(long, value_name = "PATH", default_value = "/.tollgate/")]
    prefix: String,
    /// The most work to do: 2 to this power attempts
    #[arg(long, value_name = "LEVEL", default_value_t = 20)]
    max_level: u8,
    /// Print a JSON object instead of `name=value`
    #[arg(long)]
    json: bool,
}

const HELP: &str = "\
Examples:
  tollgate solve https://example.com/page         # prints the cookie
  curl -A 'Example/1.0' -H \"Cookie: $(tollgate solve --user-agent 'Example/1.0' https://example.com/)\" https://example.com/";

#[derive(Serialize)]
struct Paid<'p> {
    name: &'p str,
    value: &'p str,
    level: u8,
}

/// How long the site may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much of a page is read to find its challenge.
const MAX_PAGE: u64 = 1 << 20;

/// Fetches, solves, pays, prints.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let url = &arguments.url;
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err(
            anyhow::anyhow!("{url} is no URL; write it whole, such as https://example.com/page").into()
        );
    };
    if !arguments.prefix.starts_with('/') || !arguments.prefix.ends_with('/') {
        return Err(anyhow::anyhow!("--prefix {} must start and end with `/`", arguments.prefix).into());
    }
    if HeaderValue::from_str(&arguments.user_agent).is_err() {
        return Err(anyhow::anyhow!("the agent holds characters that no header may").into());
    }
    let agent: Agent = Agent::config_builder()
        .user_agent(&arguments.user_agent)
        .accept("application/json")
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(PATIENCE))
        .build()
        .into();
    let page = agent.get(url.clone()).call().with_context(|| format!("cannot fetch {url}"))?;
    let text = challenge(page, url)?;
    let token = Token::parse(&text)
        .map_err(|refusal| anyhow::anyhow!("the challenge of {url} cannot be read: {}", refusal.code()))?;
    if token.kind() == Kind::Wait {
        return Err(anyhow::anyhow!("{url} asks to wait, which only its page can do").into());
    }
    if token.level() > arguments.max_level {
        let (level, most) = (token.level(), arguments.max_level);
        return Err(anyhow::anyhow!("{url} asks for level {level}; --max-level allows {most}").into());
    }
    let answer = answer_text(&token, &solve(&token));
    let endpoint = format!("{scheme}://{authority}{}answer", arguments.prefix);
    let paid = agent
        .post(&endpoint)
        .header("tollgate-answer", &answer)
        .send_empty()
        .with_context(|| format!("cannot answer at {endpoint}"))?;
    let cookie = cookie(paid, &endpoint)?;
    let pair = cookie.split(';').next().unwrap_or_default().trim();
    let (name, value) =
        pair.split_once('=').with_context(|| format!("the cookie of {endpoint} has no name"))?;
    let mut stdout = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer(&mut stdout, &Paid { name, value, level: token.level() })?;
        writeln!(stdout)?;
    } else {
        writeln!(stdout, "{name}={value}")?;
    }
    Ok(())
}

/// The challenge of an answer: of its header, or of the page's data block where the site shows programs the page.
fn challenge(page: Response<Body>, url: &Uri) -> anyhow::Result<String> {
    let status = page.status();
    if let Some(token) = page.headers().get("tollgate-challenge") {
        return Ok(token.to_str().context("the challenge is no text")?.to_owned());
    }
    if status.is_redirection() {
        let to = page.headers().get("location").and_then(|l| l.to_str().ok()).unwrap_or("another place");
        bail!("{url} leads to {:?}; ask for that", to);
    }
    if status.is_success() {
        bail!("{url} asks nothing of this agent (status {status})");
    }
    let text = page.into_body().with_config().limit(MAX_PAGE).lossy_utf8(true).read_to_string()?;
    let block =
        text.split_once(r#"type="application/json">"#).and_then(|(_, rest)| rest.split_once("</script>"));
    let job = block.and_then(|(json, _)| serde_json::from_str::<serde_json::Value>(json).ok());
    let token = job.as_ref().and_then(|job| job.get("token")).and_then(serde_json::Value::as_str);
    token
        .map(str::to_owned)
        .with_context(|| format!("{url} refuses this agent without a challenge (status {status})"))
}

/// The clearance that an accepted answer brings.
fn cookie(paid: Response<Body>, endpoint: &str) -> anyhow::Result<String> {
    let status = paid.status();
    match paid.headers().get("set-cookie") {
        Some(cookie) if status == 204 => Ok(cookie.to_str().context("the cookie is no text")?.to_owned()),
        _ => {
            let reason = paid
                .into_body()
                .with_config()
                .limit(64)
                .lossy_utf8(true)
                .read_to_string()
                .unwrap_or_default();
            let reason: String = reason.trim().chars().filter(|c| !c.is_control()).collect();
            bail!("{endpoint} does not accept the answer (status {status}): {reason}")
        }
    }
}
