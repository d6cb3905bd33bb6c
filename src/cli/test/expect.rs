//! What a case expects, and how that differs from what came.

use serde::Serialize;

use super::keys::{self, Keys};
use super::paid;
use crate::crypto::Kind;
use crate::gate::{Decision, Verdict};
use crate::policy::Problem;
use crate::policy::document::{Node, nearest};

/// What is expected; what is `None` may be anything.
#[derive(Debug)]
pub(super) struct Expected {
    verdict: Option<Verdict>,
    rule: Option<String>,
    weight: Option<i64>,
    kind: Option<Kind>,
    level: Option<u8>,
    shadow: Option<Verdict>,
    shadow_rule: Option<String>,
}

/// One thing that is not as expected.
#[derive(Debug, Eq, PartialEq, Serialize)]
pub(super) struct Difference {
    pub(super) what: &'static str,
    pub(super) expected: String,
    pub(super) came: String,
}

/// What stands where there is nothing.
const NOTHING: &str = "none";

impl Expected {
    /// Reads `expect`: a verdict, or a map.
    pub(super) fn read(node: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let nothing = Self {
            verdict: None,
            rule: None,
            weight: None,
            kind: None,
            level: None,
            shadow: None,
            shadow_rule: None,
        };
        if node.entries().is_none() {
            let text = keys::text(node, "`expect` (a verdict, or a map)", problems)?;
            let verdict = verdict(text).map_err(|problem| problems.push(at(node, problem))).ok()?;
            return Some(Self { verdict: Some(verdict), ..nothing });
        }
        let known = ["verdict", "rule", "weight", "kind", "level", "shadow"];
        let before = problems.len();
        let keys = Keys::read(node, "`expect`", &known, problems)?;
        let verdict_of = |keys: &Keys<'_>, key: &str, problems: &mut Vec<Problem>| {
            let text = keys.text(key, problems)?;
            let node = keys.get(key)?;
            verdict(text).map_err(|problem| problems.push(at(node, problem))).ok()
        };
        let mut expected = Self {
            verdict: verdict_of(&keys, "verdict", problems),
            rule: keys.text("rule", problems).map(str::to_owned),
            weight: keys.integer("weight", problems),
            kind: keys.parsed("kind", paid::kind, problems),
            level: keys.integer("level", problems),
            ..nothing
        };
        if let Some(node) = keys.get("shadow")
            && let Some(keys) = Keys::read(node, "`shadow`", &["verdict", "rule"], problems)
        {
            expected.shadow = verdict_of(&keys, "verdict", problems);
            expected.shadow_rule = keys.text("rule", problems).map(str::to_owned);
        }
        if expected.is_empty() && problems.len() == before {
            problems.push(node.problem("`expect` expects nothing, so the case could not fail"));
        }
        Some(expected)
    }

    fn is_empty(&self) -> bool {
        let Self { verdict, rule, weight, kind, level, shadow, shadow_rule } = self;
        verdict.is_none()
            && rule.is_none()
            && weight.is_none()
            && kind.is_none()
            && level.is_none()
            && shadow.is_none()
            && shadow_rule.is_none()
    }

    /// Everything that came otherwise.
    pub(super) fn differences(&self, came: &Decision<'_>) -> Vec<Difference> {
        let toll = came.toll.filter(|_| came.verdict == Verdict::Challenge);
        let text = |text: &str| text.to_owned();
        let rows = [
            ("verdict", self.verdict.map(|v| text(v.as_str())), Some(text(came.verdict.as_str()))),
            ("rule", self.rule.clone(), Some(text(came.rule))),
            ("weight", self.weight.map(|w| w.to_string()), Some(came.weight.to_string())),
            ("kind", self.kind.map(|k| text(k.as_str())), toll.map(|toll| text(toll.kind.as_str()))),
            ("level", self.level.map(|l| l.to_string()), toll.map(|toll| toll.level.to_string())),
            (
                "shadow verdict",
                self.shadow.map(|v| text(v.as_str())),
                came.shadow.map(|shadow| text(shadow.verdict.as_str())),
            ),
            ("shadow rule", self.shadow_rule.clone(), came.shadow.map(|shadow| text(shadow.rule))),
        ];
        let differs = |(what, expected, came): (_, Option<String>, Option<String>)| {
            let (expected, came) = (expected?, came.unwrap_or_else(|| NOTHING.to_owned()));
            (expected != came).then_some(Difference { what, expected, came })
        };
        rows.into_iter().filter_map(differs).collect()
    }
}

/// What is wrong with a verdict, and what to do about it.
struct Wrong(String, String);

fn at(node: &Node, Wrong(message, help): Wrong) -> Problem {
    node.problem(message).with_help(help)
}

fn verdict(text: &str) -> Result<Verdict, Wrong> {
    let names = Verdict::ALL.map(Verdict::as_str);
    Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == text).ok_or_else(|| {
        let help = match nearest(text, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names.join(", ")),
        };
        Wrong(format!("`{}` is no verdict", text.escape_debug()), help)
    })
}
