//! Settings: defaults < file < environment < flags. Everything that is wrong is found before anything starts.
//! Builds the settings of other rooms; runs nothing.

mod file;
mod keys;
mod layer;
mod listen;
mod page;
mod reader;
mod secret;
mod settings;
mod value;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use keys::{Flag, KEYS, Key, markdown};
pub use layer::Sources;
pub use listen::{Address, Listen};
pub use reader::Effective;
pub use secret::{read_entries, write_ring};
pub use settings::{Log, Settings};

use crate::policy::{self, Loader, Policy, Problem, Severity};

/// Everything a process starts from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The policy they name, compiled.
    pub policy: Policy,
    /// What is odd about either without being wrong.
    pub lints: Vec<Problem>,
}

/// Everything that is wrong with the settings, the keys and the policy. `Display` draws it all.
#[derive(Debug, Error)]
#[error("{}", drawn(.0))]
pub struct Problems(pub Vec<Problem>);

fn drawn(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n\n")
}

/// Reads settings, keys and policy, and reports everything that is wrong with any of them.
pub fn load(sources: &Sources) -> Result<Loaded, Problems> {
    let mut reader = reader::Reader::new(sources);
    let settings = Settings::read(&mut reader, sources.policy);
    let mut problems = reader.into_problems();
    let policy = match loader(&settings).load(&settings.policy) {
        Ok(policy::Loaded { policy, lints }) => {
            problems.extend(lints);
            Some(policy)
        }
        Err(error) => {
            problems.extend(error.problems);
            None
        }
    };
    match policy {
        Some(policy) if problems.iter().all(|p| p.level != Severity::Error) => {
            Ok(Loaded { settings, policy, lints: problems })
        }
        _ => Err(Problems(problems)),
    }
}

/// Reads the settings without the policy: every key with its value and origin, and what is wrong.
pub fn effective(sources: &Sources) -> (Vec<Effective>, Vec<Problem>) {
    let mut reader = reader::Reader::new(sources);
    Settings::read(&mut reader, sources.policy);
    (reader.effective(), reader.into_problems())
}

fn loader(settings: &Settings) -> Loader {
    let root = match &settings.policy {
        policy::Source::File(path) => path.parent().unwrap_or_else(|| Path::new("")).to_owned(),
        policy::Source::Embedded(_) | policy::Source::Text { .. } => PathBuf::new(),
    };
    Loader { root, defaults: settings.defaults.clone(), databases: settings.databases }
}

#[cfg(test)]
mod tests;
