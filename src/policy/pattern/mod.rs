//! The patterns of rules: Go's regular expressions, compiled when the policy loads and never during a request.
//! Searches bytes; invalid UTF-8 is made into text once a request, by [`text`], and not here.

mod needles;
mod translate;

use std::borrow::Cow;
use std::ops::Range;

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, Look};

pub(super) use needles::{Needles, is_common};

/// The largest automaton one pattern may need, in bytes. A list of 300 agents without case takes about 200 KiB.
const MAX_COMPILED: usize = 2 << 20;

/// The largest automaton of a pattern that comes up during a request, in bytes: a visitor may have written it.
const MAX_COMPILED_LATE: usize = 128 << 10;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    source: String,
    regex: Regex,
    needles: Option<Needles>,
    everything: bool,
    loose_dot: bool,
}

/// What the matches of a pattern begin with.
#[derive(Debug)]
pub(super) struct Openings {
    pub(super) texts: Vec<Vec<u8>>,
    /// Whether each text stands for all its spellings in upper and lower case.
    pub(super) any_case: bool,
}

/// What is known of where a pattern is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// In whatever holds a text that it is found in.
    Anywhere,
    /// The same, and case is nothing to it.
    AnywhereInAnyCase,
    Unknown,
}

/// Why a pattern is refused, and where in its trimmed text.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) range: Range<usize>,
}

impl Refusal {
    fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), range }
    }
}

impl Pattern {
    /// Compiles a pattern in Go's dialect. White space around it is cut first.
    pub(super) fn compile(text: &str) -> Result<Self, Refusal> {
        let source = text.trim();
        if text.ends_with("\\ ") && source.ends_with('\\') {
            let message =
                "the blank after the last backslash is cut off with the white space around the pattern";
            return Err(Refusal::new(source.len() - 1..source.len(), message));
        }
        Self::build(source, MAX_COMPILED)
    }

    /// Compiles a pattern of an expression, where white space around it counts.
    pub(super) fn compile_exact(source: &str) -> Result<Self, Refusal> {
        Self::build(source, MAX_COMPILED)
    }

    /// Compiles a pattern that came up during a request, within tighter bounds.
    pub(super) fn compile_late(source: &str) -> Result<Self, Refusal> {
        Self::build(source, MAX_COMPILED_LATE)
    }

    fn build(source: &str, limit: usize) -> Result<Self, Refusal> {
        let refuse = |message| Refusal::new(0..source.len(), message);
        let translated = translate::translate(source)?;
        let hir = parse(&translated.rust).map_err(|error| refuse(mistake(*error)))?;
        let needles = needles::best(&hir);
        let config = Config::new().nfa_size_limit(Some(limit)).which_captures(WhichCaptures::None);
        // Where texts show that the pattern cannot match, the search itself is rare. What makes it faster would take most
        // of the time that thousands of patterns take to load.
        let config = match needles {
            Some(_) => config.auto_prefilter(false).backtrack(false).dfa(false).onepass(false),
            None => config,
        };
        let regex = Regex::builder().configure(config).build_from_hir(&hir);
        let regex = regex.map_err(|error| refuse(too_large(&error)))?;
        Ok(Self {
            source: source.to_owned(),
            everything: matches_everything(&hir, &regex),
            loose_dot: translated.loose_dot,
            needles,
            regex,
        })
    }

    /// Whether it is found anywhere in the text.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// Texts in lower case of which every match holds one, in any case; `None` when there are no such texts, or too many.
    pub(super) fn needles(&self) -> Option<&Needles> {
        self.needles.as_ref()
    }

    /// Texts with one of which every match begins, as long as they can be told; `None` when there are no such texts.
    pub(super) fn openings(&self) -> Option<Openings> {
        // Spelt in every case a word of nine letters would be 512 texts, so that it is spelt in one.
        let source = self.source.replace("(?i)", "").replace("(?i:", "(?:");
        let mut groups = source.split("(?").skip(1);
        if source.contains("\\(?") || !groups.all(|g| [":", "P<", "<"].iter().any(|kind| g.starts_with(kind)))
        {
            return None;
        }
        let translated = translate::translate(&source).ok()?;
        let found = Extractor::new().extract(&parse(&translated.rust).ok()?);
        let texts: Vec<_> = found.literals()?.iter().map(|l| l.as_bytes().to_vec()).collect();
        let told = !texts.is_empty() && texts.iter().all(|text| !text.is_empty());
        told.then_some(Openings { texts, any_case: source.len() < self.source.len() })
    }

    /// Whether what it is found in it is found in wherever that stands, since it looks at nothing around its match.
    pub(super) fn reach(&self) -> Reach {
        let reach = || {
            let rust = translate::translate(&self.source).ok()?.rust;
            let hir = parse(&rust).ok()?;
            let caseless = parse(&format!("(?i:{rust})")).is_ok_and(|folded| folded == hir);
            let anywhere = hir.properties().look_set().is_empty();
            anywhere.then_some(if caseless { Reach::AnywhereInAnyCase } else { Reach::Anywhere })
        };
        reach().unwrap_or(Reach::Unknown)
    }

    /// The pattern as its author wrote it, trimmed.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is certain that it is found in every text.
    pub(super) fn matches_everything(&self) -> bool {
        self.everything
    }

    /// Whether it begins at the start of the text, as far as its spelling tells.
    pub(super) fn is_anchored(&self) -> bool {
        ["^", "\\A", "(?i)^"].iter().any(|anchor| self.source.starts_with(anchor))
    }

    /// Whether it has a dot that was probably meant as a dot: unescaped, and not repeated.
    pub(super) fn has_loose_dot(&self) -> bool {
        self.loose_dot
    }
}

/// Texts of which every match of a regular expression in Rust's dialect holds one; see [`Pattern::needles`].
pub(super) fn needles(rust: &str) -> Option<Needles> {
    needles::best(&parse(rust).ok()?)
}

/// Text as Go's engine sees it: every byte that is no UTF-8 becomes one U+FFFD. Copies only if there is such a byte.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        chunk.invalid().iter().for_each(|_| out.extend_from_slice("\u{fffd}".as_bytes()));
    }
    Cow::Owned(out)
}

/// A match of nothing that needs at most one end of the text is found in every text. `^$` needs both.
fn matches_everything(hir: &Hir, regex: &Regex) -> bool {
    if !regex.is_match("") {
        return false;
    }
    let looks = hir.properties().look_set();
    let ends = [Look::Start, Look::End].iter().filter(|l| looks.contains(**l)).count();
    looks.len() == ends && ends < 2
}

/// What is wrong with a translated pattern, without the parser's drawing of it: the author wrote another text.
fn mistake(error: regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string(),
    }
}

fn too_large(error: &BuildError) -> String {
    match error.size_limit() {
        Some(limit) => format!("the compiled pattern would take more than {} MiB", limit >> 20),
        None => error.to_string(),
    }
}

fn parse(rust: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    regex_syntax::ParserBuilder::new().utf8(false).build().parse(rust).map_err(Box::new)
}

#[cfg(test)]
mod tests;
