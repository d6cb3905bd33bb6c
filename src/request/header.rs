//! The headers of a request: a short borrowed list, looked up by name without regard to case.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use super::name::{Kind, KnownName, Name, Tag};

/// The most headers a request may carry. Envoy and hyper stop at 100; a proxy adds a few of its own.
pub const MAX_HEADERS: usize = 128;

/// As many headers as stay on the stack: a browser sends about 20, a proxy adds about 8.
const INLINE: usize = 32;

/// One header line.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    /// The name, in the case it arrived in.
    pub name: &'a [u8],
    /// The value: bytes, not text.
    pub value: &'a [u8],
}

/// Shows the name and how long the value is: a value may be a clearance or a secret.
impl fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} bytes", self.name.escape_ascii(), self.value.len())
    }
}

/// The headers that count, in arrival order.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    lines: SmallVec<[Line<'a>; INLINE]>,
    /// For each known name its last line, counted from one: a request is asked for fifty names, of which most are not there.
    last: [u8; KnownName::COUNT],
    /// The other names.
    others: Names,
    crowded: bool,
}

const _: () = assert!(MAX_HEADERS < u8::MAX as usize);

#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    header: Header<'a>,
    name: LineName,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LineName {
    /// With the next line of the same name; behind the last one comes the first.
    Known(KnownName, u8),
    Other(Tag),
}

/// Names of headers, as a filter: one that was added is found, and of others one in some ten.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names([u64; 4]);

impl Names {
    /// Adds a name, in any case.
    pub fn add(&mut self, name: &[u8]) {
        self.add_tag(Tag::of(name));
    }

    fn add_tag(&mut self, tag: Tag) {
        let hash = tag.hash();
        self.0[usize::from(hash >> 6)] |= 1 << (hash & 63);
    }

    fn may_hold(&self, tag: Tag) -> bool {
        let hash = tag.hash();
        self.0[usize::from(hash >> 6)] >> (hash & 63) & 1 == 1
    }
}

/// What a header that may stand only once says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Single<'a> {
    /// The header is not there.
    Absent,
    /// Two lines of it differ, so it says nothing.
    Conflict,
    /// The header, once or several times with one value.
    One(&'a [u8]),
}

impl Default for Headers<'_> {
    fn default() -> Self {
        Self { lines: SmallVec::new(), last: [0; KnownName::COUNT], others: Names::default(), crowded: false }
    }
}

impl<'a> Headers<'a> {
    /// Adds a line, unless it is one that never counts: a pseudo header, or a name with `_` or `.`, which servers
    /// and applications fold into a genuine name (`x_forwarded_for`), so that it could speak for a header that the
    /// proxy guards. Lines over [`MAX_HEADERS`] are dropped and make the list [crowded](Self::crowded).
    pub fn push(&mut self, name: &'a [u8], value: &'a [u8]) {
        let (Name(kind), header) = (name.into(), Header { name, value });
        // No known name has such a byte.
        if let Kind::Other(name, _) = kind
            && (name.is_empty() || name.iter().any(|b| NEVER_COUNTS[usize::from(*b)]))
        {
            return;
        }
        if self.lines.len() == MAX_HEADERS {
            self.crowded = true;
            return;
        }
        let name = match kind {
            Kind::Known(known) => LineName::Known(known, self.link(known)),
            Kind::Other(_, tag) => {
                self.others.add_tag(tag);
                LineName::Other(tag)
            }
        };
        self.lines.push(Line { header, name });
    }

    /// Makes the line that comes next the last of a known name, and yields the one behind it: the first.
    fn link(&mut self, known: KnownName) -> u8 {
        let number = self.lines.len() as u8;
        let last = std::mem::replace(&mut self.last[known.number()], number + 1).checked_sub(1);
        match last.map(|last| &mut self.lines[usize::from(last)].name) {
            Some(LineName::Known(_, next)) => std::mem::replace(next, number),
            _ => number,
        }
    }

    /// Whether lines were dropped, so that the list must not be judged.
    pub fn crowded(&self) -> bool {
        self.crowded
    }

