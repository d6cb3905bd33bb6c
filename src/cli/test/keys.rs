//! The maps of a test file: known keys only, each once, and what is wrong with a value at its place.

use std::collections::HashSet;

use crate::policy::Problem;
use crate::policy::document::{Node, Resolved, Value, nearest};

/// One map with the keys that it may have.
pub(super) struct Keys<'n> {
    node: &'n Node,
}

impl<'n> Keys<'n> {
    /// Takes a node for a map, and reports every key that is not among `known` or stands twice.
    pub(super) fn read(
        node: &'n Node,
        what: &str,
        known: &[&'static str],
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        let Some(entries) = node.entries() else {
            let keys = known.join(", ");
            let message = format!("{what} must be a map with keys among {keys}, but it is {}", node.noun());
            problems.push(node.problem(message));
            return None;
        };
        let mut seen = HashSet::new();
        for entry in entries {
            let key = entry.key.escape_debug();
            if !seen.insert(&entry.key) {
                problems.push(Problem::new(&entry.place, format!("`{key}` is given twice")));
            } else if !known.contains(&entry.key.as_str()) {
                let help = match nearest(&entry.key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                let message = format!("unknown key `{key}` in {what}");
                problems.push(Problem::new(&entry.place, message).with_help(help));
            }
        }
        Some(Self { node })
    }

    /// The value of a key; an empty value counts as an absent key.
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.node.entry(key).map(|entry| &entry.value).filter(|value| !value.is_null())
    }

    /// The text of a key, as it is written: here `NO` is a country and `1` a header's value.
    pub(super) fn text(&self, key: &str, problems: &mut Vec<Problem>) -> Option<&'n str> {
        text(self.get(key)?, &format!("`{key}`"), problems)
    }

    /// The text of a key that a function understands.
    pub(super) fn parsed<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let text = self.text(key, problems)?;
        parse(text).map_err(|message| problems.push(self.node_of(key).problem(message))).ok()
    }

    /// A whole number.
    pub(super) fn integer<N: TryFrom<i64>>(&self, key: &str, problems: &mut Vec<Problem>) -> Option<N> {
        let node = self.get(key)?;
        let number = match node.resolved() {
            Some(Resolved::Int(number)) => N::try_from(number).ok(),
            _ => None,
        };
        if number.is_none() {
            problems.push(node.problem(format!("`{key}` must be a whole number, and not one out of bounds")));
        }
        number
    }

    /// True or false.
    pub(super) fn boolean(&self, key: &str, problems: &mut Vec<Problem>) -> Option<bool> {
        let node = self.get(key)?;
        let value = match node.resolved() {
            Some(Resolved::Bool(value)) => Some(value),
            _ => None,
        };
        if value.is_none() {
            problems.push(node.problem(format!("`{key}` must be true or false")));
        }
        value
    }

    /// One text, or a list of them, each with its node.
    pub(super) fn texts(&self, key: &str, problems: &mut Vec<Problem>) -> Option<Vec<(&'n str, &'n Node)>> {
        Some(texts(self.get(key)?, &format!("`{key}`"), problems))
    }

    fn node_of(&self, key: &str) -> &'n Node {
        self.get(key).unwrap_or(self.node)
    }
}

/// The text of a node as it is written.
pub(super) fn text<'n>(node: &'n Node, what: &str, problems: &mut Vec<Problem>) -> Option<&'n str> {
    match &node.value {
        Value::Scalar(scalar) => Some(scalar.text()),
        _ => {
            problems.push(node.problem(format!("{what} must be text, but it is {}", node.noun())));
            None
        }
    }
}

/// One text, or a list of them, each with its node.
pub(super) fn texts<'n>(node: &'n Node, what: &str, problems: &mut Vec<Problem>) -> Vec<(&'n str, &'n Node)> {
    match node.items() {
        Some(items) => items.iter().filter_map(|item| Some((text(item, what, problems)?, item))).collect(),
        None => text(node, what, problems).map(|text| (text, node)).into_iter().collect(),
    }
}
