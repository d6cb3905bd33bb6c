//! The one table of settings: it feeds reading, the search for unknown keys, the flags, `tollgate config` and the README.

use std::fmt::Write;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name, with dots, as in the file; `TOLLGATE_` and `__` for the dots make the environment's.
    pub name: &'static str,
    /// What holds when nobody sets it, written as one would write it; `None` is "not set".
    pub default: Option<&'static str>,
    /// The flag that sets it.
    pub flag: Option<Flag>,
    /// What it does, in one line.
    pub meaning: &'static str,
    /// Whether the value itself is a secret and is never shown.
    pub secret: bool,
    /// What a value looks like, where the default does not tell.
    pub form: Option<Form>,
}

/// What the value of a setting looks like in a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// An address that may hold a password, which is never shown.
    Address,
    /// A list of texts; one text with commas will do.
    List,
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
    /// A text of its own kind, which its meaning describes.
    Text,
    /// A whole number.
    Whole,
}

/// The command-line form of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Without the dashes.
    pub name: &'static str,
    /// The placeholder of its value; empty for a switch.
    pub value: &'static str,
    /// Whether it may stand several times.
    pub repeated: bool,
}

const fn key(name: &'static str, default: Option<&'static str>, meaning: &'static str) -> Key {
    Key { name, default, flag: None, meaning, secret: false, form: None }
}

const fn flagged(key: Key, name: &'static str, value: &'static str) -> Key {
    Key { flag: Some(Flag { name, value, repeated: false }), ..key }
}

const fn repeated(key: Key, name: &'static str, value: &'static str) -> Key {
    Key { flag: Some(Flag { name, value, repeated: true }), form: Some(Form::List), ..key }
}

const fn formed(key: Key, form: Form) -> Key {
    Key { form: Some(form), ..key }
}

