//! Names of addresses, addresses of names, and the block list, asked of name servers. Whoever asks sets the deadline;
//! a question goes on behind it, so that its answer is there for the next request.

mod kept;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::config::{
    LookupIpStrategy, NameServerConfig, ProtocolConfig, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{RData, RecordType};
use hickory_resolver::{TokioResolver, system_conf};
use prometheus_client::metrics::counter::Counter;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::metrics::Witness;
use kept::Kept;

/// Where the block list of addresses is asked.
const BLOCK_LIST: &str = "dnsbl.dronebl.org.";

/// The most questions that are open at once; one more fails at once.
pub const MAX_OPEN: usize = 256;
/// How long a name server may take for a try, and how often it is tried.
const TRY: Duration = Duration::from_secs(1);
const TRIES: usize = 2;
/// The most names that an address may have; honest ones have one or two.
const MAX_NAMES: usize = 8;

/// What can be asked.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Question {
    /// The addresses of a name.
    Addresses(String),
    /// Whether an address is on the block list.
    Listed(IpAddr),
    /// The names of an address.
    Names(IpAddr),
}

/// What comes back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reply {
    /// The addresses of a name; none where it does not exist.
    Addresses(Vec<IpAddr>),
    /// No answer, or one that says nothing.
    Failed,
    /// Whether the address is listed.
    Listed(bool),
    /// The names of an address; none where it has none.
    Names(Vec<String>),
}

/// How long answers are kept, whatever the name server says, found or not found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lives {
    /// Of the addresses of a name, and of the block list.
    pub forward: Duration,
    /// Of the names of an address.
    pub reverse: Duration,
}

/// The name servers cannot be used.
#[derive(Debug, Error)]
#[error("cannot read the system's name servers from /etc/resolv.conf; name some in `dns.servers`")]
pub struct ResolverError(#[from] NetError);

/// Asks name servers and keeps what they answer.
pub struct Resolver {
    servers: TokioResolver,
    kept: Arc<Kept>,
    runtime: Handle,
    open: Arc<Semaphore>,
    panics: Counter,
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("open", &self.open).finish_non_exhaustive()
    }
}

impl Resolver {
    /// A resolver whose questions run on `runtime`. Without `servers` the system's are asked.
    pub fn new(runtime: Handle, servers: &[SocketAddr], lives: Lives) -> Result<Self, ResolverError> {
        let (system, options) = match servers {
            [] => system_conf::read_system_conf()?,
            servers => (
                ResolverConfig::from_parts(None, Vec::new(), servers.iter().map(server).collect()),
                ResolverOpts::default(),
            ),
        };
        // Over UDP alone, so that no answer is large; no search list, since every name is whole.
        let only_udp = system.name_servers().iter().map(|server| {
            let mut server = server.clone();
            server.connections.retain(|c| matches!(c.protocol, ProtocolConfig::Udp));
            server
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), only_udp.collect());
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let ours = builder.options_mut();
        *ours = options;
        // Replies are kept here, failures among them.
        (ours.timeout, ours.attempts, ours.cache_size) = (TRY, TRIES, 0);
        ours.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        ours.max_active_requests = MAX_OPEN;
        let (servers, kept) = (builder.build()?, Arc::new(Kept::new(lives)));
        let (open, panics) = (Arc::new(Semaphore::new(MAX_OPEN)), Counter::default());
        Ok(Self { servers, kept, runtime, open, panics })
    }

    /// The same, with its panics counted there: a question that ends in one has failed.
    pub fn counting(self, panics: Counter) -> Self {
        Self { panics, ..self }
    }

    /// The same, with its open questions among those that `open` has room for.
    pub fn within(self, open: Arc<Semaphore>) -> Self {
        Self { open, ..self }
    }

    /// Asks at once, and returns what will come back. Dropping that does not take the question back.
    pub fn ask(&self, question: Question) -> impl Future<Output = Reply> + Send + use<> {
        let known = self.kept.get(&question);
        let permit = if known.is_none() { self.open.clone().try_acquire_owned().ok() } else { None };
        let running = permit.map(|permit| {
            let (servers, kept) = (self.servers.clone(), self.kept.clone());
            self.run(async move {
                let reply = reply(&servers, question.clone()).await;
                kept.keep(question, &reply);
                drop(permit);
                reply
            })
        });
        async move {
            match (known, running) {
                (Some(reply), _) => reply,
                (None, Some(running)) => running.await.unwrap_or(Reply::Failed),
                (None, None) => Reply::Failed,
            }
        }
    }

    /// Runs a question to its end, whether or not somebody waits for it.
    fn run<T: Send + 'static>(&self, asking: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let witness = Witness::new(self.panics.clone());
        self.runtime.spawn(async move {
            let answer = asking.await;
            drop(witness);
            answer
        })
    }
}

fn server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp(address.ip());
    server.connections.iter_mut().for_each(|connection| connection.port = address.port());
    server
}

async fn reply(resolver: &TokioResolver, question: Question) -> Reply {
    match question {
        Question::Addresses(name) => match resolver.lookup_ip(format!("{name}.")).await {
            Ok(found) => Reply::Addresses(found.iter().collect()),
            Err(error) if is_absence(&error) => Reply::Addresses(Vec::new()),
            Err(_) => Reply::Failed,
        },
        Question::Names(address) => match resolver.reverse_lookup(address).await {
            Ok(found) => {
                let names = found.answers().iter().filter_map(|record| match &record.data {
                    RData::PTR(name) => Some(name.0.to_ascii()),
                    _ => None,
                });
                believable(names.collect())
            }
            Err(error) if is_absence(&error) => Reply::Names(Vec::new()),
            Err(_) => Reply::Failed,
        },
        Question::Listed(address) => match resolver.lookup(listing(address), RecordType::A).await {
            Ok(found) => found
                .answers()
                .iter()
                .find_map(|record| match &record.data {
                    RData::A(code) => Some(listed(code.0)),
                    _ => None,
                })
                .unwrap_or(Reply::Failed),
            Err(error) if is_absence(&error) => Reply::Listed(false),
            Err(_) => Reply::Failed,
        },
    }
}

/// Whether a server said that there is nothing, and not that it failed.
fn is_absence(error: &NetError) -> bool {
    matches!(error, NetError::Dns(DnsError::NoRecordsFound(none)) if matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError))
}

/// Names that are names: the owner of an address writes them, and a pattern must not be fooled by escapes in them.
fn believable(names: Vec<String>) -> Reply {
    let plain = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if names.len() > MAX_NAMES || !names.iter().all(plain) { Reply::Failed } else { Reply::Names(names) }
}

/// What a code of the block list says. Anything beside 127.0.0.0/24 is no code but a server that lies.
fn listed(code: Ipv4Addr) -> Reply {
    if code.octets()[..3] == [127, 0, 0] { Reply::Listed(true) } else { Reply::Failed }
}

/// The name under which the block list has an address.
fn listing(address: IpAddr) -> String {
    let mut name = String::new();
    match address {
        IpAddr::V4(v4) => v4.octets().iter().rev().for_each(|o| name.push_str(&format!("{o}."))),
        IpAddr::V6(v6) => {
            v6.octets().iter().rev().for_each(|o| name.push_str(&format!("{:x}.{:x}.", o & 15, o >> 4)));
        }
    }
    name + BLOCK_LIST
}

#[cfg(test)]
mod tests;
