//! What a policy file may hold beside its rules. Blocks that belong to the config file here are checked as Anubis
//! checks them, so that a file which Anubis refuses is refused, and have no effect.

use std::time::Duration;

use super::fields::{Fields, Text};
use crate::policy::document::Node;
use crate::policy::report::Report;
use crate::policy::{NameLives, Status};

/// Reads `status_codes`.
pub(in crate::policy) fn status(node: Option<&Node>, report: &mut Report) -> Status {
    let Some(fields) = block(node, "status_codes.", &["CHALLENGE", "DENY"], report) else {
        return Status::default();
    };
    let mut code = |key: &'static str| {
        let number = fields.integer(key, report)?;
        let (node, name) = (fields.get(key)?, fields.name(key));
        match u16::try_from(number).ok().filter(|n| (100..=599).contains(n)) {
            Some(code) => {
                // The HTTP check face can express the fewest: 4xx.
                if !(400..=499).contains(&code) {
                    let message =
                        format!("status {code} cannot be sent by every proxy; those that cannot send 403");
                    report.lint("L23", &node.place, message).at_key(name);
                }
                Some(code)
            }
            None => {
                report
                    .error(&node.place, format!("`{name}` must be 100 to 599, but it is {number}"))
                    .at_key(name);
                None
            }
        }
    };
    Status { challenge: code("CHALLENGE"), deny: code("DENY") }
}

/// Checks the blocks that have no effect, and says so.
pub(in crate::policy) fn unused(file: &Fields<'_>, report: &mut Report) {
    store(file, report);
    logging(file, report);
    metrics(file, report);
    honeypot(file, report);
    impressum(file, report);
    open_graph(file, report);
}

fn block<'n>(
    node: Option<&'n Node>,
    prefix: &'static str,
    keys: &[&'static str],
    report: &mut Report,
) -> Option<Fields<'n>> {
    Fields::read(node?, prefix, keys, &[], Text::Loose, report)
}

fn without_effect(file: &Fields<'_>, key: &str, instead: &str, report: &mut Report) {
    if let Some(entry) = file.entry(key) {
        report.lint("L24", &entry.place, format!("`{key}` has no effect")).at_key(key).advise(instead);
    }
}

/// `dns_ttl`, in seconds; a negative number keeps nothing.
pub(in crate::policy) fn name_lives(file: &Fields<'_>, report: &mut Report) -> NameLives {
    let fallback = NameLives::default();
    let Some(fields) = block(file.get("dns_ttl"), "dns_ttl.", &["forward", "reverse"], report) else {
        return fallback;
    };
    let mut life = |key: &str, fallback: Duration| {
        fields.integer(key, report).map_or(fallback, |n| Duration::from_secs(u64::try_from(n).unwrap_or(0)))
    };
    NameLives { forward: life("forward", fallback.forward), reverse: life("reverse", fallback.reverse) }
}

fn store(file: &Fields<'_>, report: &mut Report) {
    let Some(fields) = block(file.get("store"), "store.", &["backend", "parameters"], report) else { return };
    match one_of(&fields, "backend", &["memory", "bbolt", "valkey", "s3api"], report).as_deref() {
        None | Some("memory") => {}
        Some("valkey") => {
            without_effect(
                file,
                "store",
                "set `memory.shared` in the config file when replicas must share counters",
                report,
            );
        }
        Some(_) => without_effect(file, "store", "nothing needs storing", report),
    }
}

fn logging(file: &Fields<'_>, report: &mut Report) {
    let Some(fields) = block(file.get("logging"), "logging.", &["sink", "parameters", "level"], report)
    else {
        return;
    };
    let sink = match fields.get("sink") {
        Some(_) => one_of(&fields, "sink", &["stdio", "file"], report),
        None => None,
    };
    if let Some(level) = fields.text("level", report) {
        let name = level.split(['+', '-']).next().unwrap_or("").to_ascii_uppercase();
        let offset = level.get(name.len()..).unwrap_or("");
        if !["DEBUG", "INFO", "WARN", "ERROR"].contains(&name.as_str())
            || !(offset.is_empty() || offset.parse::<i64>().is_ok())
        {
            wrong(&fields, "level", "must be DEBUG, INFO, WARN or ERROR", report);
        }
    }
    if sink.as_deref() == Some("file") {
        let keys =
            ["file", "maxBackups", "maxBytes", "maxAge", "oldFileTimeFormat", "compress", "useLocalTime"];
        match block(fields.get("parameters"), "logging.parameters.", &keys, report) {
            Some(inner) => {
                needed(&inner, "file", report);
                for key in ["maxBackups", "maxBytes", "maxAge"] {
                    if inner.integer(key, report).is_some_and(|n| n < 0) {
                        wrong(&inner, key, "must not be negative", report);
                    }
                }
            }
            None => wrong(&fields, "parameters", "is needed by the sink `file`", report),
        }
    }
    without_effect(file, "logging", "set `log.level` in the config file; logs go to stderr", report);
}