    /// Every line, in arrival order.
    pub fn iter(&self) -> impl Iterator<Item = Header<'a>> {
        self.lines.iter().map(|line| line.header)
    }

    /// Every line whose name is a known one, in arrival order.
    pub fn known(&self) -> impl Iterator<Item = (KnownName, &'a [u8])> {
        self.lines.iter().filter_map(|line| match line.name {
            LineName::Known(known, _) => Some((known, line.header.value)),
            LineName::Other(_) => None,
        })
    }

    /// Every line whose name is among these and no known one, and some others.
    pub fn among(&self, names: Names) -> impl Iterator<Item = Header<'a>> {
        let held = move |line: &&Line<'_>| matches!(line.name, LineName::Other(tag) if names.may_hold(tag));
        self.lines.iter().filter(held).map(|line| line.header)
    }

    /// The values of every line with this name, in arrival order.
    pub fn all<'n>(&self, name: impl Into<Name<'n>>) -> impl Iterator<Item = &'a [u8]> {
        let (name, lines) = (name.into(), &*self.lines);
        let at = match name.0 {
            Kind::Known(known) => match usize::from(self.last[known.number()]).checked_sub(1) {
                Some(last) => lines[last].next(),
                None => lines.len(),
            },
            Kind::Other(_, tag) if self.others.may_hold(tag) => 0,
            Kind::Other(..) => lines.len(),
        };
        All { lines, name, first: at, at }
    }

    /// Whether a line with this name is there, even an empty one.
    pub fn contains<'n>(&self, name: impl Into<Name<'n>>) -> bool {
        self.all(name).next().is_some()
    }

    /// Whether several lines with this name are there.
    pub fn several<'n>(&self, name: impl Into<Name<'n>>) -> bool {
        self.all(name).nth(1).is_some()
    }

    /// The values of every line with this name, joined with `,`. Copies only when there are several.
    pub fn joined<'n>(&self, name: impl Into<Name<'n>>) -> Option<Cow<'a, [u8]>> {
        let mut values = self.all(name);
        let first = values.next()?;
        let Some(second) = values.next() else { return Some(Cow::Borrowed(first)) };
        let mut joined = [first, b",", second].concat();
        for value in values {
            joined.push(b',');
            joined.extend_from_slice(value);
        }
        Some(Cow::Owned(joined))
    }

    /// The one value of a header that may stand only once; equal lines count as one.
    pub fn single<'n>(&self, name: impl Into<Name<'n>>) -> Single<'a> {
        let mut values = self.all(name);
        let Some(first) = values.next() else { return Single::Absent };
        if values.all(|v| v == first) { Single::One(first) } else { Single::Conflict }
    }
}

impl Line<'_> {
    /// The line behind it, of a known name.
    fn next(&self) -> usize {
        match self.name {
            LineName::Known(_, next) => next.into(),
            LineName::Other(_) => usize::MAX,
        }
    }
}

/// The values of the lines of one name.
struct All<'h, 'a, 'n> {
    lines: &'h [Line<'a>],
    name: Name<'n>,
    /// Where it began.
    first: usize,
    /// The line to look at next.
    at: usize,
}

impl<'a> Iterator for All<'_, 'a, '_> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.lines.get(self.at..)?.iter();
        let line = match self.name.0 {
            Kind::Known(_) => {
                let line = rest.next()?;
                self.at = if line.next() == self.first { self.lines.len() } else { line.next() };
                line
            }
            Kind::Other(name, tag) => {
                let named = |line: &&Line<'_>| {
                    line.name == LineName::Other(tag) && line.header.name.eq_ignore_ascii_case(name)
                };
                let line = rest.find(named)?;
                self.at = self.lines.len() - rest.len();
                line
            }
        };
        Some(line.header.value)
    }
}

/// Bytes that a name of a line which counts does not have.
const NEVER_COUNTS: [bool; 256] = {
    let mut table = [false; 256];
    (table[b':' as usize], table[b'_' as usize], table[b'.' as usize]) = (true, true, true);
    table
};

