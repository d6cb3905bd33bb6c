//! What is wrong, or doubtful, in a file: where, in which rule, and what to do. Drawn as rustc draws its errors.
//! Decides nothing: whether a problem refuses the file is said by its severity.

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
        Self { line: line[from..to].to_owned(), range: clip(range.start)..clip(range.end) }
    }
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
        f.write_str(&Renderer::plain().decor_style(DecorStyle::Ascii).render(&[group]))
    }
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
