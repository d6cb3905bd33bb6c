//! One entry of `bots`: an import or a rule.

use super::behaviour;
use super::block::{Lists, expression, globs, networks, pattern};
use super::challenge::{self, Use};
use super::fields::{Fields, Text};
use super::origin;
use super::threshold::{benchmark, unknown_action};
use crate::policy::cel::Scope;
use crate::policy::document::{Node, Place, Value};
use crate::policy::glob::Subject;
use crate::policy::load::Defaults;
use crate::policy::report::Report;
use crate::policy::rule::{Asks, Matchers, Rule};
use crate::policy::toll;
use crate::request::Scheme;

/// What a rule may ask for.
const ACTIONS: [&str; 6] = ["ALLOW", "CHALLENGE", "DENY", "LIMIT", "WEIGH", "DEBUG_BENCHMARK"];

/// What a WEIGH rule without a `weight` block adds.
const BARE_WEIGHT: i64 = 5;

/// The keys that Anubis knows, of which some are matchers.
const KEYS: [&str; 12] = [
    "import",
    "name",
    "action",
    "weight",
    "challenge",
    "user_agent_regex",
    "path_regex",
    "headers_regex",
    "remote_addresses",
    "expression",
    "asns",
    "geoip",
];

/// The keys that only Tollgate knows.
const OWN: [&str; 10] =
    ["shadow", "trap", "methods", "hosts", "paths", "scheme", "remote_networks", "ja4", "signals", "rate"];

/// The keys of which a rule needs at least one.
const MATCHERS: [&str; 14] = [
    "user_agent_regex",
    "path_regex",
    "headers_regex",
    "remote_addresses",
    "expression",
    "asns",
    "geoip",
    "methods",
    "hosts",
    "paths",
    "scheme",
    "remote_networks",
    "ja4",
    "signals",
];

/// An entry that has been read.
pub(in crate::policy) enum Entry {
    Import(String, Place),
    Rule(Box<Rule>),
}

/// Reads one entry; `None` if it is refused.
pub(in crate::policy) fn read(
    node: &Node,
    defaults: &Defaults,
    lists: &Lists,
    report: &mut Report,
) -> Option<Entry> {
    report.rule = name_of(node).map(|name| format!("bot/{name}"));
    let before = report.len();
    if node.is_null() {
        report
            .error(&node.place, "this entry is empty")
            .advise("give it an `import`, or a `name`, an `action` and a matcher");
        return None;
    }
    let fields = Fields::read(node, "", &KEYS, &OWN, Text::Exact, report)?;
    if fields.is_empty() {
        report
            .error(&node.place, "this entry has no known key")
            .advise("give it an `import`, or a `name`, an `action` and a matcher");
        return None;
    }
    if fields.entry("import").is_some() {
        return import(&fields, report);
    }
    let name = fields.text("name", report).filter(|n| !n.is_empty());
    if name.is_none() && !report.has_error_since(before) {
        report.error(fields.place, "a rule needs a `name`").at_key("name");
    }
    let asks = asks(&fields, defaults, report);
    let lenient = asks.as_ref().is_some_and(|a| matches!(a, Asks::Allow));
    let matchers = matchers(&fields, lenient, lists, report);
    let shadow = fields.boolean("shadow", report).unwrap_or(false);
    let trap = trap(&fields, asks.as_ref(), shadow, report);
    if report.has_error_since(before) {
        return None;
    }
    let chain = report.chain.clone();
    let (name, asks) = (name?, asks?);
    Some(Entry::Rule(Box::new(Rule { name, place: node.place.clone(), chain, asks, matchers, shadow, trap })))
}

/// Whether whoever meets the rule has taken what only robots find. That is remembered where the rule decides.
fn trap(fields: &Fields<'_>, asks: Option<&Asks>, shadow: bool, report: &mut Report) -> bool {
    let trap = fields.boolean("trap", report).unwrap_or(false);
    if let Some(entry) = fields.entry("trap").filter(|_| trap)
        && (shadow || asks.is_some_and(|asks| asks.terminal().is_none()))
    {
        let message = "`trap` has an effect only on a rule that decides";
        let help = "write `action: DENY`, `CHALLENGE` or `ALLOW`, without `shadow`";
        report.error(&entry.place, message).at_key("trap").advise(help);
    }
    trap
}

/// The name of an entry as it is written, so that problems can name it before it is checked.
pub(super) fn name_of(node: &Node) -> Option<&str> {
    let entry = node.entries()?.iter().rev().find(|e| e.key.eq_ignore_ascii_case("name"))?;
    match &entry.value.value {
        Value::Scalar(scalar) if !scalar.text().is_empty() => Some(scalar.text()),
        _ => None,
    }
}