/// Every setting there is, in the order of the documentation.
pub const KEYS: &[Key] = &[
    flagged(
        key(
            "config",
            None,
            "the settings file; without it `tollgate.yaml` or `tollgate.toml`, if there is one",
        ),
        "config",
        "FILE",
    ),
    flagged(
        key(
            "listen.grpc",
            Some("127.0.0.1:9001"),
            "Envoy's gRPC ext_authz: `host:port`, `unix:/path` or `off`; port 0 picks one",
        ),
        "grpc",
        "ADDRESS",
    ),
    flagged(
        key("listen.http", Some("127.0.0.1:9002"), "the HTTP faces and the visitor-facing paths"),
        "http",
        "ADDRESS",
    ),
    flagged(
        key("listen.admin", Some("127.0.0.1:9003"), "metrics, health and the admin API"),
        "admin",
        "ADDRESS",
    ),
    key("listen.mode", Some("0660"), "file mode of unix sockets, octal"),
    flagged(
        key("policy", None, "the policy: a file or `(data)/...`; without it the embedded `quiet.yaml`"),
        "policy",
        "FILE",
    ),
    flagged(
        key("keys.file", None, "the key ring that `tollgate keygen` writes; nobody else may read it"),
        "key-file",
        "FILE",
    ),
    Key {
        secret: true,
        ..key("keys.secret", None, "instead of a key ring, one secret: 32 bytes as hex or base64")
    },
    repeated(
        key("trust.peers", Some("127.0.0.0/8, ::1"), "the proxies that may ask: addresses and networks"),
        "trust",
        "CIDR",
    ),
    key(
        "trust.secret_file",
        None,
        "file with a secret that proxies send in `x-tollgate-token`, 16 characters or more",
    ),
    key(
        "learn.secret_file",
        None,
        "file with a secret, 16 characters or more; a request that shows it in `x-tollgate-learn` leaves no trace in memory",
    ),
    flagged(
        key("client.hops", Some("0"), "how many trusted proxies stand in front of the one that asks"),
        "hops",
        "N",
    ),
    repeated(
        key("client.trusted", None, "instead of a number, the networks of those proxies"),
        "trust-hop",
        "CIDR",
    ),
    key("client.header", None, "the one header that carries the visitor's address, such as `x-real-ip`"),
    key(
        "client.envoy_external",
        Some("false"),
        "whether Envoy writes `x-envoy-external-address` (`use_remote_address: true`)",
    ),
    flagged(key("public_prefix", Some("/.tollgate/"), "the visitor-facing paths"), "prefix", "PATH"),
    key("cookie.name", Some("tollgate"), "the cookie's name; `__Host-` is added under https"),
    key("cookie.ttl.work", Some("7d"), "how long solved work lasts"),
    key("cookie.ttl.wait", Some("30m"), "how long a wait without a script lasts"),
    formed(
        key("cookie.same_site", Some("lax"), "`lax`, `strict` or `none`"),
        Form::OneOf(&["lax", "strict", "none"]),
    ),
    key(
        "cookie.partitioned",
        Some("false"),
        "for sites that stand in other sites' frames; needs `cookie.same_site: none` and `cookie.secure: always`",
    ),
    key(
        "cookie.secure",
        Some("auto"),
        "`auto`: `Secure` where the proxy says https; `always`: every visitor comes over https",
    ),
    key("wait.enabled", Some("true"), "whether visitors without scripts may wait instead"),
    key("wait.max_level", Some("16"), "the highest level that waiting stands in for"),
    key("wait.min", Some("1s"), "the shortest wait"),
    key("challenge.level", Some("14"), "the work asked where a rule names none: 2 to this power attempts"),
    key("challenge.min_level", Some("12"), "the lowest level that an imported rule may ask"),
    key("challenge.max_level", Some("18"), "the highest level that is ever asked"),
    key(
        "challenge.size",
        Some("12"),
        "log2 of the bytes hashed an attempt, 10 to 14; 10 spares a server whose processor lacks SHA instructions",
    ),
    key("challenge.ttl", Some("300s"), "how long a visitor has to answer"),
    key(
        "challenge.bind_prefix",
        Some("false"),
        "whether a clearance holds only in the visitor's own network (/24, /48)",
    ),
    key(
        "challenge.bind_ja4",
        Some("false"),
        "whether a clearance holds only for the TLS fingerprint in `x-tollgate-ja4`",
    ),
    key("status.challenge", Some("403"), "the status of a challenge, where the face can express it"),
    key("status.deny", Some("403"), "the status of a refusal, where the face can express it"),
    flagged(key("shadow", Some("false"), "decide and report, but let everything through"), "shadow", ""),
    formed(
        flagged(key("workers", None, "threads that serve; without it one for each core"), "workers", "N"),
        Form::Whole,
    ),
    key("replicas", Some("1"), "how many replicas share the traffic; more than one need the same keys"),
    key(
        "drain.delay",
        Some("7s"),
        "how long after SIGTERM everything is still served, not ready any more, so that proxies go elsewhere first",
    ),
    key("drain.timeout", Some("10s"), "how long requests in flight may take to end after that"),
    key("admin.token_file", None, "file with the bearer token of the admin listener, 16 characters or more"),
    key(
        "geo.asn",
        None,
        "MMDB file with the numbers of networks, for rules with `asns`; a reload reads it again",
    ),
    key("geo.country", None, "MMDB file with countries, for rules with `geoip`; a reload reads it again"),
    key(
        "reload.watch",
        Some("2s"),
        "how often the files are looked at for changes: settings, policies with their imports, keys, secrets, databases; `off` for never",
    ),
    formed(
        key(
            "dns.servers",
            None,
            "name servers for rules that look names up, as addresses with or without a port; without it the system's",
        ),
        Form::List,
    ),
    key("limits.answers", Some("60/1m"), "answers from one network (/24, /48)"),
    key("limits.work", Some("600/1m burst 120"), "requests with one clearance for work"),
    key("limits.wait", Some("120/1m burst 24"), "requests with one clearance for waiting"),
    key("memory.max_bytes", Some("64MiB"), "the most that is remembered of visitors; taken as they come"),
    formed(
        key(
            "memory.shared",
            None,
            "Valkey or Redis server on which replicas share limits and reputation: `redis://USER:PASSWORD@HOST:PORT`, `rediss://` for TLS, or `unix:/PATH`",
        ),
        Form::Address,
    ),
    key("memory.prefix", Some("tollgate:"), "what the keys on that server start with"),
    key("memory.file", None, "file in which reputation outlives a restart; each process needs its own"),
    key(
        "attack.first",
        Some("5"),
        "challenges a second and core from which levels are raised by 2; 0 is never",
    ),
    key(
        "attack.second",
        Some("50"),
        "challenges a second and core from which they are raised by 4, and the quiet policy challenges every browser",
    ),
    key("page.name", None, "the site's name on the pages; without it the host"),
    key("page.contact", None, "an address for visitors who are stuck, on the pages"),
    key(
        "page.logo",
        None,
        "SVG file of at most 4 KiB, shown above the heading; shapes and texts alone, nothing that acts or loads",
    ),
    key(
        "page.accent",
        None,
        "colour of links, buttons and progress, such as `#174ea6`; each scheme gets a shade of it that can be read",
    ),
    key("page.trap", Some("true"), "challenge pages carry a link that no person sees, to know robots by"),
    key("page.footer", None, "a line at the foot of the pages"),
    key("page.language", None, "the one language of all pages, such as `de`; without it each visitor's own"),
    key("page.template", None, "minijinja file instead of our page; `tollgate page --template` prints ours"),
    key(
        "page.frame_ancestors",
        Some("self"),
        "which sites may show the pages in a frame: `self`, `none`, origins such as `https://portal.example`",
    ),
    formed(key("log.format", Some("text"), "`text` or `json`, on stderr"), Form::OneOf(&["text", "json"])),
    key(
        "log.decisions",
        Some("500"),
        "the most decisions that are logged within a second; how many more there were is said and counted",
    ),
    key("log.level", Some("info"), "`error`, `warn`, `info`, `debug`, `trace`, or a tracing filter"),
];

