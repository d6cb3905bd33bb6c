//! Who remembers beside this process: other replicas, and a file.

use std::path::PathBuf;

use super::reader::Reader;
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
        match (&self.shared, &self.file) {
            (Some(_), _) => Others::Replicas,
            (None, Some(_)) => Others::File,
            (None, None) => Others::Nobody,
        }
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
    Memory { shared: shared.map(|address| (address, prefix)), file: None }
}

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
