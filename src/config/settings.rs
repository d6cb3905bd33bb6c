//! All settings of a process, checked: each alone, and against each other.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tracing_subscriber::EnvFilter;

use super::key_file::KeyFile;
use super::listen::{Address, Listen};
use super::memory::{self, Memory};
use super::page;
use super::reader::{Reader, path_text};
use super::secret::read_token;
use super::value;
use crate::admin::Token;
use crate::clearance::{CookieSettings, Lives, SameSite};
use crate::crypto::{Ring, Secret};
use crate::lookup::{Databases, Field};
use crate::memory::{Limit, MIN_BYTES};
use crate::request::{ClientSettings, Hops, Networks};
use crate::{gate, policy};

/// The settings of a process.
#[derive(Debug)]
pub struct Settings {
    /// Where it listens.
    pub listen: Listen,
    /// Where its policy stands.
    pub policy: policy::Source,
    /// The configured keys; `None` asks for an ephemeral one.
    pub ring: Option<Ring>,
    /// What the policy's challenges depend on.
    pub defaults: policy::Defaults,
    /// Which databases are named, so that rules may ask for them.
    pub databases: policy::Databases,
    /// The rooms' own settings.
    pub gate: gate::Settings,
    /// The name servers that are asked; none for the system's.
    pub name_servers: Vec<SocketAddr>,
    /// Threads that serve.
    pub workers: NonZeroUsize,
    /// What the admin listener asks for.
    pub admin_token: Option<Token>,
    /// How events are written.
    pub log: Log,
    /// How often the files are looked at for changes; `None` for never.
    pub watch: Option<Duration>,
    /// How the process ends.
    pub drain: Drain,
    /// Who remembers beside this process.
    pub memory: Memory,
}

/// How a process ends once it has been told to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drain {
    /// How long it serves on, not ready any more, until proxies have gone elsewhere.
    pub delay: Duration,
    /// How long what is in flight may take after that.
    pub timeout: Duration,
}

/// How events are written to stderr.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Log {
    /// One JSON object a line instead of text.
    pub json: bool,
    /// A filter of tracing-subscriber.
    pub filter: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { json: false, filter: "info".to_owned() }
    }
}

/// The most bytes that memory may take: more than any machine's clients need.
const MAX_BYTES: usize = 64 << 30;

/// The most threads that serve; more than any machine has cores.
const MAX_WORKERS: usize = 1024;

impl Settings {
    /// Reads every setting; what is wrong stays in the reader.
    pub(super) fn read(reader: &mut Reader<'_>, embedded: Option<(&'static str, &'static str)>) -> Self {
        let listen = read_listen(reader);
        let admin_token = reader
            .path("admin.token_file")
            .and_then(|path| note(reader, "admin.token_file", read_token(&path)))
            .map(Token::new);
        if !listen.admin.is_local() && !reader.is_set("admin.token_file") {
            reader.complain("listen.admin", format!("{} can be reached from other machines, so `admin.token_file` must be set; or use a loopback address", listen.admin));
        }
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let workers = reader
            .optional("workers", value::number(1, MAX_WORKERS))
            .and_then(NonZeroUsize::new)
            .unwrap_or(cores);
        let mut gate = read_gate(reader);
        neighbours(reader, &listen, &gate.trust);
        let defaults = read_defaults(reader, &gate.wait);
        gate.challenge.max_level = defaults.max_level;
        let memory = memory::read(reader);
        gate.others = memory.others();
        Self {
            listen,
            policy: read_policy(reader, embedded),
            ring: read_keys(reader),
            defaults,
            databases: policy::Databases {
                asn: reader.is_set("geo.asn"),
                country: reader.is_set("geo.country"),
            },
            gate,
            name_servers: read_name_servers(reader),
            workers,
            admin_token,
            log: read_log(reader),
            watch: reader.read("reload.watch", None, watch),
            drain: read_drain(reader),
            memory,
        }
    }
}

fn note<T>(reader: &mut Reader<'_>, key: &str, result: Result<T, String>) -> Option<T> {
    result.map_err(|message| reader.complain(key, message)).ok()
}

fn read_listen(reader: &mut Reader<'_>) -> Listen {
    let listen = Listen {
        grpc: reader.read("listen.grpc", Address::Off, Address::parse),
        http: reader.read("listen.http", Address::Off, Address::parse),
        admin: reader.read("listen.admin", Address::Off, Address::parse),
        mode: reader.read("listen.mode", 0o660, value::mode),
    };
    let free = |a: &Address| matches!(a, Address::Off) || matches!(a, Address::Tcp(tcp) if tcp.port() == 0);
    let pairs = [
        ("listen.http", &listen.http, "listen.grpc", &listen.grpc),
        ("listen.admin", &listen.admin, "listen.grpc", &listen.grpc),
        ("listen.admin", &listen.admin, "listen.http", &listen.http),
    ];
    for (key, address, other, same) in pairs {
        if address == same && !free(address) {
            reader.complain(key, format!("{address} is the address of `{other}` too"));
        }
    }
    listen
}

