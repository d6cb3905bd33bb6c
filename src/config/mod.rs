//! Settings: defaults < file < environment < flags. Everything that is wrong is found before anything starts.
//! Builds the settings of other rooms; runs nothing.

mod keys;
mod layer;
mod listen;
mod problem;
mod reader;
mod secret;
mod settings;
mod value;

pub use keys::{Flag, KEYS, Key, markdown};
pub use layer::Sources;
pub use listen::{Address, Listen};
pub use problem::{Place, Problem, Problems};
pub use reader::Effective;
pub use secret::{read_entries, write_ring};
pub use settings::{Log, Settings};

use crate::policy::{self, Defaults, Loader, Policy};

/// Everything a process starts from.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The policy they name, compiled.
    pub policy: Policy,
    /// What is odd about the policy without being wrong.
    pub lints: Vec<policy::Problem>,
}

/// Reads settings, keys and policy, and reports everything that is wrong with any of them.
pub fn load(sources: &Sources) -> Result<Loaded, Problems> {
    let mut reader = reader::Reader::new(sources);
    let settings = Settings::read(&mut reader, sources.policy);
    let problems = reader.into_problems();
    let loaded = loader(&settings).load(&settings.policy);
    match loaded {
        Ok(policy::Loaded { policy, lints }) if problems.is_empty() => Ok(Loaded { settings, policy, lints }),
        loaded => Err(Problems { settings: problems, policy: loaded.err() }),
    }
}

/// Reads the settings only as far as they show: every key with its value and origin, and what is wrong.
pub fn effective(sources: &Sources) -> (Vec<Effective>, Vec<Problem>) {
    let mut reader = reader::Reader::new(sources);
    Settings::read(&mut reader, sources.policy);
    (reader.effective(), reader.into_problems())
}

fn loader(settings: &Settings) -> Loader {
    let (challenge, wait) = (&settings.gate.challenge, &settings.gate.wait);
    let root = match &settings.policy {
        policy::Source::File(path) => path.parent().unwrap_or(std::path::Path::new("")).to_owned(),
        policy::Source::Embedded(_) | policy::Source::Text { .. } => std::path::PathBuf::new(),
    };
    let defaults = Defaults {
        level: challenge.level,
        min_level: challenge.min_level,
        max_level: challenge.max_level,
        wait_enabled: wait.enabled,
        wait_max_level: wait.max_level,
    };
    Loader { root, defaults }
}
