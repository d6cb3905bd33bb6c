//! Several policies of one file: which request goes to which, and what is wrong or doubtful about a set of them.

use std::fs;
use std::path::Path;

use super::super::{Loader, Problem, Severity, Source};
use super::*;
use crate::files::Files;

/// A policy whose one rule tells it from the others.
fn rule(name: &str) -> String {
    format!("bots: [{{name: {name}, action: DENY, path_regex: ^/}}]\n")
}

/// Writes files, and loads the one called `main.yaml`.
fn load(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Policies, Vec<Problem>>, Vec<Problem>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    match Loader::default().load(&Source::File(folder.path().join("main.yaml"))) {
        Ok(loaded) => (folder, Ok(Policies::new(loaded.policy, loaded.sites)), loaded.lints),
        Err(error) => (folder, Err(error.problems), Vec::new()),
    }
}

/// The policies of sites that all share one file.
fn sites(text: &str) -> (Policies, Vec<Problem>) {
    let main = format!("{}sites:\n{text}", rule("main"));
    let (_folder, policies, lints) = load(&[("main.yaml", &main), ("s.yaml", &rule("s"))]);
    (policies.unwrap_or_else(|problems| panic!("{problems:?}")), lints)
}

fn name(policies: &Policies, at: usize) -> String {
    policies.iter().nth(at).unwrap().0.to_owned()
}

#[test]
fn a_name_comes_before_globs_and_globs_in_the_order_of_the_file() {
    let (policies, lints) = sites(
        "  inner: {hosts: ['*.shop.example'], policy: s.yaml}
  outer: {hosts: ['*.example', '[2001:db8::1]'], policy: s.yaml}
  exact: {hosts: [Shop.Example, a.shop.example], policy: s.yaml}
  hinted: {policy: s.yaml}
",
    );
    for (host, want) in [
        ("shop.example", "exact"),
        ("a.shop.example", "exact"),
        ("b.shop.example", "inner"),
        ("a.b.shop.example", "inner"),
        ("www.example", "outer"),
        ("[2001:db8::1]", "outer"),
        ("example", "default"),
        ("shop.example.evil", "default"),
        ("xshop.examples", "default"),
        ("", "default"),
    ] {
        assert_eq!(name(&policies, policies.of_host(host)), want, "{host}");
    }
    for (hint, want) in [
        ("default", Some("default")),
        ("hinted", Some("hinted")),
        ("exact", Some("exact")),
        ("Exact", None),
        ("", None),
        ("shop.example", None),
    ] {
        assert_eq!(policies.named(hint).map(|at| name(&policies, at)).as_deref(), want, "{hint}");
    }
    // Sites that name one file share its policy.
    assert_eq!((policies.count(), policies.rules()), (5, 2));
    let found: Vec<_> = lints.iter().map(|l| (l.code.unwrap(), l.level)).collect();
    assert_eq!(found, [("L17", Severity::Warn), ("S1", Severity::Info)]);
}

#[test]
fn hosts_that_never_lead_to_a_site_are_told() {
    let check = |text: &str, want: &[&str]| {
        let (_, lints) = sites(text);
        let told: Vec<_> = lints.iter().map(|l| l.message.as_str()).collect();
        assert_eq!(told.len(), want.len(), "{text}\n{told:?}");
        for (told, want) in told.iter().zip(want) {
            assert!(told.contains(want), "{text}\n{told}");
        }
        assert!(
            lints.iter().all(|l| l.line > 1 && l.rule.as_deref().is_some_and(|r| r.starts_with("sites/")))
        );
    };
    check("  a: {hosts: a.example, policy: s.yaml}\n  b: {hosts: '*.example', policy: s.yaml}\n", &[]);
    check("  a: {hosts: '*.example', policy: s.yaml}\n  b: {hosts: a.example, policy: s.yaml}\n", &[]);
    check(
        "  a: {hosts: a.example, policy: s.yaml}\n  b: {hosts: [b.example, a.example], policy: s.yaml}\n",
        &["`a.example` never leads here: the site `a` above takes it"],
    );
    check(
        "  a: {hosts: '*.example', policy: s.yaml}\n  b: {hosts: '*.b.example', policy: s.yaml}\n",
        &["`*.b.example` never leads here", "no host leads to this site"],
    );
    check(
        "  a: {hosts: '*.b.example', policy: s.yaml}\n  b: {hosts: '*.example', policy: s.yaml}\n",
        &["`*.example` holds `*.b.example` of the site `a`"],
    );
    // What `?` matches need not match a star.
    check(
        "  a: {hosts: '?.example', policy: s.yaml}\n  b: {hosts: '*.example', policy: s.yaml}\n",
        &["holds `?.example`"],
    );
    check("  a: {policy: s.yaml}\n  b: {hosts: '*', policy: s.yaml}\n", &[]);
}

