//! What is doubtful about rules that are sound each by itself: unreachable ones, gaps, and trust without evidence.

use std::collections::HashSet;

use super::cel::Expression;
use super::cover::{Above, ends};
use super::document::Place;
use super::load::Databases;
use super::rate::{By, Rate};
use super::report::Report;
use super::rule::{Asks, Fallback, Rule, Rules, Threshold};

/// Looks at the whole policy.
pub(super) fn check(rules: &Rules, databases: Databases, report: &mut Report) {
    let mut names = HashSet::new();
    let mut above = Above::new(&rules.rules);
    // The rule that decides every request, and where it stands.
    let mut last: Option<(usize, &Rule)> = None;
    for (index, rule) in rules.rules.iter().enumerate() {
        report.rule = Some(format!("bot/{}", rule.name));
        report.chain.clone_from(&rule.chain);
        if !names.insert(&rule.name) {
            report
                .lint("L6", &rule.place, format!("another rule is named `{}` too", rule.name))
                .at_key("name");
        }
        everything(rule, index + 1 < rules.rules.len(), report);
        trust(rule, report);
        database(rule, databases, report);
        unlearned(rule, rules.learn, report);
        match (last, above.covering(index)) {
            // The first of them speaks for all.
            (Some((at, last)), _) if at + 1 == index => {
                unreachable(last, rule, rules.rules.len() - index - 1, report);
            }
            (Some(_), _) => {}
            (None, Some(wider)) => covered(wider, rule, report),
            (None, None) => above.add(index),
        }
        last = last.or_else(|| (ends(rule) && rule.matchers.match_everything()).then_some((index, rule)));
    }
    report.rule = None;
    report.chain.clear();
    match (last, rules.thresholds.iter().find_map(|t| t.place.as_ref())) {
        (Some((_, last)), Some(place)) => {
            let message =
                format!("no threshold is ever reached: the rule `{}` decides every request", last.name);
            report.lint("L29", place, message).at_key("thresholds");
        }
        _ => thresholds(rules, &rules.place, report),
    }
    if report.strict {
        catch_all(rules, &rules.place, report);
    }
}

/// L11: a rule that ends every evaluation, before others or without meaning to.
fn everything(rule: &Rule, followed: bool, report: &mut Report) {
    let m = &rule.matchers;
    let empty = [&m.agent, &m.path].into_iter().flatten().any(|p| p.source().is_empty());
    let terminal = rule.asks.terminal().is_some() && !rule.shadow && m.match_everything();
    if empty {
        report
            .lint("L11", &rule.place, "an empty pattern matches every request")
            .advise("write `.*` if that is meant");
    } else if terminal && followed {
        report.lint(
            "L11",
            &rule.place,
            "this rule matches every request, so the rules after it are never reached",
        );
    }
}

/// L32: a limit where nothing is counted.
fn unlearned(rule: &Rule, learn: bool, report: &mut Report) {
    if !learn && matches!(rule.asks, Asks::Limit(_)) {
        let message = "this rule never limits: `learn: false` means that nothing is counted";
        report.lint("L32", &rule.place, message).at_key("action");
    }
}

/// L25 and L27: an ALLOW that anyone can earn by sending the right text.
fn trust(rule: &Rule, report: &mut Report) {
    let m = &rule.matchers;
    if !matches!(rule.asks, Asks::Allow) || m.match_everything() {
        return;
    }
    let expression = m.expression.as_ref().is_some_and(Expression::reads_only_the_agent);
    let agents = usize::from(m.agent.is_some()) + usize::from(expression);
    if agents > 0 && m.keys().len() == agents {
        let message = "this rule allows by the user agent alone, and anyone can send it";
        let key = if expression { "expression" } else { "user_agent_regex" };
        let help = "add `remote_addresses`, or `verifyFCrDNS(remoteAddress, \"...\")`";
        report.lint("L25", &rule.place, message).at_key(key).advise(help);
    }
    if m.agent.as_ref().is_some_and(|p| p.has_loose_dot() && !p.is_anchored()) {
        let message = "an unescaped dot in this pattern matches any character";
        report.lint("L27", &rule.place, message).at_key("user_agent_regex").advise("write `\\.`");
    }
    if m.path.as_ref().is_some_and(|p| !p.is_anchored()) {
        let message = "this pattern is found anywhere in a path, also in `/private/<that>`";
        report.lint("L27", &rule.place, message).at_key("path_regex").advise("start it with `^`");
    }
}

/// L12: a rule that needs a database which is not there, so that it matches nothing.
fn database(rule: &Rule, databases: Databases, report: &mut Report) {
    let m = &rule.matchers;
    let missing = [
        (m.asns.is_some() && !databases.asn, "asns", "geo.asn"),
        (m.countries.is_some() && !databases.country, "geoip", "geo.country"),
        (m.expression.as_ref().is_some_and(Expression::asks_asn) && !databases.asn, "expression", "geo.asn"),
        (matches!(rule.asks, Asks::Limit(Rate { by: By::Asn, .. })) && !databases.asn, "rate.by", "geo.asn"),
    ];
    for (_, key, setting) in missing.into_iter().filter(|(missing, ..)| *missing) {
        let message = format!("`{key}` needs a database, and none is loaded, so it sees nothing");
        report
            .lint("L12", &rule.place, message)
            .at_key(key)
            .advise(format!("set `{setting}` in the config file"));
    }
}

