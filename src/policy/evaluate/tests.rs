//! Judging: order, weights, thresholds, readings, and the strict and the lenient side.

use super::super::{Loader, Observer, Policy, Source, Step, Trace};
use super::*;
use crate::crypto::Kind;
use crate::request::{Headers, Parts};

fn policy(text: &str) -> Policy {
    let source = Source::Text { name: "p.yaml".to_owned(), text: text.to_owned() };
    Loader::default().load(&source).unwrap_or_else(|e| panic!("{e}")).policy
}

/// A visitor, of whom each test changes what matters.
struct Visit<'v> {
    method: &'v str,
    host: &'v str,
    target: &'v str,
    client: Option<&'v str>,
    headers: &'v [(&'v str, &'v [u8])],
}

const VISIT: Visit<'static> = Visit {
    method: "GET",
    host: "example.com",
    target: "/",
    client: Some("203.0.113.7"),
    headers: &[("User-Agent", b"Mozilla/5.0 Firefox/150.0")],
};

impl Visit<'_> {
    fn to<R>(&self, policy: &Policy, observer: &mut impl Observer, then: impl FnOnce(Outcome<'_>) -> R) -> R {
        let headers: Headers<'_> = self.headers.iter().map(|(n, v)| (n.as_bytes(), *v)).collect();
        let parts = Parts {
            method: self.method.as_bytes(),
            target: self.target.as_bytes(),
            host: self.host.as_bytes(),
            scheme: b"https",
            client: self.client.map(|c| c.parse().unwrap()),
            headers,
        };
        let judged = policy.evaluate(&Request::new(parts).unwrap(), &Facts::default(), observer);
        let Judged::Decided(outcome) = judged else { panic!("{judged:?}") };
        then(outcome)
    }
}

#[track_caller]
fn check(text: &str, visit: &Visit<'_>, want: (Action, &str)) {
    let policy = policy(text);
    visit.to(&policy, &mut (), |outcome| assert_eq!((outcome.action, outcome.rule), want, "{text}"));
}

#[track_caller]
fn matches(keys: &str, visit: &Visit<'_>, want: bool) {
    let rule = if want { (Action::Deny, "bot/x") } else { (Action::Allow, "default/allow") };
    check(&format!("bots:\n- {{name: x, action: DENY, {keys}}}\n"), visit, rule);
}

#[track_caller]
fn allows(keys: &str, visit: &Visit<'_>, want: bool) {
    let rule = if want { (Action::Allow, "bot/x") } else { (Action::Deny, "bot/z") };
    check(
        &format!(
            "bots:\n- {{name: x, action: ALLOW, {keys}}}\n- {{name: z, action: DENY, path_regex: .*}}\n"
        ),
        visit,
        rule,
    );
}

#[test]
fn a_robot_is_known_by_evidence_and_not_by_a_word_in_an_expression() {
    let is_one = |keys: &str| {
        let policy = policy(&format!("bots:\n- {{name: x, action: ALLOW, {keys}}}\n"));
        policy.0.rules[0].bot
    };
    for keys in [
        "user_agent_regex: Bot/, remote_addresses: [192.0.2.0/24]",
        "expression: 'verifyFCrDNS(remoteAddress, \"x$\")'",
        "expression: 'userAgent.contains(\"Bot\") && verifyFCrDNS(remoteAddress, \"x$\")'",
    ] {
        assert!(is_one(keys), "{keys}");
    }
    for keys in [
        "user_agent_regex: Bot/",
        "remote_addresses: [192.0.2.0/24]",
        "user_agent_regex: .*, remote_addresses: [192.0.2.0/24]",
        "expression: '!verifyFCrDNS(remoteAddress, \"x$\")'",
        "expression: 'userAgent.contains(\"Bot\") || verifyFCrDNS(remoteAddress, \"x$\")'",
        "expression: 'verifyFCrDNS(\"192.0.2.1\", \"x$\")'",
        "expression: 'userAgent == \"verifyFCrDNS\"'",
    ] {
        assert!(!is_one(keys), "{keys}");
    }
}

