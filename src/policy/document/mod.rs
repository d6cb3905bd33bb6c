//! A YAML (or JSON) text as a tree in which every key and value knows where it stands.
//! Knows nothing of policies: the settings file is read with it too.

mod nearest;
mod parse;
mod scalar;
mod source;
mod write;

pub(crate) use nearest::nearest;
pub(crate) use parse::parse;
pub(crate) use parse::parse_document;
pub(crate) use scalar::{Resolved, Scalar};
pub(crate) use source::{File, MAX_FILE, Place, floor};
pub(crate) use write::{write, write_entry};

use super::problem::Problem;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// What it holds.
    pub(crate) value: Value,
    /// Where it is written; for an alias, where its anchor is.
    pub(crate) place: Place,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Items in order.
    List(Vec<Node>),
    /// Entries in order, duplicate keys included.
    Map(Vec<Entry>),
    /// Text, or what plain text stands for.
    Scalar(Scalar),
}

/// A key of a map with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The key as text.
    pub(crate) key: String,
    /// Where the key is written.
    pub(crate) place: Place,
    /// The value.
    pub(crate) value: Node,
}

impl Node {
    /// The entries, if it is a map.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// What a scalar stands for; `None` for lists and maps.
    pub(crate) fn resolved(&self) -> Option<Resolved<'_>> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar.resolve()),
            _ => None,
        }
    }

    /// Whether it is null or an empty value.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.resolved(), Some(Resolved::Null))
    }

    /// The entry of a map under this exact key; the last one, if there are several.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().rev().find(|e| e.key == key)
    }

    /// The entry at a dotted path such as `cookie.ttl.work`. A number picks an item of a list on the way.
    pub(crate) fn find(&self, path: &str) -> Option<&Entry> {
        let (key, rest) = path.split_once('.').map_or((path, None), |(k, r)| (k, Some(r)));
        let entry = self.entry(key)?;
        let Some(rest) = rest else { return Some(entry) };
        if let Some(items) = entry.value.items() {
            let (index, rest) = rest.split_once('.')?;
            return items.get(index.parse::<usize>().ok()?)?.find(rest);
        }
        entry.value.find(rest)
    }

    /// What it is, for messages: `a list`, `a number`, ...
    pub(crate) fn noun(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Scalar(scalar) => scalar.resolve().noun(),
        }
    }

    /// An error at this node.
    pub(crate) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(&self.place, message)
    }

    /// Where bytes `range` of this scalar's text are written, if that can be told; else the whole scalar.
    pub(crate) fn place_of(&self, range: std::ops::Range<usize>) -> Place {
        match &self.value {
            Value::Scalar(scalar) => self.place.within(scalar.text(), range),
            _ => self.place.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
