//! The target of a request: its shape, its path and query, and the readings of the path.

use super::{Readings, Unfit};

/// The longest target that is judged, in bytes. nginx stops at 8 KiB by default, browsers near 64 KiB; a longer one is refused.
pub const MAX_TARGET: usize = 16 * 1024;

/// A well-formed origin-form target.
#[derive(Debug)]
pub struct Target<'a> {
    /// The target as sent.
    pub raw: &'a [u8],
    /// The query as sent, without the `?`; `None` when there is no `?`.
    pub query: Option<&'a [u8]>,
    /// Every plausible reading of the path.
    pub readings: Readings<'a>,
}

impl<'a> Target<'a> {
    /// Splits at the first `?` and nowhere else: an origin-form target is no URL, and a URL parser would read
    /// `//admin/x` as a host. `*` is a target only of OPTIONS.
    pub fn parse(raw: &'a [u8], asterisk: bool) -> Result<Self, Unfit> {
        let bad = Unfit::Malformed("target");
        if raw == b"*" && asterisk {
            return Ok(Self { raw, query: None, readings: Readings::plain(raw) });
        }
        if raw.first() != Some(&b'/') || raw.len() > MAX_TARGET {
            return Err(bad);
        }
        // A fragment never goes over the wire, and blanks and control bytes end a request line.
        if raw.iter().any(|&b| b <= b' ' || b == b'#' || b == 0x7f) {
            return Err(bad);
        }
        let (path, query) = match raw.iter().position(|&b| b == b'?') {
            Some(at) => (&raw[..at], Some(&raw[at + 1..])),
            None => (raw, None),
        };
        Ok(Self { raw, query, readings: Readings::of(path).ok_or(bad)? })
    }

    /// The path as sent.
    pub fn path(&self) -> &'a [u8] {
        &self.raw[..self.query.map_or(self.raw.len(), |q| self.raw.len() - q.len() - 1)]
    }
}
