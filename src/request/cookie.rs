//! Cookies of a request: the values of one name, and the header without it.
//!
//! Names are compared byte by byte; quotes, `$Version` and percent escapes mean nothing here, and at most one blank is cut
//! in front of a pair: the ways in which lenient parsers let another cookie pose as ours.
//!
//! Pairs are parted by `;` (RFC 6265, 4.2.1). Where a client sends several `Cookie` lines, which no browser does, Envoy joins them
//! with `,` unless it sends raw headers, so a pair of ours may also stand behind a comma. But a comma may stand in a value too, and a
//! neighbour of the host may set any value: `x=1,__Host-tollgate=...` gets past the `__Host-` prefix, which would have kept a
//! cookie of that name out. So what stands behind a comma is told apart ([`joined_cookie_values`]): it is looked at last and never in place
//! of what stands behind a `;`, and one that is worn out limits nobody.

use memchr::memchr2_iter;

use super::{Headers, name};

/// The most values of one name that are looked at, of each kind. A visitor has one; a sibling domain may have planted a few.
pub const MAX_COOKIES: usize = 8;

/// A pair, and whether it stands behind a comma.
#[derive(Clone, Copy)]
struct Pair<'a> {
    text: &'a [u8],
    joined: bool,
}

/// The pairs of all `Cookie` lines; a comma parts two only where one of ours follows.
fn pairs<'a, 'h>(
    headers: &'h Headers<'a>,
    ours: impl Fn(&[u8]) -> bool + Copy + 'h,
) -> impl Iterator<Item = Pair<'a>> + 'h {
    headers.all(name::COOKIE).flat_map(move |line| Pairs { rest: Some(line), joined: false, ours })
}

struct Pairs<'a, F> {
    rest: Option<&'a [u8]>,
    joined: bool,
    ours: F,
}

impl<'a, F: Fn(&[u8]) -> bool> Iterator for Pairs<'a, F> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        let rest = self.rest?;
        let parts = |at: usize| rest[at] == b';' || (self.ours)(trim(&rest[at + 1..]));
        let end = memchr2_iter(b';', b',', rest).find(|at| parts(*at));
        let pair = Pair { text: &rest[..end.unwrap_or(rest.len())], joined: self.joined };
        self.rest = end.map(|end| &rest[end + 1..]);
        self.joined = end.is_some_and(|end| rest[end] == b',');
        Some(pair)
    }
}

/// Cuts the one blank that a browser puts in front of a pair.
fn trim(pair: &[u8]) -> &[u8] {
    pair.strip_prefix(b" ").unwrap_or(pair)
}

fn value_of<'a>(pair: &'a [u8], name: &str) -> Option<&'a [u8]> {
    pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

fn values<'a, 'h>(
    headers: &'h Headers<'a>,
    name: &'h str,
    joined: bool,
) -> impl Iterator<Item = &'a [u8]> + 'h {
    pairs(headers, move |pair| value_of(pair, name).is_some())
        .filter(move |pair| pair.joined == joined)
        .filter_map(move |pair| value_of(trim(pair.text), name))
        .take(MAX_COOKIES)
}

/// The values of the cookie `name`, at most [`MAX_COOKIES`], in the order they were sent.
pub fn cookie_values<'a, 'h>(headers: &'h Headers<'a>, name: &'h str) -> impl Iterator<Item = &'a [u8]> + 'h {
    values(headers, name, false)
}

/// The values of the cookie `name` behind a comma, at most [`MAX_COOKIES`]: of a line that Envoy joined to another, or planted in
/// another cookie's value.
pub fn joined_cookie_values<'a, 'h>(
    headers: &'h Headers<'a>,
    name: &'h str,
) -> impl Iterator<Item = &'a [u8]> + 'h {
    values(headers, name, true)
}

