//! Findings about rules as a whole: what is certain is said, and nothing else.

use proptest::prelude::*;

use super::super::{Action, Facts, Judged, Loader, Problem, Source};
use crate::request::{Parts, Request};

fn lints(rules: &str) -> Vec<Problem> {
    let text = format!("bots:\n{rules}");
    let loaded = Loader::default().load(&Source::Text { name: "p.yaml".to_owned(), text });
    loaded.unwrap_or_else(|e| panic!("{rules}\n{e}")).lints
}

/// The codes from L28 on that two rules bring about, one after the other.
#[track_caller]
fn check(above: &str, rule: &str, want: Option<&str>) {
    let found = lints(&format!("- {{name: above, {above}}}\n- {{name: rule, {rule}}}\n"));
    let codes: Vec<_> = found
        .iter()
        .filter(|p| p.rule.as_deref() == Some("bot/rule"))
        .filter_map(|p| p.code)
        .filter(|code| ["L28", "L29", "L30", "L31"].contains(code))
        .collect();
    assert_eq!(codes, want.into_iter().collect::<Vec<_>>(), "{above}\n{rule}");
}

#[test]
fn a_rule_that_an_earlier_one_leaves_nothing_to_is_found() {
    for (above, rule) in [
        ("paths: /a/**", "paths: [/a/b, /a/c/**]"),
        ("paths: [/a, /b]", "paths: /b, methods: GET"),
        ("methods: [GET, POST]", "methods: POST, paths: /x"),
        ("hosts: '*.example'", "hosts: a.example"),
        ("scheme: http", "scheme: http, paths: /x"),
        (
            "remote_addresses: [10.0.0.0/8, '2001:db8::/32']",
            "remote_addresses: [10.1.0.0/16, '2001:db8:1::/48']",
        ),
        ("remote_addresses: [10.0.0.0/8]", "remote_addresses: [10.0.0.0/8], user_agent_regex: x"),
        ("user_agent_regex: Example", "user_agent_regex: Example"),
        ("user_agent_regex: '(?i:bot)'", "user_agent_regex: Googlebot, remote_addresses: [192.0.2.0/24]"),
        ("user_agent_regex: '(?i:bot|spider)'", "user_agent_regex: '(?i:google(?:bot|spider))'"),
        ("user_agent_regex: '(?i)b[o0]t'", "user_agent_regex: '(?i)examplebot/[0-9]'"),
        ("user_agent_regex: curl/", "user_agent_regex: '^curl/[0-9]+'"),
        ("path_regex: ^/a", "path_regex: ^/a, headers_regex: {X: a}"),
        ("headers_regex: {X: .*}", "headers_regex: {x: ^a$, Y: .*}"),
        ("headers_regex: {Y: ^b$}", "headers_regex: {X: ^a$, Y: ^b$}"),
        ("asns: {match: [1, 2]}", "asns: {match: [2]}, paths: /x"),
        ("geoip: {countries: [BR, US]}", "geoip: {countries: [us]}"),
        ("expression: path == '/a'", "expression: path == '/a', methods: GET"),
        (
            "expression: {all: [path == '/a', method == 'GET']}",
            "expression: {all: [path == '/a', method == 'GET']}",
        ),
        ("user_agent_regex: .*, paths: /a", "paths: /a"),
    ] {
        check(&format!("action: DENY, {above}"), &format!("action: DENY, {rule}"), Some("L31"));
        check(&format!("action: DENY, {above}"), &format!("action: ALLOW, {rule}"), Some("L30"));
        check(&format!("action: DENY, {above}"), &format!("action: WEIGH, {rule}"), Some("L30"));
        check(&format!("action: ALLOW, {above}"), &format!("action: DENY, {rule}"), Some("L28"));
        check(&format!("action: CHALLENGE, {above}"), &format!("action: CHALLENGE, {rule}"), Some("L31"));
        check(
            &format!("action: CHALLENGE, challenge: {{level: 15}}, {above}"),
            &format!("action: CHALLENGE, {rule}"),
            Some("L30"),
        );
        // What does not end the evaluation leaves everything to the next.
        check(&format!("action: WEIGH, {above}"), &format!("action: DENY, {rule}"), None);
        check(&format!("action: DENY, shadow: true, {above}"), &format!("action: DENY, {rule}"), None);
    }
}

