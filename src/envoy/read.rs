//! Reads Envoy's `CheckRequest` where it lies: one pass over the bytes of the message, and nothing is copied.
//!
//! The generated types would put every header into maps of texts of their own, which costs more than the whole decision. What is
//! read here follows the encoding as they do (<https://protobuf.dev/programming-guides/encoding/>): of a field that stands twice
//! the last counts, messages that stand twice are one, unknown fields are skipped; every field may be absent, and stays absent.

use std::net::IpAddr;
use std::{mem, str};

use crate::request::{Headers, MAX_HEADERS, Source, parse_address};

/// The key of a route's `context_extensions` that names the policy for its requests.
const POLICY: &[u8] = b"tollgate_policy";

/// What a question says.
#[derive(Debug, Default)]
pub(super) struct Question<'m> {
    /// Whether it describes a request at all.
    described: bool,
    method: &'m [u8],
    target: &'m [u8],
    host: &'m [u8],
    scheme: &'m [u8],
    /// The address of the TCP peer that Envoy saw, as text.
    peer: Option<&'m [u8]>,
    policy: Option<&'m str>,
    headers: Headers<'m>,
    /// Whether the headers are those of `header_map`.
    raw: bool,
    aliases: Vec<&'m str>,
}

impl<'m> Question<'m> {
    /// Reads a message into a question that says nothing yet, which is large and stays where it is. `None` if the message is none
    /// of this kind, or has more names that pose as ours than a request has headers.
    pub(super) fn read(&mut self, message: &'m [u8]) -> Option<()> {
        each(message, |field, value| match field {
            1 => self.attributes(value?),
            _ => Some(()),
        })
    }

    /// Where the facts of the request stand, and its headers, which are taken out; `None` if no request is described.
    pub(super) fn take_request(&mut self) -> Option<(Source<'m>, Headers<'m>)> {
        let source = Source::Envoy {
            method: self.method,
            target: self.target,
            host: self.host,
            scheme: self.scheme,
            source: self.peer(),
        };
        self.described.then(|| (source, mem::take(&mut self.headers)))
    }

    /// The policy that the route asks for.
    pub(super) fn policy(&self) -> Option<&'m str> {
        self.policy
    }

    /// The names that pose as ours, as they arrived: all of `x-tollgate-*`, also where `_` or `.` stands for a dash.
    pub(super) fn aliases(&self) -> &[&'m str] {
        &self.aliases
    }

    /// The TCP peer that Envoy saw. A pipe, an internal address and a name are no evidence of one.
    fn peer(&self) -> Option<IpAddr> {
        parse_address(self.peer?)
    }

    /// `AttributeContext`.
    fn attributes(&mut self, message: &'m [u8]) -> Option<()> {
        each(message, |field, value| match field {
            1 => each(value?, |field, value| match field {
                1 => self.address(value?),
                _ => Some(()),
            }),
            4 => each(value?, |field, value| match field {
                2 => self.http(value?),
                _ => Some(()),
            }),
            10 => {
                let (key, value) = entry(value?)?;
                if key == POLICY {
                    self.policy = Some(str::from_utf8(value).ok()?);
                }
                Some(())
            }
            _ => Some(()),
        })
    }

    /// `Address`, of which the last kind counts.
    fn address(&mut self, message: &'m [u8]) -> Option<()> {
        each(message, |field, value| match field {
            1 => {
                let text = self.peer.get_or_insert_default();
                each(value?, |field, value| {
                    if field == 2 {
                        *text = value?;
                    }
                    Some(())
                })
            }
            2 | 3 => {
                self.peer = None;
                Some(())
            }
            _ => Some(()),
        })
    }

    /// `HttpRequest`.
    fn http(&mut self, message: &'m [u8]) -> Option<()> {
        self.described = true;
        each(message, |field, value| {
            match field {
                2 => self.method = value?,
                3 => {
                    let (name, value) = entry(value?)?;
                    if !self.raw {
                        self.line(name, value)?;
                    }
                }
                4 => self.target = value?,
                5 => self.host = value?,
                6 => self.scheme = value?,
                13 => each(value?, |field, value| match field {
                    1 => self.raw_line(value?),
                    _ => Some(()),
                })?,
                _ => {}
            }
            Some(())
        })
    }

    /// A `HeaderValue` of `header_map`. With `encode_raw_headers` Envoy fills that and leaves `headers` empty; else the reverse.
    fn raw_line(&mut self, message: &'m [u8]) -> Option<()> {
        if !self.raw {
            (self.raw, self.headers) = (true, Headers::default());
            self.aliases.clear();
        }
        let [mut name, mut text, mut bytes] = [&b""[..]; 3];
        each(message, |field, value| {
            match field {
                1 => name = value?,
                2 => text = value?,
                3 => bytes = value?,
                _ => {}
            }
            Some(())
        })?;
        self.line(name, if bytes.is_empty() { text } else { bytes })
    }

    fn line(&mut self, name: &'m [u8], value: &'m [u8]) -> Option<()> {
        if poses_as_ours(name) {
            let name = str::from_utf8(name).ok()?;
            if self.aliases.len() == MAX_HEADERS {
                return None;
            }
            if !self.aliases.contains(&name) {
                self.aliases.push(name);
            }
        }
        self.headers.push(name, value);
        Some(())
    }
}

