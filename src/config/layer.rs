//! The layers that settings come from, later ones over earlier ones: defaults, file, environment, flags.
//! Reads shapes; what a value means is for the reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};
use serde::de::DeserializeOwned;

use super::keys::{KEYS, Key, PREFIX, nearest};
use super::problem::Problem;

/// Where settings may come from, as the command found it.
#[derive(Clone, Default)]
pub struct Sources {
    /// What flags say: key and text.
    pub flags: Vec<(&'static str, Vec<String>)>,
    /// The process's environment.
    pub environment: Vec<(String, String)>,
    /// The folder in which the settings file is looked for when nothing names one.
    pub folder: PathBuf,
    /// The policy that holds when no setting names one, instead of the embedded one: its name and its text.
    pub policy: Option<(&'static str, &'static str)>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources(redacted: the environment holds secrets)")
    }
}

/// The kind of place a setting came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    /// Nobody set it.
    Default,
    /// A variable.
    Environment,
    /// The settings file.
    File,
    /// The command line.
    Flag,
}

impl Origin {
    const ALL: [Self; 4] = [Self::Default, Self::Environment, Self::File, Self::Flag];

    const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Flag => "flag",
        }
    }

    /// The origin that figment's metadata speaks of.
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self::ALL.into_iter().find(|o| o.name() == metadata.name).unwrap_or(Self::Default)
    }
}

/// One layer. Without `Debug`, since its values may be secrets; so is the file.
pub(super) struct Layer {
    pub(super) origin: Origin,
    pub(super) values: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.name())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Map::from([(Profile::Default, self.values.clone())]))
    }
}

/// The settings file, as far as it could be read.
#[derive(Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// YAML for figment, whose own YAML provider rests on an abandoned parser.
struct Yaml;

impl Format for Yaml {
    type Error = serde_saphyr::Error;
    const NAME: &'static str = "YAML";

    fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Self::Error> {
        // A snippet would show lines around the mistake, and a secret may stand there.
        let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options)
    }
}

impl Layer {
    pub(super) fn defaults() -> Self {
        let set = KEYS.iter().filter_map(|key| Some((key.name, key.default?)));
        Self { origin: Origin::Default, values: nest(set.map(|(k, v)| (k.to_owned(), Value::from(v)))) }
    }

    pub(super) fn flags(flags: &[(&'static str, Vec<String>)]) -> Self {
        let value = |texts: &[String]| match texts {
            [one] => Value::from(one.as_str()),
            many => Value::from(many.to_vec()),
        };
        Self { origin: Origin::Flag, values: nest(flags.iter().map(|(k, v)| ((*k).to_owned(), value(v)))) }
    }

    /// Every `TOLLGATE_*` variable, but those that Kubernetes sets by itself beside a service named `tollgate`.
    pub(super) fn environment(variables: &[(String, String)]) -> Self {
        let ours = variables.iter().filter_map(|(name, text)| {
            let name = name.strip_prefix(PREFIX).filter(|n| !is_service_link(n))?;
            Some((name.replace("__", ".").to_ascii_lowercase(), Value::from(text.as_str())))
        });
        Self { origin: Origin::Environment, values: nest(ours) }
    }

    /// Reads the settings file by its ending: `.toml` is TOML, everything else YAML.
    pub(super) fn file(path: &Path) -> (Self, File, Option<Problem>) {
        let empty = || Self { origin: Origin::File, values: Dict::new() };
        let text = match fs::read(path).map(String::from_utf8) {
            Ok(Ok(text)) if text.len() <= MAX_FILE => text,
            Ok(Ok(_)) => {
                return (
                    empty(),
                    File::default(),
                    Some(Problem::file(path, format!("the file is larger than {MAX_FILE} bytes"))),
                );
            }
            Ok(Err(_)) => {
                return (empty(), File::default(), Some(Problem::file(path, "the file is not UTF-8")));
            }
            Err(error) => {
                return (
                    empty(),
                    File::default(),
                    Some(Problem::file(path, format!("cannot read the settings: {error}"))),
                );
            }
        };
        let file = File { path: path.to_owned(), text };
        let parsed = if path.extension().is_some_and(|e| e == "toml") {
            Toml::from_str::<Dict>(&file.text)
                .map_err(|e| (e.message().to_owned(), e.span().map(|s| s.start)))
        } else if file.text.lines().all(|l| l.trim().is_empty() || l.trim_start().starts_with('#')) {
            Ok(Dict::new())
        } else {
            Yaml::from_str::<Dict>(&file.text).map_err(|e| {
                let at = e.location().and_then(|l| l.span().byte_offset());
                (e.without_snippet().to_string(), at.and_then(|o| usize::try_from(o).ok()))
            })
        };
        match parsed {
            Ok(values) => (Self { origin: Origin::File, values: prune(values) }, file, None),
            Err((message, at)) => {
                let problem = Problem::file(path, message).at(&file.text, at);
                (empty(), file, Some(problem))
            }
        }
    }

    /// The value of a key in this layer alone.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = self.values.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.as_dict()?.get(part))
    }

    /// The names in this layer that are no setting, each with what to say about it.
    pub(super) fn strangers(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        walk(&self.values, "", &mut found);
        found
    }
}

/// The largest settings file that is read: the whole table written out has 4 KiB.
const MAX_FILE: usize = 1 << 20;

fn walk(values: &Dict, group: &str, found: &mut Vec<(String, String)>) {
    for (part, value) in values {
        let name = if group.is_empty() { part.clone() } else { format!("{group}.{part}") };
        if Key::find(&name).is_some() {
            continue;
        }
        let below = format!("{name}.");
        let members: Vec<&str> = KEYS.iter().filter_map(|k| k.name.strip_prefix(&below)).collect();
        match value {
            Value::Dict(_, inner) if !members.is_empty() => walk(inner, &name, found),
            _ if !members.is_empty() => {
                found.push((name, format!("this is a group of settings: {}", members.join(", "))))
            }
            _ => {
                let near = nearest(&name, KEYS.iter().map(|k| k.name));
                let hint = near.map_or_else(
                    || "`tollgate config` lists them all".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                );
                found.push((name, format!("there is no such setting; {hint}")));
            }
        }
    }
}

/// Turns names with dots into groups. A name that is at once a setting and a group keeps what came first.
fn nest(settings: impl Iterator<Item = (String, Value)>) -> Dict {
    let mut root = Dict::new();
    for (name, value) in settings {
        let mut parts: Vec<&str> = name.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let group = parts.into_iter().try_fold(&mut root, |group, part| {
            match group
                .entry(part.to_owned())
                .or_insert_with(|| Value::from(BTreeMap::<String, Value>::new()))
            {
                Value::Dict(_, inner) => Some(inner),
                _ => None,
            }
        });
        if let Some(group) = group {
            group.insert(last.to_owned(), value);
        }
    }
    root
}

/// Drops what has a name and no value, such as a group whose every line is commented out.
fn prune(values: Dict) -> Dict {
    let keep = |(name, value)| match value {
        Value::Empty(..) => None,
        Value::Dict(tag, inner) => Some((name, Value::Dict(tag, prune(inner)))),
        other => Some((name, other)),
    };
    values.into_iter().filter_map(keep).collect()
}

/// Whether Kubernetes made this name: `PORT`, `SERVICE_HOST`, `SERVICE_PORT_HTTP`, `PORT_9002_TCP_ADDR`
/// (kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
fn is_service_link(name: &str) -> bool {
    let digits =
        name.strip_prefix("PORT_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    matches!(name, "PORT" | "SERVICE_HOST" | "SERVICE_PORT") || name.starts_with("SERVICE_PORT_") || digits
}
