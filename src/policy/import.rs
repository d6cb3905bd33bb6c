//! Where imports lead: embedded files, files, and globs of both. Reads directories, but no file's content.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::document::nearest;
use super::embedded;
use crate::files::Files;

/// What embedded names start with.
pub(super) const EMBEDDED: &str = "(data)/";

/// A file that is meant by an import.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Target {
    Embedded(&'static str),
    File(PathBuf),
}

impl Target {
    /// The name that problems show.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Embedded(name) => format!("{EMBEDDED}{name}"),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// What tells two files apart, whatever they are called.
    pub(super) fn identity(&self) -> PathBuf {
        match self {
            Self::Embedded(name) => PathBuf::from(format!("{EMBEDDED}{name}")),
            Self::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        }
    }
}

/// Finds what an import means. `root` stands for the working directory, `beside` is the importing file's directory. Notes
/// every name that was tried and every folder that was searched: a file that appears there changes the meaning.
pub(super) fn resolve(
    import: &str,
    root: &Path,
    beside: Option<&Path>,
    files: &mut Files,
) -> Result<Vec<Target>, String> {
    if let Some(name) = import.strip_prefix(EMBEDDED) {
        return embedded_targets(name);
    }
    let glob = is_glob(import);
    if glob {
        check_glob(import)?;
    }
    let mut folders = vec![root.to_path_buf()];
    folders.extend(beside.map(Path::to_path_buf));
    let mut found: Vec<Vec<PathBuf>> = Vec::new();
    for folder in folders {
        let paths = if glob { expand(&folder, import, files) } else { vec![folder.join(import)] };
        paths.iter().for_each(|path| files.note(path));
        let paths: Vec<_> = paths.into_iter().filter(|p| p.exists()).collect();
        if let Some((path, real)) =
            paths.iter().find_map(|path| Some((path, outside(&folder, import, path)?)))
        {
            return Err(format!(
                "`{}` is a link that leads out of its folder, to `{}`; if that file is meant, name it by this path",
                path.display(),
                real.display()
            ));
        }
        let same = |a: &[PathBuf], b: &[PathBuf]| canonical(a) == canonical(b);
        if !paths.is_empty() && !found.iter().any(|f| same(f, &paths)) {
            found.push(paths);
        }
    }
    match found.as_slice() {
        [] if glob => Err(no_match(import)),
        [] => Err(format!("no file `{import}` in {}", places(root, beside))),
        [paths] => match paths.iter().find(|p| p.is_dir()) {
            Some(folder) => Err(format!("`{}` is a directory and no file", folder.display())),
            None => Ok(paths.iter().map(|p| Target::File(p.clone())).collect()),
        },
        [one, other, ..] => Err(format!(
            "`{import}` means two different files: {} and {}; say which with an absolute path",
            one[0].display(),
            other[0].display()
        )),
    }
}

/// Where a relative path really leads, if a link on the way takes it out of the folder that it starts from: whoever may
/// put a link among the rules need not be one who may read whatever file it names, and errors draw lines of it. Links that stay
/// inside are fine, as in a mounted ConfigMap, and so is a `..` that the path itself says.
fn outside(folder: &Path, import: &str, path: &Path) -> Option<PathBuf> {
    let import = Path::new(import);
    if import.is_absolute() {
        return None;
    }
    // How far up the path itself says that it goes: `a/../../b` goes up once.
    let (mut depth, mut up) = (0_usize, PathBuf::new());
    for part in import.components() {
        match part {
            Component::ParentDir if depth == 0 => up.push(".."),
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let start = fs::canonicalize(folder.join(up)).ok()?;
    fs::canonicalize(path).ok().filter(|real| !real.starts_with(start))
}

fn embedded_targets(name: &str) -> Result<Vec<Target>, String> {
    let plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !plain {
        return Err(format!("`{EMBEDDED}{name}` must be a plain path without `.`, `..` or empty parts"));
    }
    if !is_glob(name) {
        return match embedded::names().find(|n| *n == name) {
            Some(name) => Ok(vec![Target::Embedded(name)]),
            None => {
                let near =
                    nearest(name, embedded::names()).map(|n| format!("; did you mean `{EMBEDDED}{n}`?"));
                Err(format!("there is no embedded file `{EMBEDDED}{name}`{}", near.unwrap_or_default()))
            }
        };
    }
    check_glob(name)?;
    let pattern: Vec<&str> = name.split('/').collect();
    let mut names: Vec<_> = embedded::names()
        .filter(|n| {
            let parts: Vec<&str> = n.split('/').collect();
            parts.len() == pattern.len() && parts.iter().zip(&pattern).all(|(part, p)| matches(p, part))
        })
        .collect();
    if names.is_empty() {
        return Err(no_match(&format!("{EMBEDDED}{name}")));
    }
    names.sort_by(|a, b| natural(a, b));
    Ok(names.into_iter().map(Target::Embedded).collect())
}

fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '[', '{'])
}

fn no_match(import: &str) -> String {
    let alternation =
        if import.contains('{') { "; `{a,b}` is not understood, write two imports" } else { "" };
    let deep = if import.contains("**") { "; `**` does not cross `/`" } else { "" };
    format!("no file matches `{import}`{alternation}{deep}")
}