impl Key {
    /// The setting with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// What a value looks like: as said, or like the default.
    pub fn form(&self) -> Form {
        self.form.unwrap_or_else(|| match self.default {
            Some("true" | "false") => Form::Switch,
            // A file mode starts with a zero, and is no number.
            Some(text) if text == "0" || (text.parse::<u64>().is_ok() && !text.starts_with('0')) => {
                Form::Whole
            }
            _ => Form::Text,
        })
    }

    /// The name in the environment.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.replace('.', "__").to_ascii_uppercase())
    }
}

/// What every variable of ours starts with.
pub(super) const PREFIX: &str = "TOLLGATE_";

/// The settings as a Markdown table, for the README.
pub fn markdown() -> String {
    let mut table = String::from("| key | flag | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS {
        let flag = key
            .flag
            .map_or_else(String::new, |f| format!("`--{} {}", f.name, f.value).trim_end().to_owned() + "`");
        let default = key.default.map_or_else(|| "none".to_owned(), |d| format!("`{d}`"));
        writeln!(table, "| `{}` | {flag} | {default} | {} |", key.name, key.meaning)
            .expect("a String takes all");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_no_name_is_the_group_of_another() {
        for (i, key) in KEYS.iter().enumerate() {
            let group = format!("{}.", key.name);
            let clash = |other: &Key| other.name == key.name || other.name.starts_with(&group);
            assert!(!KEYS[i + 1..].iter().any(clash), "{}", key.name);
        }
    }

    #[test]
    fn every_key_is_a_row_of_the_table() {
        assert_eq!(markdown().lines().count(), KEYS.len() + 2);
        assert!(markdown().contains("| `listen.grpc` | `--grpc ADDRESS` | `127.0.0.1:9001` |"));
    }
}