fn import(fields: &Fields<'_>, report: &mut Report) -> Option<Entry> {
    if let Some(other) = fields.keys().find(|k| *k != "import") {
        let message =
            format!("an entry is either an import or a rule, but this one has `import` and `{other}`");
        report.error(fields.place, message).at_key("import");
        return None;
    }
    let path = fields.text("import", report)?;
    let place = &fields.get("import")?.place;
    if path.is_empty() {
        report.error(place, "`import` is empty").at_key("import");
        return None;
    }
    Some(Entry::Import(path, place.clone()))
}

fn asks(fields: &Fields<'_>, defaults: &Defaults, report: &mut Report) -> Option<Asks> {
    let action = fields.text("action", report);
    let used = if action.as_deref() == Some("CHALLENGE") { Use::Checked } else { Use::Ignored };
    let block = fields.get("challenge").map(|n| challenge::read(n, used, Text::Exact, defaults, report));
    let adjust = weight(fields, action.as_deref(), report);
    if let Some(rate) = fields.entry("rate")
        && action.as_deref().is_some_and(|action| action != "LIMIT")
    {
        let message = "`rate` has an effect only on a rule that asks LIMIT";
        report.error(&rate.place, message).at_key("rate").advise("write `action: LIMIT`");
    }
    match action.as_deref() {
        Some("ALLOW") => Some(Asks::Allow),
        Some("DENY") => Some(Asks::Deny),
        Some("LIMIT") => behaviour::rate(fields, report).map(Asks::Limit),
        Some("WEIGH") => adjust.map(Asks::Weigh),
        Some("CHALLENGE") => {
            let toll = match block {
                Some(block) => block?.toll(defaults),
                None => toll::bare(defaults, report.strict),
            };
            Some(Asks::Challenge { toll, benchmark: false })
        }
        Some("DEBUG_BENCHMARK") => {
            benchmark(fields, report);
            Some(Asks::Challenge { toll: toll::bare(defaults, report.strict), benchmark: true })
        }
        said => {
            unknown_action(said, &ACTIONS, fields, report);
            None
        }
    }
}

fn weight(fields: &Fields<'_>, action: Option<&str>, report: &mut Report) -> Option<i64> {
    let Some(node) = fields.get("weight") else { return Some(BARE_WEIGHT) };
    let inner = Fields::read(node, "weight.", &["adjust"], &[], Text::Exact, report)?;
    let before = report.len();
    let adjust = inner.integer("adjust", report);
    if report.has_error_since(before) {
        return None;
    }
    let message = match (action, adjust) {
        (Some("WEIGH"), None) => "`weight` without `adjust` adds 0; without the block it would be 5",
        (Some("WEIGH"), Some(0)) => "`weight.adjust` is 0, so the rule does nothing",
        (Some("WEIGH"), Some(_)) | (None, _) => return Some(adjust.unwrap_or(0)),
        (Some(_), _) => "`weight` has no effect on a rule that does not WEIGH",
    };
    report.lint("L9", &node.place, message).at_key("weight");
    Some(adjust.unwrap_or(0))
}

fn matchers(fields: &Fields<'_>, allow: bool, lists: &Lists, report: &mut Report) -> Matchers {
    empty(fields, report);
    let pattern_of = |key: &'static str, report: &mut Report| {
        fields.get(key).and_then(|n| pattern(n, key, Text::Exact, report))
    };
    let matchers = Matchers {
        addresses: networks(fields, allow, lists, report),
        agent: pattern_of("user_agent_regex", report),
        path: pattern_of("path_regex", report),
        headers: headers(fields, report),
        methods: methods(fields, report),
        hosts: globs(fields, "hosts", Subject::Host, report),
        ja4: globs(fields, "ja4", Subject::Fingerprint, report),
        paths: globs(fields, "paths", Subject::Path, report),
        scheme: scheme(fields, report),
        expression: fields.get("expression").and_then(|n| expression(n, Scope::Rule, report)),
        asns: origin::asns(fields, report),
        countries: origin::countries(fields, report),
        signals: behaviour::signals(fields, report),
    };
    if fields.get("user_agent_regex").is_some()
        && let Some(path) = fields.get("path_regex")
    {
        let message = "`user_agent_regex` and `path_regex` cannot stand in one rule";
        report.error(&path.place, message).at_key("path_regex").advise("match the path with `paths`");
    }
    matchers
}