#[test]
fn a_fingerprint_is_matched_where_the_proxy_tells_one() {
    const JA4: &[u8] = b"t13d1516h2_8daaf6152771_b0da82dd1658";
    let keys = "ja4: [t13d1516h2_8daaf6152771_b0da82dd1658, 'q*']";
    let one = Visit { headers: &[("x-tollgate-ja4", JA4)], ..VISIT };
    let other = Visit { headers: &[("x-tollgate-ja4", b"t13d1517h2_8daaf6152771_b0da82dd1658")], ..VISIT };
    let both = Visit { headers: &[("x-tollgate-ja4", b"t12"), ("x-tollgate-ja4", JA4)], ..VISIT };
    for (visit, deny, allow) in
        [(one, true, true), (other, false, false), (both, true, false), (VISIT, false, false)]
    {
        matches(keys, &visit, deny);
        allows(keys, &visit, allow);
    }
}

#[test]
fn the_first_terminal_rule_decides_and_weights_add_up() {
    let rules = "bots:
- {name: w, action: WEIGH, user_agent_regex: Firefox}
- {name: g, action: WEIGH, path_regex: ^/calm, weight: {adjust: -9}}
- {name: d, action: DENY, path_regex: ^/no}
- {name: a, action: ALLOW, path_regex: ^/yes}
- {name: c, action: CHALLENGE, path_regex: ^/pay}
";
    for (target, action, rule, weight) in [
        ("/no", Action::Deny, "bot/d", 5),
        ("/yes", Action::Allow, "bot/a", 5),
        ("/pay", Action::Challenge, "bot/c", 5),
        ("/", Action::Challenge, "threshold/legacy-anubis-behaviour", 5),
        ("/calm", Action::Allow, "default/allow", -4),
    ] {
        let policy = policy(rules);
        Visit { target, ..VISIT }.to(&policy, &mut (), |outcome| {
            assert_eq!((outcome.action, outcome.rule, outcome.weight), (action, rule, weight), "{target}");
            assert_eq!(outcome.toll.is_some(), action == Action::Challenge, "{target}");
        });
    }
}

#[test]
fn weights_saturate() {
    let text = format!(
        "bots:\n- {{name: a, action: WEIGH, path_regex: /, weight: {{adjust: {0}}}}}\n- {{name: b, action: WEIGH, path_regex: /, weight: {{adjust: {0}}}}}\n",
        i64::MAX
    );
    let policy = policy(&text);
    VISIT.to(&policy, &mut (), |outcome| assert_eq!(outcome.weight, i64::MAX));
}

#[test]
fn tollgates_own_matchers_are_anded() {
    matches("methods: [POST]", &VISIT, false);
    matches("methods: [POST, GET]", &VISIT, true);
    matches("methods: GET, paths: /x", &VISIT, false);
}

#[test]
fn hosts_and_paths_match_names_prefixes_and_globs() {
    for (keys, host, target, want) in [
        ("hosts: example.com", "Example.com:443", "/", true),
        ("hosts: '*.example.com'", "a.example.com", "/", true),
        ("hosts: '*.example.com'", "example.com", "/", false),
        ("paths: /admin/**", "h", "/admin/x", true),
        ("paths: /admin/**", "h", "/admin", false),
        ("paths: /admin", "h", "/Admin", false),
        ("paths: [/a, /b]", "h", "/b?x=/c", true),
        ("paths: /a, path_regex: ^/b", "h", "/a", false),
        ("paths: /a, hosts: x.example", "h", "/a", false),
    ] {
        matches(keys, &Visit { host, target, ..VISIT }, want);
    }
}

#[test]
fn a_strict_rule_sees_any_reading_and_a_lenient_one_all() {
    for target in ["/public/../admin", "/%61dmin", "//admin", "/x/..%2fadmin", "/admin;a=b"] {
        matches("paths: /admin", &Visit { target, ..VISIT }, true);
        matches("path_regex: ^/admin$", &Visit { target, ..VISIT }, true);
        allows("paths: /admin", &Visit { target, ..VISIT }, false);
        allows("path_regex: ^/admin$", &Visit { target, ..VISIT }, false);
    }
    allows("paths: /public/**", &Visit { target: "/public/../admin", ..VISIT }, false);
    allows("paths: /public/**", &Visit { target: "/public/a/../b", ..VISIT }, true);
}

