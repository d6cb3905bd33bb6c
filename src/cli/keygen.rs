//! `keygen`: makes one key, or a key ring file, or rotates the keys of one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;

use super::Failure;
use crate::config::{read_entries, write_ring};
use crate::crypto::{self, Entry, Ring, Secret, State};

/// The flags of `keygen`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP)]
pub(super) struct Arguments {
    /// The key ring file to write, readable by its owner only; without it one secret is printed
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Add a new key that signs to the file; the one before verifies, older ones retire
    #[arg(long, requires = "file")]
    rotate: bool,
}

const HELP: &str = "\
Examples:
  tollgate keygen --file keys.yaml                # a key ring, readable by its owner only
  tollgate keygen --file keys.yaml --rotate       # a new key signs, the one before still verifies
  TOLLGATE_KEYS__SECRET=$(tollgate keygen) tollgate serve";

/// Makes a key.
pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let secret = make()?;
    let Some(path) = arguments.file else {
        let text = crypto::encode(secret.expose());
        return Ok(writeln!(io::stdout().lock(), "{text}")?);
    };
    let entries = if arguments.rotate {
        let old = read_entries(&path)
            .map_err(|error| anyhow!("cannot rotate the keys of {}: {error}", path.display()))?;
        rotate(old, secret)
    } else {
        if path.exists() {
            Err(anyhow!("{} exists; rotate its keys with --rotate, or name another file", path.display()))?;
        }
        vec![Entry { id: 0, state: State::Sign, secret }]
    };
    Ring::new(&entries).with_context(|| format!("cannot rotate the keys of {}", path.display()))?;
    write(&path, &write_ring(&entries), arguments.rotate)?;
    let signs = entries.first().map_or(0, |entry| entry.id);
    writeln!(io::stderr().lock(), "{}: key {signs} signs, keys in all: {}", path.display(), entries.len())?;
    Ok(())
}

fn make() -> anyhow::Result<Secret> {
    let mut bytes = [0; 32];
    crypto::fill(&mut bytes).map_err(|error| anyhow!("the system has no randomness: {error}"))?;
    Ok(Secret::new(bytes))
}

/// A new key that signs, in front of those there were: the one that signed verifies, those that verified retire, and those
/// that were retired are gone.
fn rotate(old: Vec<Entry>, secret: Secret) -> Vec<Entry> {
    let signed = old.iter().find(|entry| entry.state == State::Sign).map_or(0, |entry| entry.id);
    let kept = old.into_iter().filter_map(|entry| {
        let state = match entry.state {
            State::Sign => State::Verify,
            State::Verify => State::Retired,
            State::Retired => return None,
        };
        Some(Entry { state, ..entry })
    });
    let mut entries: Vec<Entry> = kept.collect();
    let free =
        (1..16).map(|step| (signed + step) % 16).find(|id| entries.iter().all(|entry| entry.id != *id));
    entries.insert(0, Entry { id: free.unwrap_or(signed), state: State::Sign, secret });
    entries
}

/// Writes the file whole or not at all: a process that reads it meanwhile sees the old keys or the new ones. A file that is
/// replaced keeps its owner, who has to read it, and a link to it stays one.
fn write(path: &Path, text: &str, replace: bool) -> anyhow::Result<()> {
    let path = &if replace { fs::canonicalize(path)? } else { path.to_owned() };
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    // One left behind by a process that was killed; in a container every process has the same id.
    drop(fs::remove_file(&fresh));
    let written = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if replace {
            let old = fs::metadata(path)?;
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                chown(&fresh, Some(old.uid()), Some(old.gid()))?;
            }
        }
        // A link fails where a rename would replace a file that somebody else just made.
        if replace { fs::rename(&fresh, path) } else { fs::hard_link(&fresh, path) }
    };
    let result = written();
    if !replace || result.is_err() {
        drop(fs::remove_file(&fresh));
    }
    if let Err(error) = result {
        bail!("cannot write {}: {error}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_moves_every_key_one_step_towards_its_end() {
        let mut entries = vec![Entry { id: 0, state: State::Sign, secret: Secret::new([0; 32]) }];
        let shape = |entries: &[Entry]| entries.iter().map(|e| (e.id, e.state)).collect::<Vec<_>>();
        for (round, want) in [
            vec![(1, State::Sign), (0, State::Verify)],
            vec![(2, State::Sign), (1, State::Verify), (0, State::Retired)],
            vec![(3, State::Sign), (2, State::Verify), (1, State::Retired)],
        ]
        .into_iter()
        .enumerate()
        {
            entries = rotate(entries, Secret::new([u8::try_from(round).unwrap() + 1; 32]));
            assert_eq!(shape(&entries), want);
        }
        for _ in 0..40 {
            entries = rotate(entries, Secret::new([9; 32]));
            assert!(Ring::new(&entries).is_ok(), "{:?}", shape(&entries));
        }
    }
}
