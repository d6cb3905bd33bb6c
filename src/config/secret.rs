//! The files that hold secrets: the key ring and the tokens of proxies and of the admin listener.
//! No message of this module shows what a file holds, not even where it cannot be read.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use zeroize::Zeroizing;

use crate::crypto::{Entry, Ring, Secret, State};
use crate::policy::document::{self, Node, Value};

/// Reads a key ring file.
pub(super) fn read_ring(path: &Path) -> Result<Ring, String> {
    let entries = read_entries(path)?;
    Ring::new(&entries).map_err(|error| error.to_string())
}

/// Reads the entries of a key ring file that nobody else can read.
pub fn read_entries(path: &Path) -> Result<Vec<Entry>, String> {
    let text = read_private(path)?;
    let shape = |line: usize| {
        format!(
            "line {line} is no part of a key ring; it is written as `keys: [{{id: 0..15, secret: base64, state: sign|verify|retired}}]`, and `tollgate keygen --file FILE` makes one"
        )
    };
    let tree = document::parse("", &text).map_err(|problem| shape(problem.line))?;
    let at = |node: &Node| shape(node.place.line_and_column().0);
    let keys = match tree.entries() {
        Some([only]) if only.key == "keys" => only.value.items().ok_or_else(|| at(&only.value))?,
        _ => return Err(at(&tree)),
    };
    keys.iter().map(|key| read_entry(key).unwrap_or_else(|| Err(at(key)))).collect()
}

/// One key; `None` where it has not the shape of one.
fn read_entry(node: &Node) -> Option<Result<Entry, String>> {
    let text = |name: &str| match &node.entry(name)?.value.value {
        Value::Scalar(scalar) => Some(scalar.text()),
        Value::List(_) | Value::Map(_) => None,
    };
    if node.entries()?.len() != 3 {
        return None;
    }
    let id = text("id")?.parse().ok()?;
    let state = match text("state")? {
        "retired" => State::Retired,
        "sign" => State::Sign,
        "verify" => State::Verify,
        _ => return None,
    };
    let secret = Secret::parse(text("secret")?).map_err(|error| format!("key id {id}: {error}"));
    Some(secret.map(|secret| Entry { id, state, secret }))
}

/// Writes entries as a key ring file's text.
pub fn write_ring(entries: &[Entry]) -> Zeroizing<String> {
    let line = |entry: &Entry| {
        let state = match entry.state {
            State::Retired => "retired",
            State::Sign => "sign",
            State::Verify => "verify",
        };
        let secret = Zeroizing::new(crate::crypto::encode(entry.secret.expose()));
        Zeroizing::new(format!("  - {{ id: {}, state: {state}, secret: {} }}\n", entry.id, *secret))
    };
    let mut text = Zeroizing::new(String::from("keys:\n"));
    entries.iter().for_each(|entry| text.push_str(&line(entry)));
    text
}

/// The shortest token that is taken for one: what cannot be guessed over a network.
const MIN_TOKEN: usize = 16;

/// Reads a file with one token: visible ASCII, so that it can stand in a header.
pub(super) fn read_token(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let text = read_private(path)?;
    let token = text.trim();
    if token.len() < MIN_TOKEN || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "a token is one line of {MIN_TOKEN} or more letters, digits and signs, without blanks; `tollgate keygen` prints one"
        ));
    }
    Ok(Zeroizing::new(token.as_bytes().to_vec()))
}

/// The largest file of secrets: a full key ring has 2 KiB.
const MAX_FILE: u64 = 1 << 16;

fn read_private(path: &Path) -> Result<Zeroizing<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let meta = fs::metadata(path).map_err(cannot)?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(format!("{} is no file of at most {MAX_FILE} bytes", path.display()));
    }
    if readable_by_others(&meta) {
        let mode = meta.permissions().mode() & 0o777;
        return Err(format!(
            "others can read {} (mode {mode:04o}); make it private with `chmod 600`",
            path.display()
        ));
    }
    fs::read_to_string(path).map(Zeroizing::new).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => format!("{} is not UTF-8", path.display()),
        _ => cannot(error),
    })
}

/// Whether anybody but us can read or write the file. Where another user owns it, as with a secret that Kubernetes mounts
/// for a pod's group, the group is how we read it at all.
fn readable_by_others(meta: &Metadata) -> bool {
    let ours = fs::metadata("/proc/self").map_or(true, |me| me.uid() == meta.uid());
    let forbidden = if ours { 0o077 } else { 0o037 };
    meta.permissions().mode() & forbidden != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn read(text: &str, mode: u32) -> Result<Vec<Entry>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.yaml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        read_entries(&path)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entries = [
            Entry { id: 3, state: State::Sign, secret: Secret::new([7; 32]) },
            Entry { id: 2, state: State::Verify, secret: Secret::new([8; 32]) },
            Entry { id: 1, state: State::Retired, secret: Secret::new([9; 32]) },
        ];
        let back = read(&write_ring(&entries), 0o600).unwrap();
        for (a, b) in entries.iter().zip(&back) {
            assert_eq!((a.id, a.state, a.secret.expose()), (b.id, b.state, b.secret.expose()));
        }
        assert_eq!(back.len(), 3);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let text = format!("keys: [{{id: 0, secret: {ZEROS}, state: sign}}]");
        assert!(read(&text, 0o600).is_ok() && read(&text, 0o400).is_ok());
        for mode in [0o644, 0o640, 0o604, 0o660, 0o620] {
            assert!(read(&text, mode).is_err_and(|e| e.contains("others can read")), "{mode:o}");
        }
    }

    #[test]
    fn no_mistake_shows_the_secret() {
        for text in [
            "keys: [{id: 0, secret: Zm9vYmFyc2VjcmV0, state: sign}]",
            "keys: [{id: Zm9vYmFyc2VjcmV0, secret: 1, state: sign}]",
            "keys: [{id: 0, secret: x, state: Zm9vYmFyc2VjcmV0}]",
            "keys: [{id: 0, Zm9vYmFyc2VjcmV0: x}]",
            "Zm9vYmFyc2VjcmV0",
            "keys: [Zm9vYmFyc2VjcmV0",
        ] {
            let error = read(text, 0o600).unwrap_err();
            assert!(!error.contains("Zm9vYmFy"), "{error}");
        }
    }
}
