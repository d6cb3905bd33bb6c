//! The headers of a request: a short borrowed list, looked up by name without regard to case.

use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

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
#[derive(Clone, Debug, Default)]
pub struct Headers<'a> {
    /// Each line behind what is compared before its name.
    list: SmallVec<[(u32, Header<'a>); INLINE]>,
    names: Names,
    /// Names that stand twice, as far as a filter can tell.
    repeated: Names,
    crowded: bool,
}

/// Names of headers, as a filter: one that was added is found, and of others one in some ten. A request is asked for thirty names,
/// of which most are not there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Names([u64; 4]);

impl Names {
    /// Adds a name, in any case.
    pub fn add(&mut self, name: &[u8]) {
        self.add_tag(tag(name));
    }

    fn add_tag(&mut self, tag: u32) {
        let (word, bit) = place(tag);
        self.0[word] |= bit;
    }

    fn may_hold(&self, tag: u32) -> bool {
        let (word, bit) = place(tag);
        self.0[word] & bit != 0
    }
}

/// A bit of 256 for a tag, by its product with a number of many bits.
fn place(tag: u32) -> (usize, u64) {
    let hash = tag.wrapping_mul(0x9E37_79B1) >> 24;
    ((hash >> 6) as usize, 1 << (hash & 63))
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

impl<'a> Headers<'a> {
    /// Adds a line, unless it is one that never counts: a pseudo header, or a name with `_` or `.`, which servers
    /// and applications fold into a genuine name (`x_forwarded_for`), so that it could speak for a header that the
    /// proxy guards. Lines over [`MAX_HEADERS`] are dropped and make the list [crowded](Self::crowded).
    pub fn push(&mut self, name: &'a [u8], value: &'a [u8]) {
        if name.is_empty() || name.iter().any(|b| NEVER_COUNTS[usize::from(*b)]) {
            return;
        }
        if self.list.len() == MAX_HEADERS {
            self.crowded = true;
            return;
        }
        let tag = tag(name);
        if self.names.may_hold(tag) {
            self.repeated.add_tag(tag);
        }
        self.names.add_tag(tag);
        self.list.push((tag, Header { name, value }));
    }

    /// Whether lines were dropped, so that the list must not be judged.
    pub fn crowded(&self) -> bool {
        self.crowded
    }

    /// Every line, in arrival order.
    pub fn iter(&self) -> impl Iterator<Item = Header<'a>> {
        self.list.iter().map(|(_, header)| *header)
    }

    /// Every line whose name is among these, and some others.
    pub fn among(&self, names: Names) -> impl Iterator<Item = Header<'a>> {
        self.list.iter().filter(move |(tag, _)| names.may_hold(*tag)).map(|(_, header)| *header)
    }

    /// The values of every line with this name, in arrival order.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'a [u8]> + 'h {
        let (name, wanted) = (name.as_bytes(), tag(name.as_bytes()));
        let most = match (self.names.may_hold(wanted), self.repeated.may_hold(wanted)) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => usize::MAX,
        };
        let tagged = self.list.iter().filter(move |(tag, _)| *tag == wanted);
        let named = tagged.filter(|(_, header)| header.name.eq_ignore_ascii_case(name));
        named.map(|(_, header)| header.value).take(most)
    }

    /// Whether a line with this name is there, even an empty one.
    pub fn contains(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// The values of every line with this name, joined with `,`. Copies only when there are several.
    pub fn joined(&self, name: &str) -> Option<Cow<'a, [u8]>> {
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
    pub fn single(&self, name: &str) -> Single<'a> {
        let mut values = self.all(name);
        let Some(first) = values.next() else { return Single::Absent };
        if values.all(|v| v == first) { Single::One(first) } else { Single::Conflict }
    }
}

/// Bytes that a name of a line which counts does not have.
const NEVER_COUNTS: [bool; 256] = {
    let mut table = [false; 256];
    (table[b':' as usize], table[b'_' as usize], table[b'.' as usize]) = (true, true, true);
    table
};

/// Equal for names that are equal without regard to case, and seldom for others: the length, and three of the bytes.
fn tag(name: &[u8]) -> u32 {
    let byte = |at: usize| name.get(at).map_or(0, |byte| byte | 0x20);
    let length = name.len();
    u32::from_le_bytes([length as u8, byte(0), byte(length / 2), byte(length.saturating_sub(1))])
}

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

    #[test]
    fn names_of_one_tag_are_told_apart() {
        let h = headers(&[("abcde", "1"), ("aXcYe", "2"), ("a", "3"), ("ABCDE", "4")]);
        assert_eq!(tag(b"abcde"), tag(b"aXcYe"));
        assert_eq!(h.all("AbCdE").collect::<Vec<_>>(), [&b"1"[..], b"4"]);
        assert_eq!(h.all("axcye").collect::<Vec<_>>(), [b"2"]);
        assert_eq!(h.all("").count(), 0);
    }

    #[test]
    fn lines_among_names_are_found() {
        let h = headers(&[("Accept", "a"), ("host", "h"), ("cookie", "c"), ("accept", "b")]);
        let mut names = Names::default();
        assert_eq!(h.among(names).count(), 0);
        names.add(b"aCCept");
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
        let mut h = Headers::default();
        for _ in 0..MAX_HEADERS {
            h.push(b"a", b"");
        }
        assert!(!h.crowded());
        h.push(b"a", b"");
        assert!(h.crowded());
        assert_eq!(h.iter().count(), MAX_HEADERS);
    }
}
