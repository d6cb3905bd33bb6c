//! Every fuzz target without a fuzzer: its corpus as it is, and changes of it that are the same in every run.
//!
//! The corpora are in `tests/fuzz/corpus/TARGET`: seeds, and what the fuzzer found to lead elsewhere. `scripts/fuzz` runs the same
//! bodies under libFuzzer, which also looks at where an input leads.

mod bodies;
mod change;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use change::Dice;

/// How many changed inputs each target gets: about a second of the slowest of them in a build for tests.
const CHANGED: usize = 3000;

/// The inputs of a target's corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    files.sort();
    assert!(files.len() > 3, "{target} has next to no corpus");
    files
        .iter()
        .map(|file| fs::read(file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display())))
        .collect()
}

fn feed(target: &str, body: bodies::Body, input: &[u8]) {
    if catch_unwind(|| body(input)).is_err() {
        panic!("{target} fails on b\"{}\"", input.escape_ascii());
    }
}

#[test]
fn every_target_holds_on_its_corpus_and_on_changes_of_it() {
    for (target, body) in bodies::TARGETS {
        let seeds = corpus(target);
        let mut dice = Dice::new(target);
        feed(target, *body, b"");
        seeds.iter().for_each(|seed| feed(target, *body, seed));
        for _ in 0..CHANGED {
            feed(target, *body, &dice.changed(&seeds));
        }
    }
}

/// "Nothing else is let through" says something only where something is.
#[test]
fn what_should_be_let_through_is() {
    use bodies::control;
    let seed = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
        fs::read(&file).unwrap_or_else(|e| panic!("cannot read {}: {e}", file.display()))
    };
    assert!(control::accepted(&seed("answer/made")) && !control::accepted(&seed("answer/short")));
    assert!(control::is_served(&seed("token/wait")) && !control::is_served(&seed("token/work")));
    assert!(control::opens(&seed("clearance/work")) && !control::opens(&seed("clearance/wait")));
    for (name, allowed) in [
        ("plain", true),
        ("bot", true),
        ("cleared", true),
        ("page", false),
        ("denied", false),
        ("public", false),
    ] {
        assert_eq!(control::is_allowed(&seed(&format!("check_request/{name}"))), allowed, "{name}");
    }
    for (name, status) in
        [("plain", 200), ("cleared", 200), ("bot", 200), ("answer", 204), ("wait", 303), ("page", 401)]
    {
        assert_eq!(control::status(&seed(&format!("question/{name}"))), Some(status), "{name}");
    }
}

#[test]
fn every_target_has_its_fuzzer() {
    let manifest =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/Cargo.toml")).expect("it is there");
    for (target, _) in bodies::TARGETS {
        assert!(manifest.contains(&format!("path = \"targets/{target}.rs\"")), "{target}");
    }
}
