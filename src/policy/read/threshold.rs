//! The entries of `thresholds`, and `default`.

use super::block::expression;
use super::challenge::{self, Use};
use super::entry::name_of;
use super::fields::{Fields, Text, text};
use crate::policy::cel::{self, Join, Scope};
use crate::policy::document::{Node, nearest};
use crate::policy::load::Defaults;
use crate::policy::report::Report;
use crate::policy::rule::{Asks, Fallback, Threshold};
use crate::policy::toll;

/// What a threshold may ask for.
const ACTIONS: [&str; 5] = ["ALLOW", "CHALLENGE", "DENY", "WEIGH", "DEBUG_BENCHMARK"];

/// Anubis's own threshold, for files that bring none.
const BUILT_IN: &str = "legacy-anubis-behaviour";

/// Reads the list. Absent or empty is the one threshold that Anubis has built in.
pub(in crate::policy) fn read(
    node: Option<&Node>,
    defaults: &Defaults,
    report: &mut Report,
) -> Vec<Threshold> {
    let items = match node.map(|n| (n, n.items())) {
        None => &[],
        Some((_, Some(items))) => items,
        Some((node, None)) => {
            report
                .error(&node.place, format!("`thresholds` must be a list, but it is {}", node.noun()))
                .at_key("thresholds");
            return Vec::new();
        }
    };
    if items.is_empty() {
        let toll = toll::anubis_default(defaults);
        let built_in = cel::compile(&["weight > 0"], Join::Single, Scope::Threshold);
        let expression = built_in.expression.expect("it is an expression");
        let asks = Asks::Challenge { toll, benchmark: false };
        return vec![Threshold { name: BUILT_IN.to_owned(), place: None, expression, asks, shadow: false }];
    }
    let thresholds = items.iter().filter_map(|item| one(item, defaults, report)).collect();
    report.rule = None;
    thresholds
}

fn one(node: &Node, defaults: &Defaults, report: &mut Report) -> Option<Threshold> {
    report.rule = name_of(node).map(|name| format!("threshold/{name}"));
    let before = report.len();
    let keys = ["name", "expression", "action", "challenge"];
    let fields = Fields::read(node, "", &keys, &["shadow"], Text::Loose, report)?;
    let name = fields.text("name", report).filter(|n| !n.is_empty());
    if name.is_none() && !report.has_error_since(before) {
        report.error(fields.place, "a threshold needs a `name`").at_key("name");
    }
    let expression = match fields.get("expression") {
        Some(node) => expression(node, Scope::Threshold, report),
        None => {
            report
                .error(fields.place, "a threshold needs an `expression`, such as `weight >= 10`")
                .at_key("expression");
            None
        }
    };
    let block =
        fields.get("challenge").map(|n| challenge::read(n, Use::Checked, Text::Loose, defaults, report));
    let asks = match fields.text("action", report).as_deref() {
        Some("ALLOW") => Some(Asks::Allow),
        Some("DENY") => Some(Asks::Deny),
        Some("CHALLENGE") => match block {
            Some(block) => block.map(|b| Asks::Challenge { toll: b.toll(defaults), benchmark: false }),
            None => {
                report
                    .error(fields.place, "a threshold that asks CHALLENGE needs a `challenge` block")
                    .at_key("challenge");
                None
            }
        },
        Some("DEBUG_BENCHMARK") => {
            benchmark(&fields, report);
            Some(Asks::Challenge { toll: toll::bare(defaults, report.strict), benchmark: true })
        }
        Some("WEIGH") => {
            let place = fields.get("action").map_or(fields.place, |n| &n.place);
            report.error(place, "a threshold judges the weight, so it cannot WEIGH").at_key("action");
            None
        }
        said => {
            unknown_action(said, &ACTIONS, &fields, report);
            None
        }
    };
    let shadow = fields.boolean("shadow", report).unwrap_or(false);
    if report.has_error_since(before) {
        return None;
    }
    Some(Threshold {
        name: name?,
        place: Some(node.place.clone()),
        expression: expression?,
        asks: asks?,
        shadow,
    })
}

/// Reads `default`: what happens when neither a rule nor a threshold decides.
pub(in crate::policy) fn said(node: Option<&Node>, defaults: &Defaults, report: &mut Report) -> Fallback {
    let Some(node) = node else { return Fallback::Implied };
    let Some(action) = text(node, "default", Text::Exact, report) else { return Fallback::Implied };
    match action.as_str() {
        "ALLOW" => Fallback::Said(Asks::Allow),
        "CHALLENGE" => Fallback::Said(Asks::Challenge { toll: toll::bare(defaults, true), benchmark: false }),
        "DENY" => Fallback::Said(Asks::Deny),
        other => {
            let message = format!("unknown action `{}` as `default`", other.escape_debug());
            report.error(&node.place, message).at_key("default").advise("there are ALLOW, CHALLENGE, DENY");
            Fallback::Implied
        }
    }
}

/// Reports an action that is missing, unknown or in the wrong case. Nothing is said of one of the wrong type, which is reported already.
pub(super) fn unknown_action(
    said: Option<&str>,
    names: &[&'static str],
    fields: &Fields<'_>,
    report: &mut Report,
) {
    match (said, fields.get("action")) {
        (Some(said), Some(node)) => {
            let near = nearest(said, names.iter().copied());
            let help = near.map_or_else(
                || format!("there are {}", names.join(", ")),
                |n| format!("did you mean `{n}`?"),
            );
            let message = format!("unknown `action` `{}`", said.escape_debug());
            report.error(&node.place, message).at_key("action").advise(help);
        }
        (None, None) => {
            report
                .error(fields.place, format!("`action` is missing: one of {}", names.join(", ")))
                .at_key("action");
        }
        _ => {}
    }
}

/// Reports the action that is only there for Anubis's developers.
pub(super) fn benchmark(fields: &Fields<'_>, report: &mut Report) {
    let place = fields.get("action").map_or(fields.place, |n| &n.place);
    report.lint("L16", place, "`DEBUG_BENCHMARK` behaves as CHALLENGE at the default level").at_key("action");
}