#[test]
fn a_rule_that_matches_something_of_its_own_is_left_alone() {
    for (above, rule) in [
        ("paths: /a/b", "paths: /a/**"),
        ("paths: /a/**", "paths: [/a/b, /c]"),
        ("paths: /a/**", "path_regex: ^/a/"),
        ("paths: /a/**, methods: GET", "paths: /a/b"),
        ("methods: GET", "methods: [GET, POST]"),
        ("scheme: http", "scheme: https"),
        ("remote_addresses: [10.1.0.0/16]", "remote_addresses: [10.0.0.0/8]"),
        ("remote_addresses: [10.0.0.0/8]", "remote_addresses: [10.0.0.0/9, 11.0.0.0/8]"),
        ("remote_addresses: [10.0.0.0/8]", "paths: /x"),
        ("user_agent_regex: Googlebot", "user_agent_regex: bot"),
        ("user_agent_regex: bot", "user_agent_regex: '(?i:googlebot)'"),
        ("user_agent_regex: ^bot", "user_agent_regex: Googlebot"),
        ("user_agent_regex: bot$", "user_agent_regex: Googlebot"),
        ("user_agent_regex: '\\bbot'", "user_agent_regex: Googlebot"),
        ("user_agent_regex: bot", "user_agent_regex: Googlebot|Other"),
        ("user_agent_regex: bot", "user_agent_regex: '[a-z]+'"),
        ("user_agent_regex: bot, remote_addresses: [10.0.0.0/8]", "user_agent_regex: Googlebot"),
        ("headers_regex: {X: ^a$}", "headers_regex: {X: .*}"),
        ("headers_regex: {X: .*}", "headers_regex: {X: '^a?$'}"),
        ("headers_regex: {X: .*}", "headers_regex: {Y: .*}"),
        ("asns: {match: [1]}", "asns: {match: [1, 2]}"),
        ("geoip: {countries: [BR]}", "asns: {match: [1]}"),
        ("expression: randInt(2) == 0", "expression: randInt(2) == 0"),
        (
            "expression: {all: ['path == \"/a\"', 'method == \"GET\" || method == \"PUT\"']}",
            "expression: 'path == \"/a\" && method == \"GET\" || method == \"PUT\"'",
        ),
    ] {
        check(&format!("action: DENY, {above}"), &format!("action: DENY, {rule}"), None);
        check(&format!("action: ALLOW, {above}"), &format!("action: DENY, {rule}"), None);
    }
}

#[test]
fn below_a_rule_that_decides_everything_the_first_speaks_for_all() {
    let found = lints(
        "- {name: a, action: WEIGH, paths: /a}
- {name: all, action: CHALLENGE, path_regex: .*}
- {name: b, action: DENY, paths: /b}
- {name: c, action: DENY, paths: /c}
- {name: d, action: ALLOW, user_agent_regex: d}
thresholds: [{name: t, expression: weight > 0, action: DENY}]
",
    );
    let seen: Vec<_> = found.iter().filter_map(|p| Some((p.code?, p.line, p.rule.as_deref()))).collect();
    assert_eq!(
        seen,
        [("L11", 3, Some("bot/all")), ("L29", 4, Some("bot/b")), ("L25", 6, Some("bot/d")), ("L29", 7, None)]
    );
    assert!(found[1].message.contains("nor are the 2 after it"), "{}", found[1]);
}

