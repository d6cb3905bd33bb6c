//! The text of a file, and places in it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The largest file that is read, in bytes. 100,000 networks, a line each, take about 3 MB.
pub(crate) const MAX_FILE: usize = 16 << 20;

/// A named text.
pub(crate) struct File {
    pub(super) name: String,
    pub(super) text: String,
    lines: Vec<usize>,
}

impl File {
    /// A text under the name that problems will show.
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        let text = text.into();
        let after_breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_breaks).collect();
        Arc::new(Self { name: name.into(), text, lines })
    }

    /// The start of the file, for problems that concern all of it.
    pub(crate) fn start(self: &Arc<Self>) -> Place {
        Place::new(self, 0..0)
    }

    /// A range of the file.
    pub(crate) fn place(self: &Arc<Self>, range: Range<usize>) -> Place {
        Place::new(self, range)
    }

    /// Whether a range holds nothing but blanks and comments.
    pub(crate) fn is_blank(&self, range: Range<usize>) -> bool {
        self.text[range].lines().all(|line| matches!(line.trim_start().as_bytes(), [] | [b'#', ..]))
    }

    /// The documents of a stream: what stands between lines that are `---`, whether or not there is anything in it.
    pub(crate) fn documents(&self) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        let mut from = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        for (index, &start) in self.lines.iter().enumerate() {
            let end = self.lines.get(index + 1).copied().unwrap_or(self.text.len());
            let line = self.text[start..end].trim_start_matches('\u{feff}');
            let marker = line.strip_prefix("---").is_some_and(|rest| {
                let rest = rest.trim_end();
                rest.is_empty()
                    || (rest.starts_with([' ', '\t'])
                        && matches!(rest.trim_start().as_bytes(), [] | [b'#', ..]))
            });
            if marker {
                out.push(from..start.max(from));
                from = end;
            }
        }
        out.push(from..self.text.len());
        out
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({:?}, {} bytes)", self.name, self.text.len())
    }
}

/// A range of bytes in a file.
#[derive(Clone)]
pub(crate) struct Place {
    file: Arc<File>,
    start: usize,
    end: usize,
}

impl Place {
    /// A range of a file; what lies outside of it or between two bytes of a character is moved inside.
    pub(super) fn new(file: &Arc<File>, range: Range<usize>) -> Self {
        let start = floor(&file.text, range.start);
        let end = floor(&file.text, range.end).max(start);
        Self { file: Arc::clone(file), start, end }
    }

    /// The whole text of the file.
    pub(crate) fn file_text(&self) -> &str {
        &self.file.text
    }

    /// The name of the file.
    pub(crate) fn file_name(&self) -> &str {
        &self.file.name
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Its first byte in the file.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Whether both are the same place of files of the same name.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (self.start, self.end) == (other.start, other.end) && self.file.name == other.file.name
    }

    /// Line and column, both from 1, the column in characters.
    pub(crate) fn line_and_column(&self) -> (usize, usize) {
        let line = self.file.lines.partition_point(|&start| start <= self.start);
        let start = self.file.lines[line - 1];
        let before = self.file.text[start..self.start].trim_start_matches('\u{feff}');
        (line, before.chars().count() + 1)
    }

    /// The text of the line it starts on, and the bytes of it that belong to the place.
    pub(crate) fn first_line(&self) -> (&str, Range<usize>) {
        let line = self.file.lines.partition_point(|&start| start <= self.start);
        let from = self.file.lines[line - 1];
        let to = self.file.lines.get(line).copied().unwrap_or(self.file.text.len());
        let text = self.file.text[from..to].trim_end_matches(['\n', '\r']);
        let clip = |at: usize| at.clamp(from, from + text.len()) - from;
        (text, clip(self.start)..clip(self.end))
    }

    /// The place of `range` of `text`, where `text` is what this place says once it is read. White space may differ, as
    /// it does in folded and indented text; where escapes make more of a difference the answer is the whole place.
    pub(super) fn within(&self, text: &str, range: Range<usize>) -> Self {
        let written = &self.file.text[self.start..self.end];
        if text.is_empty() {
            return self.clone();
        }
        if let Some(at) = written.find(text) {
            let start = self.start + at;
            return Self::new(&self.file, start + range.start..start + range.end.max(range.start + 1));
        }
        match aligned(written, text, &range) {
            Some(found) => Self::new(&self.file, self.start + found.start..self.start + found.end),
            None => self.clone(),
        }
    }

    /// A place from the start of this one to the end of another in the same file.
    pub(super) fn to(&self, other: &Self) -> Self {
        Self { file: Arc::clone(&self.file), start: self.start, end: other.end.max(self.start) }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_and_column();
        write!(f, "{}:{line}:{column}", self.file.name)
    }
}

/// Finds `range` of `text` in what is written, where the two differ in white space only, and in what stands in front:
/// a quote, or the header of a block.
fn aligned(written: &str, text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let header = match written.as_bytes().first()? {
        b'|' | b'>' => written.find('\n')?,
        b'"' | b'\'' => 1,
        _ => 0,
    };
    let visible = |text: &'_ str| text.char_indices().filter(|(_, c)| !c.is_whitespace()).collect::<Vec<_>>();
    let (here, there) = (visible(&written[header..]), visible(text));
    // How many visible characters stand before the range, and before its end.
    let before = |at: usize| there.partition_point(|(place, _)| *place < at);
    let (first, last) = (before(range.start), before(range.end).max(before(range.start) + 1));
    let same = here.len() >= last && there.iter().zip(&here).take(last).all(|(a, b)| a.1 == b.1);
    let (start, end) = (here.get(first)?, here.get(last - 1)?);
    same.then(|| header + start.0..header + end.0 + end.1.len_utf8())
}

/// The nearest boundary of a character at or below `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}
