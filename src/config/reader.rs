//! Reads one setting after the other out of the layers, and collects every mistake instead of stopping at the first.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::{Dict, Value};

use super::file::{self, File};
use super::keys::{Form, KEYS, Key, PREFIX};
use super::layer::{Layer, Origin, Sources};
use crate::files::Files;
use crate::memory::shared::Address;
use crate::policy::{Problem, Severity};

/// One setting as it holds, for people.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The setting.
    pub key: &'static Key,
    /// Its value, as one would write it; secrets are `(redacted)`.
    pub value: Option<String>,
    /// Where it comes from: `default`, a file, a variable, a flag.
    pub origin: String,
}

/// The layers, and what was wrong with them so far.
pub(super) struct Reader<'f> {
    files: &'f mut Files,
    layered: Figment,
    layers: [Layer; 4],
    file: Option<File>,
    problems: Vec<Problem>,
}

impl<'f> Reader<'f> {
    /// Stacks the layers and reports every name that is no setting. Files are noted before they are read.
    pub(super) fn new(sources: &Sources, files: &'f mut Files) -> Self {
        let environment = Layer::environment(&sources.environment);
        let flags = Layer::flags(&sources.flags);
        let mut problems = Vec::new();
        let named = flags.find("config").or_else(|| environment.find("config")).and_then(Value::as_str);
        let path =
            named.map(PathBuf::from).or_else(|| file::find(sources.folder.as_deref()?, files, &mut problems));
        path.iter().for_each(|path| files.note(path));
        let (file, from_file) = path.map(|path| File::read(&path, &mut problems)).unzip();
        let from_file = from_file.unwrap_or_else(|| Layer { origin: Origin::File, values: Dict::new() });
        let layers = [Layer::defaults(), from_file, environment, flags];
        let layered = layers.iter().fold(Figment::new(), |stack, layer| stack.merge(layer));
        let mut reader = Self { files, layered, layers, file, problems };
        reader.report_strangers();
        reader
    }

    fn report_strangers(&mut self) {
        for (origin, stranger) in
            self.layers.iter().flat_map(|l| l.strangers().into_iter().map(|s| (l.origin, s)))
        {
            let mut problem = self.problem(&stranger.name, origin, true, stranger.message);
            // A variable may be another program's; a line of our own file is ours.
            if origin == Origin::Environment && !stranger.meant {
                problem.level = Severity::Warn;
            }
            self.problems.push(problem);
        }
        if self.layers[1].find("config").is_some() {
            let message = "a settings file cannot name another one".to_owned();
            self.problems.push(self.problem("config", Origin::File, true, message));
        }
    }

    /// Where a setting was set.
    fn origin(&self, key: &str) -> Origin {
        self.layered.find_metadata(key).map_or(Origin::Default, Origin::of)
    }

    /// Whether anybody set it.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.origin(key) != Origin::Default
    }

    /// Reads a setting that has a default. A value that is wrong is reported, and `fallback` keeps the reading going.
    pub(super) fn read<T>(
        &mut self,
        key: &str,
        fallback: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        self.optional(key, parse).unwrap_or(fallback)
    }

    /// Reads a setting that may be missing.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.layered.find_value(key).ok()?;
        let text = scalar(&value).ok_or_else(|| format!("this is {}; one value was expected", noun(&value)));
        match text.and_then(|text| parse(text.trim())) {
            Ok(value) => Some(value),
            Err(message) => {
                self.complain(key, message);
                None
            }
        }
    }

    /// Reads a list: of the file, of a repeated flag, or of one text with commas.
    pub(super) fn list(&mut self, key: &str) -> Vec<String> {
        let Ok(value) = self.layered.find_value(key) else { return Vec::new() };
        let items = match &value {
            Value::Array(_, items) => items.iter().map(scalar).collect(),
            single => scalar(single).map(|text| text.split(',').map(|item| item.trim().to_owned()).collect()),
        };
        items.unwrap_or_else(|| {
            self.complain(key, format!("this is {}; a list of texts was expected", noun(&value)));
            Vec::new()
        })
    }

    /// A path, relative to the file that names it, or to the working folder when a flag or a variable does.
    pub(super) fn path(&mut self, key: &str) -> Option<PathBuf> {
        let text = self.optional(key, path_text)?;
        let path = self.folder(key).join(text);
        self.files.note(&path);
        Some(path)
    }

    /// The settings file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// The folder that a relative path in this setting counts from.
    pub(super) fn folder(&self, key: &str) -> &Path {
        match (&self.file, self.origin(key)) {
            (Some(file), Origin::File) => file.path.parent().unwrap_or_else(|| Path::new("")),
            _ => Path::new(""),
        }
    }

    /// Reports a mistake in a setting, at the place that set it.
    pub(super) fn complain(&mut self, key: &str, message: String) {
        self.problems.push(self.problem(key, self.origin(key), false, message));
    }

    /// Reports what is odd about a setting without being wrong.
    pub(super) fn warn(&mut self, key: &str, message: String) {
        let mut problem = self.problem(key, self.origin(key), false, message);
        problem.level = Severity::Warn;
        self.problems.push(problem);
    }

    fn problem(&self, key: &str, origin: Origin, at_name: bool, message: String) -> Problem {
        let mut problem = match &self.file {
            Some(file) if origin == Origin::File => file.problem(key, at_name, message),
            _ => Problem::of_file(self.describe(key, origin), message),
        };
        problem.key = Some(key.to_owned());
        problem
    }

    fn describe(&self, key: &str, origin: Origin) -> String {
        match (origin, &self.file) {
            (Origin::Default, _) | (Origin::File, None) => "default".to_owned(),
            (Origin::File, Some(file)) => file.path.display().to_string(),
            (Origin::Environment, _) => format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase()),
            (Origin::Flag, _) => {
                Key::find(key).and_then(|k| k.flag).map_or_else(String::new, |f| format!("--{}", f.name))
            }
        }
    }

    /// Everything as it holds.
    pub(super) fn effective(&self) -> Vec<Effective> {
        let one = |key: &'static Key| {
            let value = self.layered.find_value(key.name).ok().map(|value| match &value {
                _ if key.secret => "(redacted)".to_owned(),
                value if key.form == Some(Form::Address) => {
                    Address::redacted(&scalar(value).unwrap_or_default())
                }
                Value::Array(_, items) => items.iter().filter_map(scalar).collect::<Vec<_>>().join(", "),
                value => scalar(value).unwrap_or_default(),
            });
            Effective { key, value, origin: self.describe(key.name, self.origin(key.name)) }
        };
        KEYS.iter().map(one).collect()
    }

    /// What was wrong, and what was only odd.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// A text that may name a file.
pub(super) fn path_text(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("a path was expected".to_owned()) } else { Ok(text.to_owned()) }
}

/// The text of a single value; TOML's are typed, all others are text already.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_, value) => Some(value.to_string()),
        Value::Char(_, value) => Some(value.to_string()),
        Value::Num(_, number) => {
            let whole =
                number.to_u128().map(|n| n.to_string()).or_else(|| number.to_i128().map(|n| n.to_string()));
            whole.or_else(|| number.to_f64().map(|n| n.to_string()))
        }
        Value::String(_, text) => Some(text.clone()),
        Value::Array(..) | Value::Dict(..) | Value::Empty(..) => None,
    }
}

const fn noun(value: &Value) -> &'static str {
    match value {
        Value::Array(..) => "a list",
        Value::Dict(..) => "a group",
        _ => "a single value",
    }
}