fn places(root: &Path, beside: Option<&Path>) -> String {
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    match beside.filter(|b| *b != root) {
        Some(beside) => format!("`{}` or `{}`", root.display(), beside.display()),
        None => format!("`{}`", root.display()),
    }
}

fn canonical(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|p| fs::canonicalize(p).unwrap_or_else(|_| p.clone())).collect()
}

/// The existing paths that match, in natural order.
fn expand(folder: &Path, glob: &str, files: &mut Files) -> Vec<PathBuf> {
    let mut found = vec![folder.to_path_buf()];
    for part in Path::new(glob).components() {
        let Component::Normal(name) = part else {
            found.iter_mut().for_each(|p| p.push(part));
            continue;
        };
        let Some(pattern) = name.to_str().filter(|n| is_glob(n) || n.contains('\\')) else {
            found.iter_mut().for_each(|p| p.push(name));
            continue;
        };
        let mut inside = |folder: &PathBuf| {
            let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            files.note(here);
            let names = fs::read_dir(here).into_iter().flatten().flatten().map(|e| e.file_name());
            names
                .filter(|n| n.to_str().is_some_and(|n| matches(pattern, n)))
                .map(|n| folder.join(n))
                .collect::<Vec<_>>()
        };
        found = found.iter().flat_map(&mut inside).collect();
    }
    found.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
    found
}

/// Refuses a class that is never closed, and a backslash at the end.
fn check_glob(glob: &str) -> Result<(), String> {
    for part in glob.split('/') {
        let mut rest = part;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let good = match c {
                '\\' => rest.chars().next().map(|c| &rest[c.len_utf8()..]),
                '[' => class(rest, '\0').map(|(_, rest)| rest),
                _ => Some(rest),
            };
            let Some(after) = good else { return Err(format!("`{glob}` is a malformed glob")) };
            rest = after;
        }
    }
    Ok(())
}

/// Whether one part of a path matches one part of a glob. The classes have been checked.
fn matches(glob: &str, name: &str) -> bool {
    let Some(c) = glob.chars().next() else { return name.is_empty() };
    let rest = &glob[c.len_utf8()..];
    if c == '*' {
        let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
        return ends.into_iter().any(|at| matches(rest, &name[at..]));
    }
    let Some(first) = name.chars().next() else { return false };
    let after = &name[first.len_utf8()..];
    match c {
        '?' => matches(rest, after),
        '[' => class(rest, first).is_some_and(|(found, rest)| found && matches(rest, after)),
        '\\' => rest.strip_prefix(first).is_some_and(|rest| matches(rest, after)),
        c => c == first && matches(rest, after),
    }
}

/// Reads a class after its bracket: whether `c` is in it, and what follows. `None` if it is malformed.
fn class(glob: &str, c: char) -> Option<(bool, &str)> {
    let negated = glob.starts_with('^');
    let mut chars = glob[usize::from(negated)..].chars();
    let mut found = false;
    let mut empty = true;
    let member = |chars: &mut std::str::Chars<'_>| match chars.next()? {
        '\\' => chars.next(),
        '-' => None,
        c => Some(c),
    };
    loop {
        if !empty && let Some(rest) = chars.as_str().strip_prefix(']') {
            return Some((found != negated, rest));
        }
        let low = member(&mut chars)?;
        let mut high = low;
        if chars.as_str().starts_with('-') {
            chars.next();
            high = member(&mut chars)?;
        }
        found |= (low..=high).contains(&c);
        empty = false;
    }
}

/// Natural order: runs of digits compare as numbers, so that `r2` stands before `r10`.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (x, y) = (digits(a), digits(b));
        if x > 0 && y > 0 {
            let (m, n) = (a[..x].trim_start_matches('0'), b[..y].trim_start_matches('0'));
            let order = m.len().cmp(&n.len()).then_with(|| m.cmp(n)).then_with(|| x.cmp(&y));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[x..], &b[y..]);
            continue;
        }
        match (a.chars().next(), b.chars().next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]),
            (x, y) => return x.cmp(&y),
        }
    }
}

fn digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_one_part_of_a_path() {
        for (glob, name, want) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yml", false),
            ("r?.yaml", "r1.yaml", true),
            ("r[0-9].yaml", "r1.yaml", true),
            ("r[^0-9].yaml", "r1.yaml", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("*a*b*", "xaxbx", true),
        ] {
            assert_eq!(matches(glob, name), want, "{glob} {name}");
        }
    }

    #[test]
    fn malformed_globs_are_refused() {
        for glob in ["x[", "x[]", "x[a", "[-a]", "[a-]", "a*\\"] {
            assert!(check_glob(glob).is_err(), "{glob}");
        }
        for glob in ["*", "[abc]abc]\\.yaml", "[^a]", "{a,b}*"] {
            assert!(check_glob(glob).is_ok(), "{glob}");
        }
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let mut names = ["r10", "r2", "a", "r02", "r", "r2b"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "r", "r2", "r2b", "r02", "r10"]);
    }

    #[test]
    fn embedded_names_are_plain() {
        for import in
            ["(data)/../x", "(data)//x", "(data)/./x", "(data)/", "(data)/nothing.yaml", "(data)/nothing*"]
        {
            assert!(resolve(import, Path::new(""), None, &mut Files::default()).is_err(), "{import}");
        }
        assert!(resolve("(data)/common/*.yaml", Path::new(""), None, &mut Files::default()).is_ok());
    }
}