#[test]
fn networks_that_together_are_everything_are_told() {
    for (networks, want) in [
        ("[0.0.0.0/0]", 1),
        ("[0.0.0.0/1, 128.0.0.0/1]", 1),
        ("[0.0.0.0/1, 128.0.0.0/2, 192.0.0.0/2, 10.0.0.0/8]", 1),
        ("['::/1', '8000::/1']", 1),
        ("[0.0.0.0/1, 128.0.0.0/2]", 0),
    ] {
        let count = |action: &str| {
            let found = lints(&format!("- {{name: a, action: {action}, remote_addresses: {networks}}}\n"));
            found.iter().filter(|p| p.code == Some("L7")).count()
        };
        assert_eq!((count("ALLOW"), count("DENY")), (want, 0), "{networks}");
    }
}

#[test]
fn the_same_file_twice_is_said_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("list.yaml");
    std::fs::write(&list, "- {name: a, action: DENY, paths: /a}\n").expect("it is ours");
    let found = lints(&format!("- import: {0}\n- import: {0}\n", list.display()));
    let codes: Vec<_> = found.iter().filter_map(|p| p.code).collect();
    assert_eq!(codes, ["L6", "L6"], "the import and the name");
}

/// Thousands of rules that are alike in all but one matcher: each is found among those before it, not compared with them.
#[test]
fn thousands_of_rules_are_told_apart() {
    for kind in 0..6 {
        let mut text = String::new();
        for n in 0..2_500 {
            let (a, b) = (n / 50, n % 50);
            let matchers = match kind {
                0 => format!("user_agent_regex: '(?i:agent{n}x)'"),
                1 => format!("user_agent_regex: bot, remote_addresses: [10.{a}.{b}.0/24]"),
                2 => format!("methods: GET, paths: /p{a}/q{b}/**"),
                3 => format!("headers_regex: {{X: .*}}, expression: path == '/{n}'"),
                4 => format!("scheme: https, path_regex: ^/{n}$"),
                _ => format!("paths: /same, headers_regex: {{X: ^{n}$}}"),
            };
            text.push_str(&format!("- {{name: r{n}, action: DENY, {matchers}}}\n"));
        }
        text.push_str(match kind {
            0 => "- {name: last, action: DENY, user_agent_regex: AGENT77XY}\n",
            1 => "- {name: last, action: DENY, user_agent_regex: bot, remote_addresses: [10.30.40.7/32]}\n",
            2 => "- {name: last, action: DENY, methods: GET, paths: /p30/q40/x}\n",
            3 => "- {name: last, action: DENY, headers_regex: {X: a}, expression: path == '/2050'}\n",
            4 => "- {name: last, action: DENY, scheme: https, path_regex: ^/2050$, methods: GET}\n",
            _ => "- {name: last, action: DENY, paths: /same, headers_regex: {X: ^50$}}\n",
        });
        let found = lints(&text);
        let hits: Vec<_> = found.iter().filter_map(|p| Some((p.code?, p.rule.as_deref()?))).collect();
        assert_eq!(hits, [("L31", "bot/last")], "{kind}");
    }
}

/// Matchers that have much to do with each other.
const MATCHERS: [&[&str]; 8] = [
    &[
        "paths: /a",
        "paths: /a/**",
        "paths: [/a/b, /a/c/**]",
        "paths: '/*.php'",
        "paths: /**",
        "path_regex: ^/a",
        "path_regex: .*",
    ],
    &[
        "user_agent_regex: bot",
        "user_agent_regex: '(?i:bot)'",
        "user_agent_regex: '(?i)googlebot|bingbot'",
        "user_agent_regex: Googlebot",
        "user_agent_regex: ^Google",
        "user_agent_regex: bot$",
        "user_agent_regex: '[gG]oogle'",
        "user_agent_regex: '(?i:b[o0]t)/'",
        "user_agent_regex: ''",
    ],
    &[
        "remote_addresses: [10.0.0.0/8]",
        "remote_addresses: [10.0.0.0/9, 10.128.0.0/9]",
        "remote_addresses: [10.1.0.0/16, 192.0.2.0/24]",
        "remote_addresses: [10.1.1.0/24]",
    ],
    &[
        "headers_regex: {X: .*}",
        "headers_regex: {x: ^a$}",
        "headers_regex: {X: a, Y: .*}",
        "headers_regex: {Y: ^$}",
        "headers_regex: {X: a?}",
    ],
    &["methods: GET", "methods: [GET, POST]"],
    &["scheme: http", "scheme: https"],
    &["hosts: a.example", "hosts: '*.example'", "hosts: ['*.example', example]"],
    &[
        "expression: path == '/a'",
        "expression: method == 'GET'",
        "expression: {any: [path == '/a', method == 'GET']}",
        "expression: 1 == 1",
    ],
];