impl<'a> FromIterator<(&'a [u8], &'a [u8])> for Headers<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], &'a [u8])>>(lines: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in lines {
            headers.push(name, value);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> Headers<'static> {
        lines.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect()
    }

    #[test]
    fn names_are_compared_without_case_and_lines_joined_in_order() {
        let h = headers(&[("Accept", "a"), ("host", "h"), ("ACCEPT", "b"), ("accept", "c")]);
        assert_eq!(h.joined("accept").as_deref(), Some(&b"a,b,c"[..]));
        assert!(matches!(h.joined("host"), Some(Cow::Borrowed(b"h"))));
        assert_eq!(h.joined("cookie"), None);
    }

    proptest! {
        #[test]
        fn lines_are_found_by_their_names_in_their_order(
            lines in prop::collection::vec("(?i:accept|cookie|te|x-own|x-mine|xyown|x_own|:path|a|)", 0..150),
        ) {
            let lines: Vec<_> =
                lines.iter().enumerate().map(|(at, name)| (name, (at % 3).to_string())).collect();
            let h: Headers<'_> = lines.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
            let counts = lines.iter().filter(|(name, _)| !name.is_empty() && !name.contains([':', '_']));
            let counts: Vec<_> = counts.map(|(name, value)| (name, value.as_bytes())).collect();
            prop_assert_eq!(h.crowded(), counts.len() > MAX_HEADERS);
            let kept = &counts[..counts.len().min(MAX_HEADERS)];
            prop_assert!(h.iter().map(|line| line.value).eq(kept.iter().map(|(_, value)| *value)));
            for wanted in ["accept", "Cookie", "TE", "x-own", "x-MINE", "xYown", "x_own", ":path", "a", "", "dnt", "none"] {
                let named: Vec<_> = kept
                    .iter()
                    .filter(|(name, _)| name.eq_ignore_ascii_case(wanted))
                    .map(|(_, value)| *value)
                    .collect();
                prop_assert_eq!(h.all(wanted).collect::<Vec<_>>(), &named[..], "{}", wanted);
                prop_assert_eq!(h.contains(wanted), !named.is_empty());
                prop_assert_eq!(h.several(wanted), named.len() > 1);
                prop_assert_eq!(h.joined(wanted).unwrap_or_default(), named.join(&b","[..]));
                let single = match named[..] {
                    [] => Single::Absent,
                    [first, ..] if named.iter().all(|value| *value == first) => Single::One(first),
                    _ => Single::Conflict,
                };
                prop_assert_eq!(h.single(wanted), single);
            }
        }
    }

    #[test]
    fn names_of_one_tag_are_told_apart() {
        let h = headers(&[("abcde", "1"), ("XYcde", "2"), ("a", "3"), ("ABCDE", "4")]);
        assert_eq!(Tag::of(b"abcde"), Tag::of(b"XYcde"));
        assert_eq!(h.all("AbCdE").collect::<Vec<_>>(), [&b"1"[..], b"4"]);
        assert_eq!(h.all("xycde").collect::<Vec<_>>(), [b"2"]);
        assert_eq!(h.all("").count(), 0);
    }

    #[test]
    fn lines_among_names_are_found() {
        let h = headers(&[("X-Own", "a"), ("host", "h"), ("cookie", "c"), ("x-own", "b")]);
        let mut names = Names::default();
        assert_eq!(h.among(names).count(), 0);
        names.add(b"x-oWN");
        assert_eq!(h.among(names).map(|line| line.value).collect::<Vec<_>>(), [b"a", b"b"]);
    }

    #[test]
    fn aliases_and_pseudo_headers_never_count() {
        let h = headers(&[("x_forwarded_for", "1"), ("x.forwarded.for", "1"), (":path", "/"), ("", "1")]);
        assert_eq!(h.iter().count(), 0);
    }

    #[test]
    fn a_single_header_with_two_values_is_a_conflict() {
        assert_eq!(headers(&[("a", "1"), ("A", "1")]).single("a"), Single::One(b"1"));
        assert_eq!(headers(&[("a", "1"), ("A", "2")]).single("a"), Single::Conflict);
        assert_eq!(headers(&[]).single("a"), Single::Absent);
    }

    #[test]
    fn more_lines_than_the_cap_make_the_list_crowded() {
        for name in ["a", "accept"] {
            let values: Vec<_> = (0..=MAX_HEADERS).map(|at| at.to_string().into_bytes()).collect();
            let mut h = Headers::default();
            for value in &values[..MAX_HEADERS] {
                h.push(name.as_bytes(), value);
            }
            assert!(!h.crowded());
            h.push(name.as_bytes(), &values[MAX_HEADERS]);
            assert!(h.crowded());
            assert!(h.all(name).eq(&values[..MAX_HEADERS]));
        }
    }
}
