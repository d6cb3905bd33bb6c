//! Replicas that meet on a Valkey or Redis server.
//!
//! Each key is one string with a time to live, written by two scripts (`calls.lua`, `misdeeds.lua`) that read, compute and
//! write in one step. The server's clock counts, so those of the replicas need not agree.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisError, RedisResult, Script, cmd, pipe};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::one_line::{OneLine, Terms};
use super::{About, Address, Ask, Error, Reply, Score, Shared};
use crate::clock::Timestamp;
use crate::memory::reputation::{BAD, FADED, GOOD, HALF_LIFE, MOST, WORTH};

/// How long the server may take for all replies together.
const ANSWER: Duration = Duration::from_millis(100);
/// How long it may take to let us in: over TLS from another place that is several turns.
const CONNECT: Duration = Duration::from_secs(1);
/// The most of an error of the server's that is shown, in characters.
const MAX_SHOWN: usize = 200;

/// A server and, while it is well, a connection to it.
pub struct Valkey {
    address: Address,
    prefix: String,
    tls: Option<TlsConnector>,
    calls: Code,
    misdeeds: Code,
    link: Option<Link>,
}

/// A script, and what the server calls it.
struct Code {
    text: String,
    hash: String,
}

impl Code {
    fn new(text: String) -> Self {
        let hash = Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

/// A connection. Whoever asks drives it, so that nothing runs when nothing is asked.
struct Link {
    connection: MultiplexedConnection,
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
    terms: Terms,
}

impl Valkey {
    /// A server that nothing was asked of yet. Its keys start with `prefix`. Reads the certificates that this system trusts,
    /// where the address asks for TLS.
    pub fn new(address: Address, prefix: String) -> Result<Self, Error> {
        let tls = address.is_tls().then(tls).transpose()?;
        let calls = Code::new(include_str!("calls.lua").to_owned());
        // A server that wants a password first hears no more than ten words at once, and could not say so if there were more.
        let misdeeds = Code::new(format!(
            "local half, most, ill, good, worth, faded = {}, {MOST}, {BAD}, {GOOD}, {WORTH}, {FADED}\n{}",
            HALF_LIFE * 1000.0,
            include_str!("misdeeds.lua")
        ));
        Ok(Self { address, prefix, tls, calls, misdeeds, link: None })
    }

    async fn connect(&mut self) -> Result<Link, Error> {
        let terms = Terms::default();
        let opened = async {
            let stream = self.address.connect(self.tls.as_ref()).await.map_err(|error| shown(&error))?;
            // AUTH, perhaps once more without a user, and SELECT.
            terms.expect(3);
            // Time is bounded here, for the whole of it.
            let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
            let stream = OneLine::new(stream, terms.clone());
            let opened = MultiplexedConnection::new_with_config(&self.address.login, stream, config).await;
            opened.map_err(|error| terms.broken().map_or_else(|| told(&error), str::to_owned))
        };
        let opened = timeout(CONNECT, opened)
            .await
            .unwrap_or_else(|_| Err(format!("it did not let us in within {} ms", CONNECT.as_millis())));
        let (connection, driver) = opened.map_err(Error::Unsent)?;
        Ok(Link { connection, driver: Box::pin(driver), terms })
    }

    /// The command for an ask. The first of a kind brings its script along, which the server then knows.
    fn command(&self, ask: &Ask, known: &mut [bool; 2]) -> Cmd {
        let (code, place, letter) = match &ask.about {
            About::Calls(_) => (&self.calls, 0, 'c'),
            About::Misdeeds(_) => (&self.misdeeds, 1, 'm'),
        };
        let mut command = if std::mem::replace(&mut known[place], true) {
            let mut command = cmd("EVALSHA");
            command.arg(&code.hash);
            command
        } else {
            let mut command = cmd("EVAL");
            command.arg(&code.text);
            command
        };
        command.arg(1).arg(format!("{}{letter}:{}", self.prefix, ask.name));
        match &ask.about {
            About::Calls(calls) => command.arg(calls.cost).arg(calls.own).arg(calls.most),
            About::Misdeeds(misdeeds) => command
                .arg(format!("{:.3}", misdeeds.more))
                .arg(format!("{:.3}", misdeeds.own.points))
                .arg(u8::from(misdeeds.own.bad)),
        };
        command
    }
}

impl Shared for Valkey {
    /// With nothing to ask, asks whether the server can be written to.
    async fn exchange(&mut self, asks: &[Ask], _now: Timestamp) -> Result<Vec<Reply>, Error> {
        let mut link = match self.link.take().and_then(Link::if_open) {
            Some(link) => link,
            None => self.connect().await?,
        };
        let probe = [Ask::probe()];
        let asked = if asks.is_empty() { &probe } else { asks };
        let (mut pipeline, mut known) = (pipe(), [false; 2]);
        for ask in asked {
            pipeline.add_command(self.command(ask, &mut known));
        }
        let numbers = timeout(ANSWER, link.ask(pipeline.ignore_errors(), asked.len()))
            .await
            .map_err(|_| Error::Unknown(format!("it did not answer within {} ms", ANSWER.as_millis())))??;
        // Only a connection on which all went well is used again.
        self.link = Some(link);
        Ok(asks.iter().zip(numbers).map(|(ask, number)| reply(ask, number)).collect())
    }
}

impl Link {
    /// The connection, unless the other side has ended it meanwhile.
    fn if_open(mut self) -> Option<Self> {
        let ended = self.driver.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        ended.is_pending().then_some(self)
    }

    /// Sends commands and reads their replies, of which each must be a number.
    async fn ask(&mut self, pipeline: &Pipeline, count: usize) -> Result<Vec<u64>, Error> {
        let Self { connection, driver, terms } = self;
        terms.expect(count);
        let mut ended = false;
        let mut query = Box::pin(pipeline.query_async::<Vec<RedisResult<i64>>>(connection));
        let numbers = poll_fn(|cx| {
            ended = ended || driver.as_mut().poll(cx).is_ready();
            query.as_mut().poll(cx)
        })
        .await
        .and_then(|replies| replies.into_iter().collect::<RedisResult<Vec<_>>>())
        .map_err(|error| Error::Unknown(terms.broken().map_or_else(|| told(&error), str::to_owned)))?;
        let numbers: Vec<_> = numbers.into_iter().map_while(|number| u64::try_from(number).ok()).collect();
        if numbers.len() == count { Ok(numbers) } else { Err(Error::Unknown(STRANGE.to_owned())) }
    }
}

/// A reply as its ask understands it.
fn reply(ask: &Ask, number: u64) -> Reply {
    match ask.about {
        About::Calls(_) => Reply::Calls(number),
        About::Misdeeds(_) => {
            #[expect(clippy::cast_precision_loss, reason = "at most 80,000; more is cut to that")]
            let points = ((number >> 1) as f32 / 1000.0).min(MOST);
            Reply::Misdeeds(Score { points, bad: number & 1 == 1 })
        }
    }
}

/// TLS with the authorities that this system trusts.
fn tls() -> Result<TlsConnector, Error> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        return Err(Error::Unsent(format!(
            "no certificate of an authority is installed, or in the file that SSL_CERT_FILE names{why}"
        )));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Unsent(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What the crate or the server said, escaped and cut: it may be anything.
fn told(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), detail) => shown(&format!("it says {code} {}", detail.unwrap_or_default())),
        (None, _) if error.is_io_error() => shown(error),
        (None, _) => STRANGE.to_owned(),
    }
}

const STRANGE: &str = "it answers with what we do not ask for";

fn shown(error: &impl fmt::Display) -> String {
    error.to_string().chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect()
}

impl fmt::Debug for Valkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Valkey").field("address", &self.address).finish_non_exhaustive()
    }
}
