//! From YAML events to nodes: anchors, aliases and merge keys, with a cap on everything that can grow.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::{Entry, File, Node, Place, Scalar, Value};
use crate::policy::problem::Problem;

/// How deep lists and maps may nest. The deepest setting there is lies five deep.
const MAX_DEPTH: usize = 64;

/// How many values one document may hold once its aliases are expanded: ten for each of 100,000 rules.
const MAX_NODES: usize = 1_000_000;

/// Parses a text that is one document, such as a settings file. An empty text is null.
pub(crate) fn parse(name: &str, text: &str) -> Result<Node, Box<Problem>> {
    let file = File::new(name, text);
    let mut root = None;
    for range in file.documents() {
        if let Some(node) = parse_document(&file, range)? {
            if root.is_some() {
                return Err(Box::new(Problem::new(
                    &node.place,
                    "a second document; this file may hold one only",
                )));
            }
            root = Some(node);
        }
    }
    Ok(root.unwrap_or_else(|| Node { value: Value::Scalar(Scalar::new("", true)), place: file.start() }))
}

/// Parses one document of a file; `None` when there is nothing in it but blanks and comments.
pub(crate) fn parse_document(file: &Arc<File>, range: Range<usize>) -> Result<Option<Node>, Box<Problem>> {
    let text = &file.text[range.clone()];
    if text.len() > super::MAX_FILE {
        return Err(Box::new(Problem::new(&file.start(), "the file is larger than 16 MiB")));
    }
    let mut builder = Builder {
        file,
        cursor: Cursor { text, base: range.start, index: 0, byte: 0, ascii: text.is_ascii() },
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = builder.cursor.byte(error.marker().index());
            Box::new(Problem::new(&Place::new(file, at..at + 1), format!("no YAML: {}", error.info())))
        })?;
        if let Some(root) = builder.take(event, span)? {
            return Ok(Some(root));
        }
    }
    Ok(None)
}

struct Builder<'a> {
    file: &'a Arc<File>,
    cursor: Cursor<'a>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, Measure)>,
    nodes: usize,
}

/// How many values a node holds and how deep it is, for the budget of aliases.
#[derive(Clone, Copy)]
struct Measure {
    nodes: usize,
    depth: usize,
}

/// A list or map whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    measure: Measure,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, merges: Vec<Node>, key: Option<(String, Place, bool)> },
}

impl Builder<'_> {
    /// Takes one event; answers the root once it is complete.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, Box<Problem>> {
        let place = self.place(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::new(text, style == ScalarStyle::Plain && !is_text(tag.as_deref()));
                let node = Node { value: Value::Scalar(scalar), place };
                self.complete(node, anchor, Measure { nodes: 1, depth: 0 })
            }
            Event::Alias(anchor) => {
                let Some((node, measure)) = self.anchors.get(&anchor).cloned() else {
                    return Err(Box::new(Problem::new(&place, "this alias stands inside of its own anchor")));
                };
                self.complete(node, 0, measure)
            }
            Event::SequenceStart(anchor, _) => self.open(place, anchor, Inside::List(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.open(place, anchor, Inside::Map { entries: Vec::new(), merges: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(&place),
            _ => Ok(None),
        }
    }

    fn open(&mut self, place: Place, anchor: usize, inside: Inside) -> Result<Option<Node>, Box<Problem>> {
        if self.open.len() == MAX_DEPTH {
            let message = format!("lists and maps nest deeper than {MAX_DEPTH}");
            return Err(Box::new(Problem::new(&place, message)));
        }
        self.open.push(Open { place, anchor, measure: Measure { nodes: 1, depth: 0 }, inside });
        Ok(None)
    }

    fn close(&mut self, end: &Place) -> Result<Option<Node>, Box<Problem>> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let value = match open.inside {
            Inside::List(items) => Value::List(items),
            Inside::Map { entries, merges, .. } => Value::Map(merge(entries, merges)?),
        };
        let node = Node { value, place: open.place.to(end) };
        self.complete(node, open.anchor, open.measure)
    }

    /// Puts a finished node where it belongs.
    fn complete(
        &mut self,
        node: Node,
        anchor: usize,
        measure: Measure,
    ) -> Result<Option<Node>, Box<Problem>> {
        self.nodes += measure.nodes;
        if self.nodes > MAX_NODES || self.open.len() + measure.depth > MAX_DEPTH {
            let message = format!("aliases expand to more than {MAX_NODES} values or {MAX_DEPTH} levels");
            return Err(Box::new(node.problem(message)));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), measure));
        }
        let Some(parent) = self.open.last_mut() else { return Ok(Some(node)) };
        parent.measure.nodes += measure.nodes;
        parent.measure.depth = parent.measure.depth.max(measure.depth + 1);
        match &mut parent.inside {
            Inside::List(items) => items.push(node),
            Inside::Map { entries, merges, key } => match key.take() {
                Some((_, _, true)) => merges.push(node),
                Some((text, place, false)) => entries.push(Entry { key: text, place, value: node }),
                None => *key = Some(key_of(&node)?),
            },
        }
        Ok(None)
    }

    fn place(&mut self, span: Span) -> Place {
        let start = self.cursor.byte(span.start.index());
        let end = self.cursor.byte(span.end.index());
        Place::new(self.file, start..end)
    }
}

