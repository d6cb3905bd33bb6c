//! `tollgate policy show`: one file that keeps every promise of the many.

use std::fs;

use serde_json::Value;

use crate::program::{Folder, repository, run_in};

#[test]
fn a_shown_policy_keeps_the_promises_of_the_shipped_one() {
    let folder = Folder::new(&[]);
    for name in ["quiet", "strict", "observe", "botPolicies"] {
        let shown = folder.run(&["policy", "show", "--policy", &format!("(data)/{name}.yaml")]);
        assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{name}");
        assert!(
            !shown.out.contains("import:") && shown.out.contains("# (data)/crawlers/googlebot.yaml:"),
            "{name}"
        );
        folder.write("shown.yaml", &shown.out);
        let checked = folder.run(&["check", "--policy", "shown.yaml"]);
        assert_eq!((checked.code, checked.err.as_str()), (0, ""), "{name}: {}", checked.out);
        let (policy, cases) = (folder.path("shown.yaml"), format!("policies/tests/{name}.yaml"));
        assert!(fs::exists(repository().join(&cases)).expect("it can be asked"));
        let done = run_in(repository(), &["test", "--policy", &policy.display().to_string(), &cases], "");
        assert_eq!(done.code, 0, "{name}\n{}{}", done.out, done.err);
    }
}

#[test]
fn the_policy_in_force_is_shown_as_json_too_and_a_wrong_one_is_not() {
    let folder = Folder::new(&[
        ("tollgate.yaml", "policy: etc/p.yaml\n"),
        ("etc/p.yaml", "default: ALLOW\nversion: tollgate/v1\nbots:\n  - import: list.yaml\n"),
        ("etc/list.yaml", "- {name: a, action: DENY, paths: /a}\n"),
        ("bad.yaml", "bots:\n  - {name: a, acton: DENY}\n"),
    ]);
    let shown: Value =
        serde_json::from_str(&folder.run(&["policy", "show", "--json"]).out).expect("one object");
    assert_eq!(shown["settings"]["default"], "ALLOW");
    let rule = &shown["rules"][0];
    assert_eq!(
        (&rule["name"], &rule["file"], &rule["line"]),
        (&"a".into(), &"etc/list.yaml".into(), &1.into())
    );
    assert_eq!(rule["imported_from"], serde_json::json!(["etc/p.yaml"]));
    let done = folder.run(&["policy", "show", "--policy", "bad.yaml"]);
    assert!(done.code == 64 && done.out.is_empty() && done.err.contains("bad.yaml:2:5"), "{}", done.err);
    assert_eq!(folder.run(&["policy"]).code, 2);
}
