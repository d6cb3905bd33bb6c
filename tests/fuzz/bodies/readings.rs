//! Readings of a target: those that the rules name, and whatever disguise a path wears, one that shows it.

use tollgate::request::{MAX_TARGET, Target};

use super::naive;

pub(crate) fn run(bytes: &[u8]) {
    every_reading_and_no_other(bytes);
    a_disguise_is_seen_through(bytes);
}

fn every_reading_and_no_other(raw: &[u8]) {
    let path = raw.split(|b| *b == b'?').next().unwrap_or_default();
    let fit = raw.first() == Some(&b'/')
        && raw.len() <= MAX_TARGET
        && !raw.iter().any(|b| *b <= b' ' || matches!(*b, b'#' | 0x7f));
    let want = naive::readings(path).filter(|_| fit);
    let got = Target::parse(raw, false).ok().map(|target| {
        assert_eq!(target.path(), path);
        assert_eq!(target.readings.iter().next(), Some(path), "the raw one comes first");
        let mut all: Vec<_> = target.readings.iter().map(<[u8]>::to_vec).collect();
        all.sort();
        all
    });
    assert_eq!(got, want, "{}", raw.escape_ascii());
}

/// Builds a plain path and a disguise of it from pairs of bytes: what stands there, and how it is written.
fn a_disguise_is_seen_through(bytes: &[u8]) {
    const LETTERS: &[u8] = b"/abz09-_~/";
    const SLASHES: [&str; 14] = [
        "/", "//", "/./", "/x/../", "\\", "%2f", "%5C", ";v/", ";a=b;c/", "/.;y/", "%252F", "/%2e/",
        "/%252e;/", "%255c",
    ];
    let (mut plain, mut shown) = (String::from("/p"), String::from("/p"));
    for pair in bytes.chunks_exact(2).take(400) {
        let (letter, how) = (LETTERS[usize::from(pair[0]) % LETTERS.len()], usize::from(pair[1]));
        if letter == b'/' {
            if !plain.ends_with('/') {
                plain.push('/');
                shown.push_str(SLASHES[how % SLASHES.len()]);
            }
            continue;
        }
        plain.push(char::from(letter));
        match how % 4 {
            1 => shown.push_str(&format!("%{letter:02x}")),
            2 => shown.push_str(&format!("%{letter:02X}")),
            3 => shown.push_str(&format!("%25{letter:02x}")),
            _ => shown.push(char::from(letter)),
        }
    }
    let target = Target::parse(shown.as_bytes(), false).expect("a disguise is well formed");
    assert!(target.readings.any(|reading| reading == plain.as_bytes()), "{shown} hides {plain}");
    let prefix = &plain.as_bytes()[..plain.rfind('/').unwrap_or(0) + 1];
    let allowed = target.readings.all(|reading| reading.starts_with(prefix));
    assert!(!allowed || naive::plain_form(shown.as_bytes(), 2).starts_with(prefix), "{shown}");
}