/// The `Cookie` header without the cookies of these names: `None` when it holds none of them, empty when nothing else is left.
/// Applications forgive more blanks in front of a name than we do, so for them all of those are cut.
pub fn cookies_without(headers: &Headers<'_>, names: &[&str]) -> Option<Vec<u8>> {
    let ours = |pair: &[u8]| names.iter().any(|name| value_of(pair.trim_ascii_start(), name).is_some());
    if !pairs(headers, ours).any(|pair| ours(pair.text)) {
        return None;
    }
    let kept: Vec<_> = pairs(headers, ours)
        .map(|pair| trim(pair.text))
        .filter(|pair| !pair.is_empty() && !ours(pair))
        .collect();
    Some(kept.join(&b"; "[..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers<'a>(lines: &[&'a str]) -> Headers<'a> {
        lines.iter().map(|line| (&b"cookie"[..], line.as_bytes())).collect()
    }

    fn check(lines: &[&str], want: &[&str], joined: &[&str]) {
        let headers = headers(lines);
        let got: Vec<_> = cookie_values(&headers, "tollgate").map(String::from_utf8_lossy).collect();
        assert_eq!(got, want, "{lines:?}");
        let got: Vec<_> = joined_cookie_values(&headers, "tollgate").map(String::from_utf8_lossy).collect();
        assert_eq!(got, joined, "{lines:?}");
    }

    #[test]
    fn values_are_found_in_every_line_and_behind_an_envoy_comma() {
        check(&["tollgate=a"], &["a"], &[]);
        check(&["x=1; tollgate=a; y=2"], &["a"], &[]);
        check(&["x=1;tollgate=a"], &["a"], &[]);
        check(&["x=1", "tollgate=a"], &["a"], &[]);
        check(&["x=1,tollgate=a"], &[], &["a"]);
        check(&["x=1, tollgate=a,tollgate=b; tollgate=c"], &["c"], &["a", "b"]);
        check(&["tollgate=a,tollgate=b"], &["a"], &["b"]);
        check(&["x=1;,tollgate=b"], &[], &["b"]);
        check(&["tollgate=a,b"], &["a,b"], &[]);
        check(&["tollgate=a=b"], &["a=b"], &[]);
        check(&["tollgate="], &[""], &[]);
    }

    #[test]
    fn only_the_exact_name_counts() {
        let names = [
            "Tollgate=a",
            "tollgate =a",
            "  tollgate=a",
            "\ttollgate=a",
            "\u{a0}tollgate=a",
            "xtollgate=a",
            "\"tollgate\"=a",
            "tollgate",
            "x=\"; y=tollgate=a\"",
        ];
        for line in names {
            check(&[line], &[], &[]);
        }
    }

    #[test]
    fn no_more_than_eight_values_are_looked_at() {
        let line = "x=1,tollgate=a; tollgate=b; ".repeat(20);
        let headers = headers(&[&line]);
        assert!(
            cookie_values(&headers, "tollgate").eq([b"b"; MAX_COOKIES]),
            "and commas take nobody's place"
        );
        assert!(joined_cookie_values(&headers, "tollgate").eq([b"a"; MAX_COOKIES]));
    }

    #[test]
    fn the_rest_keeps_its_order_and_an_untouched_header_is_left_alone() {
        let without = |lines: &[&str]| {
            cookies_without(&headers(lines), &["tollgate", "__Host-tollgate"])
                .map(|v| String::from_utf8(v).unwrap())
        };
        assert_eq!(without(&["a=1; tollgate=x; b=2"]).as_deref(), Some("a=1; b=2"));
        assert_eq!(without(&["a=1", "__Host-tollgate=x"]).as_deref(), Some("a=1"));
        assert_eq!(without(&["tollgate=x"]).as_deref(), Some(""));
        assert_eq!(without(&["a=1; b=2"]), None);
        assert_eq!(without(&["a=1,2; b=3,tollgate=x"]).as_deref(), Some("a=1,2; b=3"));
        assert_eq!(without(&["  tollgate=x; \ttollgate=y; a=1"]).as_deref(), Some("a=1"));
    }
}
