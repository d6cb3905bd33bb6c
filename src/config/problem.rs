//! What is wrong with the settings, all of it at once, each with where it stands.

use std::fmt;
use std::path::Path;

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Problem {
    /// The setting, where it is one setting's.
    pub key: Option<String>,
    /// Where it was set: a file, a variable, a flag.
    pub origin: String,
    /// What is wrong and what to do.
    pub message: String,
    /// The line in the file, where one is known.
    pub place: Option<Place>,
}

/// A place in a settings file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line itself; `None` where it could show a secret.
    pub text: Option<String>,
}

impl Problem {
    pub(super) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self { key: None, origin: path.display().to_string(), message: message.into(), place: None }
    }

    /// Adds the place of a byte offset in the file's text.
    pub(super) fn at(mut self, text: &str, offset: Option<usize>) -> Self {
        self.place = offset.and_then(|o| Place::of(text, o));
        self
    }
}

impl Place {
    fn of(text: &str, offset: usize) -> Option<Self> {
        let before = text.get(..offset)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = text[start..offset].chars().count() + 1;
        let whole = text[start..].lines().next().unwrap_or_default();
        let shown = !whole.contains("secret") && whole.len() <= 200 && !whole.chars().any(char::is_control);
        Some(Self { line, column, text: shown.then(|| whole.to_owned()) })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("error: ")?;
        if let Some(key) = &self.key {
            write!(f, "{}: ", key.escape_debug())?;
        }
        f.write_str(&self.message)?;
        let Some(place) = &self.place else { return write!(f, "\n --> {}", self.origin) };
        write!(f, "\n --> {}:{}:{}", self.origin, place.line, place.column)?;
        let Some(text) = &place.text else { return Ok(()) };
        let (number, gap) = (place.line, place.line.to_string().len());
        write!(f, "\n{:gap$} |\n{number} | {text}\n{:gap$} | {:>column$}", "", "", "^", column = place.column)
    }
}

/// Everything that is wrong with the settings, the keys and the policy. Never empty.
#[derive(Debug)]
pub struct Problems {
    /// Of the settings and keys.
    pub settings: Vec<Problem>,
    /// Of the policy, drawn by the room that read it.
    pub policy: Option<crate::policy::LoadError>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.settings.iter().enumerate() {
            let gap = if i == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{problem}")?;
        }
        match &self.policy {
            Some(policy) if self.settings.is_empty() => write!(f, "{policy}"),
            Some(policy) => write!(f, "\n\n{policy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_line_and_caret_but_never_a_line_with_a_secret() {
        let problem = |text: &str, offset| {
            Problem { key: Some("a.b".into()), ..Problem::file(Path::new("t.yaml"), "no such setting") }
                .at(text, Some(offset))
                .to_string()
        };
        let drawn = "error: a.b: no such setting\n --> t.yaml:2:3\n  |\n2 |   b: 1\n  |   ^";
        assert_eq!(problem("a:\n  b: 1\nc: 2\n", 5), drawn);
        assert_eq!(problem("a:\n  secret: abc\n", 5), "error: a.b: no such setting\n --> t.yaml:2:3");
        assert_eq!(problem("a:", 2), "error: a.b: no such setting\n --> t.yaml:1:3\n  |\n1 | a:\n  |   ^");
        assert_eq!(problem("a", 99), "error: a.b: no such setting\n --> t.yaml");
    }
}
