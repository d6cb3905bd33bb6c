//! The lints of `check`: the list of them, and that they come with their place.

use std::fs;

use crate::program::{Folder, repository};

#[test]
fn the_documentation_has_the_table_of_lints_from_the_code() {
    let readme = fs::read_to_string(repository().join("policies/README.md")).expect("it is there");
    let (_, rest) = readme.split_once("<!-- lints: begin").expect("the table's begin");
    let (_, rest) = rest.split_once("-->\n").expect("the comment's end");
    let (table, _) = rest.split_once("<!-- lints: end -->").expect("the table's end");
    let printed = Folder::new(&[]).run(&["check", "--lints"]).out;
    assert!(table == printed, "put the output of `tollgate check --lints` into policies/README.md");
}

#[test]
fn a_rule_that_is_never_reached_refuses_a_strict_policy() {
    let rules = "bots:\n  - {name: robots, action: DENY, user_agent_regex: '(?i:bot)'}\n  - {name: google, action: ALLOW, user_agent_regex: Googlebot, remote_addresses: [192.0.2.0/24]}\n";
    let folder = Folder::new(&[
        ("loose.yaml", rules),
        ("strict.yaml", &format!("version: tollgate/v1\ndefault: ALLOW\n{rules}")),
    ]);
    let done = folder.run(&["check", "--policy", "loose.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (0, "fine: 2 rules, 1 lints\n"));
    for piece in ["warning[L30]", "loose.yaml:3:5", "the rule `robots` above asks DENY", "at loose.yaml:2:5"]
    {
        assert!(done.err.contains(piece), "{piece} in\n{}", done.err);
    }
    let done = folder.run(&["check", "--policy", "strict.yaml"]);
    assert!(done.code == 64 && done.err.contains("error[L30]"), "{}", done.err);
}
