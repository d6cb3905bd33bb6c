//! Loading: every key with its mistakes, imports, lints, and that all problems come at once.

use super::super::{LINTS, Loaded, Severity};
use super::*;

mod hostile;

fn load(text: &str) -> Result<Loaded, LoadError> {
    Loader::default().load(&Source::Text { name: "p.yaml".to_owned(), text: text.to_owned() })
}

/// One rule's keys, in a file of its own.
fn with_rule(keys: &str) -> String {
    let indented: Vec<_> = keys.lines().map(|l| format!("  {l}\n")).collect();
    format!("bots:\n- name: x\n{}", indented.concat())
}

#[track_caller]
fn refused(text: &str, place: (usize, usize), message: &str) {
    let error = load(text).map(|_| ()).expect_err(text);
    let hit = error.problems.iter().find(|p| p.message.contains(message));
    let hit = hit.unwrap_or_else(|| panic!("{text}\nno `{message}` in\n{error}"));
    assert_eq!((hit.line, hit.column), place, "{text}\n{hit}");
    assert_eq!(hit.level, Severity::Error);
}

#[track_caller]
fn linted(text: &str, code: &str) {
    let loaded = load(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert!(loaded.lints.iter().any(|p| p.code == Some(code)), "{text}\nno {code} in {:?}", loaded.lints);
}

#[track_caller]
fn clean(text: &str) {
    let loaded = load(text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    assert!(loaded.lints.is_empty(), "{text}\n{:?}", loaded.lints);
}

#[test]
fn mistakes_in_rules_are_refused_at_their_place() {
    for (keys, place, message) in [
        ("action: allow\npath_regex: a", (3, 11), "unknown `action` `allow`"),
        ("path_regex: a", (2, 3), "`action` is missing"),
        ("action: DENY", (2, 3), "no matcher"),
        ("action: DENY\nremote_addresses: []", (2, 3), "no matcher"),
        ("action: DENY\nja4: []", (4, 8), "could never match"),
        ("action: DENY\nja4: [t13d.*]", (4, 9), "is no JA4 fingerprint"),
        ("action: WEIGH\npaths: [/a]\ntrap: true", (5, 3), "only on a rule that decides"),
        ("action: DENY\npaths: [/a]\ntrap: true\nshadow: true", (5, 3), "only on a rule that decides"),
        ("action: DENY\npath_regex: a(b", (4, 16), "never closed"),
        ("action: DENY\npath_regex: >\n  ^/a", (5, 5), "line break"),
        ("action: DENY\nuser_agent_regex: a\npath_regex: b", (5, 15), "cannot stand in one rule"),
        ("action: DENY\nuser_agent_regex: no", (4, 21), "quote it"),
        ("action: DENY\nheaders_regex: {X: 1}", (4, 22), "quote it"),
        ("action: DENY\nremote_addresses: [10.0.0.1]", (4, 22), "is no network"),
        ("action: DENY\nremote_addresses: [10.0.0.0/33]", (4, 22), "is no network"),
        ("action: DENY\nexpression: pth == \"/\"", (4, 15), "`pth` is not known"),
        ("action: DENY\nexpression: path ==", (4, 22), "ends where a value is expected"),
        ("action: DENY\nexpression: weight > 0", (4, 15), "not known in a rule"),
        (
            "action: DENY\nexpression: |-\n  method == \"GET\" &&\n    load_1m >= 10",
            (6, 7),
            "cannot take a double and an int",
        ),
        (
            "action: DENY\nexpression: >\n  method == \"GET\" &&\n  nope(path)\n\n",
            (6, 5),
            "no function `nope`",
        ),
        ("action: DENY\nexpression: 'path.matches(\"a(b\")'", (4, 31), "is no pattern"),
        ("action: DENY\nexpression: {all: [\"path == '/' // root\"]}", (4, 35), "swallows the parenthesis"),
        ("action: DENY\nexpression: {all: ['']}", (4, 22), "ends where a value is expected"),
        ("action: DENY\nexpression: {all: [userAgent, path == '/']}", (4, 22), "takes a bool"),
        ("action: DENY\nasns: {match: ['1']}", (4, 18), "whole number"),
        ("action: DENY\nasns: {match: [4294967296]}", (4, 18), "whole number"),
        ("action: DENY\ngeoip: {countries: [NO]}", (4, 23), "quote it"),
        ("action: DENY\npath_regex: a\nrate: {limit: 5/1m}", (5, 3), "only on a rule that asks LIMIT"),
        ("action: LIMIT\npath_regex: a", (2, 3), "needs a `rate`"),
        ("action: LIMIT\nrate: {}", (4, 9), "needs a `limit`"),
        ("action: LIMIT\nrate: {limit: '60'}", (4, 17), "is no rate"),
        ("action: LIMIT\nrate: {limit: 0/1m}", (4, 17), "is no rate"),
        ("action: LIMIT\nrate: {limit: 5/1m, burst: 0}", (4, 30), "at least 1"),
        ("action: LIMIT\nrate: {limit: 5/1m, by: ip}", (4, 27), "nothing to count by"),
        ("action: DENY\nsignals: {any: [crawls]}", (4, 19), "no signal `crawls`"),
        ("action: DENY\nsignals: {any: []}", (4, 18), "empty list"),
        ("action: DENY\nsignals: {}", (4, 12), "names none"),
        ("action: DENY\nexpression: signal.crawls", (4, 15), "there is no `signal.crawls`"),
        ("action: DENY\nexpression: client.rate > 5", (4, 15), "there is no `client.rate`"),
        ("action: DENY\nexpression: 'client.rate_1m > 5.0'", (4, 16), "cannot take an int and a double"),
        ("action: DENY\nexpression: client == 1", (4, 15), "alone has no value"),
        ("action: DENY\nmethods: [get]", (4, 13), "upper case"),
        ("action: DENY\nhosts: 'a:80'", (4, 10), "port"),
        ("action: DENY\npaths: [admin]", (4, 11), "starts with `/`"),
        ("action: DENY\npaths: []", (4, 10), "never match"),
        ("action: WEIGH\npath_regex: a\nweight: {adjust: yes}", (5, 20), "whole number"),
        ("action: CHALLENGE\npath_regex: a\nchallenge: {difficulty: 4}", (5, 14), "needs an `algorithm`"),
        (
            "action: CHALLENGE\npath_regex: a\nchallenge: {algorithm: FAST}",
            (5, 26),
            "unknown `challenge.algorithm`",
        ),
        ("action: DENY\npath_regex: a\nchallenge: {algorithm: x}", (5, 26), "unknown `challenge.algorithm`"),
        (
            "action: CHALLENGE\npath_regex: a\nchallenge: {algorithm: fast, difficulty: 65}",
            (5, 44),
            "0 to 64",
        ),
        ("action: CHALLENGE\npath_regex: a\nchallenge: {level: 11}", (5, 22), "12 to 18"),
        (
            "action: CHALLENGE\npath_regex: a\nchallenge: {level: 14, algorithm: fast, difficulty: 4}",
            (5, 55),
            "one of them",
        ),
        ("action: DENY\npath_regex: a\nshadow: 1", (5, 11), "true or false"),
        ("import: y.yaml", (2, 3), "either an import or a rule"),
    ] {
        refused(&with_rule(keys), place, message);
    }
}

#[test]
fn mistakes_in_files_are_refused_at_their_place() {
    let rule = "bots: [{name: x, action: DENY, path_regex: a}]\n";
    for (text, place, message) in [
        ("", (1, 1), "the policy is empty"),
        ("# nothing\n", (1, 1), "the policy is empty"),
        ("- a", (1, 1), "must be a map"),
        ("{}", (1, 1), "no `bots`"),
        ("bots: []", (1, 7), "`bots` is empty"),
        ("bots: 1", (1, 7), "must be a list"),
        ("bots:\n-\n", (2, 2), "empty"),
        ("bots: [{}]", (1, 8), "no known key"),
        ("bots: [{rule: x}]", (1, 8), "no known key"),
        ("bots: [{name: 123, action: DENY, path_regex: a}]", (1, 15), "quote it"),
        ("bots: [{import: gone.yaml}]", (1, 17), "no file `gone.yaml`"),
        ("bots: [{import: '(data)/common/keep-internet-workin.yaml'}]", (1, 17), "did you mean"),
        ("bots: [{import: 'x[.yaml'}]", (1, 17), "malformed glob"),
        ("bots: [{import: '{x,y}.yaml'}]", (1, 17), "write two imports"),
        ("version: tollgate/v2\nbots: []", (1, 10), "unknown `version`"),
        ("}", (1, 1), "no YAML"),
    ] {
        refused(text, place, message);
    }
    for (text, place, message) in [
        ("status_codes: {DENY: 0}", (2, 22), "100 to 599"),
        ("status_codes: {DENY: \"403\"}", (2, 22), "whole number"),
        ("dnsbl: \"yes\"", (2, 8), "true or false"),
        ("sites: []", (2, 8), "must be a map of names"),
        ("sites: {shop: shop.yaml}", (2, 15), "a site must be a map"),
        ("sites: {shop: {hosts: a.example}}", (2, 9), "needs a `policy`"),
        ("sites: {shop: {host: a, policy: '(data)/quiet.yaml'}}", (2, 16), "unknown key `host`"),
        ("sites: {default: {policy: '(data)/quiet.yaml'}}", (2, 9), "this file's own rules"),
        ("sites: {a/b: {policy: '(data)/quiet.yaml'}}", (2, 9), "no name of a site"),
        (
            "sites: {a: {policy: '(data)/quiet.yaml'}, a: {policy: '(data)/quiet.yaml'}}",
            (2, 43),
            "this name too",
        ),
        ("sites: {a: {hosts: [], policy: '(data)/quiet.yaml'}}", (2, 20), "empty list"),
        ("sites: {a: {hosts: 'a:80', policy: '(data)/quiet.yaml'}}", (2, 20), "port"),
        ("sites: {a: {hosts: 'a.', policy: '(data)/quiet.yaml'}}", (2, 20), "final dot"),
        ("sites: {a: {policy: gone.yaml}}", (2, 21), "no file `gone.yaml`"),
        ("sites: {a: {policy: '(data)/*.yaml'}}", (2, 21), "a site has one"),
        ("store: {backend: sqlite}", (2, 18), "one of memory"),
        ("logging: {sink: file}", (2, 10), "needed by the sink"),
        ("metrics: {bind: a}", (2, 10), "metrics.network"),
        ("honeypot: {implementation: maze}", (2, 28), "naive"),
        ("impressum: {footer: a}", (2, 12), "impressum.page"),
        ("openGraph: {enabled: true, ttl: taco}", (2, 33), "duration"),
        ("thresholds: 1", (2, 13), "must be a list"),
    ] {
        refused(&format!("{rule}{text}"), place, message);
    }
}

#[test]
fn mistakes_in_thresholds_are_refused_at_their_place() {
    let threshold =
        |keys: &str| format!("bots: [{{name: x, action: WEIGH, path_regex: a}}]\nthresholds:\n- {keys}\n");
    for (keys, place, message) in [
        ("{expression: weight > 1, action: DENY}", (3, 3), "needs a `name`"),
        ("{name: t, action: DENY}", (3, 3), "needs an `expression`"),
        ("{name: t, expression: true, action: DENY}", (3, 25), "quote it"),
        ("{name: t, expression: weight > 1, action: WEIGH}", (3, 45), "cannot WEIGH"),
        ("{name: t, expression: weight > 1, action: CHALLENGE}", (3, 3), "needs a `challenge`"),
        ("{name: t, expression: weight > 1.5, action: DENY}", (3, 25), "cannot take an int and a double"),
        ("{name: t, expression: path > 1, action: DENY}", (3, 25), "`path` is not known in a threshold"),
        ("{name: t, expression: {all: [weight > 1, weight]}, action: DENY}", (3, 44), "takes a bool"),
        ("{name: t, expression: {all: [], any: []}, action: DENY}", (3, 25), "both"),
        ("{name: t, expression: {all: []}, action: DENY}", (3, 25), "is empty"),
        ("{name: t, expression: [weight > 1], action: DENY}", (3, 25), "it is a list"),
        (
            "{name: t, expression: weight > 1, action: ALLOW, challenge: {difficulty: 3}}",
            (3, 63),
            "needs an `algorithm`",
        ),
    ] {
        refused(&threshold(keys), place, message);
    }
}

#[test]
fn what_is_doubtful_is_said() {
    let rule = "bots: [{name: x, action: DENY, path_regex: a}]\n";
    let doubtful = [
        (format!("{rule}---\nbots: []\n"), "L1"),
        (format!("{rule}note: x\n"), "L2"),
        (with_rule("action: ALLOW\naction: DENY\npath_regex: a"), "L3"),
        (with_rule("Action: ALLOW\naction: DENY\npath_regex: a"), "L3"),
        (with_rule("action: DENY\npath_regex: a\nexpression:"), "L4"),
        (with_rule("action: DENY\npath_regex: a\nremote_addresses: []"), "L4"),
        (with_rule("action: WEIGH\npath_regex: a\nweight: {adjust: 010}"), "L5"),
        (format!("{rule}thresholds: [{{name: on, expression: weight > 0, action: DENY}}]"), "L5"),
        (
            "bots: [{name: x, action: DENY, path_regex: a}, {name: x, action: DENY, path_regex: b}]"
                .to_owned(),
            "L6",
        ),
        (with_rule("action: DENY\nremote_addresses: [10.0.0.1/8]"), "L7"),
        (with_rule("action: DENY\nasns: {match: [64512]}"), "L8"),
        (with_rule("action: DENY\nasns: {match: [1]}"), "L12"),
        (with_rule("action: DENY\ngeoip: {countries: [BR]}"), "L12"),
        (with_rule("action: DENY\nexpression: \"'Host' in headers\""), "L14"),
        (with_rule("action: DENY\nexpression: host == 'a:80'"), "L17"),
        (with_rule("action: DENY\nexpression: 1 == 1"), "L18"),
        (with_rule("action: DENY\nexpression: path"), "L18"),
        (with_rule("action: DENY\nexpression: headers['Accept'] == ''"), "L19"),
        (with_rule("action: DENY\nexpression: \"'accept' in headers\""), "L20"),
        (with_rule("action: ALLOW\nexpression: userAgent.startsWith('a')"), "L25"),
        (with_rule("action: DENY\nexpression: verifyFCrDNS(remoteAddress)"), "L26"),
        (with_rule("action: DENY\nremote_addresses: ['::ffff:10.0.0.0/104']"), "L7"),
        (with_rule("action: ALLOW\nremote_addresses: [0.0.0.0/0]"), "L7"),
        (with_rule("action: WEIGH\npath_regex: a\nweight: {}"), "L9"),
        (with_rule("action: DENY\npath_regex: a\nweight: {adjust: 1}"), "L9"),
        (with_rule("action: CHALLENGE\npath_regex: a\nchallenge: {algorithm: slow, difficulty: 4}"), "L10"),
        (with_rule("action: DENY\nuser_agent_regex: ''"), "L11"),
        (
            "bots: [{name: x, action: DENY, path_regex: .*}, {name: z, action: DENY, path_regex: b}]"
                .to_owned(),
            "L11",
        ),
        (with_rule("action: DENY\nheaders_regex: {X: a?}"), "L13"),
        (with_rule("action: DENY\nheaders_regex: {X_A: a}"), "L14"),
        (with_rule("action: DENY\nheaders_regex: {Host: a}"), "L14"),
        (format!("{rule}thresholds: [{{name: t, expression: 'true', action: DENY}}]"), "L15"),
        (with_rule("action: DEBUG_BENCHMARK\npath_regex: a"), "L16"),
        (with_rule("action: DENY\nhosts: Example.com"), "L17"),
        (format!("{rule}thresholds: [{{name: t, expression: weight, action: DENY}}]"), "L18"),
        (with_rule("action: CHALLENGE\npath_regex: a\nchallenge: {algorithm: fast}"), "L21"),
        (with_rule("action: CHALLENGE\npath_regex: a\nchallenge: {algorithm: fast, difficulty: 6}"), "L22"),
        (format!("{rule}status_codes: {{DENY: 200}}"), "L23"),
        (format!("{rule}metrics: {{bind: a, network: tcp}}"), "L24"),
        (with_rule("action: ALLOW\nuser_agent_regex: Googlebot"), "L25"),
        (with_rule("action: ALLOW\nuser_agent_regex: a.b\nremote_addresses: [10.0.0.0/8]"), "L27"),
        (with_rule("action: ALLOW\npath_regex: /public"), "L27"),
        (
            "bots: [{name: x, action: ALLOW, paths: /a}, {name: z, action: DENY, paths: /a, methods: POST}]"
                .to_owned(),
            "L28",
        ),
        (
            "bots: [{name: x, action: DENY, path_regex: .*}, {name: z, action: DENY, paths: /b}]".to_owned(),
            "L29",
        ),
        ("bots: [{name: x, action: DENY, paths: /a}, {name: z, action: WEIGH, paths: /a}]".to_owned(), "L30"),
        ("bots: [{name: x, action: DENY, paths: /a}, {name: z, action: DENY, paths: /a}]".to_owned(), "L31"),
        ("learn: false\nbots: [{name: x, action: LIMIT, rate: {limit: 1/1s}}]".to_owned(), "L32"),
    ];
    for (text, code) in &doubtful {
        linted(text, code);
    }
    // Those of sites have their cases where sites are read.
    for lint in LINTS.iter().filter(|lint| lint.code.starts_with('L')) {
        assert!(doubtful.iter().any(|(_, code)| *code == lint.code), "no case for {}", lint.code);
    }
}

#[test]
fn what_is_sound_is_not_commented() {
    for keys in [
        "action: DENY\npath_regex: ^/a",
        "action: DENY\nheaders_regex: {X: .*}",
        "action: DENY\nheaders_regex: {X: ^$}",
        "action: ALLOW\nuser_agent_regex: ^a\\.b\nremote_addresses: [10.0.0.0/8]",
        "action: CHALLENGE\npath_regex: .*\nchallenge: {level: 14, wait: off}",
        "action: CHALLENGE\npath_regex: .*\nchallenge: {algorithm: metarefresh, difficulty: 5}",
        "action: DENY\nexpression: verifyFCrDNS(remoteAddress, 'a')",
        "action: DENY\nmethods: [POST, PUT]\nhosts: ['*.example.com']\npaths: [/a, /b/**]\nshadow: true",
    ] {
        clean(&with_rule(keys));
    }
    clean(
        "bots: [{name: x, action: WEIGH, path_regex: a}]\nthresholds:\n- {name: a, expression: weight < 5, action: ALLOW}\n- {name: b, expression: weight >= 5, action: DENY}\n",
    );
}

#[test]
fn all_problems_come_at_once() {
    let text = "bots:\n- name: a\n  action: NOPE\n  path_regex: a(\n- name: b\n  action: DENY\nstatus_codes: {DENY: 0}\nthresholds: [{name: t, action: DENY}]\n";
    let error = load(text).unwrap_err();
    let seen: Vec<_> = error.problems.iter().map(|p| (p.line, p.rule.as_deref())).collect();
    assert_eq!(
        seen,
        [(3, Some("bot/a")), (4, Some("bot/a")), (5, Some("bot/b")), (8, Some("threshold/t")), (7, None)],
        "{error}"
    );
}

#[test]
fn a_problem_is_drawn_with_its_line_and_a_caret() {
    let error = load(&with_rule("acton: DENY\npath_regex: a(b")).unwrap_err().to_string();
    let want = "error: `path_regex` is no pattern: this group is never closed
 --> p.yaml:4:16
  |
4 |   path_regex: a(b
  |                ^
  |
  = note: in rule `bot/x`, key `path_regex`";
    assert!(error.contains(want), "{error}");
    assert!(
        error.contains("warning[L2]: unknown key `acton` is ignored")
            && error.contains("did you mean `action`?"),
        "{error}"
    );
}

#[test]
fn tollgates_own_language_is_strict() {
    let strict = |rest: &str| format!("version: tollgate/v1\n{rest}");
    let last = "- {name: z, action: CHALLENGE, path_regex: .*}\n";
    clean(&strict(&format!("bots:\n{last}")));
    clean(&strict("default: ALLOW\nbots:\n- {name: x, action: DENY, paths: /a}\n"));
    refused(&strict("bots:\n- {name: x, action: DENY, paths: /a}\n"), (1, 1), "no rule matches");
    refused(
        &strict("default: allow\nbots:\n- {name: x, action: DENY, paths: /a}\n"),
        (2, 10),
        "unknown action `allow`",
    );
    refused(
        &strict(&format!("bots:\n- {{name: x, action: DENY, paths: /a, path: /b}}\n{last}")),
        (3, 38),
        "unknown key `path`",
    );
    refused(
        &strict(&format!("bots:\n- {{name: x, action: ALLOW, user_agent_regex: a}}\n{last}")),
        (3, 3),
        "user agent alone",
    );
    refused(&strict(&format!("bots:\n{last}defaults: ALLOW")), (4, 1), "unknown key `defaults`");
    linted("default: DENY\nbots:\n- {name: x, action: DENY, paths: /a}\n", "L2");
}

#[test]
fn a_level_is_checked_against_the_operators_bounds() {
    let source = Source::Text {
        name: "p".to_owned(),
        text: with_rule("action: CHALLENGE\npath_regex: a\nchallenge: {level: 20}"),
    };
    let defaults = Defaults { max_level: 20, ..Defaults::default() };
    let loaded = Loader { defaults, ..Loader::default() }.load(&source).unwrap();
    assert_eq!(loaded.policy.levels(), 20..=20);
    assert!(Loader::default().load(&source).is_err());
}

/// A folder with some files, and the policy `main.yaml` in it.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Source) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let main = folder.path().join("main.yaml");
    (folder, Source::File(main))
}

fn rule(name: &str) -> String {
    format!("- {{name: {name}, action: DENY, path_regex: {name}}}\n")
}

#[test]
fn imports_expand_in_place_and_in_order() {
    let (_folder, main) = folder(&[
        ("main.yaml", &format!("bots:\n{}- import: sub/r*.yaml\n{}", rule("first"), rule("last"))),
        ("sub/r10.yaml", &rule("ten")),
        ("sub/r2.yaml", &format!("- import: deep.yaml\n---\n{}", rule("two"))),
        ("sub/deep.yaml", &rule("deep")),
    ]);
    let loaded = Loader::default().load(&main).unwrap_or_else(|e| panic!("{e}"));
    let labels: Vec<_> = loaded.policy.0.rules.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(labels, ["bot/first", "bot/deep", "bot/two", "bot/ten", "bot/last"]);
    assert!(loaded.lints.is_empty(), "{:?}", loaded.lints);
}

#[test]
fn a_problem_in_an_import_names_the_chain() {
    let (folder, main) = folder(&[
        ("main.yaml", "bots:\n- import: a.yaml\n"),
        ("a.yaml", "- import: b.yaml\n"),
        ("b.yaml", "- name: x\n  action: NOPE\n  path_regex: a\n"),
    ]);
    let error = Loader::default().load(&main).unwrap_err();
    let problem = &error.problems[0];
    let path = |name: &str| folder.path().join(name).display().to_string();
    assert_eq!(problem.chain, [path("main.yaml"), path("a.yaml")]);
    assert_eq!((problem.file.clone(), problem.line), (path("b.yaml"), 2));
    assert!(problem.to_string().contains("imported from"), "{problem}");
}

#[test]
fn imports_that_lead_nowhere_or_in_a_circle_are_refused() {
    for (files, message) in [
        (vec![("main.yaml", "bots:\n- import: a.yaml\n"), ("a.yaml", "- import: main.yaml\n")], "circle"),
        (vec![("main.yaml", "bots:\n- import: a.yaml\n"), ("a.yaml", "bots: []\n")], "must be a list"),
        (vec![("main.yaml", "bots:\n- import: sub\n"), ("sub/a.yaml", "[]")], "directory"),
        (vec![("main.yaml", "bots:\n- import: sub*\n"), ("sub/a.yaml", "[]")], "directory"),
    ] {
        let (_folder, main) = folder(&files);
        let error = Loader::default().load(&main).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let missing = Loader::default().load(&Source::parse("/nonexistent/p.yaml")).unwrap_err().to_string();
    assert!(missing.contains("cannot read policy `/nonexistent/p.yaml`"), "{missing}");
    let unknown = Loader::default().load(&Source::parse("(data)/quite.yaml")).unwrap_err().to_string();
    assert!(unknown.contains("quiet.yaml"), "{unknown}");
}

#[test]
fn a_name_that_means_two_files_is_refused() {
    let (folder, main) = folder(&[
        ("main.yaml", "bots:\n- import: a.yaml\n"),
        ("a.yaml", &rule("beside")),
        ("root/a.yaml", &rule("root")),
        ("root/b.yaml", "[]"),
    ]);
    let loader = Loader { root: folder.path().join("root"), ..Loader::default() };
    let error = loader.load(&main).unwrap_err().to_string();
    assert!(error.contains("two different files"), "{error}");
    let loader = Loader { root: folder.path().to_path_buf(), ..Loader::default() };
    assert_eq!(loader.load(&main).unwrap().policy.rules(), 1);
}

#[test]
fn imports_cannot_explode() {
    let mut files = vec![("main.yaml".to_owned(), "bots:\n- import: f0.yaml\n".to_owned())];
    for n in 0..14 {
        files.push((format!("f{n}.yaml"), format!("- import: f{}.yaml\n- import: f{0}.yaml\n", n + 1)));
    }
    files.push(("f14.yaml".to_owned(), rule("x")));
    let files: Vec<_> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let (_folder, main) = folder(&files);
    let error = Loader::default().load(&main).unwrap_err();
    assert!(error.problems[0].message.contains("more than"), "{}", error.problems[0]);
}

#[test]
fn shipped_policies_load_without_a_word() {
    for name in ["quiet.yaml", "strict.yaml", "observe.yaml"] {
        let loaded =
            Loader::default().load(&Source::Embedded(name.to_owned())).unwrap_or_else(|e| panic!("{e}"));
        assert!(loaded.lints.is_empty(), "{name}: {:?}", loaded.lints);
        assert_eq!(
            Loader::default().load(&Source::parse(&format!("(data)/{name}"))).unwrap().policy.rules(),
            loaded.policy.rules()
        );
    }
    for name in embedded::names().filter(|n| n.contains('/')) {
        let text = format!("version: tollgate/v1\ndefault: ALLOW\nbots:\n- import: (data)/{name}\n");
        let databases = Databases { asn: true, country: true };
        let loader = Loader { databases, ..Loader::default() };
        let loaded =
            loader.load(&Source::Text { name: name.to_owned(), text }).unwrap_or_else(|e| panic!("{e}"));
        assert!(loaded.lints.is_empty(), "{name}: {:?}", loaded.lints);
    }
}

#[test]
fn observe_is_quiet_in_shadow() {
    let rules = |name: &str| embedded::text(name).unwrap().split_once("\nbots:").unwrap().1;
    assert_eq!(rules("observe.yaml"), rules("quiet.yaml"));
    assert!(embedded::text("observe.yaml").unwrap().contains("\nshadow: true\n"));
}

#[test]
fn ten_thousand_rules_load() {
    let mut text = "bots:\n".to_owned();
    for n in 0..10_000 {
        match n % 3 {
            0 => text.push_str(&format!(
                "- {{name: r{n}, action: DENY, user_agent_regex: '(?i:agent{n}/[0-9]+)'}}\n"
            )),
            1 => text.push_str(&format!("- {{name: r{n}, action: DENY, paths: [/p{n}, /p{n}/**]}}\n")),
            _ => text.push_str(&format!(
                "- {{name: r{n}, action: DENY, remote_addresses: [10.{}.{}.0/24]}}\n",
                n / 250,
                n % 250
            )),
        }
    }
    assert_eq!(load(&text).unwrap_or_else(|e| panic!("{e}")).policy.rules(), 10_000);
}

/// A policy that touches every kind of key, to be damaged.
const EVERYTHING: &str = r#"version: tollgate/v1
default: ALLOW
bots:
- {name: a, action: WEIGH, user_agent_regex: '(?i)\bb[o0]t{1,2}', weight: {adjust: -3}}
- &b
  name: b
  action: CHALLENGE
  path_regex: >-
    ^/x
  headers_regex: {X-é: .*}
  remote_addresses: [10.0.0.0/8, "2001:db8::/32"]
  challenge: {algorithm: metarefresh, difficulty: 0x4}
- {<<: *b, name: c, methods: GET, hosts: '*.a', paths: ['/b*', /c/**], shadow: on}
- import: (data)/common/*.yaml
thresholds:
- {name: t, expression: {all: [weight > 1, weight < 5]}, action: DENY}
status_codes: {CHALLENGE: 401}
"#;

proptest::proptest! {
    #[test]
    fn no_damage_to_a_policy_panics(
        cuts in proptest::collection::vec((0usize..900, 0usize..12, r#"[ \n:{}\[\]'"&*<(#0-]{0,3}"#), 1..4),
    ) {
        let mut text: Vec<char> = EVERYTHING.chars().collect();
        for (at, len, put) in cuts {
            let at = at % (text.len() + 1);
            let end = (at + len).min(text.len());
            text.splice(at..end, put.chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(error) = load(&text) {
            let _ = error.to_string();
        }
    }
}

#[test]
fn lists_of_networks_have_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    at("google.json", r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/27"}]}"#);
    at("offices.txt", "# ours\n198.51.100.0/24\n2001:db8::/32\n");
    at("broken.txt", "198.51.100.0/24\nhello\n");
    let load = |lists: &str, names: &str| {
        let text =
            format!("networks:\n{lists}bots:\n- name: known\n  action: DENY\n  remote_networks: {names}\n");
        let loader = Loader { root: folder.path().to_owned(), ..Loader::default() };
        loader.load(&Source::Text { name: "p.yaml".to_owned(), text })
    };
    let good = "  google: {file: google.json}\n  offices: {file: '*.txt'}\n  one: {inline: [203.0.113.7, '2001:db8:7::/48']}\n";
    let error = load(good, "[google]").unwrap_err();
    assert_eq!(
        (&*error.problems[0].file, error.problems[0].line),
        (folder.path().join("broken.txt").to_str().unwrap(), 2),
        "{error}"
    );
    fs::remove_file(folder.path().join("broken.txt")).unwrap();
    let loaded = load(good, "[google, offices]").unwrap();
    assert!(loaded.lints.is_empty(), "{:?}", loaded.lints);
    for (lists, names, message) in [
        (good, "[googel]", "no list `googel`"),
        (good, "[]", "names no list"),
        ("  a: {file: nowhere.txt}\n", "[a]", "no file `nowhere.txt`"),
        ("  a: {file: google.json, inline: []}\n", "[a]", "either `file` or `inline`"),
        ("  a: {inline: []}\n", "[a]", "is empty"),
        ("  a: {inline: [0.0.0.0/0]}\n", "[a]", "every address"),
        ("  a: [192.0.2.0/24]\n", "[a]", "must be a map"),
        (good, "[one]\n  remote_addresses: [192.0.2.0/24]", "cannot stand in one rule"),
    ] {
        let error = load(lists, names).unwrap_err().to_string();
        assert!(error.contains(message), "{lists} {names}\n{error}");
    }
}
