//! A request as expressions see it: text instead of bytes, and the maps `headers` and `query` without building them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::{self, Write as _};

use super::value::Text;
use crate::behaviour::Behaviour;
use crate::policy::facts::Facts;
use crate::policy::pattern::text;
use crate::policy::read::never_there;
use crate::request::{Request, name};

/// A request and what is known about it, brought into shape once for all rules.
pub(in crate::policy) struct Scene<'s, 'r> {
    pub(super) request: &'s Request<'r>,
    pub(super) facts: &'s Facts<'s>,
    /// Read when it is first asked for.
    behaviour: OnceCell<Behaviour>,
    agent: Cow<'s, str>,
    /// Written when it is first asked for.
    client: OnceCell<Address>,
    path: Cow<'s, str>,
    /// The other readings of the path; there are none for nearly every request.
    others: Vec<Cow<'s, str>>,
}

impl<'s, 'r> Scene<'s, 'r> {
    /// A view on a request.
    pub(in crate::policy) fn new(request: &'s Request<'r>, facts: &'s Facts<'s>) -> Self {
        let mut readings = request.target.readings.iter().map(|p| utf8(p.into()));
        let path = readings.next().unwrap_or_default();
        let (agent, others) = (utf8(request.agent()), readings.collect());
        Self { request, facts, behaviour: OnceCell::new(), agent, client: OnceCell::new(), path, others }
    }

    /// What is known beyond the request.
    pub(in crate::policy) fn facts(&self) -> &'s Facts<'s> {
        self.facts
    }

    /// How the sender behaves.
    pub(in crate::policy) fn behaviour(&self) -> &Behaviour {
        self.behaviour.get_or_init(|| self.facts.recall.read())
    }

    /// The readings of the path.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.path).chain(self.others.iter().map(|p| &**p))
    }

    /// How many readings the query has: a `;` may separate or not.
    pub(super) fn queries(&self) -> usize {
        1 + usize::from(self.request.target.query.is_some_and(|q| q.contains(&b';')))
    }

    /// The `User-Agent`.
    pub(in crate::policy) fn agent(&self) -> &str {
        &self.agent
    }

    /// Whether there are several `User-Agent` lines, which no lenient rule believes.
    pub(super) fn agents(&self) -> bool {
        self.request.headers.several(name::USER_AGENT)
    }

    /// The visitor's address; empty without evidence.
    pub(super) fn client(&self) -> &str {
        self.client.get_or_init(|| {
            let mut text = Address::default();
            if let Some(client) = self.request.client {
                // An address has at most 45 bytes, so that writing it cannot fail.
                let _ = write!(text, "{client}");
            }
            text
        })
    }

    /// The length of the body: 0 without one, -1 when it is not known.
    pub(super) fn content_length(&self) -> i64 {
        let mut lines = self.request.headers.all(name::CONTENT_LENGTH);
        let Some(first) = lines.next() else {
            return if self.request.headers.contains(name::TRANSFER_ENCODING) { -1 } else { 0 };
        };
        let digits = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
        let agreed = digits && lines.all(|line| line == first);
        std::str::from_utf8(first).ok().filter(|_| agreed).and_then(|n| n.parse().ok()).unwrap_or(-1)
    }

    /// A header, its lines joined; the case of the name does not matter.
    pub(super) fn header(&self, name: &str) -> Option<Text<'_>> {
        if name.eq_ignore_ascii_case("x-real-ip") {
            return self.request.client.map(|_| Text::Borrowed(self.client()));
        }
        if never_there(name) {
            return None;
        }
        self.request.header(name).map(|value| shared(utf8(value)))
    }

    /// The names of the headers, each once, spelled as Go spells them.
    pub(super) fn header_names(&self) -> impl Iterator<Item = String> + '_ {
        let lines = || self.request.headers.iter().map(|h| h.name);
        let first = move |at: usize, name: &[u8]| !lines().take(at).any(|n| n.eq_ignore_ascii_case(name));
        let real = self.request.client.map(|_| "X-Real-Ip".to_owned());
        self.request
            .headers
            .iter()
            .enumerate()
            .filter(move |(at, h)| !h.name.eq_ignore_ascii_case(b"x-real-ip") && first(*at, h.name))
            .filter_map(|(_, h)| std::str::from_utf8(h.name).ok())
            .filter(|name| !never_there(name))
            .map(canonical)
            .chain(real)
    }

    /// The pairs of the query, decoded; `split` separates at `;` too. A pair with a bad escape is dropped.
    pub(super) fn pairs(&self, split: bool) -> impl Iterator<Item = (Cow<'r, str>, Cow<'r, str>)> {
        let query = self.request.target.query.unwrap_or_default();
        query.split(move |b| *b == b'&' || (split && *b == b';')).filter(|pair| !pair.is_empty()).filter_map(
            |pair| {
                let (key, value) = match pair.iter().position(|b| *b == b'=') {
                    Some(at) => (&pair[..at], &pair[at + 1..]),
                    None => (pair, &[][..]),
                };
                Some((decode(key)?, decode(value)?))
            },
        )
    }

    /// The values of a key of the query, joined.
    pub(super) fn query(&self, key: &str, split: bool) -> Option<Text<'r>> {
        let mut values = self.pairs(split).filter(|(k, _)| k == key).map(|(_, v)| v);
        let first = values.next()?;
        let Some(second) = values.next() else { return Some(shared(first)) };
        let mut joined = format!("{first},{second}");
        for value in values {
            joined.push(',');
            joined.push_str(&value);
        }
        Some(Text::Shared(joined.into()))
    }
}

/// An address as text, on the stack.
#[derive(Clone, Copy)]
struct Address {
    bytes: [u8; 45],
    length: usize,
}

impl Default for Address {
    fn default() -> Self {
        Self { bytes: [0; 45], length: 0 }
    }
}

impl fmt::Write for Address {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl std::ops::Deref for Address {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// Bytes as text: every byte that is no UTF-8 becomes one U+FFFD. Copies only if there is such a byte.
fn utf8(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    let valid = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
    match bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(valid(text(bytes).into_owned())),
        },
        Cow::Owned(bytes) => Cow::Owned(valid(text(&bytes).into_owned())),
    }
}

fn shared(text: Cow<'_, str>) -> Text<'_> {
    match text {
        Cow::Borrowed(text) => Text::Borrowed(text),
        Cow::Owned(text) => Text::Shared(text.into()),
    }
}

/// A part of a query: `+` is a blank, `%xx` a byte. `None` for a bad escape.
fn decode(raw: &[u8]) -> Option<Cow<'_, str>> {
    if !raw.iter().any(|b| matches!(b, b'%' | b'+')) {
        return Some(utf8(raw.into()));
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) => {
                let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
                out.push(digit(*high)? << 4 | digit(*low)?);
                rest = after;
            }
            (b'%', _) => return None,
            _ => out.push(first),
        }
    }
    Some(utf8(out.into()))
}

/// A header's name as Go spells it: `Sec-Ch-Ua`, `X-Real-Ip`.
pub(super) fn canonical(name: &str) -> String {
    let mut start = true;
    name.chars()
        .map(|c| {
            let spelled = if start { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            start = c == '-';
            spelled
        })
        .collect()
}
