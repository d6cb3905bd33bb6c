//! A request is judged alike whether only the rules are asked that it can match, or all of them.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Facts, Loader, Source, Trace};
use crate::request::{Parts, Request};

/// Matchers of every kind, those that match nothing at all included.
const MATCHERS: [&str; 46] = [
    "user_agent_regex: Googlebot",
    "user_agent_regex: (?i:gptbot|claude|spider)",
    "user_agent_regex: ^curl/",
    "user_agent_regex: ^$",
    "user_agent_regex: '.*'",
    r"user_agent_regex: \bChrome/(?:7[6-9]|[89][0-9])\.",
    "user_agent_regex: '[A-Z]{3}bot'",
    "user_agent_regex: 'a|'",
    "user_agent_regex: 'x*y'",
    "user_agent_regex: '(foo|bar)+baz'",
    "user_agent_regex: '\u{17f}ame'",
    "user_agent_regex: '(?i)kiss.*me'",
    "user_agent_regex: 'bot,spi'",
    "path_regex: ^/admin",
    r"path_regex: \.php$",
    "path_regex: '(?i)^/WP-'",
    "path_regex: '\u{fffd}'",
    "path_regex: '.'",
    "paths: [/admin/**]",
    "paths: ['/*.php', /exact]",
    "paths: ['**']",
    "hosts: [shop.example]",
    "hosts: ['*.example', other.test]",
    "methods: [POST]",
    "headers_regex: {X-Tool: '^(?:a|b)tool$'}",
    "headers_regex: {x-tool: '.*'}",
    "headers_regex: {X-Tool: '^$'}",
    "headers_regex: {X-Yool: tool}",
    "headers_regex: {x-oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo: '.*'}",
    "headers_regex: {Accept: 'html,text'}",
    "headers_regex: {X-Real-Ip: '^10\\.'}",
    "headers_regex: {Host: 'shop'}",
    "headers_regex: {User-Agent: 'claude'}",
    "headers_regex: {User-Agent: '^$'}",
    "remote_addresses: [10.0.0.0/8, 10.1.0.0/16]",
    "remote_addresses: [10.1.2.0/24, '2001:db8::/32']",
    "remote_addresses: [0.0.0.0/0]",
    "asns: {match: [64500, 13335]}",
    "geoip: {countries: [de, FR]}",
    "expression: 'userAgent.contains(\"bot\") && path.startsWith(\"/admin\")'",
    "expression: 'userAgent == \"\" || userAgent.lowerAscii().startsWith(\"spider\")'",
    "expression: '\"X-Tool\" in headers || has(headers.Accept)'",
    "expression: 'headers[\"X-Tool\"].contains(\"tool\") && path == \"/exact\"'",
    "expression: 'path.matches(\"(?i)php\") || host in [\"shop.example\", \"other.test\"]'",
    "expression: '!(\"Accept\" in headers) && method != \"GET\"'",
    "expression: '\"X-Real-Ip\" in headers && \"\" in query'",
];

const AGENTS: &str = "(Goog|goog|lebot|curl/|GPT|gpt|bot|claude|Chrome/|7|9|\\.|spi|der|SPIDER|ABC|x|y|foo|bar|baz|s|ſ|ame|KISS|\u{212a}iss|me| |,){0,10}";
const PATHS: [&str; 12] = [
    "/",
    "/admin",
    "/admin/x.php",
    "/%61dmin/x",
    "/a/../admin/y",
    "/wp-login.PHP",
    "/Wp-x",
    "/exact",
    "/exact;x",
    "/%ff",
    "/x%2fadmin",
    "//admin/",
];

#[derive(Clone, Debug)]
struct Visit {
    agents: Vec<String>,
    path: &'static str,
    host: &'static str,
    method: &'static str,
    client: Option<&'static str>,
    headers: Vec<(&'static str, &'static str)>,
    asn: Option<u32>,
    country: Option<[u8; 2]>,
}

