//! The layers that settings come from, later ones over earlier ones: defaults, file, environment, flags.
//! Reads shapes; what a value means is for the reader.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use figment::value::{Dict, Map, Value};
use figment::{Metadata, Profile, Provider};

use super::keys::{KEYS, Key, PREFIX};
use crate::policy::nearest;

/// Where settings may come from, as the command found it.
#[derive(Clone, Default)]
pub struct Sources {
    /// What flags say: key and texts.
    pub flags: Vec<(&'static str, Vec<String>)>,
    /// The process's environment.
    pub environment: Vec<(String, String)>,
    /// The folder in which the settings file is looked for when nothing names one; `None` looks nowhere.
    pub folder: Option<PathBuf>,
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

/// One layer. Without `Debug`, since its values may be secrets.
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

/// A name in a layer that is no setting.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Stranger {
    pub(super) name: String,
    /// What to say about it.
    pub(super) message: String,
    /// Whether it was surely meant as a setting: it resembles one or stands in a group of them.
    pub(super) meant: bool,
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

    /// Every `TOLLGATE_*` variable. Values stay text: a key of digits is no number.
    pub(super) fn environment(variables: &[(String, String)]) -> Self {
        let ours = variables.iter().filter_map(|(name, text)| {
            let name = name.strip_prefix(PREFIX)?;
            Some((name.replace("__", ".").to_ascii_lowercase(), Value::from(text.as_str())))
        });
        Self { origin: Origin::Environment, values: nest(ours) }
    }

    /// The value of a key in this layer alone.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = self.values.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.as_dict()?.get(part))
    }

    /// The names in this layer that are no setting.
    pub(super) fn strangers(&self) -> Vec<Stranger> {
        let mut found = Vec::new();
        walk(&self.values, "", &mut found);
        found
    }
}

fn walk(values: &Dict, group: &str, found: &mut Vec<Stranger>) {
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
                let message = format!("this is a group of settings: {}", members.join(", "));
                found.push(Stranger { name, message, meant: true });
            }
            _ => {
                let near = nearest(&name, KEYS.iter().map(|k| k.name));
                let hint = near.map_or_else(
                    || "`tollgate config` lists them all".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                );
                let meant = near.is_some() || !group.is_empty();
                found.push(Stranger { name, message: format!("there is no such setting; {hint}"), meant });
            }
        }
    }
}

/// Turns names with dots into groups. Where one name is at once a value and a group, what came first stays.
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
            group.entry(last.to_owned()).or_insert(value);
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strangers(variables: &[&str]) -> Vec<(String, bool)> {
        let all: Vec<_> = variables.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        Layer::environment(&all).strangers().into_iter().map(|s| (s.name, s.meant)).collect()
    }

    #[test]
    fn a_variable_that_resembles_a_setting_is_a_mistake_and_any_other_is_somebody_elses() {
        assert_eq!(strangers(&["TOLLGATE_LISTEN__GRPC", "PATH", "TOLLGATE_WORKERS"]), []);
        for (name, key, meant) in [
            ("TOLLGATE_LISTEN__GRCP", "listen.grcp", true),
            ("TOLLGATE_LISTEN_GRPC", "listen_grpc", true),
            ("TOLLGATE_POLCY", "polcy", true),
            ("TOLLGATE_LISTEN", "listen", true),
            ("TOLLGATE_COOKIE__TTL__DAYS", "cookie.ttl.days", true),
            // Kubernetes sets these beside a service named `tollgate`.
            ("TOLLGATE_SERVICE_HOST", "service_host", false),
            ("TOLLGATE_PORT_9002_TCP_ADDR", "port_9002_tcp_addr", false),
        ] {
            assert_eq!(strangers(&[name]), [(key.to_owned(), meant)], "{name}");
        }
    }

    #[test]
    fn the_environment_is_text() {
        let digits = "1".repeat(64);
        let layer = Layer::environment(&[("TOLLGATE_KEYS__SECRET".into(), digits.clone())]);
        assert_eq!(layer.find("keys.secret").and_then(Value::as_str), Some(&*digits));
    }
}
