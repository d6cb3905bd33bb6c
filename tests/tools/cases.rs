//! `tollgate test`: the shipped policies keep their promises, and a promise that is broken or badly written is told.

use std::fs;

use serde_json::Value;

use crate::program::{Folder, repository, run_in};

const POLICY: &str = "version: tollgate/v1
default: ALLOW
bots:
  - {name: closed, action: DENY, paths: [/no, /no/**]}
  - {name: heavy, action: WEIGH, headers_regex: {X-Bad: .*}, weight: {adjust: 7}}
  - {name: busy, action: DENY, expression: load_1m > 5.0}
  - {name: far, action: DENY, geoip: {countries: [NZ]}}
  - {name: cloud, action: DENY, asns: {match: [64496, 3]}}
  - {name: named, action: ALLOW, expression: 'verifyFCrDNS(remoteAddress, \"\\\\.example$\")', paths: /named}
  - {name: two, action: DENY, headers_regex: {X-Two: '^a,b$'}}
  - {name: look, action: DENY, paths: /look, shadow: true}
  - {name: pay, action: CHALLENGE, paths: [/pay, /named], challenge: {level: 15}}
thresholds:
  - {name: much, expression: weight > 5, action: DENY}
";

fn with_cases(cases: &str) -> Folder {
    let policy = POLICY.replace("64496, ", "");
    Folder::new(&[
        ("etc/policy.yaml", &policy),
        ("etc/tests/t.yaml", &format!("policy: ../policy.yaml\ncases:\n{cases}")),
    ])
}

#[test]
fn the_shipped_policies_keep_their_promises() {
    let mut files: Vec<String> = fs::read_dir(repository().join("policies/tests"))
        .expect("they are there")
        .map(|entry| entry.expect("it can be read").path().display().to_string())
        .collect();
    files.sort();
    assert!(files.len() >= 9, "{files:?}");
    let arguments: Vec<&str> = ["test"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let done = run_in(repository(), &arguments, "");
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    assert!(done.out.contains(&format!(" passed, 0 failed, files: {}", files.len())), "{}", done.out);
}

#[test]
fn the_test_file_of_the_documentation_passes() {
    let readme = fs::read_to_string(repository().join("policies/README.md")).expect("it is there");
    let (_, rest) = readme.split_once("```yaml\npolicy: ../policy.yaml").expect("the example");
    let cases = rest.split("```").next().expect("a block that ends");
    let folder = Folder::new(&[("tests/t.yaml", &format!("policy: ../policy.yaml{cases}"))]);
    folder.write("policy.yaml", "version: tollgate/v1\nbots:\n  - import: (data)/paths/probes.yaml\n  - {name: everyone, action: CHALLENGE, path_regex: .*}\n");
    let done = folder.run(&["test", "tests/t.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (0, "3 passed, 0 failed, files: 1\n"), "{}", done.err);
}

#[test]
fn every_fact_of_a_request_can_be_given() {
    let folder = with_cases(
        "
  - {name: path, request: {target: [/no, /no/x, '/%6eo?x=1']}, expect: {verdict: deny, rule: bot/closed}}
  - {name: host and method, request: {method: POST, host: a.example, scheme: http}, expect: allow}
  - {name: bad method, request: {method: TRACE}, expect: {verdict: deny, rule: malformed/method}}
  - {name: weight, request: {headers: {X-Bad: 1}}, expect: {verdict: deny, rule: threshold/much, weight: 7}}
  - {name: load, request: {load: [5.5, 1, 1]}, expect: {rule: bot/busy}}
  - {name: country, request: {country: nz}, expect: {rule: bot/far}}
  - {name: network, request: {asn: 3}, expect: {rule: bot/cloud}}
  - {name: lines, request: {headers: {X-Two: [a, b]}}, expect: {rule: bot/two}}
  - {name: names, request: {target: /named, client: 192.0.2.1, dns: {names: {192.0.2.1: a.example.}, addresses: {a.example: [192.0.2.1]}}}, expect: {rule: bot/named}}
  - {name: silence, request: {target: /named, client: 192.0.2.1}, expect: {verdict: challenge, rule: bot/pay}}
  - {name: shadow, request: {target: /look}, expect: {verdict: allow, shadow: {verdict: deny, rule: bot/look}}}
  - {name: toll, request: {target: /pay}, expect: {kind: work, level: 15}}
  - {name: paid, request: {target: /pay, client: [192.0.2.1, '::1'], agent: [a, b], clearance: {level: 15}}, expect: allow}
  - {name: waited, request: {target: /pay, clearance: {kind: wait, level: 15, age: 29m}}, expect: allow}
  - {name: late, request: {target: /pay, clearance: {kind: wait, level: 15, age: 30m}}, expect: challenge}
",
    );
    let done = folder.run(&["test", "etc/tests/t.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (0, "20 passed, 0 failed, files: 1\n"), "{}", done.err);
}

#[test]
fn a_broken_promise_shows_what_was_expected_what_came_and_why() {
    let folder = with_cases(
        "  - {name: fine, expect: allow}\n  - name: wrong\n    request: {target: /no, headers: {X-Bad: 1}}\n    expect: {verdict: allow, weight: 7}\n",
    );
    let done = folder.run(&["test", "etc/tests/t.yaml"]);
    let want = "FAILED etc/tests/t.yaml:4 wrong
  GET https://localhost/no from nowhere, no agent
  verdict: expected allow, came deny
  weight: expected 7, came 0
  came: deny by bot/closed, weight 0
    DENY       bot/closed: every matcher matches

1 passed, 1 failed, files: 1
";
    assert_eq!((done.code, done.out.as_str()), (1, want), "{}", done.err);
    let done = folder.run(&["test", "--json", "etc/tests/t.yaml"]);
    let report: Value = serde_json::from_str(&done.out).expect("one object");
    assert_eq!((done.code, &report["passed"], &report["failed"]), (1, &1.into(), &1.into()));
    let row = &report["cases"][1];
    assert_eq!(
        (&row["line"], &row["passed"], &row["came"]["verdict"]),
        (&4.into(), &false.into(), &"deny".into())
    );
    assert_eq!(
        row["differences"][0],
        serde_json::json!({"what": "verdict", "expected": "allow", "came": "deny"})
    );
    assert_eq!(row["came"]["trace"][0]["rule"], "bot/closed");
}

#[test]
fn files_come_from_stdin_too_and_a_flag_names_another_policy() {
    let folder = with_cases("  - {name: open, request: {target: /no}, expect: allow}\n");
    folder.write(
        "open.yaml",
        "version: tollgate/v1\ndefault: ALLOW\nbots:\n  - {name: a, action: DENY, paths: /a}\n",
    );
    assert_eq!(folder.run(&["test", "etc/tests/t.yaml"]).code, 1);
    assert_eq!(folder.run(&["test", "--policy", "open.yaml", "etc/tests/t.yaml"]).code, 0);
    let cases = "policy: etc/policy.yaml\ncases: [{name: closed, request: {target: /no}, expect: deny}]\n";
    assert_eq!(folder.feed(&["test", "-"], cases).code, 0);
    let rules = "- {name: a, action: DENY, path_regex: ^/a}\n";
    folder.write("list.yaml", rules);
    let cases = "rules: list.yaml\ncases: [{name: a, request: {target: /abc}, expect: {rule: bot/a}}]\n";
    assert_eq!(folder.feed(&["test", "-"], cases).code, 0);
}

#[test]
fn a_file_that_is_wrong_is_refused_at_the_place() {
    for (text, place, message) in [
        ("", "t.yaml:1:1", "must be a map"),
        ("policy: p.yaml\n", "t.yaml:1:1", "no `cases`"),
        ("cases: []\n", "t.yaml:1:8", "at least one case"),
        ("case: []\n", "t.yaml:1:1", "did you mean `cases`?"),
        ("cases: [{name: a, expct: allow}]\n", "t.yaml:1:19", "did you mean `expect`?"),
        ("cases: [{name: a}]\n", "t.yaml:1:9", "needs an `expect`"),
        ("cases: [{expect: deny}]\n", "t.yaml:1:9", "needs a `name`"),
        ("cases: [{name: a, expect: alow}]\n", "t.yaml:1:27", "did you mean `allow`?"),
        ("cases: [{name: a, expect: {}}]\n", "t.yaml:1:27", "could not fail"),
        ("cases: [{name: a, expect: {weight: many}}]\n", "t.yaml:1:36", "whole number"),
        ("cases: [{name: a, expect: {kind: play}}]\n", "t.yaml:1:34", "work or wait"),
        ("cases: [{name: a, expect: deny, request: {targt: /}}]\n", "t.yaml:1:43", "did you mean `target`?"),
        ("cases: [{name: a, expect: deny, request: {client: here}}]\n", "t.yaml:1:51", "is no address"),
        ("cases: [{name: a, expect: deny, request: {scheme: ftp}}]\n", "t.yaml:1:51", "is no scheme"),
        ("cases: [{name: a, expect: deny, request: {country: NZL}}]\n", "t.yaml:1:52", "two letters"),
        ("cases: [{name: a, expect: deny, request: {asn: -1}}]\n", "t.yaml:1:48", "whole number"),
        ("cases: [{name: a, expect: deny, request: {load: 1}}]\n", "t.yaml:1:49", "three numbers"),
        ("cases: [{name: a, expect: deny, request: {target: []}}]\n", "t.yaml:1:9", "make 0 requests"),
        (
            "cases: [{name: a, expect: deny, request: {headers: chrom}}]\nheaders: {chrome: {A: b}}\n",
            "t.yaml:1:52",
            "did you mean `chrome`?",
        ),
        (
            "cases: [{name: a, expect: deny, request: {headers: {a b: c}}}]\n",
            "t.yaml:1:53",
            "no name of a header",
        ),
        (
            "cases: [{name: a, expect: deny, request: {clearance: {age: 1d}}}]\n",
            "t.yaml:1:54",
            "needs a `level`",
        ),
        (
            "cases: [{name: a, expect: deny, request: {clearance: {level: 14, age: 1w}}}]\n",
            "t.yaml:1:71",
            "no span of time",
        ),
        (
            "cases: [{name: a, expect: deny, request: {dns: {names: {x: y}}}}]\n",
            "t.yaml:1:60",
            "is no address",
        ),
        ("cases: [{name: a, name: b, expect: deny}]\n", "t.yaml:1:19", "given twice"),
        ("policy: gone.yaml\ncases: [{name: a, expect: deny}]\n", "gone.yaml", "cannot read policy"),
        ("policy: a.yaml\nrules: b.yaml\ncases: [{name: a, expect: deny}]\n", "t.yaml:2:8", "not both"),
        ("cases: [\n", "t.yaml:2:1", "no YAML"),
    ] {
        let folder = Folder::new(&[("t.yaml", text)]);
        let done = folder.run(&["test", "t.yaml"]);
        assert_eq!((done.code, done.out.as_str()), (64, ""), "{text}\n{}", done.err);
        assert!(
            done.err.contains(place) && done.err.contains(message),
            "{place} {message}\n{text}\n{}",
            done.err
        );
    }
    let folder = Folder::new(&[("bad.yaml", "cases: 1\n")]);
    let done = folder.run(&["test", "bad.yaml", "gone.yaml"]);
    assert!(
        done.code == 64 && done.err.contains("bad.yaml:1:8") && done.err.contains("gone.yaml"),
        "{}",
        done.err
    );
    let report: Value =
        serde_json::from_str(&folder.run(&["test", "--json", "gone.yaml"]).out).expect("one object");
    assert_eq!(report["problems"][0]["file"], "gone.yaml");
    assert_eq!(folder.run(&["test"]).code, 2);
}
