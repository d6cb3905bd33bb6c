//! The small values that entries are made of: patterns, lists of globs, networks, expressions.

use std::collections::HashMap;

use ipnet::IpNet;

use super::fields::{Fields, Text, text};
use crate::policy::cel::{self, Expression, Join, Scope};
use crate::policy::document::{Node, Value, nearest};
use crate::policy::glob::{Globs, Subject};
use crate::policy::pattern::Pattern;
use crate::policy::report::Report;
use crate::request::parse_network;

/// A pattern under `name`.
pub(super) fn pattern(node: &Node, name: &str, mode: Text, report: &mut Report) -> Option<Pattern> {
    let text = text(node, name, mode, report)?;
    if text.ends_with('\n') {
        let message = format!("the pattern of `{name}` ends in a line break");
        report
            .error(&node.place, message)
            .at_key(name)
            .advise("fold it with `>-` or `|-`, which leave no line break at the end");
        return None;
    }
    match Pattern::compile(&text) {
        Ok(pattern) => Some(pattern),
        Err(refusal) => {
            let blanks = text.len() - text.trim_start().len();
            let place = node.place_of(refusal.range.start + blanks..refusal.range.end + blanks);
            report.error(&place, format!("`{name}` is no pattern: {}", refusal.message)).at_key(name);
            None
        }
    }
}

/// A list of globs, which may also be written as one text.
pub(super) fn globs(
    fields: &Fields<'_>,
    key: &'static str,
    subject: Subject,
    report: &mut Report,
) -> Option<Globs> {
    let node = fields.get(key)?;
    let items = match node.items() {
        Some(_) => fields.texts(key, report)?,
        None => vec![(fields.text(key, report)?, node)],
    };
    if items.is_empty() {
        report
            .error(&node.place, format!("`{key}` is an empty list, so the rule could never match"))
            .at_key(key);
        return None;
    }
    let mut globs = Globs::new(subject);
    for (text, node) in items {
        if let Err(message) = globs.add(&text) {
            report.error(&node.place, message).at_key(key);
        } else if subject == Subject::Host && text.bytes().any(|b| b.is_ascii_uppercase()) {
            report.lint("L17", &node.place, "hosts are compared in lower case").at_key(key);
        }
    }
    Some(globs)
}

/// The lists under `networks`, by name.
pub(in crate::policy) type Lists = HashMap<String, Vec<IpNet>>;

/// The networks of `remote_addresses`, or those of the lists that `remote_networks` names.
pub(super) fn networks(fields: &Fields<'_>, allow: bool, lists: &Lists, report: &mut Report) -> Vec<IpNet> {
    let key = "remote_addresses";
    let mut out = named(fields, lists, report);
    if let (Some(_), Some(other)) = (fields.get("remote_networks"), fields.get(key)) {
        let message = "`remote_addresses` and `remote_networks` cannot stand in one rule";
        report
            .error(&other.place, message)
            .at_key(key)
            .advise("give the addresses a list of their own under `networks`");
    }
    for (text, node) in fields.texts(key, report).unwrap_or_default() {
        let net = match parse_network(&text) {
            Ok(net) => net,
            Err(error) => {
                report.error(&node.place, error.to_string()).at_key(key);
                continue;
            }
        };
        let written = text.parse::<IpNet>().ok();
        if written != Some(net) {
            report.lint("L7", &node.place, format!("`{text}` is read as {net}")).at_key(key);
        } else if allow && net.prefix_len() == 0 {
            report.lint("L7", &node.place, format!("`{text}` allows every address of its kind")).at_key(key);
        }
        out.push(net);
    }
    // `0.0.0.0/1` and `128.0.0.0/1` are as good as all of it.
    let whole = |nets: &[IpNet]| nets.iter().any(|net| net.prefix_len() == 0);
    let named = fields.get("remote_networks").map(|node| (node, "remote_networks"));
    let told = named.is_none() && whole(&out);
    if allow
        && !told
        && whole(&IpNet::aggregate(&out))
        && let Some((node, key)) = named.or_else(|| Some((fields.get(key)?, key)))
    {
        report.lint("L7", &node.place, "these networks together allow every address of a kind").at_key(key);
    }
    out
}

fn named(fields: &Fields<'_>, lists: &Lists, report: &mut Report) -> Vec<IpNet> {
    let key = "remote_networks";
    let before = report.len();
    let names = fields.texts(key, report).unwrap_or_default();
    if let (Some(entry), true, false) = (fields.entry(key), names.is_empty(), report.has_error_since(before))
    {
        report.error(&entry.place, "`remote_networks` names no list").at_key(key);
    }
    let mut out = Vec::new();
    for (name, node) in names {
        match lists.get(&name) {
            Some(networks) => out.extend_from_slice(networks),
            None => {
                let message = format!("there is no list `{}` under `networks`", name.escape_debug());
                let near = nearest(&name, lists.keys().map(String::as_str))
                    .map(|near| format!("did you mean `{near}`?"));
                let problem = report.error(&node.place, message).at_key(key);
                if let Some(near) = near {
                    problem.advise(near);
                }
            }
        }
    }
    out
}

/// An expression: one text, or a map with a list under `all` or `any`.
pub(super) fn expression(node: &Node, scope: Scope, report: &mut Report) -> Option<Expression> {
    let name = "expression";
    match &node.value {
        Value::Scalar(_) => {
            let text = text(node, name, Text::Exact, report)?;
            compiled(&[(text, node)], Join::Single, scope, report)
        }
        Value::List(_) => {
            let message = "`expression` must be text, or a map with `all` or `any`, but it is a list";
            report.error(&node.place, message).at_key(name);
            None
        }
        Value::Map(_) => {
            let fields = Fields::read(node, "expression.", &["all", "any"], &[], Text::Exact, report)?;
            let (key, join) = match (fields.get("all"), fields.get("any")) {
                (Some(_), None) => ("all", Join::All),
                (None, Some(_)) => ("any", Join::Any),
                (Some(_), Some(_)) => {
                    report
                        .error(&node.place, "`expression` has both `all` and `any`; give one of them")
                        .at_key(name);
                    return None;
                }
                (None, None) => {
                    report.error(&node.place, "`expression` needs `all` or `any`").at_key(name);
                    return None;
                }
            };
            let before = report.len();
            let items = fields.texts(key, report)?;
            if items.is_empty() && !report.has_error_since(before) {
                report.error(&node.place, format!("`expression.{key}` is empty")).at_key(name);
                return None;
            }
            let expression = compiled(&items, join, scope, report);
            if report.has_error_since(before) { None } else { expression }
        }
    }
}

fn compiled(items: &[(String, &Node)], join: Join, scope: Scope, report: &mut Report) -> Option<Expression> {
    let texts: Vec<&str> = items.iter().map(|(text, _)| text.as_str()).collect();
    let outcome = cel::compile(&texts, join, scope);
    for (at, refusal) in outcome.refusals {
        let problem =
            report.error(&items[at].1.place_of(refusal.range), refusal.message).at_key("expression");
        if let Some(help) = refusal.help {
            problem.advise(help);
        }
    }
    for (at, finding) in outcome.findings {
        let place = items[at].1.place_of(finding.range);
        let problem = report.lint(finding.code, &place, finding.message).at_key("expression");
        if let Some(help) = finding.help {
            problem.advise(help);
        }
    }
    outcome.expression
}
