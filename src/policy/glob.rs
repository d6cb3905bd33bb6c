//! The lists under `hosts`, `paths` and `ja4`: exact names, everything below a prefix, and globs.

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};

use super::pattern::{self, Needles};
use crate::request::canonical_literal;

/// The largest automaton one glob may need, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A list of which any entry may match.
#[derive(Clone, Debug)]
pub(super) struct Globs {
    entries: Vec<Glob>,
    sources: Vec<String>,
    subject: Subject,
}

#[derive(Clone, Debug)]
enum Glob {
    /// Exactly this text.
    Exact(Vec<u8>),
    /// Everything that starts with this; `/x/**` is everything that starts with `/x/`.
    Prefix(Vec<u8>),
    Regex(Regex),
}

/// What the entries name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Subject {
    /// A JA4 fingerprint, byte by byte: `*` stands for any part of it.
    Fingerprint,
    /// A host: lower case, `*` matches dots too, so that `*.example.com` is every host below it.
    Host,
    /// A path, byte by byte: `*` stays within a segment, `**` does not.
    Path,
}

impl Globs {
    /// An empty list, which matches nothing.
    pub(super) const fn new(subject: Subject) -> Self {
        Self { entries: Vec::new(), sources: Vec::new(), subject }
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, text: &str) -> Result<(), String> {
        let glob = match self.subject {
            Subject::Fingerprint => fingerprint(text)?,
            Subject::Host => host(text)?,
            Subject::Path => path(text)?,
        };
        self.entries.push(glob);
        self.sources.push(text.to_owned());
        Ok(())
    }

    /// Whether any entry matches all of the text.
    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.entries.iter().any(|glob| match glob {
            Glob::Exact(exact) => exact == text,
            Glob::Prefix(prefix) => text.starts_with(prefix),
            Glob::Regex(regex) => regex.is_match(text),
        })
    }

    /// Texts in lower case of which whatever matches holds one, in any case, if there are such texts.
    pub(super) fn needles(&self) -> Option<Needles> {
        let of = |glob: &Glob| match glob {
            Glob::Exact(text) | Glob::Prefix(text) => Some(vec![text.to_ascii_lowercase()]),
            Glob::Regex(regex) => pattern::needles(regex.as_str()),
        };
        let all: Option<Vec<_>> = self.entries.iter().map(of).collect();
        all.map(|all| all.into_iter().flatten().collect())
    }

    /// Whether it is certain that this list matches whatever the other one does.
    pub(super) fn cover(&self, other: &Self) -> bool {
        let covered = |(glob, source): (&Glob, &String)| match glob {
            _ if self.match_everything() || self.sources.contains(source) => true,
            Glob::Exact(exact) => self.is_match(exact),
            Glob::Prefix(prefix) => {
                self.entries.iter().any(|e| matches!(e, Glob::Prefix(p) if prefix.starts_with(p)))
            }
            Glob::Regex(_) => false,
        };
        other.entries.iter().zip(&other.sources).all(covered)
    }

    /// The entries as written.
    pub(super) fn sources(&self) -> &[String] {
        &self.sources
    }

    /// Whether some entry matches everything.
    pub(super) fn match_everything(&self) -> bool {
        let all: &[&str] = match self.subject {
            // Not every request has one.
            Subject::Fingerprint => &[],
            Subject::Host => &["*", "**"],
            Subject::Path => &["/**", "**"],
        };
        self.sources.iter().any(|s| all.contains(&s.as_str()))
    }
}

/// Whether an entry under `hosts` is one name, and no glob.
pub(super) fn is_name(host: &str) -> bool {
    !host.contains(['*', '?', '{', '\\'])
}

fn fingerprint(text: &str) -> Result<Glob, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_*".contains(&b)) {
        return Err(format!(
            "`{text}` is no JA4 fingerprint such as t13d1516h2_8daaf6152771_b0da82dd1658; `*` stands for any part of one"
        ));
    }
    if text.contains('*') { compile(text, false) } else { Ok(Glob::Exact(text.as_bytes().to_vec())) }
}

fn host(text: &str) -> Result<Glob, String> {
    if text.is_empty() || text.contains(['/', ' ', '@']) {
        return Err(format!("`{text}` is no host; write a name such as example.com or *.example.com"));
    }
    if !text.starts_with('[') && text.contains(':') {
        return Err(format!("`{text}` has a port, and hosts are compared without one"));
    }
    if text.ends_with('.') {
        return Err(format!("`{text}` can match no host: hosts are compared without the final dot"));
    }
    if !text.is_ascii() {
        return Err(format!("`{text}` can match no host: browsers send such names in ASCII, as `xn--...`"));
    }
    if text.contains(['[', ']']) {
        // Rules compare what requests are brought to.
        return canonical_literal(text)
            .map(|literal| Glob::Exact(literal.into_bytes()))
            .ok_or_else(|| format!("`{text}` is no IP literal such as [2001:db8::1], and classes such as [0-9] have no meaning in a host"));
    }
    let lower = text.to_ascii_lowercase();
    match is_name(&lower) {
        true => Ok(Glob::Exact(lower.into_bytes())),
        false => compile(&lower, false),
    }
}