fn poses_as_ours(name: &[u8]) -> bool {
    const OURS: &[u8] = b"x-tollgate-";
    let folded = |b: u8| if matches!(b, b'_' | b'.') { b'-' } else { b.to_ascii_lowercase() };
    name.get(..OURS.len()).is_some_and(|start| start.iter().map(|b| folded(*b)).eq(OURS.iter().copied()))
}

/// Key and value of an entry of a map of texts.
fn entry(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut key, mut text) = (&b""[..], &b""[..]);
    each(message, |field, value| {
        match field {
            1 => key = value?,
            2 => text = value?,
            _ => {}
        }
        Some(())
    })?;
    Some((key, text))
}

/// Shows every field of a message, by its number: the bytes of a text or message, `None` for a number. Yields `None` where the
/// bytes are no message, or `field` does. Groups, which nothing that Envoy sends has, are none.
fn each<'m>(mut rest: &'m [u8], mut field: impl FnMut(u64, Option<&'m [u8]>) -> Option<()>) -> Option<()> {
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let value = match key & 7 {
            0 => varint(&mut rest).map(|_| None)?,
            1 => cut(&mut rest, 8).map(|_| None)?,
            2 => {
                let length = varint(&mut rest)?;
                Some(cut(&mut rest, usize::try_from(length).ok()?)?)
            }
            5 => cut(&mut rest, 4).map(|_| None)?,
            _ => return None,
        };
        // Field numbers have 29 bits, and none is 0.
        field(Some(key >> 3).filter(|number| (1..1 << 29).contains(number))?, value)?;
    }
    Some(())
}

/// Cuts a number off the front: seven bits a byte, the lowest first, ten bytes at most. Most are one byte.
#[inline]
fn varint(rest: &mut &[u8]) -> Option<u64> {
    match rest.split_first()? {
        (first @ ..0x80, after) => {
            *rest = after;
            Some(u64::from(*first))
        }
        _ => long_varint(rest),
    }
}

/// A number of any length. Apart, so that the usual one stays small enough to be inlined.
#[cold]
fn long_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (at, byte) in rest.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            // Of the tenth byte one bit is left.
            let fits = at < 9 || *byte == 1;
            *rest = &rest[at + 1..];
            return fits.then_some(number);
        }
    }
    None
}

fn cut<'m>(rest: &mut &'m [u8], length: usize) -> Option<&'m [u8]> {
    let (cut, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(cut)
}

#[cfg(test)]
mod tests;