#[test]
fn no_evidence_of_an_address_takes_the_strict_side() {
    let nobody = Visit { client: None, ..VISIT };
    matches("remote_addresses: [198.51.100.0/24]", &nobody, true);
    allows("remote_addresses: [203.0.113.0/24]", &VISIT, true);
    allows("remote_addresses: [203.0.113.0/24]", &nobody, false);
    for (adjust, weight) in [(3, 3), (-3, 0)] {
        let text = format!(
            "bots:\n- {{name: w, action: WEIGH, remote_addresses: [198.51.100.0/24], weight: {{adjust: {adjust}}}}}\n"
        );
        let policy = policy(&text);
        nobody.to(&policy, &mut (), |outcome| assert_eq!(outcome.weight, weight));
    }
}

#[test]
fn several_agents_earn_nothing() {
    let twice = Visit { headers: &[("User-Agent", b"a"), ("user-agent", b"b")], ..VISIT };
    matches("user_agent_regex: ^a,b$", &twice, true);
    allows("user_agent_regex: ^a,b$, methods: GET", &twice, false);
    allows("headers_regex: {User-Agent: ^a,b$}", &twice, false);
    allows("headers_regex: {User-Agent: ^a$}", &Visit { headers: &[("User-Agent", b"a")], ..VISIT }, true);
}

#[test]
fn headers_are_joined_and_absent_ones_are_empty() {
    let visit = Visit {
        headers: &[("X-A", b"1"), ("x-a", b"2"), ("Empty", b""), ("X_U", b"1"), ("Host", b"h")],
        ..VISIT
    };
    for (keys, want) in [
        ("headers_regex: {X-A: '^1,2$'}", true),
        ("headers_regex: {x-a: .*}", true),
        ("headers_regex: {Empty: .*}", false),
        ("headers_regex: {Empty: ^$}", true),
        ("headers_regex: {Gone: .*}", false),
        ("headers_regex: {Gone: ^$}", true),
        ("headers_regex: {Gone: ' .* '}", false),
        ("headers_regex: {X_U: .*}", false),
        ("headers_regex: {Host: .*}", false),
        ("headers_regex: {' X-A ': '1', Empty: ^$}", true),
        ("headers_regex: {X-Real-Ip: '^203\\.0\\.113\\.7$'}", true),
        ("user_agent_regex: ^$", true),
    ] {
        matches(keys, &visit, want);
    }
}

#[test]
fn bytes_that_are_no_text_are_replacements() {
    let visit = Visit { headers: &[("User-Agent", b"a\xff\xfeb"), ("X", b"\xff")], ..VISIT };
    matches("user_agent_regex: ^a..b$", &visit, true);
    matches("user_agent_regex: ^a.b$", &visit, false);
    matches("headers_regex: {X: \"^\\uFFFD$\"}", &visit, true);
    matches("path_regex: ^/.$", &Visit { target: "/%ff", ..VISIT }, true);
}

#[test]
fn shadowed_rules_only_tell() {
    let text = "bots:
- {name: w, action: WEIGH, path_regex: /, weight: {adjust: 50}, shadow: true}
- {name: s, action: DENY, path_regex: /, shadow: true}
- {name: t, action: CHALLENGE, path_regex: /, shadow: true}
- {name: v, action: WEIGH, path_regex: /, weight: {adjust: 3}}
thresholds:
- {name: low, expression: weight < 10, action: DENY, shadow: true}
- {name: all, expression: weight >= 0, action: ALLOW}
";
    let policy = policy(text);
    VISIT.to(&policy, &mut (), |outcome| {
        assert_eq!((outcome.action, outcome.rule, outcome.weight), (Action::Allow, "threshold/all", 3));
        assert_eq!(outcome.shadow, Some((Action::Deny, "bot/s")));
    });
}

