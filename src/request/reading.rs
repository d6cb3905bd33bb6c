//! The readings of a path: what a proxy, a framework or a file server behind the gate may take it for.
//!
//! The gate and the app may read a path differently, and that difference is how gates are bypassed. A strict rule
//! therefore matches when any reading does, a lenient one only when all do. Each reading is its own pipeline from the
//! raw bytes; slashes are merged and dot segments resolved only at its end, since resolving between steps would
//! hide `/public/.;/../admin`, which some servers read as `/admin`.

use smallvec::SmallVec;

/// One or more readings of a path; the first is always the raw one.
#[derive(Debug)]
pub struct Readings<'a> {
    raw: &'a [u8],
    others: SmallVec<[Vec<u8>; 4]>,
}

impl<'a> Readings<'a> {
    /// A path that has exactly one reading.
    pub(super) fn plain(raw: &'a [u8]) -> Self {
        Self { raw, others: SmallVec::new() }
    }

    /// The readings of a raw path, or `None` when it holds an invalid `%` escape or an encoded NUL.
    pub(super) fn of(raw: &'a [u8]) -> Option<Self> {
        if is_plain(raw) {
            return Some(Self::plain(raw));
        }
        let once = unescape(raw)?;
        let decoded = decode_unreserved(raw);
        let slashed = separators(&decoded);
        let cut = without_parameters(&slashed);
        let twice = unescape_lenient(&once);
        // Looked for before anything is cut: a NUL in a parameter ends a path for a server that does not know parameters.
        if once.contains(&0) || twice.contains(&0) {
            return None;
        }
        let twice = without_parameters(&separators(&twice));
        let mut readings = Self::plain(raw);
        for reading in [decoded, slashed, cut, twice].map(|r| resolve(&r)) {
            if reading != raw && !readings.others.contains(&reading) {
                readings.others.push(reading);
            }
        }
        Some(readings)
    }

    /// Every distinct reading.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.raw).chain(self.others.iter().map(Vec::as_slice))
    }

    /// Whether any reading satisfies `test`: the side of strict rules.
    pub fn any(&self, test: impl FnMut(&[u8]) -> bool) -> bool {
        self.iter().any(test)
    }

    /// Whether every reading satisfies `test`: the side of lenient rules.
    pub fn all(&self, test: impl FnMut(&[u8]) -> bool) -> bool {
        self.iter().all(test)
    }
}

/// Whether every reader agrees on this path: nothing to decode, cut, merge or resolve.
fn is_plain(path: &[u8]) -> bool {
    let mut before = 0;
    for &b in path {
        if matches!(b, b'%' | b'\\' | b';' | 0x7f..)
            || b < b' '
            || (before == b'/' && matches!(b, b'/' | b'.'))
        {
            return false;
        }
        before = b;
    }
    true
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// The byte that a `%xx` at the start of `rest` stands for.
fn escape(rest: &[u8]) -> Option<u8> {
    match rest {
        [b'%', high, low, ..] => Some(hex(*high)? << 4 | hex(*low)?),
        _ => None,
    }
}

/// Rewrites every valid escape by `with`, which may keep it by answering `None`.
fn rewrite(path: &[u8], with: impl Fn(u8) -> Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while at < path.len() {
        match escape(&path[at..]).and_then(&with) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(path[at]);
                at += 1;
            }
        }
    }
    out
}

/// Decodes every escape once; an invalid one makes the whole path malformed.
fn unescape(path: &[u8]) -> Option<Vec<u8>> {
    let valid =
        path.iter().enumerate().filter(|(_, b)| **b == b'%').all(|(at, _)| escape(&path[at..]).is_some());
    valid.then(|| rewrite(path, Some))
}

/// Decodes every valid escape and keeps the rest as it stands: after one decoding, `100%` is an honest path.
fn unescape_lenient(path: &[u8]) -> Vec<u8> {
    rewrite(path, Some)
}