fn path(text: &str) -> Result<Glob, String> {
    if !text.starts_with('/') && !text.starts_with("**") {
        return Err(format!(
            "`{text}` can match no path: a path starts with `/`, and `*` does not cross one"
        ));
    }
    if text.contains(['#', '\0']) || (text.contains('?') && text.contains('=')) {
        return Err(format!("`{text}` can match no path: query and fragment are no part of it"));
    }
    let special = |s: &str| s.contains(['*', '?', '[', '{', '\\']);
    match text.strip_suffix("**") {
        Some(prefix) if prefix.ends_with('/') && !special(prefix) => {
            Ok(Glob::Prefix(prefix.as_bytes().to_vec()))
        }
        _ if special(text) => compile(text, true),
        _ => Ok(Glob::Exact(text.as_bytes().to_vec())),
    }
}

fn compile(text: &str, separator: bool) -> Result<Glob, String> {
    let glob = GlobBuilder::new(text)
        .literal_separator(separator)
        .backslash_escape(true)
        .build()
        .map_err(|error| format!("no glob: {}", error.kind()))?;
    let regex = RegexBuilder::new(glob.regex())
        .unicode(false)
        .dot_matches_new_line(true)
        .size_limit(MAX_COMPILED)
        .build();
    regex.map(Glob::Regex).map_err(|error| format!("no glob: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(glob: &str, subject: Subject, yes: &[&str], no: &[&str]) {
        let mut globs = Globs::new(subject);
        globs.add(glob).unwrap();
        for text in yes {
            assert!(globs.is_match(text.as_bytes()), "{glob} on {text}");
        }
        for text in no {
            assert!(!globs.is_match(text.as_bytes()), "{glob} on {text}");
        }
    }

    #[test]
    fn paths_are_exact_or_a_prefix_or_a_glob() {
        check("/admin", Subject::Path, &["/admin"], &["/admin/", "/Admin", "/admin/x", "/xadmin"]);
        check("/admin/**", Subject::Path, &["/admin/", "/admin/x/y"], &["/admin", "/administrator"]);
        check("/**", Subject::Path, &["/", "/a/b"], &["*"]);
        check("/*.php", Subject::Path, &["/a.php"], &["/a/b.php", "/a.PHP"]);
        check("**/.git/**", Subject::Path, &["/a/.git/config", "/.git/x"], &["/.github"]);
        check("/a/**/z", Subject::Path, &["/a/b/c/z", "/a/z"], &["/a/zz"]);
        check("/f[0-9]", Subject::Path, &["/f1"], &["/fx"]);
        check("/{a,b}", Subject::Path, &["/a", "/b"], &["/c"]);
        check("/\\*", Subject::Path, &["/*"], &["/x"]);
    }

    #[test]
    fn fingerprints_are_exact_or_have_stars() {
        let one = "t13d1516h2_8daaf6152771_b0da82dd1658";
        check(one, Subject::Fingerprint, &[one], &["t13d1516h2_8daaf6152771", ""]);
        check("*_8daaf6152771_*", Subject::Fingerprint, &[one], &["t13d1516h2_8daaf615277_b0da82dd1658"]);
        check("t13d*", Subject::Fingerprint, &[one], &["q13d0310h3_55b375c5d22e_cd85d2d88918"]);
        for text in ["", "t13d [", "t13d.*", "?"] {
            assert!(Globs::new(Subject::Fingerprint).add(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_have_no_case_and_stars_cross_dots() {
        check("Example.com", Subject::Host, &["example.com"], &["www.example.com"]);
        check("*.example.com", Subject::Host, &["a.example.com", "a.b.example.com"], &["example.com"]);
        check("[2001:DB8:0::1]", Subject::Host, &["[2001:db8::1]"], &["1"]);
    }

    #[test]
    fn what_can_never_match_is_refused() {
        for glob in ["", "admin", "*", "*.php", "/a?b=c", "/a#b", "/[a"] {
            assert!(Globs::new(Subject::Path).add(glob).is_err(), "{glob}");
        }
        for glob in
            ["", "https://a", "a:80", "a b", "a.example.", "shop[0-9].example", "[1]", "b\u{fc}cher.example"]
        {
            assert!(Globs::new(Subject::Host).add(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn a_list_covers_what_it_surely_matches() {
        let list = |entries: &[&str]| {
            let mut globs = Globs::new(Subject::Path);
            entries.iter().for_each(|e| globs.add(e).unwrap());
            globs
        };
        for (wide, narrow, want) in [
            (&["/a/**"][..], &["/a/b", "/a/c/**", "/a/**"][..], true),
            (&["/a/**"], &["/a"], false),
            (&["/a/**"], &["/a/*.php"], false),
            (&["/*.php"], &["/x.php", "/*.php"], true),
            (&["/*.php"], &["/x/y.php"], false),
            (&["/**"], &["/a*b"], true),
            (&["/a", "/b"], &["/b"], true),
            (&["/b"], &["/a", "/b"], false),
        ] {
            assert_eq!(list(wide).cover(&list(narrow)), want, "{wide:?} {narrow:?}");
        }
    }

    #[test]
    fn globs_compare_bytes() {
        let mut globs = Globs::new(Subject::Path);
        globs.add("/?").unwrap();
        assert!(globs.is_match(b"/\xff"));
    }
}