/// L28, L30 and L31: a rule to which one above it leaves nothing.
fn covered(above: &Rule, rule: &Rule, report: &mut Report) {
    if rule.place.is(&above.place) {
        // Its file is imported twice, which is said there.
        return;
    }
    let (name, at) = (&above.name, &above.place);
    let help = format!("that one is at {at:?}; put the narrower rule first, or take one away");
    let problem = match (&above.asks, &rule.asks) {
        (Asks::Allow, Asks::Challenge { .. } | Asks::Deny) => {
            // An ALLOW needs certainty: one line of an agent, all readings of a path, an address.
            let message = format!(
                "the rule `{name}` above allows whatever this one matches, but for requests that leave doubt"
            );
            report.lint("L28", &rule.place, message)
        }
        (wide, narrow) if wide.terminal() == narrow.terminal() && wide.toll() == narrow.toll() => {
            let message = format!("the rule `{name}` above asks the same for whatever this one matches");
            report.lint("L31", &rule.place, message)
        }
        (wide, _) => {
            let asks = wide.name();
            let message = format!(
                "the rule `{name}` above asks {asks} for whatever this one matches, so it is never reached"
            );
            report.lint("L30", &rule.place, message)
        }
    };
    problem.advise(help);
}

/// L29: the first of the rules below one that decides every request.
fn unreachable(last: &Rule, rule: &Rule, rest: usize, report: &mut Report) {
    let and = if rest == 0 { String::new() } else { format!(", nor are the {rest} after it") };
    let message = format!("this rule is never reached{and}: `{}` above decides every request", last.name);
    report.lint("L29", &rule.place, message).advise(format!("that one is at {:?}", last.place));
}

/// L15: weights that no threshold judges, thresholds that never judge, thresholds without a weight.
fn thresholds(rules: &Rules, file: &Place, report: &mut Report) {
    if rules.thresholds.iter().any(|t| t.expression.is_random()) {
        return;
    }
    let weights = samples(&rules.thresholds);
    let first = |weight: i64| rules.thresholds.iter().position(|t| !t.shadow && holds(t, weight));
    let Some(place) = rules.thresholds.iter().find_map(|t| t.place.as_ref()) else { return };
    if !rules.rules.iter().any(|r| matches!(r.asks, Asks::Weigh(_))) {
        let message = "there are thresholds, but no rule that asks WEIGH, so the weight is always 0";
        report.lint("L15", place, message).at_key("thresholds");
    }
    let gap = weights.iter().find(|w| first(**w).is_none());
    if let (Some(gap), Fallback::Implied) = (gap, &rules.default) {
        let message = format!("a weight of {gap} meets no threshold, so it is allowed");
        report.lint("L15", file, message).at_key("thresholds");
    }
    let used: HashSet<_> = weights.iter().filter_map(|w| first(*w)).collect();
    for (index, threshold) in rules.thresholds.iter().enumerate() {
        let Some(place) = threshold.place.as_ref().filter(|_| !threshold.shadow && !used.contains(&index))
        else {
            continue;
        };
        report.rule = Some(format!("threshold/{}", threshold.name));
        report.lint("L15", place, "no weight ever meets this threshold first").at_key("expression");
    }
    report.rule = None;
}

fn holds(threshold: &Threshold, weight: i64) -> bool {
    threshold.expression.holds_at(weight, 0) == Ok(true)
}

/// How many numbers are tried: those of some hundred thresholds. Each is tried with each threshold.
const MAX_SAMPLES: usize = 512;

/// Weights at which something can change: next to every number that is written, and far away.
fn samples(thresholds: &[Threshold]) -> Vec<i64> {
    const FAR: i64 = 1 << 40;
    let mut weights = vec![0, -FAR, FAR];
    thresholds.iter().for_each(|t| t.expression.literals(&mut weights));
    weights.truncate(MAX_SAMPLES);
    let mut near: Vec<_> =
        weights.iter().flat_map(|w| [w.saturating_sub(1), *w, w.saturating_add(1)]).collect();
    near.sort_unstable();
    near.dedup();
    near.sort_by_key(|w| w.unsigned_abs());
    near
}

/// In Tollgate's own language nothing is allowed by omission.
fn catch_all(rules: &Rules, file: &Place, report: &mut Report) {
    let said = matches!(rules.default, Fallback::Said(_));
    let rule =
        rules.rules.iter().any(|r| r.asks.terminal().is_some() && !r.shadow && r.matchers.match_everything());
    let judged = samples(&rules.thresholds)
        .into_iter()
        .all(|w| rules.thresholds.iter().any(|t| !t.shadow && holds(t, w)));
    if !said && !rule && !judged {
        let message = "this policy does not say what happens to a request that no rule matches";
        let help = "add `default: ALLOW`, `CHALLENGE` or `DENY`, or a last rule with `path_regex: .*`";
        report.error(file, message).at_key("default").advise(help);
    }
}

#[cfg(test)]
mod tests;
