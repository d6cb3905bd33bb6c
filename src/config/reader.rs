//! Reads one setting after the other out of the layers, and collects every mistake instead of stopping at the first.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::Value;

use super::keys::Key;
use super::layer::{File, Layer, Origin, Sources};
use super::problem::Problem;

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
pub(super) struct Reader {
    layered: Figment,
    layers: [Layer; 4],
    file: Option<File>,
    problems: Vec<Problem>,
}

impl Reader {
    /// Stacks the layers and reports every name that is no setting.
    pub(super) fn new(sources: &Sources) -> Self {
        let environment = Layer::environment(&sources.environment);
        let flags = Layer::flags(&sources.flags);
        let mut problems = Vec::new();
        let named = flags.find("config").or_else(|| environment.find("config")).and_then(Value::as_str);
        let path = match named {
            Some(path) => Some(PathBuf::from(path)),
            None => found(&sources.folder, &mut problems),
        };
        let (from_file, file) = match path.as_deref().map(Layer::file) {
            Some((layer, file, problem)) => {
                problems.extend(problem);
                (layer, Some(file))
            }
            None => (Layer { origin: Origin::File, values: Default::default() }, None),
        };
        let layers = [Layer::defaults(), from_file, environment, flags];
        let layered = layers.iter().fold(Figment::new(), |stack, layer| stack.merge(layer));
        let mut reader = Self { layered, layers, file, problems };
        reader.report_strangers();
        reader
    }

    fn report_strangers(&mut self) {
        let strangers: Vec<_> =
            self.layers.iter().flat_map(|l| l.strangers().into_iter().map(move |s| (l.origin, s))).collect();
        for (origin, (name, message)) in strangers {
            self.problem(&name, origin, message);
        }
        if self.layers[1].find("config").is_some() {
            self.problem("config", Origin::File, "a settings file cannot name another one".to_owned());
        }
    }

    /// Where a setting was set, if anybody did.
    pub(super) fn origin(&self, key: &str) -> Origin {
        self.layered.find_metadata(key).map_or(Origin::Default, Origin::of)
    }

    /// Whether anybody set it.
    pub(super) fn is_set(&self, key: &str) -> bool {
        self.origin(key) != Origin::Default
    }

    /// Reads a setting that has a default. A value that is wrong is reported, and `fallback` keeps the reading going.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        fallback: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        self.optional(key, parse).unwrap_or(fallback)
    }

    /// Reads a setting that may be missing.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.layered.find_value(key).ok()?;
        let parsed =
            scalar(&value).ok_or_else(|| format!("this is {}; one value was expected", value_kind(&value)));
        match parsed.and_then(|text| parse(text.trim())) {
            Ok(value) => Some(value),
            Err(message) => {
                self.complain(key, message);
                None
            }
        }
    }

    /// Reads a list: of the file, of a repeated flag, or of one text with commas. Every wrong item is reported.
    pub(super) fn list(&mut self, key: &'static str) -> Vec<String> {
        let Ok(value) = self.layered.find_value(key) else { return Vec::new() };
        let items = match &value {
            Value::Array(_, items) => items.iter().map(scalar).collect(),
            single => scalar(single).map(|text| text.split(',').map(|item| item.trim().to_owned()).collect()),
        };
        match items {
            Some(items) => items,
            None => {
                self.complain(key, format!("this is {}; a list of texts was expected", value_kind(&value)));
                Vec::new()
            }
        }
    }

    /// A path, relative to the file that names it, or to the working folder when a flag or a variable does.
    pub(super) fn path(&mut self, key: &'static str) -> Option<PathBuf> {
        let text = self.optional(key, |text| match text {
            "" => Err("a path was expected".to_owned()),
            text => Ok(text.to_owned()),
        })?;
        Some(self.folder(key).join(text))
    }

    /// The folder that a relative path in this setting counts from.
    pub(super) fn folder(&self, key: &str) -> &Path {
        match (&self.file, self.origin(key)) {
            (Some(file), Origin::File) => file.path.parent().unwrap_or(Path::new("")),
            _ => Path::new(""),
        }
    }

    /// Reports a mistake in a setting, at the place that set it.
    pub(super) fn complain(&mut self, key: &str, message: String) {
        self.problem(key, self.origin(key), message);
    }

    fn problem(&mut self, key: &str, origin: Origin, message: String) {
        let problem =
            Problem { key: Some(key.to_owned()), origin: self.describe(key, origin), message, place: None };
        self.problems.push(problem);
    }

    fn describe(&self, key: &str, origin: Origin) -> String {
        match (origin, Key::find(key)) {
            (Origin::Default, _) => "default".to_owned(),
            (Origin::File, _) => {
                self.file.as_ref().map_or_else(String::new, |f| f.path.display().to_string())
            }
            (Origin::Environment, Some(key)) => key.variable(),
            (Origin::Environment, None) => {
                format!("{}{}", super::keys::PREFIX, key.replace('.', "__").to_ascii_uppercase())
                    .escape_debug()
                    .to_string()
            }
            (Origin::Flag, key) => {
                key.and_then(|k| k.flag).map_or_else(String::new, |f| format!("--{}", f.name))
            }
        }
    }

    /// Everything as it holds.
    pub(super) fn effective(&self) -> Vec<Effective> {
        let one = |key: &'static Key| {
            let value = self.layered.find_value(key.name).ok().map(|value| match &value {
                _ if key.secret => "(redacted)".to_owned(),
                Value::Array(_, items) => items.iter().filter_map(scalar).collect::<Vec<_>>().join(", "),
                value => scalar(value).unwrap_or_default(),
            });
            Effective { key, value, origin: self.describe(key.name, self.origin(key.name)) }
        };
        super::keys::KEYS.iter().map(one).collect()
    }

    /// What was wrong.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

/// The settings file that stands in the folder, if one does.
fn found(folder: &Path, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    let mut there =
        ["tollgate.yaml", "tollgate.toml"].map(|name| folder.join(name)).into_iter().filter(|p| p.exists());
    let first = there.next()?;
    if let Some(second) = there.next() {
        let message =
            format!("`{}` stands beside it; only one can hold, choose with --config", second.display());
        problems.push(Problem::file(&first, message));
    }
    Some(first)
}

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

const fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(..) => "a list",
        Value::Dict(..) => "a group",
        _ => "a single value",
    }
}