/// Warns where a face can be reached from this machine only, and nobody on it is trusted.
fn neighbours(reader: &mut Reader<'_>, listen: &Listen, trust: &gate::Trust) {
    if trust.secret.is_some() || trust.peers.is_empty() || !reader.is_set("trust.peers") {
        return;
    }
    for (key, address) in [("listen.grpc", &listen.grpc), ("listen.http", &listen.http)] {
        let Address::Tcp(tcp) = address else { continue };
        if address.is_local() && !trust.peers.contains(tcp.ip().to_canonical()) {
            let message = format!(
                "`{key}` is {address}, which only this machine can reach, and nobody on it is among these peers: every proxy will be refused; add {}",
                tcp.ip()
            );
            reader.warn("trust.peers", message);
            return;
        }
    }
}

fn read_policy(reader: &mut Reader<'_>, embedded: Option<(&'static str, &'static str)>) -> policy::Source {
    let named = reader.optional("policy", path_text);
    match (named, embedded) {
        (Some(text), _) => match policy::Source::parse(&text) {
            policy::Source::File(path) => policy::Source::File(reader.folder("policy").join(path)),
            source => source,
        },
        (None, Some((name, text))) => policy::Source::Text { name: name.to_owned(), text: text.to_owned() },
        (None, None) => policy::Source::parse("(data)/quiet.yaml"),
    }
}

fn read_keys(reader: &mut Reader<'_>) -> Option<Ring> {
    let replicas = reader.read("replicas", 1, value::number(1u32, 10_000));
    let secret =
        reader.optional("keys.secret", |text| Secret::parse(text).map_err(|error| error.to_string()));
    let file = reader.path("keys.file");
    let (has_secret, has_file) = (reader.is_set("keys.secret"), reader.is_set("keys.file"));
    if has_secret && has_file {
        reader.complain("keys.secret", "`keys.file` is set too; only one of them can hold".to_owned());
    }
    if replicas > 1 && !has_secret && !has_file {
        reader.complain("replicas", format!("{replicas} replicas must share their keys, or each would refuse the others' clearances; set `keys.file` or `keys.secret`"));
    }
    let ring = file.and_then(|path| note(reader, "keys.file", KeyFile::read(&path).and_then(|f| f.ring())));
    ring.or_else(|| secret.map(Ring::single))
}

/// How long something that a key has signed counts at most, and the setting that says so.
pub(super) fn longest_life(reader: &mut Reader<'_>) -> (Duration, &'static str) {
    let (lives, ttl) = (read_lives(reader), read_challenge(reader).ttl);
    let all = [("cookie.ttl.work", lives.work), ("cookie.ttl.wait", lives.wait), ("challenge.ttl", ttl)];
    let longest = all.into_iter().reduce(|longest, next| if next.1 > longest.1 { next } else { longest });
    longest.map_or((lives.work, "cookie.ttl.work"), |(key, life)| (life, key))
}

fn read_lives(reader: &mut Reader<'_>) -> Lives {
    let fallback = Lives::default();
    let mut read = |key, life| {
        reader.read(key, life, within(Duration::from_secs(60), Duration::from_secs(366 * 86_400)))
    };
    Lives { work: read("cookie.ttl.work", fallback.work), wait: read("cookie.ttl.wait", fallback.wait) }
}

