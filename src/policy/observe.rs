//! Watching an evaluation, for `explain`.

use serde::Serialize;

/// Is told about the rules, thresholds and default that an evaluation looks at, in order.
pub trait Observer {
    /// An evaluation begins. What an earlier one told is void: it needed lookups, and this one knows more.
    fn begin(&mut self) {}

    /// Whether it wants to be told about rules that do not match as well. Most of them are not even asked otherwise.
    fn sees_misses(&self) -> bool {
        false
    }

    /// One of them: its name, the action it asks for, whether it matched, and a text that says why.
    fn rule(&mut self, name: &str, action: &str, matched: bool, why: impl FnOnce() -> String);
}

/// Watches nothing, at no cost.
impl Observer for () {
    fn rule(&mut self, _: &str, _: &str, _: bool, _: impl FnOnce() -> String) {}
}

/// Keeps steps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Whether only steps that matched are kept: of a hundred rules, a request meets a few.
    #[serde(skip)]
    pub matches_only: bool,
}

/// One rule, threshold or default that was looked at.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Step {
    /// `bot/NAME`, `threshold/NAME` or `default/ACTION`.
    pub rule: String,
    /// The action it asks for, as the policy spells it.
    pub action: String,
    /// Whether it matched.
    pub matched: bool,
    /// Why, in words.
    pub why: String,
}

impl Observer for Trace {
    fn begin(&mut self) {
        self.steps.clear();
    }

    fn sees_misses(&self) -> bool {
        !self.matches_only
    }

    fn rule(&mut self, name: &str, action: &str, matched: bool, why: impl FnOnce() -> String) {
        if self.matches_only && !matched {
            return;
        }
        self.steps.push(Step { rule: name.to_owned(), action: action.to_owned(), matched, why: why() });
    }
}
