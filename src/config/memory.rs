//! Who remembers beside this process: other replicas, and a file.

use std::path::{Path, PathBuf};

use super::reader::{Reader, path_text};
use crate::memory::Others;
use crate::memory::shared::Address;

/// Who remembers beside this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The server on which replicas meet, and what its keys start with.
    pub shared: Option<(Address, String)>,
    /// The file that outlives a restart.
    pub file: Option<PathBuf>,
}

impl Memory {
    /// What memory itself needs to know of it.
    pub const fn others(&self) -> Others {
        Others { file: self.file.is_some(), replicas: self.shared.is_some() }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Memory {
    let shared = reader.optional("memory.shared", Address::parse);
    let prefix = reader.read("memory.prefix", String::new(), prefix);
    for key in ["memory.shared", "memory.file"] {
        if reader.is_set(key) && !reader.is_set("keys.file") && !reader.is_set("keys.secret") {
            let message = "what is told and kept has names that only a key can make, and a key that this process makes up dies with it; set `keys.file` or `keys.secret`";
            reader.complain(key, message.to_owned());
        }
    }
    Memory { shared: shared.map(|address| (address, prefix)), file: file(reader) }
}

/// Not among the files that are looked at for changes: it is ours, and changes all the time.
fn file(reader: &mut Reader<'_>) -> Option<PathBuf> {
    let text = reader.optional("memory.file", path_text)?;
    let path = reader.folder("memory.file").join(text);
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if path.is_dir() {
        reader.complain("memory.file", format!("{} is a folder; a file was expected", path.display()));
    } else if !folder.is_dir() {
        reader.complain("memory.file", format!("there is no folder {} to keep it in", folder.display()));
    }
    // What is no store is set aside and a new one begun, so nothing else may lie there.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let settings = reader.file().map(|file| ("the settings file", file.to_path_buf()));
    let mut named: Vec<_> = settings.into_iter().collect();
    for key in FILES {
        if let Some(text) = reader.optional(key, path_text) {
            named.push((key, reader.folder(key).join(text)));
        }
    }
    if let Some((other, _)) = named.into_iter().find(|(_, other)| real(other) == real(&path)) {
        reader.complain(
            "memory.file",
            format!("{} is `{other}` as well, and a store would take its place", path.display()),
        );
    }
    Some(path)
}

/// The settings that name other files.
const FILES: [&str; 9] = [
    "admin.token_file",
    "geo.asn",
    "geo.country",
    "keys.file",
    "learn.secret_file",
    "page.logo",
    "page.template",
    "policy",
    "trust.secret_file",
];

/// What a permission of a server can name without escapes.
fn prefix(text: &str) -> Result<String, String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/".contains(&b);
    if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
        return Err(format!(
            "`{text}` is no prefix of keys; use letters, digits and -_.:/, such as tollgate:"
        ));
    }
    Ok(text.to_owned())
}
