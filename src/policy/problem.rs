//! What is wrong, or doubtful, in a file: where, in which rule, and what to do. Drawn as rustc draws its errors.
//! Decides nothing: whether a problem refuses the file is said by its severity.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use serde::Serialize;
use thiserror::Error;

use super::document::{Place, floor};

/// The longest piece of a source line that is drawn, in bytes; a JSON policy may be one line of megabytes.
const MAX_EXCERPT: usize = 200;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is refused.
    Error,
    /// The file loads, and probably does something that its author did not mean.
    Warn,
    /// Worth knowing.
    Info,
}

impl Severity {
    /// The name in text and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }
}

/// One finding in a file. `Display` draws it with its line and a caret, in plain text.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub level: Severity,
    /// The stable code of a lint, such as `L7`.
    pub code: Option<&'static str>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 when the problem belongs to no line.
    pub line: usize,
    /// The column in characters, from 1; 0 when the problem belongs to no line.
    pub column: usize,
    /// The rule or threshold it was found in.
    pub rule: Option<String>,
    /// The key it was found at, dotted from the entry.
    pub key: Option<String>,
    /// The files that led to this one by `import`, outermost first; empty for the main file.
    pub chain: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
    #[serde(skip)]
    excerpt: Option<Excerpt>,
}

/// The part of a source line that is drawn, and the bytes in it that are underlined.
#[derive(Clone, Debug)]
struct Excerpt {
    line: String,
    range: Range<usize>,
}

impl Problem {
    /// An error at a place in a file.
    pub(crate) fn new(place: &Place, message: impl Into<String>) -> Self {
        let (line, column) = place.line_and_column();
        Self {
            level: Severity::Error,
            code: None,
            message: message.into(),
            file: place.file_name().to_owned(),
            line,
            column,
            rule: None,
            key: None,
            chain: Vec::new(),
            help: None,
            excerpt: Some(Excerpt::at(place)),
        }
    }

    /// An error that belongs to a file as a whole, such as one that cannot be read.
    pub(crate) fn of_file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            level: Severity::Error,
            code: None,
            message: message.into(),
            file: file.into(),
            line: 0,
            column: 0,
            rule: None,
            key: None,
            chain: Vec::new(),
            help: None,
            excerpt: None,
        }
    }

    /// The same problem with advice.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the key it was found at.
    pub(crate) fn at_key(&mut self, key: impl Into<String>) -> &mut Self {
        self.key = Some(key.into());
        self
    }

    /// Adds advice.
    pub(crate) fn advise(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }
}

impl Excerpt {
    fn at(place: &Place) -> Self {
        let (line, range) = place.first_line();
        let from = floor(line, range.start.saturating_sub(MAX_EXCERPT / 2));
        let from = if line.len() <= MAX_EXCERPT { 0 } else { from };
        let to = floor(line, from + MAX_EXCERPT);
        let clip = |at: usize| at.clamp(from, to) - from;
        Self { line: without_secrets(&line[from..to]), range: clip(range.start)..clip(range.end) }
    }
}

/// The shortest piece of a line that may be a secret: tokens have 16 characters or more, keys 43.
const MIN_SECRET: usize = 16;

/// The line with what may be a secret in stars: where a key ring or a token was named in place of a policy or of settings, its
/// lines are drawn too.
fn without_secrets(line: &str) -> String {
    let piece = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=');
    let alone = line.trim().chars().all(piece);
    if !alone && !line.to_ascii_lowercase().contains("secret") {
        return line.to_owned();
    }
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end =
            if piece(first) { rest.find(|c| !piece(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        if end < MIN_SECRET {
            shown.push_str(&rest[..end]);
        } else {
            shown.extend(std::iter::repeat_n('*', end));
        }
        rest = &rest[end..];
    }
    shown
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Severity::Error => Level::ERROR,
            Severity::Warn => Level::WARNING,
            Severity::Info => Level::INFO,
        };
        let mut title = level.primary_title(self.message.as_str());
        if let Some(code) = self.code {
            title = title.id(code);
        }
        let mut group = match &self.excerpt {
            Some(excerpt) => title.element(
                Snippet::source(excerpt.line.as_str())
                    .line_start(self.line)
                    .path(self.file.as_str())
                    .annotation(AnnotationKind::Primary.span(excerpt.range.clone())),
            ),
            None => title.element(annotate_snippets::Origin::path(self.file.as_str())),
        };
        match (&self.rule, &self.key) {
            (Some(rule), Some(key)) => {
                group = group.element(Level::NOTE.message(format!("in rule `{rule}`, key `{key}`")));
            }
            (Some(rule), None) => group = group.element(Level::NOTE.message(format!("in rule `{rule}`"))),
            (None, Some(key)) => group = group.element(Level::NOTE.message(format!("at key `{key}`"))),
            (None, None) => {}
        }
        if !self.chain.is_empty() {
            let chain = self.chain.join(", then from ");
            group = group.element(Level::NOTE.message(format!("imported from {chain}")));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        f.write_str(&visible(&Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group])))
    }
}

/// The text with what would move a terminal's cursor, or turn its lines round, made visible. The renderer does so only for lines
/// of the file; names of rules and keys are of the file too.
fn visible(drawn: &str) -> Cow<'_, str> {
    let hidden = |c: char| {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    if !drawn.contains(hidden) {
        return Cow::Borrowed(drawn);
    }
    let shown = |c: char| match u32::from(c) {
        _ if !hidden(c) => c,
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(drawn.chars().map(shown).collect())
}

/// Why a policy did not load: every problem that refuses it. `Display` draws them all.
#[derive(Debug, Error)]
#[error("{}", drawn(.problems))]
pub struct LoadError {
    /// The problems, in the order they were found; lints that do not refuse are among them.
    pub problems: Vec<Problem>,
}

fn drawn(problems: &[Problem]) -> String {
    let drawn: Vec<_> = problems.iter().map(Problem::to_string).collect();
    drawn.join("\n\n")
}