fn metrics(file: &Fields<'_>, report: &mut Report) {
    let keys = ["bind", "network", "socketMode", "tls", "basicAuth"];
    let Some(fields) = block(file.get("metrics"), "metrics.", &keys, report) else { return };
    needed(&fields, "bind", report);
    let network = one_of(&fields, "network", &["tcp", "tcp4", "tcp6", "unix"], report);
    if network.as_deref() == Some("unix") {
        let mode = fields.text("socketMode", report);
        if mode.is_none_or(|m| u32::from_str_radix(m.trim_start_matches("0o"), 8).is_err()) {
            wrong(&fields, "socketMode", "must be an octal mode such as \"0770\"", report);
        }
    }
    without_effect(file, "metrics", "set `listen.admin` in the config file", report);
}

fn honeypot(file: &Fields<'_>, report: &mut Report) {
    let Some(fields) = block(file.get("honeypot"), "honeypot.", &["enabled", "implementation"], report)
    else {
        return;
    };
    if fields.boolean("enabled", report) == Some(false) {
        return;
    }
    if fields.get("implementation").is_some() {
        one_of(&fields, "implementation", &["naive"], report);
    }
    without_effect(file, "honeypot", "there is no maze to get lost in", report);
}

fn impressum(file: &Fields<'_>, report: &mut Report) {
    let Some(fields) = block(file.get("impressum"), "impressum.", &["footer", "page"], report) else {
        return;
    };
    needed(&fields, "footer", report);
    match block(fields.get("page"), "impressum.page.", &["title", "body"], report) {
        Some(page) => ["title", "body"].into_iter().for_each(|key| needed(&page, key, report)),
        None => wrong(&fields, "page", "is needed", report),
    }
    without_effect(file, "impressum", "nothing of it reaches a page", report);
}

fn open_graph(file: &Fields<'_>, report: &mut Report) {
    let keys = ["enabled", "considerHost", "ttl", "override", "default"];
    let Some(fields) = block(file.get("openGraph"), "openGraph.", &keys, report) else { return };
    fields.boolean("considerHost", report);
    if fields.boolean("enabled", report) != Some(true) {
        return;
    }
    let ttl = fields.text("ttl", report);
    if ttl.is_none_or(|t| !is_duration(&t)) {
        wrong(&fields, "ttl", "must be a duration such as 24h or 1h30m", report);
    }
    if let Some(node) = fields.get("override") {
        let titled = node.entries().is_some_and(|e| e.is_empty() || node.entry("og:title").is_some());
        if !titled {
            wrong(&fields, "override", "must be a map with `og:title`", report);
        }
    }
    without_effect(file, "openGraph", "allow preview agents by their agent and network instead", report);
}

fn one_of(fields: &Fields<'_>, key: &'static str, names: &[&str], report: &mut Report) -> Option<String> {
    let before = report.len();
    let text = fields.text(key, report);
    let known = text.filter(|t| names.contains(&t.as_str()));
    if known.is_none() && !report.has_error_since(before) {
        wrong(fields, key, &format!("must be one of {}", names.join(", ")), report);
    }
    known
}

fn needed(fields: &Fields<'_>, key: &'static str, report: &mut Report) {
    let before = report.len();
    if fields.text(key, report).is_none_or(|t| t.is_empty()) && !report.has_error_since(before) {
        wrong(fields, key, "must be given and not be empty", report);
    }
}

fn wrong(fields: &Fields<'_>, key: &str, what: &str, report: &mut Report) {
    let place = fields.get(key).map_or(fields.place, |n| &n.place);
    let name = fields.name(key);
    report.error(place, format!("`{name}` {what}")).at_key(name);
}

/// Whether a text is a duration in Go's form: numbers with units, or a plain 0.
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let digits = rest[..number].bytes().filter(u8::is_ascii_digit).count();
        let unit = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"]
            .iter()
            .filter(|u| rest[number..].starts_with(**u))
            .max_by_key(|u| u.len());
        let Some(unit) = unit.filter(|_| digits > 0 && number - digits < 2) else { return false };
        rest = &rest[number + unit.len()..];
        parts += 1;
    }
    parts > 0
}

#[cfg(test)]
mod tests {
    use super::is_duration;

    #[test]
    fn durations_are_go_durations() {
        for text in ["0", "300ms", "1h30m", "24h", "1.5h", "-2s", "1us", "1\u{b5}s"] {
            assert!(is_duration(text), "{text}");
        }
        for text in ["", "taco", "1", "h", "1d", "1..5h", "1h5", "."] {
            assert!(!is_duration(text), "{text}");
        }
    }
}
