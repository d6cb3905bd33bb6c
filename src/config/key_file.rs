//! The file of a key ring: its keys with what is known of their age, read and written.
//! No message of this module shows what a file holds, not even where it cannot be read.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use zeroize::Zeroizing;

use super::secret::read_private;
use crate::clock::Timestamp;
use crate::crypto::{Entry, Ring, Secret, State};
use crate::policy::document::{self, Node, Value};

/// A key as a file lists it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The key.
    pub entry: Entry,
    /// When it was made, if the file says so.
    pub made: Option<Timestamp>,
    /// When it stopped signing. A key that verifies without it has not signed yet, as far as the file says.
    pub signed_until: Option<Timestamp>,
    /// The line it stands on, from 1; `None` for one that is new.
    line: Option<usize>,
}

impl Listed {
    /// A key that no file lists yet.
    pub fn new(entry: Entry, made: Timestamp) -> Self {
        Self { entry, made: Some(made), signed_until: None, line: None }
    }

    /// Its line of a file, without the break.
    fn text(&self) -> Zeroizing<String> {
        let Entry { id, state, secret } = &self.entry;
        let state = match state {
            State::Retired => "retired",
            State::Sign => "sign",
            State::Verify => "verify",
        };
        let secret = Zeroizing::new(crate::crypto::encode(secret.expose()));
        let date = |name: &str, at: Option<Timestamp>| {
            at.map(|at| format!(", {name}: {}", date(at))).unwrap_or_default()
        };
        let (made, until) = (date("made", self.made), date("signed_until", self.signed_until));
        Zeroizing::new(format!("  - {{ id: {id}, state: {state}, secret: {}{made}{until} }}", *secret))
    }
}

/// A key ring file.
pub struct KeyFile {
    text: Zeroizing<String>,
    /// Its keys, in its order.
    pub keys: Vec<Listed>,
}

impl KeyFile {
    /// Reads a key ring file that nobody else can read.
    pub fn read(path: &Path) -> Result<Self, String> {
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
        let keys: Result<_, _> =
            keys.iter().map(|key| read_key(key).unwrap_or_else(|| Err(at(key)))).collect();
        Ok(Self { keys: keys?, text })
    }

    /// The ring of its keys.
    pub(super) fn ring(&self) -> Result<Ring, String> {
        let entries: Vec<_> = self.keys.iter().map(|key| key.entry.clone()).collect();
        Ring::new(&entries).map_err(|error| error.to_string())
    }

    /// The file with these keys in place of its own, and whether every comment in it stayed: they do where each key has a line of
    /// its own, as in the files that [`key_text`] writes. Keys that are new stand in front.
    pub fn with(&self, keys: &[Listed]) -> (Zeroizing<String>, bool) {
        let Some(trailers) = self.trailers() else {
            return (key_text(keys), !self.text.contains('#'));
        };
        let mut text = Zeroizing::new(String::new());
        let mut put = |line: &str, rest: &str| [line, rest, "\n"].iter().for_each(|part| text.push_str(part));
        let (mut fresh, mut kept) = (Some(keys.iter().filter(|key| key.line.is_none())), true);
        for (at, line) in self.text.lines().enumerate() {
            let Some((_, rest)) = trailers.iter().find(|(number, _)| *number == at + 1) else {
                put(line, "");
                continue;
            };
            fresh.take().into_iter().flatten().for_each(|key| put(&key.text(), ""));
            match keys.iter().find(|key| key.line == Some(at + 1)) {
                Some(key) => put(&key.text(), rest),
                None => kept &= rest.trim().is_empty(),
            }
        }
        (text, kept)
    }

    /// The line of each key and what stands behind the key on it; `None` where a key has not a line of its own.
    fn trailers(&self) -> Option<Vec<(usize, &str)>> {
        let lines: Vec<_> = self.text.lines().collect();
        let mut trailers: Vec<(usize, &str)> = Vec::new();
        for key in &self.keys {
            let number = key.line?;
            let line = lines.get(number - 1)?;
            let (_, rest) = line.trim_start().strip_prefix("- {")?.split_once('}')?;
            let alone = rest.trim_start().is_empty() || rest.trim_start().starts_with('#');
            if !alone || trailers.iter().any(|(taken, _)| *taken == number) {
                return None;
            }
            trailers.push((number, rest));
        }
        Some(trailers).filter(|trailers| !trailers.is_empty())
    }
}

/// The text of a file with these keys.
pub fn key_text(keys: &[Listed]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::from("keys:\n"));
    for key in keys {
        text.push_str(&key.text());
        text.push('\n');
    }
    text
}