/// Decodes what needs no escape (RFC 3986, 2.3).
fn decode_unreserved(path: &[u8]) -> Vec<u8> {
    rewrite(path, |b| (b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')).then_some(b))
}

/// Takes `%2f`, `%5c` and `\` for separators, as Windows servers and lenient frameworks do.
fn separators(path: &[u8]) -> Vec<u8> {
    let mut out = rewrite(path, |b| matches!(b, b'/' | b'\\').then_some(b'/'));
    out.iter_mut().filter(|b| **b == b'\\').for_each(|b| *b = b'/');
    out
}

/// Cuts `;parameters` from every segment, as servlet containers do.
fn without_parameters(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut cutting = false;
    for &b in path {
        cutting = b != b'/' && (cutting || b == b';');
        if !cutting {
            out.push(b);
        }
    }
    out
}

/// Merges slashes, then resolves dot segments; `..` above the root is dropped (RFC 3986, 5.2.4).
fn resolve(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len() + 1);
    let mut directory = true;
    for segment in path.split(|b| *b == b'/') {
        directory = matches!(segment, b"" | b"." | b"..");
        match segment {
            b"" | b"." => {}
            b".." => out.truncate(out.iter().rposition(|b| *b == b'/').unwrap_or(0)),
            name => {
                out.push(b'/');
                out.extend_from_slice(name);
            }
        }
    }
    if directory {
        out.push(b'/');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(path: &str, want: &[&str]) {
        let readings = Readings::of(path.as_bytes()).unwrap();
        let got: Vec<_> = readings.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn a_plain_path_has_one_reading() {
        for path in ["/", "/a/b", "/a.b/c", "/a/b/", "/~x", "/a..b", "/a=b&c"] {
            check(path, &[path]);
        }
    }

    #[test]
    fn an_odd_path_has_every_reading_a_server_may_make() {
        check("/public/../admin", &["/public/../admin", "/admin"]);
        check("//admin", &["//admin", "/admin"]);
        check("/a%64min", &["/a%64min", "/admin"]);
        check("/x%2fadmin", &["/x%2fadmin", "/x/admin"]);
        check("/admin;x=y/action", &["/admin;x=y/action", "/admin/action"]);
        check("/%2561dmin", &["/%2561dmin", "/admin"]);
        check("/100%25", &["/100%25", "/100%"]);
        check("/public/.;/../admin", &["/public/.;/../admin", "/public/admin", "/admin"]);
        check("/a/..", &["/a/..", "/"]);
        check("/a\\b", &["/a\\b", "/a/b"]);
    }

    #[test]
    fn a_bad_escape_or_a_hidden_nul_is_malformed() {
        for path in ["/%", "/%4", "/%zz", "/%u0061", "/a%00", "/a%2500", "/a;b%2500", "/a;%00", "/%c3%"] {
            assert!(Readings::of(path.as_bytes()).is_none(), "{path}");
        }
    }

    /// One character of a target, as an attacker may write it.
    fn disguise(byte: u8, how: u8) -> String {
        match how {
            1 => format!("%{byte:02x}"),
            2 => format!("%{byte:02X}"),
            3 => format!("%25{byte:02x}"),
            _ => char::from(byte).to_string(),
        }
    }

    proptest! {
        #[test]
        fn however_a_denied_path_is_disguised_some_reading_shows_it(
            hows in prop::collection::vec(0u8..4, 6),
            noise in prop::collection::vec(prop::sample::select(vec!["/.", "/", "/x/..", "/%2e", ";a=b", "%2f.", "\\.", "/..;/"]), 0..4),
        ) {
            let name: String = b"secret".iter().zip(&hows).map(|(b, how)| disguise(*b, *how)).collect();
            let path = format!("{}/{name}", noise.concat());
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            let readings = Readings::of(path.as_bytes()).unwrap();
            prop_assert!(readings.any(|r| r.ends_with(b"/secret")), "{path}");
        }

        #[test]
        fn no_bytes_panic_and_every_other_reading_is_resolved(path in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(readings) = Readings::of(&path) {
                for reading in readings.iter().skip(1) {
                    prop_assert!(reading.starts_with(b"/"));
                    prop_assert!(!reading.windows(2).any(|w| w == b"//"));
                }
            }
        }
    }
}