#[test]
fn a_file_in_shadow_allows_and_tells_what_it_would_do() {
    let text =
        |action: &str| format!("shadow: true\nbots:\n- {{name: x, action: {action}, path_regex: /}}\n");
    for (action, rule, shadow) in [
        ("DENY", "default/allow", Some((Action::Deny, "bot/x"))),
        ("CHALLENGE", "default/allow", Some((Action::Challenge, "bot/x"))),
        ("ALLOW", "bot/x", None),
    ] {
        let policy = policy(&text(action));
        VISIT.to(&policy, &mut (), |outcome| {
            assert_eq!((outcome.action, outcome.rule, outcome.shadow), (Action::Allow, rule, shadow));
            assert!(outcome.toll.is_none());
        });
    }
}

#[test]
fn the_default_is_what_the_file_says() {
    for (default, action, rule) in [
        ("ALLOW", Action::Allow, "default/allow"),
        ("CHALLENGE", Action::Challenge, "default/challenge"),
        ("DENY", Action::Deny, "default/deny"),
    ] {
        let text = format!(
            "version: tollgate/v1\ndefault: {default}\nbots:\n- {{name: x, action: DENY, paths: /x}}\n"
        );
        check(&text, &VISIT, (action, rule));
    }
}

#[test]
fn levels_span_what_is_asked() {
    let rule = |challenge: &str| {
        format!("- {{name: x, action: CHALLENGE, path_regex: a, challenge: {challenge}}}\n")
    };
    let all = [
        rule("{level: 13}"),
        rule("{algorithm: fast, difficulty: 4}"),
        rule("{algorithm: metarefresh, difficulty: 1}"),
    ];
    assert_eq!(policy(&format!("bots:\n{}", all.concat())).levels(), 12..=16);
    assert_eq!(policy("bots: [{name: x, action: DENY, path_regex: a}]").levels(), 14..=14);
    assert_eq!(policy("bots: [{name: x, action: WEIGH, path_regex: a}]").levels(), 16..=16);
}

#[test]
fn a_toll_carries_what_the_block_says() {
    let text = "bots: [{name: x, action: CHALLENGE, path_regex: /, challenge: {algorithm: metarefresh, difficulty: 5}}]";
    let policy = policy(text);
    VISIT.to(&policy, &mut (), |outcome| {
        let toll = outcome.toll.unwrap();
        assert_eq!((toll.kind, toll.level, toll.seconds, toll.difficulty), (Kind::Wait, 14, 5, Some(5)));
    });
}

#[test]
fn a_trace_tells_every_step_and_why() {
    let policy = policy(
        "bots:\n- {name: a, action: DENY, user_agent_regex: curl}\n- {name: w, action: WEIGH, path_regex: /}\n",
    );
    let mut trace = Trace::default();
    VISIT.to(&policy, &mut trace, |_| ());
    let seen: Vec<_> = trace.steps.iter().map(|s| (s.rule.as_str(), s.action.as_str(), s.matched)).collect();
    let legacy = "threshold/legacy-anubis-behaviour";
    assert_eq!(seen, [("bot/a", "DENY", false), ("bot/w", "WEIGH", true), (legacy, "CHALLENGE", true)]);
    let Step { why, .. } = &trace.steps[0];
    assert_eq!(why, "user_agent_regex is not found in \"Mozilla/5.0 Firefox/150.0\"");
}