/// The key's text, its place, and whether it is the merge key.
fn key_of(node: &Node) -> Result<(String, Place, bool), Box<Problem>> {
    match &node.value {
        Value::Scalar(scalar) => {
            let merge = scalar.text() == "<<" && *scalar == Scalar::new("<<", true);
            Ok((scalar.text().to_owned(), node.place.clone(), merge))
        }
        _ => Err(Box::new(node.problem(format!("a key must be text, but this is {}", node.noun())))),
    }
}

/// Adds what `<<` brings: a key that is written out wins over a merged one, an earlier merge over a later one.
fn merge(mut entries: Vec<Entry>, merges: Vec<Node>) -> Result<Vec<Entry>, Box<Problem>> {
    for node in merges {
        let place = node.place.clone();
        let maps = match node.value {
            Value::List(items) => items,
            value => vec![Node { value, place: place.clone() }],
        };
        for map in maps {
            let Value::Map(merged) = map.value else {
                return Err(Box::new(Problem::new(&place, "`<<` takes a map or a list of maps")));
            };
            let mut fresh: Vec<_> =
                merged.into_iter().filter(|m| !entries.iter().any(|e| e.key == m.key)).collect();
            entries.append(&mut fresh);
        }
    }
    Ok(entries)
}

/// Whether a tag says that a scalar is text, whatever it looks like.
fn is_text(tag: Option<&Tag>) -> bool {
    tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str")
}

/// Turns the parser's character positions into bytes of the file. Positions come nearly in order, so walking from
/// the last one is cheap, where counting from the start each time would be quadratic.
struct Cursor<'a> {
    text: &'a str,
    base: usize,
    index: usize,
    byte: usize,
    ascii: bool,
}

impl Cursor<'_> {
    fn byte(&mut self, index: usize) -> usize {
        if self.ascii {
            return self.base + index.min(self.text.len());
        }
        if index >= self.index {
            let ahead = &self.text[self.byte..];
            match ahead.char_indices().nth(index - self.index) {
                Some((at, _)) => (self.index, self.byte) = (index, self.byte + at),
                None => (self.index, self.byte) = (self.index + ahead.chars().count(), self.text.len()),
            }
        } else {
            let behind = &self.text[..self.byte];
            let back = self.index - index;
            self.byte = behind.char_indices().rev().nth(back - 1).map_or(0, |(at, _)| at);
            self.index = index;
        }
        self.base + self.byte
    }
}
