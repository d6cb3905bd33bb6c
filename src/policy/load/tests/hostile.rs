//! Files that were made to hurt whoever reads them: refused with a place, before they cost anything.

use fs::File;
use std::os::unix::fs::symlink;

use super::*;

fn message(source: &Source) -> String {
    Loader::default().load(source).map(|_| ()).expect_err("it is refused").to_string()
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.yaml");
    // As large as it says, and nothing on the disk.
    File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let error = message(&Source::File(path));
    assert!(error.contains("larger than"), "{error}");
    // One that never ends is read no further either.
    let error = message(&Source::File("/dev/zero".into()));
    assert!(error.contains("larger than"), "{error}");
}

#[test]
fn tags_towers_circles_and_laughs_are_refused_at_their_place() {
    let laughs: String = (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, n| {
        let ten = vec![format!("*a{}", n - 1); 10].join(", ");
        text + &format!("a{n}: &a{n} [{ten}]\n")
    });
    for (text, want) in [
        (laughs.as_str(), "aliases"),
        (&"[".repeat(10_000), "recursion"),
        (&"- ".repeat(10_000), ""),
        (&"{a: ".repeat(10_000), "recursion"),
        ("bots: &b\n- *b\n", ""),
        ("bots:\n- &r {<<: *r, name: x}\n", ""),
        ("a: &a {<<: {<<: *a}}\n", ""),
        ("bots: !!python/object/apply:os.system [\"touch /tmp/x\"]\n", ""),
        ("bots:\n\t- {name: x}\n", ""),
        ("bots: \"\\uD800\"\n", ""),
        ("%YAML 9.9\n---\nbots: no\n", ""),
        ("\u{feff}bots: on\n", ""),
        ("bots:\n- {name: x, action: NO, path_regex: a}\n", "action"),
        ("bots:\n- {name: x, name: y, action: DENY, path_regex: a}\n", "twice"),
        ("\0", ""),
    ] {
        let error = load(text).map(|_| ()).expect_err(text);
        let shown = error.to_string();
        assert!(shown.contains(want), "{text:.60}: {shown}");
        assert!(shown.len() < 20_000, "{text:.60}: {} bytes", shown.len());
        let placed = error.problems.iter().any(|problem| problem.line > 0 && problem.file == "p.yaml");
        assert!(placed, "{text:.60}: {shown}");
    }
    linted("bots: [{name: x, action: DENY, path_regex: a}]\n---\nbots: []\n", "L1");
}

#[test]
fn words_that_are_switches_in_yaml_1_1_are_not_names_of_actions_or_rules_by_accident() {
    let named = load("bots:\n- {name: \"no\", action: DENY, path_regex: a}\n").unwrap();
    assert_eq!(named.policy.rules(), 1);
    for (value, good) in [("on", true), ("off", true), ("yes", true), ("maybe", false), ("1", false)] {
        let text = format!("shadow: {value}\nbots:\n- {{name: x, action: DENY, path_regex: a}}\n");
        assert_eq!(load(&text).is_ok(), good, "{value}");
    }
}

#[test]
fn a_link_out_of_its_folder_is_not_followed() {
    let (folder, _) = folder(&[
        ("rules/main.yaml", "bots:\n- import: a.yaml\n"),
        ("elsewhere/secret.yaml", "- {name: x, action: DENY, path_regex: a}\n"),
        ("rules/..data/a.yaml", "- {name: x, action: DENY, path_regex: a}\n"),
    ]);
    let at = |name: &str| folder.path().join(name);
    let main = Source::File(at("rules/main.yaml"));
    symlink("..data/a.yaml", at("rules/a.yaml")).unwrap();
    assert_eq!(Loader::default().load(&main).unwrap().policy.rules(), 1, "as a mounted ConfigMap has it");
    fs::remove_file(at("rules/a.yaml")).unwrap();

    symlink("../elsewhere/secret.yaml", at("rules/a.yaml")).unwrap();
    let error = message(&main);
    assert!(error.contains("leads out of its folder") && error.contains("elsewhere/secret.yaml"), "{error}");
    symlink("../elsewhere", at("rules/sub")).unwrap();
    for import in ["sub/secret.yaml", "sub/*.yaml", "*.yaml", "./a.yaml"] {
        fs::write(at("rules/main.yaml"), format!("bots:\n- import: {import:?}\n")).unwrap();
        let error = message(&main);
        assert!(error.contains("leads out of its folder"), "{import}: {error}");
    }
    // What the path itself says is meant.
    let absolute = at("rules/a.yaml").display().to_string();
    for import in [
        "../elsewhere/secret.yaml",
        "./../elsewhere/secret.yaml",
        "..data/../../elsewhere/secret.yaml",
        &absolute,
    ] {
        fs::write(at("rules/main.yaml"), format!("bots:\n- import: {import:?}\n")).unwrap();
        assert_eq!(Loader::default().load(&main).unwrap().policy.rules(), 1, "{import}");
    }
}
