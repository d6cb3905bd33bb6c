//! What is shown loads again, and judges every request as before.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::super::{Databases, Facts, Policy, embedded};
use super::*;
use crate::request::{Headers, Parts, Request};

fn loader() -> Loader {
    Loader { databases: Databases { asn: true, country: true }, ..Loader::default() }
}

/// Requests of every kind that rules look at.
fn asks()
-> impl Strategy<Value = (String, &'static str, Option<&'static str>, Vec<(&'static str, &'static str)>)> {
    let targets = prop::sample::select(vec![
        "/",
        "/a",
        "/b/c?x=1",
        "/.env",
        "/robots.txt",
        "/feed.xml",
        "/x.php",
        "/.well-known/x",
        "/wp-login.php",
        "/%2e%67it/config",
        "/v2/a/manifests/b",
        "/api/x",
        "/no",
        "/c",
    ]);
    let agents = prop::sample::select(vec![
        "",
        "curl/8.5.0",
        "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        "Mozilla/5.0 (compatible; Googlebot/2.1)",
        "GPTBot/1.2",
        "Examplebot/1.0",
        "git/2.50.0",
        "Mozilla/5.0 Chrome/76.0.",
        "b0tt",
    ]);
    let clients = prop::option::of(prop::sample::select(vec![
        "66.249.66.1",
        "192.0.2.1",
        "10.1.2.3",
        "2001:db8::1",
        "149.154.160.1",
    ]));
    let extra = prop::sample::subsequence(
        vec![
            ("accept", "text/html"),
            ("accept-language", "en"),
            ("sec-fetch-mode", "navigate"),
            ("x-bad", "1"),
            ("cf-worker", "a"),
            ("accept-encoding", "gzip"),
        ],
        0..6,
    );
    (targets.prop_map(str::to_owned), agents, clients, extra)
}

fn judged(policy: &Policy, ask: &(String, &str, Option<&str>, Vec<(&str, &str)>)) -> String {
    let (target, agent, client, extra) = ask;
    let lines = extra.iter().copied().chain([("user-agent", *agent)]).filter(|(_, value)| !value.is_empty());
    let headers: Headers<'_> = lines.map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let client = client.map(|client| client.parse().unwrap());
    let parts =
        Parts { method: b"GET", target: target.as_bytes(), host: b"x.a", scheme: b"https", client, headers };
    let facts = Facts { load: [1.0; 3], asn: Some(1), country: Some(*b"BR"), ..Facts::default() };
    format!("{:?}", policy.evaluate(&Request::new(parts).unwrap(), &facts, &mut ()))
}

