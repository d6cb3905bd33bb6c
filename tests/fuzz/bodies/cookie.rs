//! Cookies: our values are found where RFC 6265 has them, others only behind commas, and the app gets neither.

use tollgate::request::{Headers, MAX_COOKIES, cookie_values, cookies_without, joined_cookie_values};

use super::naive::{self, pairs};

const NAMES: [&str; 2] = ["tollgate", "__Host-tollgate"];

/// The input's lines are `Cookie` lines.
pub(crate) fn run(bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    let headers: Headers<'_> = lines.iter().map(|line| (&b"Cookie"[..], *line)).collect();
    // More lines than the list takes make a request that is not judged.
    if headers.crowded() {
        return;
    }
    for name in NAMES {
        values_are_those_of_the_name(name, &lines, &headers);
    }
    the_app_gets_the_rest(&lines, &headers);
}

fn value<'p>(pair: &'p [u8], name: &str) -> Option<&'p [u8]> {
    pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

fn values_are_those_of_the_name(name: &str, lines: &[&[u8]], headers: &Headers<'_>) {
    let got: Vec<_> = cookie_values(headers, name).collect();
    let plain = lines.iter().flat_map(|line| pairs(line)).filter_map(|pair| value(pair, name));
    // Behind a comma another of ours begins.
    let plain: Vec<_> = plain.map(|value| cut(value, name)).take(MAX_COOKIES).collect();
    assert_eq!(got, plain, "{name}");
    let joined: Vec<_> = joined_cookie_values(headers, name).collect();
    assert!(joined.len() <= MAX_COOKIES);
    for value in joined {
        let behind = |blank: &[u8]| [b",", blank, name.as_bytes(), b"=", value].concat();
        let stands = |text: Vec<u8>| lines.iter().any(|line| line.windows(text.len()).any(|w| w == text));
        assert!(stands(behind(b"")) || stands(behind(b" ")), "{name}: {value:?} is not there");
        assert!(!value.contains(&b';'));
    }
}

/// A value up to the comma that another pair of this name follows.
fn cut<'v>(value: &'v [u8], name: &str) -> &'v [u8] {
    let ours = |at: usize| {
        let rest = &value[at + 1..];
        value[at] == b',' && self::value(rest.strip_prefix(b" ").unwrap_or(rest), name).is_some()
    };
    &value[..(0..value.len()).find(|at| ours(*at)).unwrap_or(value.len())]
}

fn the_app_gets_the_rest(lines: &[&[u8]], headers: &Headers<'_>) {
    // For the app all blanks in front of a name are cut.
    let ours = |pair: &[u8]| NAMES.iter().any(|name| value(pair.trim_ascii_start(), name).is_some());
    let comma = lines.iter().any(|line| line.contains(&b','));
    let mut pairs = lines.iter().flat_map(|line| pairs(line));
    let Some(rest) = cookies_without(headers, &NAMES) else {
        assert!(!pairs.any(ours), "ours goes on to the app");
        return;
    };
    assert!(comma || pairs.clone().any(ours), "a header without ours was changed");
    assert!(!naive::pairs(&rest).any(ours), "{}", rest.escape_ascii());
    if !comma {
        let kept: Vec<_> = pairs.filter(|pair| !pair.is_empty() && !ours(pair)).collect();
        assert_eq!(rest, kept.join(&b"; "[..]));
    }
}