/// Reports matchers that say nothing, and rules that have none. An empty list or map is no matcher.
fn empty(fields: &Fields<'_>, report: &mut Report) {
    let says = |node: &Node| {
        node.items().is_none_or(|i| !i.is_empty()) && node.entries().is_none_or(|e| !e.is_empty())
    };
    let own = |key: &str| {
        matches!(key, "methods" | "hosts" | "paths" | "scheme" | "remote_networks" | "ja4" | "signals")
    };
    // A limit on everything is as plain as a rule can be.
    if fields.get("rate").is_some() && !MATCHERS.iter().any(|key| fields.entry(key).is_some()) {
        return;
    }
    if !MATCHERS.iter().any(|key| fields.get(key).is_some_and(|n| says(n) || own(key))) {
        let message = "this rule has no matcher, so it would match nothing or everything";
        report.error(fields.place, message).advise(format!("give it one of {}", MATCHERS.join(", ")));
        return;
    }
    for key in MATCHERS.into_iter().filter(|k| !own(k)) {
        if let Some(entry) = fields.entry(key).filter(|e| e.value.is_null() || !says(&e.value)) {
            let message = format!("`{key}` is empty, so it is ignored and the rule is broader than it looks");
            report.lint("L4", &entry.place, message).at_key(key);
        }
    }
}

fn headers(fields: &Fields<'_>, report: &mut Report) -> Vec<(String, crate::policy::pattern::Pattern)> {
    let Some(node) = fields.get("headers_regex") else { return Vec::new() };
    let Some(entries) = node.entries() else {
        let message = format!("`headers_regex` must map names to patterns, but it is {}", node.noun());
        report.error(&node.place, message).at_key("headers_regex");
        return Vec::new();
    };
    let mut out: Vec<(String, _)> = Vec::new();
    for entry in entries {
        let name = entry.key.trim().to_owned();
        let key = format!("headers_regex.{name}");
        if entry.value.is_null() {
            report.lint("L4", &entry.place, format!("`{key}` has no pattern, so it is ignored")).at_key(key);
            continue;
        }
        let Some(pattern) = pattern(&entry.value, &key, Text::Exact, report) else { continue };
        if never_there(&name) {
            let message = format!("no request ever shows a rule the header `{name}`");
            report.lint("L14", &entry.place, message).at_key(key.clone());
        }
        // `^$` says in as many words that the header is absent or empty, so there is nothing to point out.
        if pattern.is_match(b"") && !matches!(pattern.source(), ".*" | "^$") {
            let message = "this pattern also matches when the header is absent";
            report
                .lint("L13", &entry.value.place, message)
                .at_key(key.clone())
                .advise("write `.*` for a header that is there and not empty");
        }
        if let Some(at) = out.iter().position(|(n, _)| *n == name) {
            report
                .lint("L3", &entry.place, format!("`{key}` is given twice; the last one counts"))
                .at_key(key);
            out.remove(at);
        }
        out.push((name, pattern));
    }
    out
}

/// Names that never reach a rule: aliases of other headers, and those that belong to the connection.
pub(in crate::policy) fn never_there(name: &str) -> bool {
    name.is_empty()
        || name.contains(['_', '.'])
        || ["host", "transfer-encoding", "trailer"].iter().any(|n| n.eq_ignore_ascii_case(name))
}

fn scheme(fields: &Fields<'_>, report: &mut Report) -> Option<Scheme> {
    let node = fields.get("scheme")?;
    let text = fields.text("scheme", report)?;
    let scheme = [Scheme::Http, Scheme::Https].into_iter().find(|scheme| scheme.as_str() == text);
    if scheme.is_none() {
        report
            .error(&node.place, format!("`{}` is no scheme: http or https", text.escape_debug()))
            .at_key("scheme");
    }
    scheme
}

fn methods(fields: &Fields<'_>, report: &mut Report) -> Vec<String> {
    let Some(node) = fields.get("methods") else { return Vec::new() };
    let items = match node.items() {
        Some(_) => fields.texts("methods", report).unwrap_or_default(),
        None => fields.text("methods", report).map(|t| (t, node)).into_iter().collect(),
    };
    if items.is_empty() {
        report.error(&node.place, "`methods` is empty, so the rule could never match").at_key("methods");
    }
    for (method, node) in &items {
        if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'_')) {
            let message = format!(
                "`{}` is no method; they are written in upper case, such as GET",
                method.escape_debug()
            );
            report.error(&node.place, message).at_key("methods");
        }
    }
    items.into_iter().map(|(m, _)| m).collect()
}