fn read_gate(reader: &mut Reader<'_>) -> gate::Settings {
    let fallback = gate::Settings::default();
    gate::Settings {
        prefix: reader.read("public_prefix", fallback.prefix, value::prefix),
        client: read_client(reader),
        trust: read_trust(reader),
        cookie: read_cookie(reader),
        lives: read_lives(reader),
        wait: gate::Wait {
            enabled: reader.read("wait.enabled", true, value::switch),
            max_level: reader.read("wait.max_level", fallback.wait.max_level, value::number(0, MAX_LEVEL)),
            min: reader.read(
                "wait.min",
                fallback.wait.min,
                within(Duration::from_secs(1), Duration::from_secs(60)),
            ),
        },
        challenge: read_challenge(reader),
        status: gate::Statuses {
            challenge: reader.read("status.challenge", fallback.status.challenge, value::number(200, 599)),
            deny: reader.read("status.deny", fallback.status.deny, value::number(200, 599)),
        },
        shadow: reader.read("shadow", false, value::switch),
        logged: reader.read("log.decisions", fallback.logged, value::number(0, 1_000_000)),
        limits: gate::Limits {
            answers: read_limit(reader, "limits.answers", fallback.limits.answers),
            work: read_limit(reader, "limits.work", fallback.limits.work),
            wait: read_limit(reader, "limits.wait", fallback.limits.wait),
        },
        memory: reader.read("memory.max_bytes", fallback.memory, value::bytes(MIN_BYTES, MAX_BYTES)),
        others: fallback.others,
        marks: ["attack.first", "attack.second"].map(|key| {
            reader.read(key, fallback.marks[usize::from(key == "attack.second")], value::number(0, 1_000_000))
        }),
        page: page::read(reader),
        trap: reader.read("page.trap", fallback.trap, value::switch),
        databases: read_databases(reader),
        resolvers: Vec::new(),
    }
}

fn read_name_servers(reader: &mut Reader<'_>) -> Vec<SocketAddr> {
    let mut servers = Vec::new();
    for text in reader.list("dns.servers") {
        let server =
            text.parse().or_else(|_| text.parse().map(|address: IpAddr| SocketAddr::new(address, 53)));
        match server {
            Ok(server) => servers.push(server),
            Err(_) => {
                reader.complain("dns.servers", format!("`{text}` is no address, with or without a port"))
            }
        }
    }
    servers
}

fn read_databases(reader: &mut Reader<'_>) -> Arc<Databases> {
    let (asn, country) = (reader.path("geo.asn"), reader.path("geo.country"));
    let databases = Databases::load(asn.as_deref(), country.as_deref()).unwrap_or_else(|errors| {
        for error in errors {
            let key = match error.field {
                Field::Asn => "geo.asn",
                Field::Country => "geo.country",
            };
            reader.complain(key, error.to_string());
        }
        Databases::default()
    });
    Arc::new(databases)
}

fn read_client(reader: &mut Reader<'_>) -> ClientSettings {
    let count = reader.read("client.hops", 0, value::number(0, 15usize));
    let trusted = read_networks(reader, "client.trusted");
    let by_number = reader.is_set("client.hops");
    if by_number && reader.is_set("client.trusted") {
        reader.complain(
            "client.hops",
            "`client.trusted` is set too; the proxies in front are told by number or by network, not both"
                .to_owned(),
        );
    }
    let header = reader.optional("client.header", |text| value::token(text).map(|name| name.to_ascii_lowercase()).and_then(|name| {
        if name.contains(['_', '.']) { Err(format!("`{name}` never counts: servers fold `_` and `.` in a name into `-`, so visitors could forge it")) } else { Ok(name) }
    }));
    let envoy_external = reader.read("client.envoy_external", false, value::switch);
    ClientSettings { hops: trusted.map_or(Hops::Count(count), Hops::In), header, envoy_external }
}

fn read_trust(reader: &mut Reader<'_>) -> gate::Trust {
    let peers = read_networks(reader, "trust.peers").unwrap_or_default();
    let secret = reader
        .path("trust.secret_file")
        .and_then(|path| note(reader, "trust.secret_file", read_token(&path)));
    let unlearned = reader
        .path("learn.secret_file")
        .and_then(|path| note(reader, "learn.secret_file", read_token(&path)));
    gate::Trust { peers, secret, unlearned }
}

fn read_networks(reader: &mut Reader<'_>, key: &str) -> Option<Networks> {
    let items = reader.list(key);
    if items.is_empty() {
        return None;
    }
    let mut good = Vec::new();
    for item in items {
        match Networks::parse([&item]) {
            Ok(_) => good.push(item),
            Err(error) => reader.complain(key, error.to_string()),
        }
    }
    Networks::parse(good).ok()
}

fn read_cookie(reader: &mut Reader<'_>) -> CookieSettings {
    let fallback = CookieSettings::default();
    let same_site = reader.read("cookie.same_site", fallback.same_site, |text| {
        match text.to_ascii_lowercase().as_str() {
            "lax" => Ok(SameSite::Lax),
            "none" => Ok(SameSite::None),
            "strict" => Ok(SameSite::Strict),
            _ => Err(format!("`{text}` is not one of lax, strict, none")),
        }
    });
    let partitioned = reader.read("cookie.partitioned", false, value::switch);
    let name = reader.read("cookie.name", fallback.name, |text| match value::token(text)? {
        // `__Host-` is ours to add, and only under https; any case of it means the same to a browser.
        name if name.starts_with("__") => {
            Err(format!("`{name}` starts with `__`, which browsers reserve; `__Host-` is added under https"))
        }
        name => Ok(name),
    });
    let always_secure = reader.read("cookie.secure", fallback.always_secure, |text| match text {
        "auto" => Ok(false),
        "always" => Ok(true),
        _ => Err(format!("`{text}` is neither auto nor always")),
    });
    if partitioned && !(same_site == SameSite::None && always_secure) {
        let message = "browsers keep a partitioned cookie only with `cookie.same_site: none` and under https; where every visitor comes over https, say so with `cookie.secure: always`";
        reader.complain("cookie.partitioned", message.to_owned());
    }
    CookieSettings { name, same_site, partitioned, always_secure }
}