#[test]
fn the_policies_shipped_do_what_they_promise() {
    const BROWSER: &[(&str, &[u8])] = &[
        ("User-Agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"),
        ("Accept", b"text/html"),
        ("Accept-Language", b"en"),
        ("Accept-Encoding", b"gzip"),
        ("Sec-Fetch-Mode", b"navigate"),
    ];
    let only = |agent: &'static [u8]| vec![("User-Agent", agent)];
    let shipped = |name: &str| Loader::default().load(&Source::Embedded(name.to_owned())).unwrap().policy;
    let (quiet, strict, observe) = (shipped("quiet.yaml"), shipped("strict.yaml"), shipped("observe.yaml"));
    let liar =
        only(b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36");
    let (curl, bot) =
        (only(b"curl/8.9.0"), only(b"Mozilla/5.0 (compatible; Examplebot/1.0; +https://example.com)"));
    let gpt = only(b"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2; +https://openai.com/gptbot");
    for (target, headers, by_quiet, by_strict) in [
        ("/", BROWSER, Action::Allow, Action::Challenge),
        ("/robots.txt", gpt.as_slice(), Action::Allow, Action::Allow),
        ("/.well-known/security.txt", &[], Action::Allow, Action::Allow),
        ("/", &gpt, Action::Deny, Action::Deny),
        ("/", &curl, Action::Challenge, Action::Challenge),
        ("/", &bot, Action::Challenge, Action::Challenge),
        ("/", &liar, Action::Challenge, Action::Challenge),
        ("/", &[], Action::Challenge, Action::Challenge),
        ("/.git/config", BROWSER, Action::Deny, Action::Deny),
        ("/x/.%67it/config", BROWSER, Action::Deny, Action::Deny),
    ] {
        let visit = Visit { target, headers, ..VISIT };
        visit.to(&quiet, &mut (), |o| assert_eq!(o.action, by_quiet, "quiet {target} {}", o.rule));
        visit.to(&strict, &mut (), |o| assert_eq!(o.action, by_strict, "strict {target} {}", o.rule));
        visit.to(&observe, &mut (), |o| {
            assert_eq!(o.action, Action::Allow);
            assert_eq!(o.shadow.map_or(Action::Allow, |s| s.0), by_quiet, "observe {target}");
        });
    }
}

/// Judges a plain visit with some facts.
fn judge<R>(text: &str, facts: &Facts<'_>, then: impl FnOnce(Judged<'_>) -> R) -> R {
    let policy = policy(text);
    let parts = Parts {
        method: b"GET",
        target: b"/",
        host: b"example.com",
        scheme: b"https",
        client: Some("203.0.113.7".parse().unwrap()),
        headers: Headers::default(),
    };
    let request = Request::new(parts).unwrap();
    then(policy.evaluate(&request, facts, &mut ()))
}

const BROKEN: &str = "expression: 'headers[\"X\"] == \"1\"'";
const LOOKUP: &str = "expression: 'verifyFCrDNS(remoteAddress, \"x\")'";

#[test]
fn an_expression_without_a_value_counts_only_where_it_is_reached() {
    for (rules, want) in [
        (format!("{{name: x, action: DENY, {BROKEN}}}"), Err("bot/x")),
        (format!("{{name: x, action: ALLOW, {BROKEN}}}"), Err("bot/x")),
        (format!("{{name: x, action: DENY, methods: POST, {BROKEN}}}"), Ok("default/allow")),
        (
            format!("{{name: x, action: DENY, path_regex: .*}}\n- {{name: z, action: DENY, {BROKEN}}}"),
            Ok("bot/x"),
        ),
        // A weight counts only where no rule ends the evaluation.
        (
            format!("{{name: x, action: WEIGH, {BROKEN}}}\n- {{name: z, action: DENY, path_regex: .*}}"),
            Ok("bot/z"),
        ),
        (
            format!("{{name: x, action: WEIGH, {BROKEN}}}\n- {{name: z, action: WEIGH, path_regex: .*}}"),
            Err("bot/x"),
        ),
        // A rule that only observes leaves nothing open.
        (format!("{{name: x, action: DENY, shadow: true, {BROKEN}}}"), Ok("default/allow")),
        (format!("{{name: x, action: WEIGH, shadow: true, {BROKEN}}}"), Ok("default/allow")),
    ] {
        judge(&format!("bots:\n- {rules}\n"), &Facts::default(), |judged| {
            let got = match judged {
                Judged::Decided(outcome) => Ok(outcome.rule),
                Judged::Undecided { rule, fault: Fault::Key } => Err(rule),
                other => panic!("{rules}: {other:?}"),
            };
            assert_eq!(got, want, "{rules}");
        });
    }
}

