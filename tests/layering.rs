//! The law of imports: a room uses only rooms of a lower level, every file says what it owns, and no file outgrows a reader.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its sources has failed")]

use std::fs;
use std::path::{Path, PathBuf};

/// Each room and its level (ARCHITECTURE.md has the table with what each owns).
const ROOMS: &[(&str, u32)] = &[
    ("behaviour", 0),
    ("clock", 0),
    ("crypto", 0),
    ("files", 0),
    ("metrics", 0),
    ("request", 0),
    ("challenge", 1),
    ("clearance", 1),
    ("lookup", 1),
    ("memory", 1),
    ("policy", 1),
    ("signal", 1),
    ("gate", 2),
    ("admin", 3),
    ("envoy", 3),
    ("web", 3),
    ("config", 4),
    ("server", 5),
    ("cli", 6),
];

/// A file longer than this is two files.
const MAX_LINES: usize = 600;

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn level(room: &str) -> Option<u32> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, level)| *level)
}

/// The rooms that a source text names: `crate::room`, and the members of `crate::{..}`.
fn imports(text: &str) -> Vec<String> {
    let word = |s: &str| s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut rooms = Vec::new();
    for (at, found) in text.match_indices("crate::") {
        let rest = &text[at + found.len()..];
        match rest.strip_prefix('{') {
            None => rooms.push(word(rest)),
            Some(group) => {
                let mut depth = 1;
                let mut member = true;
                for (i, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    if member && (c.is_alphabetic()) {
                        rooms.push(word(&group[i..]));
                        member = false;
                    }
                    member |= depth == 1 && c == ',';
                }
            }
        }
    }
    rooms
}

/// What is wrong with one file, if anything.
fn problems(path: &Path, text: &str) -> Vec<String> {
    let inside: Vec<_> =
        path.iter().skip_while(|p| *p != "src").skip(1).map(|p| p.to_string_lossy().into_owned()).collect();
    let mut problems = Vec::new();
    let mut say = |what: String| problems.push(format!("{}: {what}", path.display()));
    if !text.trim_start().starts_with("//!") {
        say("does not begin with `//!`: say what it owns, and what it deliberately does not do".into());
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        say(format!("has {lines} lines, {MAX_LINES} are allowed"));
    }
    let room = inside[0].trim_end_matches(".rs").to_owned();
    if matches!(room.as_str(), "lib" | "main") {
        return problems;
    }
    let Some(own) = level(&room) else {
        problems.push(format!(
            "{}: `{room}` is no room; add it to the table here and in ARCHITECTURE.md",
            path.display()
        ));
        return problems;
    };
    // `super::` out of a room: as many as the module lies deep. The tests at a file's foot lie one deeper.
    let depth = inside.len() - usize::from(inside.last().unwrap() == "mod.rs");
    let body = text.split("mod tests {").next().unwrap();
    if body.contains(&"super::".repeat(depth)) {
        problems.push(format!("{}: leaves its room with `super::`; write `crate::`", path.display()));
    }
    for other in imports(text) {
        match level(&other) {
            Some(level) if other != room && level >= own => {
                problems.push(format!(
                    "{}: `{room}` (level {own}) imports `{other}` (level {level})",
                    path.display()
                ));
            }
            _ => {}
        }
    }
    problems
}

#[test]
fn rooms_import_only_lower_rooms() {
    let mut files = Vec::new();
    sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
    assert!(files.len() > 40, "found only {} files", files.len());
    let problems: Vec<_> =
        files.iter().flat_map(|path| problems(path, &fs::read_to_string(path).unwrap())).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn the_check_itself_finds_what_it_is_for() {
    let check = |path: &str, text: &str| problems(Path::new(path), text).len();
    assert_eq!(check("src/gate/mod.rs", "//! x\nuse crate::policy::Policy;"), 0);
    assert_eq!(check("src/policy/mod.rs", "//! x\nuse crate::gate::Gate;"), 1, "upward");
    assert_eq!(check("src/policy/mod.rs", "//! x\nuse crate::challenge::Token;"), 1, "sideways");
    assert_eq!(
        check("src/policy/mod.rs", "//! x\nuse crate::{request::Request, clearance::{open}, policy::X};"),
        1,
        "in a group"
    );
    assert_eq!(check("src/policy/mod.rs", "//! x\nfn f() { crate::server::run() }"), 1, "in an expression");
    assert_eq!(check("src/policy/mod.rs", "use std::fmt;"), 1, "no description");
    assert_eq!(check("src/policy/mod.rs", &format!("//! x\n{}", "\n".repeat(700))), 1, "too long");
    assert_eq!(check("src/util.rs", "//! x"), 1, "no room");
    assert_eq!(check("src/policy/parse.rs", "//! x\nuse super::super::gate::Gate;"), 1, "out of the room");
    assert_eq!(check("src/policy/parse.rs", "//! x\nuse super::Policy;"), 0, "inside the room");
}
