//! The settings file: YAML, in which every value knows its place, or TOML.
//! Finds and parses it; a line that may hold a secret is never shown.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Value};

use super::layer::{Layer, Origin};
use crate::files::Files;
use crate::policy::document::{self, Entry, Node, Place};
use crate::policy::{Problem, nearest};

/// The settings file, as far as it could be read. Without `Debug`: it may hold a secret.
pub(super) struct File {
    pub(super) path: PathBuf,
    /// The tree of a YAML file.
    tree: Option<Node>,
}

/// The largest settings file that is read: the whole table written out has 4 KiB.
const MAX_FILE: usize = 1 << 20;

/// The settings file that stands in a folder, if one does.
pub(super) fn find(folder: &Path, files: &mut Files, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    let names = ["tollgate.yaml", "tollgate.toml"].map(|name| folder.join(name));
    names.iter().for_each(|name| files.note(name));
    let mut there = names.into_iter().filter(|p| p.exists());
    let first = there.next()?;
    if let Some(second) = there.next() {
        let message =
            format!("`{}` stands beside it and only one can hold: choose with --config", second.display());
        problems.push(Problem::of_file(first.display().to_string(), message));
    }
    Some(first)
}

impl File {
    /// Reads a file by its ending: `.toml` is TOML, everything else YAML. What cannot be read is reported, and the layer is empty.
    pub(super) fn read(path: &Path, problems: &mut Vec<Problem>) -> (Self, Layer) {
        let name = path.display().to_string();
        let mut file = Self { path: path.to_owned(), tree: None };
        let before = problems.len();
        let values = match text(path) {
            Err(message) => Err(Box::new(Problem::of_file(&name, message))),
            Ok(text) if path.extension().is_some_and(|e| e == "toml") => parse_toml(&name, &text),
            Ok(text) => document::parse(&name, &text).map_err(|problem| veil(problem, &text)).map(|tree| {
                let values = mapping(&tree, problems);
                file.tree = Some(tree);
                values
            }),
        };
        let values = values.unwrap_or_else(|problem| {
            problems.insert(before, *problem);
            Dict::new()
        });
        (file, Layer { origin: Origin::File, values })
    }

    /// A problem with a setting, at its value, or at its name where the name is what is wrong.
    pub(super) fn problem(&self, key: &str, at_name: bool, message: String) -> Problem {
        let entry = self.tree.as_ref().and_then(|tree| tree.find(key));
        match entry {
            Some(Entry { place, .. }) if at_name => at(place, message),
            Some(Entry { value, .. }) => at(&value.place, message),
            None => Problem::of_file(self.path.display().to_string(), message),
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let read = || {
        let mut bytes = Vec::new();
        // One byte more than is allowed tells a file that is too long from one that just fits.
        fs::File::open(path)?.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error: io::Error| format!("cannot read the settings: {error}"))?;
    if bytes.len() > MAX_FILE {
        return Err(format!("the settings are longer than {MAX_FILE} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "the settings are not UTF-8".to_owned())
}

fn parse_toml(name: &str, text: &str) -> Result<Dict, Box<Problem>> {
    Toml::from_str(text).map_err(|error| {
        let before = &text[..error.span().map_or(0, |s| s.start).min(text.len())];
        let at = format!("{name}:{}", before.matches('\n').count() + 1);
        // The error's own drawing shows the line, which may hold a secret; its message names only what was expected.
        Box::new(Problem::of_file(at, format!("no TOML: {}", error.message().replace('\n', ", "))))
    })
}

/// A parser's problem without its line, where the line may hold a secret.
fn veil(problem: Box<Problem>, text: &str) -> Box<Problem> {
    if problem.line > 0 && may_hold_secret(text, problem.line) {
        let at = format!("{}:{}:{}", problem.file, problem.line, problem.column);
        return Box::new(Problem::of_file(at, problem.message));
    }
    problem
}

/// Whether a line of a settings file may hold a secret: it stands in the group that has some, or speaks of one. Names may
/// be mistyped.
fn may_hold_secret(text: &str, line: usize) -> bool {
    let is_like = |word: &str| {
        let word = word.to_ascii_lowercase();
        let names = ["keys", "secret", "shared", "token", "redis", "rediss", "valkey", "valkeys"];
        names.contains(&&*word) || nearest(&word, names).is_some()
    };
    let speaks = |line: &str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(is_like);
    let group = |line: &&str| !line.is_empty() && !line.starts_with([' ', '\t', '-', '#']);
    let before: Vec<_> = text.lines().take(line).collect();
    let heading = before.iter().rev().copied().find(|line| group(line)).unwrap_or_default();
    before.last().copied().is_some_and(speaks) || speaks(heading.split(':').next().unwrap_or_default())
}

/// A problem at a place, drawn with its line unless that may hold a secret.
fn at(place: &Place, message: String) -> Problem {
    let (line, column) = place.line_and_column();
    if may_hold_secret(place.file_text(), line) {
        return Problem::of_file(format!("{}:{line}:{column}", place.file_name()), message);
    }
    Problem::new(place, message)
}

/// The entries of a map, scalars as they are written: what they mean depends on the setting. A name without a value, such as
/// a group whose every line is commented out, says nothing.
fn mapping(node: &Node, problems: &mut Vec<Problem>) -> Dict {
    let mut values = Dict::new();
    if node.entries().is_none() && !node.is_null() {
        problems.push(at(
            &node.place,
            format!("this is {}; settings are a map of names and values", node.noun()),
        ));
    }
    for entry in node.entries().unwrap_or_default() {
        if entry.value.is_null() {
            continue;
        }
        if values.contains_key(&entry.key) {
            problems.push(at(&entry.place, format!("`{}` stands twice", entry.key)));
        }
        let value = value(&entry.value, problems);
        values.insert(entry.key.clone(), value);
    }
    values
}

fn value(node: &Node, problems: &mut Vec<Problem>) -> Value {
    match &node.value {
        document::Value::List(items) => {
            Value::from(items.iter().map(|item| value(item, problems)).collect::<Vec<_>>())
        }
        document::Value::Map(_) => Value::from(mapping(node, problems)),
        document::Value::Scalar(scalar) => Value::from(scalar.text()),
    }
}