#[track_caller]
fn check(loader: &Loader, source: &Source, runner: &mut TestRunner) {
    let first = loader.load(source).unwrap_or_else(|e| panic!("{source:?}\n{e}")).policy;
    let expanded = loader.expand(source).unwrap_or_else(|e| panic!("{source:?}\n{e}"));
    assert_eq!(expanded.rules(), first.rules(), "{source:?}");
    let text = expanded.yaml();
    let shown = Source::Text { name: "shown.yaml".to_owned(), text: text.clone() };
    let again = loader.load(&shown).unwrap_or_else(|e| panic!("{source:?}\n{text}\n{e}")).policy;
    assert_eq!(again.rules(), first.rules(), "{text}");
    assert_eq!(
        (again.status(), again.levels(), again.name_lives()),
        (first.status(), first.levels(), first.name_lives())
    );
    for _ in 0..64 {
        let ask = asks().new_tree(runner).unwrap().current();
        assert_eq!(judged(&again, &ask), judged(&first, &ask), "{source:?} {ask:?}");
    }
    // Shown once more it says the same, but for where things stand.
    let twice = loader.expand(&shown).unwrap().yaml();
    let without =
        |text: &str| text.lines().filter(|l| !l.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(without(&twice), without(&text));
}

#[test]
fn every_shipped_policy_loads_again_as_it_was() {
    let mut runner = TestRunner::deterministic();
    for name in embedded::names() {
        let source = match name.contains('/') {
            false => Source::Embedded(name.to_owned()),
            true => Source::Text { name: name.to_owned(), text: format!("bots:\n- import: (data)/{name}\n") },
        };
        check(&loader(), &source, &mut runner);
    }
}

#[test]
fn every_policy_of_the_repository_and_every_form_loads_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut runner = TestRunner::deterministic();
    for file in ["examples/policy.yaml", "src/cli/demo/policy.yaml", "tests/proxies/policy.yaml"] {
        let path = root.join(file);
        // Files that a policy names are told from its own folder, which what is shown has left.
        let loader = Loader { root: path.parent().unwrap().to_owned(), ..loader() };
        check(&loader, &Source::File(path), &mut runner);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("list.yaml"), "# one\n- {name: l1, action: DENY, paths: /no}\n---\n- name: l2\n  action: WEIGH\n  path_regex: >-\n    ^/b\n  weight: {adjust: 0x4}\n").unwrap();
    let text = r#"{"bots": [{"name": "j", "action": "DENY", "path_regex": "^/\\.env", "expression": {"any": ["path == \"/a\"", "true"]}}]}"#;
    let sources = [
        text.to_owned(),
        format!(
            "x-common: &m {{action: DENY, paths: [/c]}}
BOTS:
- &a {{name: a, action: WEIGH, user_agent_regex: '(?i)\\bb[o0]t{{1,2}}', weight: {{adjust: -3}}}}
- {{<<: *m, name: b, shadow: on}}
- import: {}/list.yaml
- *a
- name: e
  action: CHALLENGE
  expression: |
    path.startsWith(\"/b\") &&
      !(\"X\" in headers)   // why
  challenge: {{algorithm: metarefresh, difficulty: 0x4}}
- {{name: 'tricky: #', action: DENY, headers_regex: {{'X-é': \"a\\u0007\"}}}}
thresholds:
- {{name: t, expression: {{all: [weight > 1, weight < 5]}}, action: DENY}}
status_codes: {{CHALLENGE: 401}}
dns_ttl: {{forward: 5}}
---
ignored: yes
",
            folder.path().display()
        ),
    ];
    for text in sources {
        check(&loader(), &Source::Text { name: "p.yaml".to_owned(), text }, &mut runner);
    }
}

#[test]
fn every_rule_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("main.yaml"),
        "version: tollgate/v1\nbots:\n- import: a.yaml\n- {name: z, action: DENY, path_regex: .*}\n",
    )
    .unwrap();
    fs::write(folder.path().join("a.yaml"), "- import: b.yaml\n").unwrap();
    fs::write(folder.path().join("b.yaml"), "\n- name: x\n  action: DENY\n  paths: /x\n").unwrap();
    let main = folder.path().join("main.yaml");
    let expanded = Loader::default().expand(&Source::File(main.clone())).unwrap();
    let at = folder.path().display().to_string();
    let want = format!(
        "# {at}/main.yaml with everything it imports; rules: 2
version: tollgate/v1
bots:

  # {at}/b.yaml:2, imported from {at}/main.yaml, then from {at}/a.yaml
  - name: x
    action: DENY
    paths: /x

  # {at}/main.yaml:4
  - name: z
    action: DENY
    path_regex: '.*'
"
    );
    assert_eq!(expanded.yaml(), want);
    let json = expanded.json();
    assert_eq!(json["settings"], json!({"version": "tollgate/v1"}));
    assert_eq!(json["rules"][0]["rule"], json!({"name": "x", "action": "DENY", "paths": "/x"}));
    assert_eq!(
        (&json["rules"][0]["line"], &json["rules"][0]["imported_from"][1]),
        (&2.into(), &format!("{at}/a.yaml").into())
    );
}

#[test]
fn the_fixtures_load_again() {
    let Some(anubis) = super::super::corpus::corpus().map(|corpus| corpus.join("anubis")) else { return };
    let mut runner = TestRunner::deterministic();
    for path in super::super::corpus::files(&anubis.join("good")) {
        check(&Loader { root: anubis.clone(), ..loader() }, &Source::File(path), &mut runner);
    }
}