/// The highest level that settings may ask: a million attempts.
const MAX_LEVEL: u8 = 20;

fn read_challenge(reader: &mut Reader<'_>) -> gate::Challenge {
    let fallback = gate::Challenge::default();
    gate::Challenge {
        size: reader.read("challenge.size", fallback.size, value::number(10, 14)),
        max_level: fallback.max_level,
        ttl: reader.read(
            "challenge.ttl",
            fallback.ttl,
            within(Duration::from_secs(10), Duration::from_secs(gate::MAX_TTL.into())),
        ),
        bind_prefix: reader.read("challenge.bind_prefix", false, value::switch),
        bind_ja4: reader.read("challenge.bind_ja4", false, value::switch),
    }
}

/// The levels between which a policy may ask. Where they are wrong the policy is judged by the defaults, so that it does
/// not get blamed for them.
fn read_defaults(reader: &mut Reader<'_>, wait: &gate::Wait) -> policy::Defaults {
    let fallback =
        policy::Defaults { wait_enabled: wait.enabled, wait_max_level: wait.max_level, ..Default::default() };
    let level = || value::number(0, MAX_LEVEL);
    let asked = reader.read("challenge.level", 14, level());
    let low = reader.read("challenge.min_level", fallback.min_level, level());
    let high = reader.read("challenge.max_level", fallback.max_level, level());
    if low > high {
        reader.complain("challenge.min_level", format!("{low} is above `challenge.max_level`, {high}"));
        return fallback;
    }
    let level = Some(asked).filter(|_| reader.is_set("challenge.level"));
    if level.is_some_and(|level| !(low..=high).contains(&level)) {
        let bounds =
            format!("this is not between `challenge.min_level`, {low}, and `challenge.max_level`, {high}");
        reader.complain("challenge.level", bounds);
        return fallback;
    }
    policy::Defaults { level, min_level: low, max_level: high, ..fallback }
}

fn read_limit(reader: &mut Reader<'_>, key: &str, fallback: Limit) -> Limit {
    reader.read(key, fallback, value::limit)
}

fn read_drain(reader: &mut Reader<'_>) -> Drain {
    let mut read = |key| reader.read(key, Duration::ZERO, within(Duration::ZERO, Duration::from_secs(600)));
    Drain { delay: read("drain.delay"), timeout: read("drain.timeout") }
}

fn read_log(reader: &mut Reader<'_>) -> Log {
    let json = reader.read("log.format", false, |text| match text {
        "json" => Ok(true),
        "text" => Ok(false),
        _ => Err(format!("`{text}` is neither text nor json")),
    });
    let filter = reader.read("log.level", "info".to_owned(), |text| {
        // A bare word that is no level would be taken for a module's name, and silence all others.
        let levels = ["off", "error", "warn", "info", "debug", "trace"];
        let known = |word: &str| word.contains('=') || levels.iter().any(|level| level.eq_ignore_ascii_case(word.trim()));
        match EnvFilter::try_new(text) {
            Ok(_) if text.split(',').all(known) => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is no level; use error, warn, info, debug, trace, or a tracing filter such as tollgate::gate=debug,info")),
        }
    });
    Log { json, filter }
}

/// How often files are looked at. YAML 1.1 takes a bare `off` for the boolean.
fn watch(text: &str) -> Result<Option<Duration>, String> {
    match text {
        "off" | "false" => Ok(None),
        text => match value::span(text)? {
            span if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&span) => {
                Ok(Some(span))
            }
            _ => Err(format!("`{text}` is not between 100ms and 1h; `off` never looks")),
        },
    }
}

fn within(low: Duration, high: Duration) -> impl Fn(&str) -> Result<Duration, String> {
    move |text| match value::span(text)? {
        span if span < low || span > high => {
            Err(format!("`{text}` is not between {} s and {} s", low.as_secs(), high.as_secs()))
        }
        span => Ok(span),
    }
}
