//! Settings: defaults < file < environment < flags. Everything that is wrong is found before anything starts.
//! Builds the settings of other rooms; runs nothing.

mod file;
mod key_file;
mod keys;
mod layer;
mod listen;
mod memory;
mod page;
mod reader;
mod schema;
mod secret;
mod settings;
mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub use key_file::{KeyFile, Listed, date, key_text};
pub use keys::{Flag, Form, KEYS, Key, markdown};
pub use layer::Sources;
pub use listen::{Address, Listen};
pub use memory::Memory;
pub use reader::Effective;
pub use schema::schema;
pub use settings::{Drain, Log, Settings};
pub use value::span;

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
    load_with(sources, None, &mut Files::default())
}

/// What holds whatever the settings say, for a gate under test.
#[derive(Clone, Debug)]
pub struct Given {
    /// The databases that rules may ask for, whether or not they are there: requests come with what they would say.
    pub databases: policy::Databases,
    /// The policy; `None` is the one that the settings name.
    pub policy: Option<policy::Source>,
}

/// The same as [`load`] with something given. Notes every file before it is read, whether or not all is well.
pub fn load_with(sources: &Sources, given: Option<Given>, files: &mut Files) -> Result<Loaded, Problems> {
    let mut reader = reader::Reader::new(sources, files);
    let mut settings = Settings::read(&mut reader, sources.policy);
    if let Some(Given { databases, policy }) = given {
        settings.databases = databases;
        settings.policy = policy.unwrap_or(settings.policy);
    }
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

/// Reads the settings, and brings the policy that they name together with all it imports.
pub fn expand(sources: &Sources) -> Result<policy::Expanded, Problems> {
    let mut files = Files::default();
    let mut reader = reader::Reader::new(sources, &mut files);
    let settings = Settings::read(&mut reader, sources.policy);
    let mut problems = reader.into_problems();
    match loader(&settings).expand(&settings.policy) {
        Ok(expanded) if problems.iter().all(|p| p.level != Severity::Error) => return Ok(expanded),
        Ok(_) => {}
        Err(error) => problems.extend(error.problems),
    }
    Err(Problems(problems))
}

/// Reads the settings without the policy: every key with its value and origin, and what is wrong.
pub fn effective(sources: &Sources) -> (Vec<Effective>, Vec<Problem>) {
    let mut files = Files::default();
    let mut reader = reader::Reader::new(sources, &mut files);
    Settings::read(&mut reader, sources.policy);
    (reader.effective(), reader.into_problems())
}

/// How long something that a key has signed counts at most, with the setting that says so and where that comes from. Reads
/// no other setting.
pub fn longest_life(sources: &Sources) -> Result<(Duration, &'static str, String), Problems> {
    let mut files = Files::default();
    let mut reader = reader::Reader::new(sources, &mut files);
    let (life, key) = settings::longest_life(&mut reader);
    let origin = reader.effective().into_iter().find(|setting| setting.key.name == key);
    let wrong: Vec<_> = reader.into_problems().into_iter().filter(|p| p.level == Severity::Error).collect();
    if wrong.is_empty() {
        Ok((life, key, origin.map_or_else(String::new, |o| o.origin)))
    } else {
        Err(Problems(wrong))
    }
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