fn visit() -> impl Strategy<Value = Visit> {
    let header = select(vec![
        ("x-tool", "atool"),
        ("X-TOOL", "none"),
        ("X-Tool", ""),
        ("X-Yool", "atool"),
        ("x-oooooooooooooooooooooooooooooooooooooooooooooooooooooooooooooo", "x"),
        ("accept", "text/html"),
        ("Accept", "text/plain"),
        ("host", "shop"),
    ]);
    let client =
        select(vec![None, Some("10.1.2.3"), Some("10.9.9.9"), Some("192.0.2.1"), Some("2001:db8::1")]);
    (
        prop::collection::vec(AGENTS, 0..3),
        select(PATHS.to_vec()),
        select(vec!["shop.example", "www.shop.example", "other.test", "third.test"]),
        select(vec!["GET", "POST"]),
        client,
        prop::collection::vec(header, 0..4),
        select(vec![None, Some(64_500), Some(1)]),
        select(vec![None, Some(*b"DE"), Some(*b"US")]),
    )
        .prop_map(|(agents, path, host, method, client, headers, asn, country)| Visit {
            agents,
            path,
            host,
            method,
            client,
            headers,
            asn,
            country,
        })
}

fn rules() -> impl Strategy<Value = String> {
    let matchers = prop::collection::vec(select(MATCHERS.to_vec()), 1..3);
    let rule = (select(vec!["ALLOW", "DENY", "CHALLENGE", "WEIGH", "WEIGH"]), matchers).prop_filter_map(
        "keys that exclude or repeat each other",
        |(action, matchers)| {
            let key = |m: &&str| m.split(':').next().unwrap_or_default().to_owned();
            let mut keys: Vec<_> = matchers.iter().map(key).collect();
            keys.sort();
            keys.dedup();
            let both = keys.iter().any(|k| k == "user_agent_regex") && keys.iter().any(|k| k == "path_regex");
            let alone = keys.iter().all(|k| ["paths", "hosts", "methods"].contains(&&**k));
            let odd = keys.len() < matchers.len() || both || alone;
            (!odd).then(|| format!("- name: r\n  action: {action}\n  {}\n", matchers.join("\n  ")))
        },
    );
    prop::collection::vec(rule, 1..12).prop_map(|rules| format!("bots:\n{}", rules.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn what_is_not_asked_could_not_have_matched(text in rules(), visits in prop::collection::vec(visit(), 1..8)) {
        let source = Source::Text { name: "p.yaml".to_owned(), text: text.clone() };
        let policy = Loader::default().load(&source).unwrap_or_else(|e| panic!("{e}")).policy;
        for visit in visits {
            let agents = visit.agents.iter().map(|agent| ("User-Agent", agent.as_str()));
            let lines = agents.chain(visit.headers.iter().copied());
            let request = Request::new(Parts {
                method: visit.method.as_bytes(),
                target: visit.path.as_bytes(),
                host: visit.host.as_bytes(),
                scheme: b"https",
                client: visit.client.map(|c| c.parse().unwrap()),
                headers: lines.map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
            })
            .unwrap();
            let facts = Facts { asn: visit.asn, country: visit.country, ..Facts::default() };
            let mut trace = Trace::default();
            let all = policy.evaluate(&request, &facts, &mut trace);
            prop_assert_eq!(policy.evaluate(&request, &facts, &mut ()), all, "{} {:?}", text, visit);
        }
    }
}

#[test]
fn a_needle_that_stands_often_is_found_once() {
    use super::{Set, Sieve};
    let sieve = Sieve::new((0..500).map(|rule| (rule, vec![b"gptbot".to_vec()])).collect());
    let mut set = Set::for_rules(500);
    sieve.choose("GPTBot ".repeat(9_000).as_bytes(), &mut set);
    assert_eq!(Set::or_all(Some(&set), 500).count(), 500);
}

/// So that no request is gone through line by line for them.
#[test]
fn shipped_policies_file_rules_under_known_headers_only() {
    for name in ["botPolicies.yaml", "observe.yaml", "quiet.yaml", "strict.yaml"] {
        let policy = Loader::default()
            .load(&Source::Embedded(name.to_owned()))
            .unwrap_or_else(|e| panic!("{e}"))
            .policy;
        assert!(policy.0.index.other_headers.is_empty(), "{name}: {:?}", policy.0.index.other_headers.keys());
    }
}
