//! Settings: defaults < file < environment < flags. Everything that is wrong is found before anything starts.
//! Builds the settings of other rooms; runs nothing.

mod file;
mod keys;
mod layer;
mod listen;
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

use crate::files::Files;
use crate::policy::{self, Loader, Policies, Problem, Severity};

/// Everything a process starts from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The policies they name, compiled.
    pub policies: Policies,
    /// What is odd about either without being wrong.
    pub lints: Vec<Problem>,
    /// The settings file, named or found.
    pub file: Option<PathBuf>,
    /// Every file that was read.
    pub files: Files,
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
    load_noting(sources, &mut Files::default())
}

/// The same, and notes every file before it is read, whether or not all is well.
pub fn load_noting(sources: &Sources, files: &mut Files) -> Result<Loaded, Problems> {
    let mut reader = reader::Reader::new(sources, files);
    let settings = Settings::read(&mut reader, sources.policy);
    let file = reader.file().map(Path::to_owned);
    let mut problems = reader.into_problems();
    let policies = match loader(&settings).load_noting(&settings.policy, files) {
        Ok(policy::Loaded { policy, sites, lints }) => {
            problems.extend(lints);
            Some(Policies::new(policy, sites))
        }
        Err(error) => {
            problems.extend(error.problems);
            None
        }
    };
    match policies {
        Some(policies) if problems.iter().all(|p| p.level != Severity::Error) => {
            Ok(Loaded { settings, policies, lints: problems, file, files: files.clone() })
        }
        _ => Err(Problems(problems)),
    }
}

/// Reads the settings without the policy: every key with its value and origin, and what is wrong.
pub fn effective(sources: &Sources) -> (Vec<Effective>, Vec<Problem>) {
    let mut files = Files::default();
    let mut reader = reader::Reader::new(sources, &mut files);
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