#[test]
fn a_lookup_is_asked_for_only_where_the_outcome_depends_on_it() {
    let client = "203.0.113.7".parse().unwrap();
    for (rules, needs) in [
        (format!("{{name: x, action: DENY, {LOOKUP}}}"), true),
        (format!("{{name: x, action: DENY, methods: POST, {LOOKUP}}}"), false),
        // The cheap matchers that follow may fail too, and then nothing needs to be asked.
        (format!("{{name: x, action: DENY, asns: {{match: [1]}}, {LOOKUP}}}"), false),
        (format!("{{name: x, action: DENY, path_regex: .*}}\n- {{name: z, action: DENY, {LOOKUP}}}"), false),
        (format!("{{name: x, action: WEIGH, {LOOKUP}}}\n- {{name: z, action: DENY, path_regex: .*}}"), false),
        (format!("{{name: x, action: WEIGH, {LOOKUP}}}\n- {{name: z, action: DENY, methods: POST}}"), true),
        (format!("{{name: x, action: WEIGH, {LOOKUP}}}\n- {{name: z, action: WEIGH, {BROKEN}}}"), false),
        (format!("{{name: x, action: WEIGH, shadow: true, {LOOKUP}}}"), false),
        (format!("{{name: x, action: DENY, shadow: true, {LOOKUP}}}"), true),
        (
            format!(
                "{{name: x, action: DENY, shadow: true, path_regex: .*}}\n- {{name: z, action: DENY, shadow: true, {LOOKUP}}}"
            ),
            false,
        ),
    ] {
        judge(&format!("bots:\n- {rules}\n"), &Facts::default(), |judged| match judged {
            Judged::Need(lookups) if needs => assert_eq!(lookups, [Lookup::Reverse(client)], "{rules}"),
            Judged::Need(lookups) => panic!("{rules} needs {lookups:?}"),
            _ => assert!(!needs, "{rules} needs nothing"),
        });
    }
}

#[test]
fn a_lookup_that_failed_falls_on_the_side_of_the_rule() {
    let client = "203.0.113.7".parse().unwrap();
    let facts = Facts { answers: vec![(Lookup::Reverse(client), Answer::Failed)], ..Facts::default() };
    for (action, want, weight) in [
        ("DENY", Action::Deny, 0),
        ("CHALLENGE", Action::Challenge, 0),
        ("ALLOW", Action::Deny, 0),
        ("WEIGH, weight: {adjust: 3}", Action::Deny, 3),
        ("WEIGH, weight: {adjust: -3}", Action::Deny, 0),
    ] {
        let text = format!(
            "bots:\n- {{name: x, action: {action}, {LOOKUP}}}\n- {{name: z, action: DENY, path_regex: .*}}\n"
        );
        judge(&text, &facts, |judged| match judged {
            Judged::Decided(outcome) => {
                assert_eq!((outcome.action, outcome.weight), (want, weight), "{text}")
            }
            other => panic!("{other:?}"),
        });
    }
}

#[test]
fn networks_and_countries_are_facts() {
    let known = Facts { asn: Some(64496), country: Some(*b"BR"), ..Facts::default() };
    for (keys, facts, want) in [
        ("asns: {match: [1, 64496]}", &known, "bot/x"),
        ("asns: {match: [1]}", &known, "default/allow"),
        ("asns: {match: [64496]}", &Facts::default(), "default/allow"),
        ("geoip: {countries: [br]}", &known, "bot/x"),
        ("geoip: {countries: [DE, BRA]}", &known, "default/allow"),
        ("geoip: {countries: [BR]}", &Facts::default(), "default/allow"),
        ("geoip: {countries: [BR]}, asns: {match: [1]}", &known, "default/allow"),
    ] {
        judge(&format!("bots:\n- {{name: x, action: DENY, {keys}}}\n"), facts, |judged| {
            let Judged::Decided(outcome) = judged else { panic!("{judged:?}") };
            assert_eq!(outcome.rule, want, "{keys}");
        });
    }
}

