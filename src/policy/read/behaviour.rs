//! `signals` and `rate`: how a visitor behaves, and how often it may.

use std::time::Duration;

use super::fields::{Fields, Text};
use crate::behaviour::{Signal, Signals};
use crate::policy::document::{Node, nearest};
use crate::policy::rate::{By, Rate};
use crate::policy::report::Report;
use crate::policy::rule::Wanted;

/// The signals of `signals.all` and `signals.any`.
pub(super) fn signals(fields: &Fields<'_>, report: &mut Report) -> Option<Wanted> {
    let node = fields.get("signals")?;
    let inner = Fields::read(node, "signals.", &[], &["all", "any"], Text::Exact, report)?;
    let all = list(&inner, "all", report);
    let any = list(&inner, "any", report);
    if all.is_none() && any.is_none() {
        let message = "`signals` names none, so the rule could match everything or nothing";
        report.error(&node.place, message).at_key("signals").advise("write `signals: {any: [crawl]}`");
        return None;
    }
    Some(Wanted { all: all.unwrap_or_default(), any })
}

/// The signals of one list; an empty list is reported.
fn list(fields: &Fields<'_>, key: &'static str, report: &mut Report) -> Option<Signals> {
    let node = fields.get(key)?;
    let items = fields.texts(key, report)?;
    let name = fields.name(key);
    if items.is_empty() {
        report.error(&node.place, format!("`{name}` is an empty list")).at_key(name);
        return None;
    }
    let mut signals = Signals::default();
    for (text, node) in items {
        match Signal::named(&text) {
            Some(signal) => signals.add(signal),
            None => unknown_signal(&text, node, &name, report),
        }
    }
    Some(signals)
}

fn unknown_signal(text: &str, node: &Node, key: &str, report: &mut Report) {
    let names = || Signal::all().map(Signal::name);
    let help = match nearest(text, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
    };
    let message = format!("there is no signal `{}`", text.escape_debug());
    report.error(&node.place, message).at_key(key).advise(help);
}

/// The rate of a LIMIT rule. Without `burst` it is the count, without `by` the client.
pub(super) fn rate(fields: &Fields<'_>, report: &mut Report) -> Option<Rate> {
    let Some(node) = fields.get("rate") else {
        let help = "write `rate: {limit: 60/1m, burst: 20, by: client}`";
        report.error(fields.place, "a LIMIT rule needs a `rate`").at_key("rate").advise(help);
        return None;
    };
    let before = report.len();
    let inner = Fields::read(node, "rate.", &[], &["limit", "burst", "by"], Text::Exact, report)?;
    let limit = limit(&inner, report);
    let burst = burst(&inner, report);
    let by = by(&inner, report);
    if report.has_error_since(before) {
        return None;
    }
    let (count, per) = limit?;
    Some(Rate { count, per, burst: burst.unwrap_or(count), by: by.unwrap_or(By::Client) })
}

fn limit(fields: &Fields<'_>, report: &mut Report) -> Option<(u32, Duration)> {
    let Some(node) = fields.get("limit") else {
        report.error(fields.place, "`rate` needs a `limit`, such as 60/1m").at_key("rate.limit");
        return None;
    };
    let text = fields.text("limit", report)?;
    let read = text.split_once('/').and_then(|(count, span)| {
        let at = span.find(|c: char| !c.is_ascii_digit())?;
        let unit = match &span[at..] {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        let seconds = span[..at].parse::<u32>().ok().filter(|n| *n > 0).map(|n| u64::from(n) * unit)?;
        Some((count.parse().ok().filter(|n| *n > 0)?, Duration::from_secs(seconds)))
    });
    if read.is_none() {
        let message =
            format!("`{}` is no rate; write count/span, such as 60/1m or 5/10s", text.escape_debug());
        report.error(&node.place, message).at_key("rate.limit");
    }
    read
}

fn burst(fields: &Fields<'_>, report: &mut Report) -> Option<u32> {
    let node = fields.get("burst")?;
    let burst = fields.integer("burst", report)?;
    let fit = u32::try_from(burst).ok().filter(|burst| *burst > 0);
    if fit.is_none() {
        report.error(&node.place, "`rate.burst` must be at least 1").at_key("rate.burst");
    }
    fit
}

fn by(fields: &Fields<'_>, report: &mut Report) -> Option<By> {
    let node = fields.get("by")?;
    let text = fields.text("by", report)?;
    let by = By::ALL.into_iter().find(|by| by.as_str() == text);
    if by.is_none() {
        let names: Vec<_> = By::ALL.map(By::as_str).to_vec();
        let message = format!("`{}` is nothing to count by", text.escape_debug());
        report
            .error(&node.place, message)
            .at_key("rate.by")
            .advise(format!("there are {}", names.join(", ")));
    }
    by
}
