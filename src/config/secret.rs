//! Files that hold secrets, which nobody else may read, and the tokens of proxies and of the admin listener.
//! No message of this module shows what a file holds, not even where it cannot be read.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use zeroize::Zeroizing;

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

/// Reads a file of secrets.
pub(super) fn read_private(path: &Path) -> Result<Zeroizing<String>, String> {
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
