//! The policy as it was read: every import in its place, and where each rule comes from. It loads again as the same policy.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::document::{self, Entry, File, Node, Place, Resolved, Value};
use super::rule::Rule;
use super::{LoadError, Loader, Source};

/// A policy with its imports in their places.
#[derive(Debug)]
pub struct Expanded {
    /// The keys of the main file, without its rules.
    keys: Vec<Entry>,
    /// How many of them stand before the rules.
    before: usize,
    rules: Vec<Origin>,
    name: String,
}

/// A rule as it is written, and where.
#[derive(Debug)]
struct Origin {
    entry: Node,
    name: String,
    place: Place,
    chain: Vec<String>,
}

impl Loader {
    /// Loads a policy, and brings it together with all it imports.
    pub fn expand(&self, source: &Source) -> Result<Expanded, LoadError> {
        let (rules, ..) = self.read(source, &mut crate::files::Files::default())?;
        let mut files = Files::default();
        let root = files.main(&rules.place);
        let entries = root.entries().unwrap_or_default();
        let is_rules = |entry: &&Entry| entry.key.eq_ignore_ascii_case("bots");
        let before = entries.iter().position(|e| is_rules(&e)).unwrap_or(entries.len());
        let origins = rules.rules.iter().filter_map(|rule| files.origin(rule)).collect();
        Ok(Expanded {
            keys: entries.iter().filter(|e| !is_rules(e)).cloned().collect(),
            before,
            rules: origins,
            name: rules.place.file_name().to_owned(),
        })
    }
}

impl Expanded {
    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// As YAML, with a comment at each rule.
    pub fn yaml(&self) -> String {
        let count = self.rules.len();
        let mut out = format!("# {} with everything it imports; rules: {count}\n", self.name.escape_debug());
        let (before, after) = self.keys.split_at(self.before);
        before.iter().for_each(|entry| line(entry, &mut out));
        out.push_str(if count == 0 { "bots: []\n" } else { "bots:\n" });
        for rule in &self.rules {
            let (at, _) = rule.place.line_and_column();
            write!(out, "\n  # {}:{at}", rule.place.file_name().escape_debug()).expect("a String takes all");
            if !rule.chain.is_empty() {
                write!(out, ", imported from {}", rule.chain.join(", then from ").escape_debug())
                    .expect("a String takes all");
            }
            out.push_str("\n  - ");
            document::write(&rule.entry, 4, &mut out);
            out.push('\n');
        }
        if !after.is_empty() {
            out.push('\n');
        }
        after.iter().for_each(|entry| line(entry, &mut out));
        out
    }

    /// The same for programs.
    pub fn json(&self) -> Json {
        let rules = self.rules.iter().map(|rule| {
            let (line, column) = rule.place.line_and_column();
            json!({
                "name": rule.name,
                "file": rule.place.file_name(),
                "line": line,
                "column": column,
                "imported_from": rule.chain,
                "rule": value(&rule.entry),
            })
        });
        json!({ "policy": self.name, "settings": map(&self.keys), "rules": rules.collect::<Vec<_>>() })
    }
}

fn line(entry: &Entry, out: &mut String) {
    document::write_entry(entry, 0, out);
    out.push('\n');
}

fn value(node: &Node) -> Json {
    match (&node.value, node.resolved()) {
        (Value::Map(entries), _) => map(entries),
        (Value::List(items), _) => items.iter().map(value).collect(),
        (_, Some(Resolved::Bool(value))) => value.into(),
        (_, Some(Resolved::Float(value))) => value.into(),
        (_, Some(Resolved::Int(value))) => value.into(),
        (_, Some(Resolved::Text(text))) => text.into(),
        (_, Some(Resolved::Null) | None) => Json::Null,
    }
}

fn map(entries: &[Entry]) -> Json {
    Json::Object(entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect::<Map<_, _>>())
}

/// The entries of files, read once more: rules keep where they stand, and not what they were made from.
#[derive(Default)]
struct Files(HashMap<*const File, HashMap<usize, Node>>);

impl Files {
    /// The main file's document.
    fn main(&mut self, place: &Place) -> Node {
        let documents = documents(place.file());
        let root = documents.into_iter().find(|node| node.place.is(place));
        let root = root.expect("it was read from this text before");
        let lists = root.entries().unwrap_or_default().iter().filter(|e| e.key.eq_ignore_ascii_case("bots"));
        let items = lists.flat_map(|entry| entry.value.items().unwrap_or_default());
        let entries = items.map(|node| (node.place.start(), node.clone())).collect();
        self.0.insert(Arc::as_ptr(place.file()), entries);
        root
    }

    fn origin(&mut self, rule: &Rule) -> Option<Origin> {
        let file = rule.place.file();
        let entries = self.0.entry(Arc::as_ptr(file)).or_insert_with(|| {
            let lists = documents(file);
            let items = lists.iter().flat_map(|list| list.items().unwrap_or_default());
            items.map(|node| (node.place.start(), node.clone())).collect()
        });
        let entry = entries.get(&rule.place.start())?.clone();
        let (name, place, chain) = (rule.name.clone(), rule.place.clone(), rule.chain.clone());
        Some(Origin { entry, name, place, chain })
    }
}

/// The documents of a file that was read before without a mistake.
fn documents(file: &Arc<File>) -> Vec<Node> {
    file.documents()
        .into_iter()
        .filter_map(|range| document::parse_document(file, range).ok().flatten())
        .collect()
}

#[cfg(test)]
mod tests;
