//! The rules once more, written for nothing but being obvious: what the bodies compare with.

use std::net::IpAddr;

/// A path without escapes, parameters, doubled slashes and dot segments, after so many decodings.
pub(crate) fn plain_form(path: &[u8], decodings: usize) -> Vec<u8> {
    let mut path = path.to_vec();
    for _ in 0..decodings {
        path = decode(&path, |_| true);
    }
    resolve(&without_parameters(&with_slashes(&path)))
}

/// The readings that a path has, sorted, the raw one among them; none where it has a bad escape or hides a NUL.
pub(crate) fn readings(raw: &[u8]) -> Option<Vec<Vec<u8>>> {
    let bad = |at: usize| raw[at] == b'%' && escape(&raw[at..]).is_none();
    if (0..raw.len()).any(bad) {
        return None;
    }
    let once = decode(raw, |_| true);
    let twice = decode(&once, |_| true);
    if once.contains(&0) || twice.contains(&0) {
        return None;
    }
    let unreserved = decode(raw, |b| b.is_ascii_alphanumeric() || b"-._~".contains(&b));
    let slashed = with_slashes(&decode(&unreserved, |b| b"/\\".contains(&b)));
    let mut all = vec![
        raw.to_vec(),
        resolve(&unreserved),
        resolve(&slashed),
        resolve(&without_parameters(&slashed)),
        resolve(&without_parameters(&with_slashes(&decode(&twice, |b| b"/\\".contains(&b))))),
    ];
    all.sort();
    all.dedup();
    Some(all)
}

fn escape(text: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(text.get(1..3)?).ok()?;
    let hex = text[0] == b'%' && digits.bytes().all(|b| b.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| hex)
}

fn decode(path: &[u8], wanted: impl Fn(u8) -> bool) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), path);
    while let [first, after @ ..] = rest {
        let escaped = escape(rest).filter(|b| wanted(*b));
        out.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &rest[3..] } else { after };
    }
    out
}

fn with_slashes(path: &[u8]) -> Vec<u8> {
    path.iter().map(|b| if *b == b'\\' { b'/' } else { *b }).collect()
}

fn without_parameters(path: &[u8]) -> Vec<u8> {
    let segments = path.split(|b| *b == b'/').map(|s| s.split(|b| *b == b';').next().unwrap_or_default());
    segments.collect::<Vec<_>>().join(&b'/')
}

fn resolve(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    let segments: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
    for segment in &segments {
        match *segment {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    let mut out = vec![b'/'];
    out.extend(kept.join(&b'/'));
    let file = segments.last().is_some_and(|last| !matches!(*last, b"" | b"." | b".."));
    if !kept.is_empty() && !file {
        out.push(b'/');
    }
    out
}

/// The pairs of a `Cookie` line as RFC 6265 has them: parted by `;`, with one blank in front that is cut.
pub(crate) fn pairs(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(|b| *b == b';').map(|pair| pair.strip_prefix(b" ").unwrap_or(pair))
}

/// An address, canonical; nothing but what the standard library takes for one.
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().map(|address: IpAddr| address.to_canonical())
}