#[test]
fn the_block_list_comes_before_every_rule() {
    let text = "bots: [{name: x, action: ALLOW, path_regex: .*}]\ndnsbl: true\n";
    let client = "203.0.113.7".parse().unwrap();
    judge(text, &Facts::default(), |judged| assert_eq!(judged, Judged::Need(vec![Lookup::Listed(client)])));
    for (answer, want) in [
        (Answer::Listed(true), (Action::Deny, "dnsbl")),
        (Answer::Listed(false), (Action::Allow, "bot/x")),
        (Answer::Failed, (Action::Allow, "bot/x")),
        (Answer::Names(vec![]), (Action::Allow, "bot/x")),
    ] {
        let facts = Facts { answers: vec![(Lookup::Listed(client), answer)], ..Facts::default() };
        judge(text, &facts, |judged| {
            let Judged::Decided(outcome) = judged else { panic!("{judged:?}") };
            assert_eq!((outcome.action, outcome.rule), want);
        });
    }
}

#[test]
fn a_threshold_without_a_value_does_not_hold_and_is_told() {
    let text = "bots: [{name: x, action: WEIGH, path_regex: .*}]\nthresholds:\n\
                - {name: a, expression: 1 / (weight - 5) > 0, action: DENY}\n\
                - {name: b, expression: weight > 0, action: CHALLENGE, challenge: {algorithm: fast, difficulty: 4}}\n";
    judge(text, &Facts::default(), |judged| {
        let Judged::Decided(outcome) = judged else { panic!("{judged:?}") };
        assert_eq!((outcome.rule, outcome.fault), ("threshold/b", Some(("threshold/a", Fault::Division))));
    });
}

#[test]
fn a_rule_takes_the_networks_of_the_lists_it_names() {
    let text = "networks: {ours: {inline: [203.0.113.0/24]}, theirs: {inline: ['2001:db8::/32', 192.0.2.1]}}\n\
                bots:\n- {name: x, action: DENY, remote_networks: [ours, theirs]}\n";
    let from = |client| Visit { client: Some(client), ..VISIT };
    check(text, &from("203.0.113.7"), (Action::Deny, "bot/x"));
    check(text, &from("2001:db8::1"), (Action::Deny, "bot/x"));
    check(text, &from("192.0.2.1"), (Action::Deny, "bot/x"));
    check(text, &from("192.0.2.2"), (Action::Allow, "default/allow"));
}

mod behaviour;
mod disguise;

#[test]
fn what_cannot_change_the_end_is_not_looked_up() {
    let judged = |adjust: i64, thresholds: &str| {
        let text = format!(
            "bots:\n- name: a\n  action: WEIGH\n  path_regex: .*\n  weight: {{adjust: 20}}\n- name: b\n  action: WEIGH\n  expression: verifyFCrDNS(remoteAddress)\n  weight: {{adjust: {adjust}}}\nthresholds:\n{thresholds}"
        );
        let (policy, mut asked) = (policy(&text), false);
        let request = Request::new(Parts {
            method: b"GET",
            target: b"/",
            host: b"example.com",
            scheme: b"https",
            client: Some("203.0.113.7".parse().unwrap()),
            headers: Headers::default(),
        });
        let judged = policy.evaluate(&request.unwrap(), &Facts::default(), &mut ());
        let rule = match judged {
            Judged::Need(_) => {
                asked = true;
                String::new()
            }
            Judged::Decided(outcome) => outcome.rule.to_owned(),
            Judged::Undecided { .. } => panic!("{judged:?}"),
        };
        (asked, rule)
    };
    let tiers = "- {name: low, expression: weight < 10, action: ALLOW}\n- {name: high, expression: 'true', action: DENY}\n";
    let watched = "- {name: top, expression: weight > 25, action: DENY, shadow: true}\n- {name: high, expression: weight >= 10, action: DENY}\n";
    // 20 and 30 end alike; 20 and 5 do not; a threshold that only watches must see the difference too.
    assert_eq!(judged(10, tiers), (false, "threshold/high".to_owned()));
    assert!(judged(-15, tiers).0);
    assert!(judged(10, watched).0);
    assert_eq!(judged(3, watched), (false, "threshold/high".to_owned()));
}