/// A rule with few or many of them.
fn matchers(share: f64) -> impl Strategy<Value = String> {
    let one = |all: &'static [&'static str]| prop::option::weighted(share, prop::sample::select(all));
    let all = MATCHERS.iter().map(|all| one(all)).collect::<Vec<_>>();
    all.prop_map(|all| all.into_iter().flatten().collect::<Vec<_>>().join(", "))
        .prop_filter("a rule has a matcher, and agents and patterns of paths do not go together", |text| {
            !(text.is_empty() || text.contains("user_agent_regex") && text.contains("path_regex"))
        })
}

/// Target, agent, client, X, Y, method, scheme, host.
type Ask = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
    &'static str,
    &'static str,
);

fn asks() -> impl Strategy<Value = Ask> {
    let some = prop::sample::select::<&'static str>;
    (
        some(vec!["/a", "/a/b", "/a/c/d", "/x.php", "/", "/%61", "/b/..;/a", "/a%2fb"]),
        some(vec!["", "Googlebot/2.1", "GOOGLEBOT", "bot", "b0t/", "bingbot", "google"]),
        prop::option::of(some(vec!["10.1.1.1", "10.200.0.1", "192.0.2.1", "203.0.113.1"])),
        prop::option::of(some(vec!["a", "ab", ""])),
        prop::option::of(some(vec!["b", ""])),
        some(vec!["GET", "POST", "PUT"]),
        some(vec!["http", "https"]),
        some(vec!["a.example", "b.a.example", "example", "other"]),
    )
}

fn denies(rule: &str, ask: &Ask) -> bool {
    let text = format!("bots:\n- {{name: a, action: DENY, {rule}}}\n");
    let loaded = Loader::default().load(&Source::Text { name: "p.yaml".to_owned(), text }).unwrap();
    let (target, agent, client, x, y, method, scheme, host) = *ask;
    let headers = [("user-agent", Some(agent)), ("x", x), ("y", y)];
    let headers =
        headers.iter().filter_map(|(name, value)| Some((name.as_bytes(), (*value)?.as_bytes()))).collect();
    let client = client.map(|c| c.parse().unwrap());
    let (method, target, host, scheme) =
        (method.as_bytes(), target.as_bytes(), host.as_bytes(), scheme.as_bytes());
    let request = Request::new(Parts { method, target, host, scheme, client, headers }).unwrap();
    match loaded.policy.evaluate(&request, &Facts::default(), &mut ()) {
        Judged::Decided(outcome) => outcome.action == Action::Deny,
        judged => panic!("{judged:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// A rule that is called covered matches nothing that the one above it does not.
    #[test]
    fn whatever_a_covered_rule_matches_the_one_above_matches(
        above in matchers(0.12),
        rule in matchers(0.3),
        asks in prop::collection::vec(asks(), 16),
    ) {
        let found = lints(&format!("- {{name: above, action: DENY, {above}}}\n- {{name: rule, action: DENY, {rule}}}\n"));
        if found.iter().any(|p| matches!(p.code, Some("L29" | "L31"))) {
            for ask in asks {
                prop_assert!(!denies(&rule, &ask) || denies(&above, &ask), "{}\n{}\n{:?}", above, rule, ask);
            }
        }
    }
}