/// A moment as files and messages write it: `2026-11-30T20:15:00Z`.
pub fn date(at: Timestamp) -> String {
    // The last year that has four digits.
    let seconds = at.seconds().min(253_402_300_799);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

fn read_date(text: &str) -> Option<Timestamp> {
    let since = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_seconds(since.as_secs()))
}

/// One key; `None` where it has not the shape of one.
fn read_key(node: &Node) -> Option<Result<Listed, String>> {
    let text = |name: &str| match &node.entry(name)?.value.value {
        Value::Scalar(scalar) => Some(scalar.text()),
        Value::List(_) | Value::Map(_) => None,
    };
    let known = ["id", "state", "secret", "made", "signed_until"];
    if !node.entries()?.iter().all(|entry| known.contains(&entry.key.as_str())) {
        return None;
    }
    let moment = |name: &str| match node.entry(name) {
        Some(_) => text(name).and_then(read_date).map(Some),
        None => Some(None),
    };
    let (made, signed_until) = (moment("made")?, moment("signed_until")?);
    let id = text("id")?.parse().ok()?;
    let state = match text("state")? {
        "retired" => State::Retired,
        "sign" => State::Sign,
        "verify" => State::Verify,
        _ => return None,
    };
    let line = Some(node.place.line_and_column().0);
    let secret = Secret::parse(text("secret")?).map_err(|error| format!("key id {id}: {error}"));
    Some(secret.map(|secret| Listed { entry: Entry { id, state, secret }, made, signed_until, line }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const ZEROS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    fn read(text: &str, mode: u32) -> Result<KeyFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.yaml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        KeyFile::read(&path)
    }

    fn key(id: u8, state: State) -> Listed {
        Listed::new(
            Entry { id, state, secret: Secret::new([id; 32]) },
            Timestamp::from_seconds(1_796_069_700),
        )
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut keys = [key(3, State::Sign), key(2, State::Verify), key(1, State::Retired)];
        keys[1].signed_until = Some(Timestamp::from_seconds(1_796_069_701));
        keys[2].made = None;
        let text = key_text(&keys);
        assert!(
            text.contains(", made: 2026-11-30T20:15:00Z, signed_until: 2026-11-30T20:15:01Z }"),
            "{}",
            *text
        );
        let back = read(&text, 0o600).unwrap().keys;
        for (a, b) in keys.iter().zip(&back) {
            let all =
                |k: &Listed| (k.entry.id, k.entry.state, *k.entry.secret.expose(), k.made, k.signed_until);
            assert_eq!(all(a), all(b));
        }
        assert_eq!(back.len(), 3);
    }

    #[test]
    fn comments_stay_where_each_key_has_its_line() {
        let text = format!(
            "# ours\nkeys:\n  - {{ id: 1, state: sign, secret: {ZEROS} }}  # of spring\n# the old one\n  - {{id: 0, secret: {ZEROS}, state: verify}}\n"
        );
        let file = read(&text, 0o600).unwrap();
        let (same, kept) = file.with(&file.keys);
        let zeros = |state: &str, id: u8| format!("  - {{ id: {id}, state: {state}, secret: {ZEROS} }}");
        let (one, two) = (zeros("sign", 1), zeros("verify", 0));
        assert_eq!(*same, format!("# ours\nkeys:\n{one}  # of spring\n# the old one\n{two}\n"));
        assert!(kept);
        let new = key(2, State::Verify);
        let (more, kept) = file.with(&[new.clone(), file.keys[0].clone(), file.keys[1].clone()]);
        assert_eq!(*more, same.replace("keys:\n", &format!("keys:\n{}\n", *new.text())));
        assert!(kept);
        let (fewer, kept) = file.with(&file.keys[1..]);
        assert_eq!(*fewer, format!("# ours\nkeys:\n# the old one\n{two}\n"));
        assert!(!kept, "the comment behind the key went with it");
        for (other, kept) in [
            (format!("keys: [{{id: 0, secret: {ZEROS}, state: sign}}]\n"), true),
            (format!("keys: [{{id: 0, secret: {ZEROS}, state: sign}}] # ours\n"), false),
            (format!("keys:\n- id: 0\n  secret: {ZEROS}\n  state: sign # ours\n"), false),
        ] {
            let file = read(&other, 0o600).unwrap();
            let (text, stayed) = file.with(&file.keys);
            assert_eq!((&*text, stayed), (&*key_text(&file.keys), kept), "{other}");
        }
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
            "keys: [{id: 0, secret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, state: sign, made: Zm9vYmFyc2VjcmV0}]",
            "Zm9vYmFyc2VjcmV0",
            "keys: [Zm9vYmFyc2VjcmV0",
        ] {
            let error = read(text, 0o600).err().unwrap();
            assert!(!error.contains("Zm9vYmFy"), "{error}");
        }
    }
}
