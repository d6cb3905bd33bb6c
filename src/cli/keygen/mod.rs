//! `keygen`: makes one key, or a key ring file, or takes a step in the rotation of one.

mod step;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{ArgGroup, Args};

use super::Failure;
use crate::clock::Clock;
use crate::config::{self, KeyFile, Listed, Sources, key_text};
use crate::crypto::{self, Entry, Ring, Secret, State};
use step::{Step, Terms, told};

/// The flags of `keygen`.
#[derive(Args, Debug)]
#[command(after_long_help = HELP, group = ArgGroup::new("step").requires("file"))]
pub(super) struct Arguments {
    /// The key ring file to write, readable by its owner only; without it one secret is printed
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Step 1: a new key, which verifies
    #[arg(long, group = "step")]
    add: bool,
    /// Step 2: the new key signs, and the one before verifies
    #[arg(long, group = "step")]
    promote: bool,
    /// Step 3: the one before retires, once nobody holds a clearance of it any more
    #[arg(long, group = "step")]
    retire: bool,
    /// For an emergency: take a key away; another signs if it did
    #[arg(long, group = "step", value_name = "ID")]
    drop: Option<u8>,
    /// For one instance alone: a new key signs at once, and those retire that nobody holds a clearance of
    #[arg(long, group = "step")]
    rotate: bool,
}

const HELP: &str = "\
Examples:
  tollgate keygen --file keys.yaml                # a key ring, readable by its owner only
  TOLLGATE_KEYS__SECRET=$(tollgate keygen) tollgate serve

Keys are rotated in three steps, and after each of them every replica gets the file:
  tollgate keygen --file keys.yaml --add          # all learn to verify with the new key
  tollgate keygen --file keys.yaml --promote      # only then does it sign
  tollgate keygen --file keys.yaml --retire       # a week later, when the last old clearance has ended
Done so, no visitor is challenged for it. When a key is known to others:
  tollgate keygen --file keys.yaml --drop 0       # whoever holds a clearance of it pays once more";

/// Makes a key, or takes a step.
pub(super) fn run(arguments: Arguments, sources: &Sources) -> Result<(), Failure> {
    let secret = make()?;
    let step = arguments.step();
    let Some(path) = arguments.file else {
        let text = crypto::encode(secret.expose());
        return Ok(writeln!(io::stdout().lock(), "{text}")?);
    };
    let now = Clock::System.now();
    let mut stderr = io::stderr().lock();
    let Some(step) = step else {
        if path.exists() {
            Err(anyhow!("{} exists; rotate its keys in steps, or name another file", path.display()))?;
        }
        let keys = [Listed::new(Entry { id: 0, state: State::Sign, secret }, now)];
        write(&path, &key_text(&keys), false)?;
        return Ok(writeln!(stderr, "{}: {}", path.display(), told(&keys, now))?);
    };
    let (life, key, origin) = config::longest_life(sources).map_err(Failure::Problems)?;
    let terms = Terms { now, life, says: format!("`{key}`, {origin}") };
    let about = || format!("cannot change the keys of {}", path.display());
    let _turn = turn(&path, &mut stderr).with_context(about)?;
    let file = KeyFile::read(&path).map_err(|error| anyhow!(error)).with_context(about)?;
    let (keys, next) = step.take(file.keys.clone(), secret, &terms).with_context(about)?;
    let entries: Vec<_> = keys.iter().map(|key| key.entry.clone()).collect();
    Ring::new(&entries).with_context(about)?;
    let (text, kept) = file.with(&keys);
    write(&path, &text, true)?;
    writeln!(stderr, "{}: {}", path.display(), told(&keys, now))?;
    writeln!(stderr, "next: {next}")?;
    if !kept {
        writeln!(
            stderr,
            "comments of the file could not be kept; they are where each key has a line of its own"
        )?;
    }
    Ok(())
}

impl Arguments {
    fn step(&self) -> Option<Step> {
        let flags = [
            (self.add, Step::Add),
            (self.promote, Step::Promote),
            (self.retire, Step::Retire),
            (self.rotate, Step::Rotate),
        ];
        self.drop.map(Step::Drop).or_else(|| flags.into_iter().find(|(set, _)| *set).map(|(_, step)| step))
    }
}

/// Waits until nobody else changes the file: two at once would each write the keys without the other's. The file itself is locked,
/// which only those can who may read keys. It is replaced by every step, so that the lock may turn out to be on one that is gone.
fn turn(path: &Path, stderr: &mut impl Write) -> anyhow::Result<File> {
    loop {
        let file = File::open(path)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            writeln!(stderr, "waiting for whoever has locked {}", path.display())?;
        }
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        let (ours, now) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (now.dev(), now.ino()) {
            return Ok(file);
        }
    }
}

fn make() -> anyhow::Result<Secret> {
    let mut bytes = [0; 32];
    crypto::fill(&mut bytes).map_err(|error| anyhow!("the system has no randomness: {error}"))?;
    Ok(Secret::new(bytes))
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
