//! Files that a command is given: bounded, and `-` is stdin.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// How a file is called in messages.
pub(super) fn name(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() }
}

/// Whether stdin is meant.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file, or stdin.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if is_stdin(path) { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(path)?)) }
}

/// Reads the next line into `line`, and says whether there was one. Of a line longer than `most` bytes the rest is passed over.
pub(super) fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>, most: u64) -> io::Result<bool> {
    line.clear();
    let read = reader.by_ref().take(most).read_until(b'\n', line)?;
    if line.last() != Some(&b'\n') && read as u64 == most {
        reader.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

/// The first `most` bytes, and whether there are more.
pub(super) fn read(path: &Path, most: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let longer = bytes.len() > most;
    bytes.truncate(most);
    Ok((bytes, longer))
}
