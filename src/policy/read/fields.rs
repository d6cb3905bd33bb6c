//! The keys of one map and the types of their values.

use crate::policy::document::{Entry, Node, Place, Resolved, Value, nearest};
use crate::policy::report::Report;

/// How plain numbers and booleans are treated where text is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Text {
    /// They are an error: Anubis reads entries of `bots` as JSON.
    Exact,
    /// They become text, with a lint.
    Loose,
}

/// The known keys of a map, each with its value.
pub(crate) struct Fields<'n> {
    entries: Vec<(&'static str, &'n Entry)>,
    /// Where the map stands.
    pub(crate) place: &'n Place,
    prefix: &'static str,
    text: Text,
}

impl<'n> Fields<'n> {
    /// Sorts the entries of a map by the keys that are known. Keys of Anubis are found in any case, Tollgate's `own`
    /// only as written. `prefix` is what problems put before a key. `None` if it is no map, which is reported.
    pub(crate) fn read(
        node: &'n Node,
        prefix: &'static str,
        anubis: &[&'static str],
        own: &[&'static str],
        text: Text,
        report: &mut Report,
    ) -> Option<Self> {
        let Some(entries) = node.entries() else {
            let what = if prefix.is_empty() { "this" } else { prefix.trim_end_matches('.') };
            report.error(&node.place, format!("`{what}` must be a map, but it is {}", node.noun()));
            return None;
        };
        let mut fields = Self { entries: Vec::new(), place: &node.place, prefix, text };
        for entry in entries {
            let exact = anubis.iter().chain(own).find(|k| **k == entry.key);
            let known = exact.or_else(|| anubis.iter().find(|k| k.eq_ignore_ascii_case(&entry.key)));
            match known {
                Some(key) => fields.set(key, entry, report),
                None => unknown(entry, prefix, anubis.iter().chain(own).copied(), report),
            }
        }
        Some(fields)
    }

    /// The last of two equal keys wins; the exact spelling wins over a variant.
    fn set(&mut self, key: &'static str, entry: &'n Entry, report: &mut Report) {
        let Some(before) = self.entries.iter_mut().find(|(k, _)| *k == key) else {
            self.entries.push((key, entry));
            return;
        };
        let name = format!("{}{key}", self.prefix);
        report
            .lint("L3", &entry.place, format!("`{name}` is given twice; only one of them counts"))
            .at_key(name);
        if entry.key == key || before.1.key != key {
            before.1 = entry;
        }
    }

    /// Whether no known key is there at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The known keys that are there, even with an empty value.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.entries.iter().map(|(k, _)| *k)
    }

    /// The entry of a key, even if its value is empty.
    pub(crate) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|(k, _)| *k == key).map(|(_, e)| *e)
    }

    /// The value of a key; an empty value counts as an absent key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|e| &e.value).filter(|v| !v.is_null())
    }

    /// The dotted name of a key.
    pub(crate) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The text of a key. A value of another type is reported and yields `None`.
    pub(crate) fn text(&self, key: &str, report: &mut Report) -> Option<String> {
        text(self.get(key)?, &self.name(key), self.text, report)
    }

    /// The whole number of a key.
    pub(crate) fn integer(&self, key: &str, report: &mut Report) -> Option<i64> {
        let node = self.get(key)?;
        let name = self.name(key);
        let number = match node.resolved() {
            Some(Resolved::Int(n)) => Some(n),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float without fraction below 2^53 is exact"
            )]
            Some(Resolved::Float(f)) if f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0 => {
                Some(f as i64)
            }
            _ => None,
        };
        match number {
            Some(_) => octal(node, &name, report),
            None => {
                let what = described(node);
                report
                    .error(&node.place, format!("`{name}` must be a whole number, but {what}"))
                    .at_key(name);
            }
        }
        number
    }

    /// The boolean of a key.
    pub(crate) fn boolean(&self, key: &str, report: &mut Report) -> Option<bool> {
        let node = self.get(key)?;
        if let Some(Resolved::Bool(value)) = node.resolved() {
            return Some(value);
        }
        let (name, what) = (self.name(key), described(node));
        report.error(&node.place, format!("`{name}` must be true or false, but {what}")).at_key(name);
        None
    }

    /// The items of a list of texts, with their nodes.
    pub(crate) fn texts(&self, key: &str, report: &mut Report) -> Option<Vec<(String, &'n Node)>> {
        let node = self.get(key)?;
        let name = self.name(key);
        let Some(items) = node.items() else {
            let what = described(node);
            report.error(&node.place, format!("`{name}` must be a list, but {what}")).at_key(name);
            return None;
        };
        Some(items.iter().filter_map(|i| Some((text(i, &name, self.text, report)?, i))).collect())
    }
}

/// The text of a node; anything else is reported under `name`.
pub(crate) fn text(node: &Node, name: &str, mode: Text, report: &mut Report) -> Option<String> {
    let become_text = match (&node.value, node.resolved(), mode) {
        (_, Some(Resolved::Text(text)), _) => return Some(text.to_owned()),
        (_, Some(Resolved::Bool(value)), Text::Loose) => value.to_string(),
        (_, Some(Resolved::Int(value)), Text::Loose) => value.to_string(),
        (_, Some(Resolved::Float(value)), Text::Loose) => value.to_string(),
        (
            Value::Scalar(scalar),
            Some(Resolved::Bool(_) | Resolved::Int(_) | Resolved::Float(_)),
            Text::Exact,
        ) => {
            let message = format!("`{name}` must be text, but {}; quote it", described(node));
            report.error(&node.place, message).at_key(name).advise(format!("write \"{}\"", scalar.text()));
            return None;
        }
        _ => {
            report.error(&node.place, format!("`{name}` must be text, but {}", described(node))).at_key(name);
            return None;
        }
    };
    let message =
        format!("{} becomes the text `{become_text}`", described(node).trim_start_matches("it is "));
    report.lint("L5", &node.place, message).at_key(name).advise("quote it to say that text is meant");
    Some(become_text)
}

fn octal(node: &Node, name: &str, report: &mut Report) {
    if let Value::Scalar(scalar) = &node.value
        && scalar.looks_octal()
    {
        let message = format!("`{}` is read in base 8 where it can be", scalar.text());
        report.lint("L5", &node.place, message).at_key(name);
    }
}

fn described(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) if !node.is_null() => {
            let shown: String = scalar.text().chars().take(40).collect();
            format!("`{}` is {}", shown.escape_debug(), node.noun())
        }
        _ => format!("it is {}", node.noun()),
    }
}

fn unknown<'k>(entry: &Entry, prefix: &str, known: impl Iterator<Item = &'k str>, report: &mut Report) {
    let name = format!("{prefix}{}", entry.key.escape_debug());
    let message = format!("unknown key `{name}`{}", if report.strict { "" } else { " is ignored" });
    let near = nearest(&entry.key, known);
    let problem = report.lint("L2", &entry.place, message).at_key(name);
    if let Some(near) = near {
        problem.advise(format!("did you mean `{near}`?"));
    }
}