#[test]
fn in_a_strict_file_a_host_that_never_leads_to_its_site_is_an_error() {
    let main = format!(
        "version: tollgate/v1\ndefault: ALLOW\n{}sites: {{a: {{hosts: '*', policy: s.yaml}}, b: {{hosts: '*.b', policy: s.yaml}}}}\n",
        rule("main")
    );
    let (_folder, policies, _) = load(&[("main.yaml", &main), ("s.yaml", &rule("s"))]);
    assert!(policies.unwrap_err().iter().any(|p| p.code == Some("S2") && p.level == Severity::Error));
}

#[test]
fn a_site_has_a_file_of_its_own_with_its_own_version_imports_and_mistakes() {
    let main = format!(
        "{}sites:\n  good: {{hosts: good.example, policy: sub/good.yaml}}\n  bad: {{policy: bad.yaml}}\n  worse: {{policy: worse.yaml}}\n  shipped: {{policy: (data)/quiet.yaml}}\n",
        rule("main")
    );
    let good = "version: tollgate/v1\ndefault: DENY\nbots:\n- import: beside.yaml\n";
    let beside = "- {name: beside, action: ALLOW, paths: [/]}\n";
    let files = [("sub/good.yaml", good), ("sub/beside.yaml", beside)];
    let bad = "version: tollgate/v1\nbots:\n- {name: x, acton: DENY, path_regex: a}\n";
    let worse = rule("worse").replace("DENY", "DNEY");
    let all =
        [&[("main.yaml", main.as_str()), ("bad.yaml", bad), ("worse.yaml", &worse)], &files[..]].concat();
    let (folder, policies, _) = load(&all);
    let problems = policies.unwrap_err();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (file, message) in [("bad.yaml", "acton"), ("worse.yaml", "DNEY")] {
        let problem = problems.iter().find(|p| p.message.contains(message)).unwrap();
        assert_eq!((&problem.file, &problem.chain[..]), (&path(file), &[path("main.yaml")][..]));
    }
    let sound = main.replace("bad.yaml", "sub/good.yaml").replace("worse.yaml", "sub/good.yaml");
    let (_folder, policies, _) = load(&[&[("main.yaml", sound.as_str())], &files[..]].concat());
    assert_eq!(policies.unwrap().count(), 5);
}

#[test]
fn sites_neither_nest_nor_run_in_a_circle() {
    let check = |files: &[(&str, &str)], message: &str| {
        let (_folder, policies, _) = load(files);
        let problems = policies.unwrap_err();
        assert!(
            problems.iter().any(|p| p.message.contains(message) && p.line > 0),
            "{message}: {problems:?}"
        );
    };
    let with = |name: &str, site: &str| format!("{}sites: {{a: {{policy: {site}}}}}\n", rule(name));
    let main = with("main", "s.yaml");
    check(&[("main.yaml", &main), ("s.yaml", &with("s", "main.yaml"))], "cannot have `sites` of its own");
    check(&[("main.yaml", &with("main", "main.yaml"))], "in a circle");
    check(&[("main.yaml", &main), ("s.yaml", "bots: [{import: s.yaml}]")], "circle");
    check(&[("main.yaml", &main), ("s.yaml", "bots: [{import: main.yaml}]")], "circle");
    check(&[("main.yaml", &main), ("s.yaml/x", "")], "is a directory");
}

#[test]
fn every_file_that_counts_is_noted_also_where_loading_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("parts")).unwrap();
    fs::create_dir(path("nets")).unwrap();
    fs::write(
        path("main.yaml"),
        "bots: [{import: parts/*.yaml}]\nnetworks: {n: {file: nets/*.txt}, m: {file: nets.json}}\nsites: {a: {policy: a.yaml}, b: {policy: b.yaml}}\n",
    )
    .unwrap();
    fs::write(path("parts/one.yaml"), "- {name: x, action: DENY, path_regex: ^/}\n").unwrap();
    fs::write(path("a.yaml"), "bots: [{import: gone.yaml}]\n").unwrap();
    let mut files = Files::default();
    let loader = Loader { root: folder.path().to_owned(), ..Loader::default() };
    loader.load_noting(&Source::File(path("main.yaml")), &mut files).unwrap_err();
    let changes = |change: &dyn Fn()| {
        let before = files.look();
        change();
        before != files.look()
    };
    let touch = |name: &str| fs::write(path(name), "changed\n").unwrap();
    for name in [
        "main.yaml",
        "parts/one.yaml",
        "parts/two.yaml",
        "nets.json",
        "nets/n.txt",
        "a.yaml",
        "b.yaml",
        "gone.yaml",
    ] {
        assert!(changes(&|| touch(name)), "{name}");
    }
    assert!(!changes(&|| touch("another.yaml")));
    assert!(Path::new(&path("another.yaml")).exists());
}
