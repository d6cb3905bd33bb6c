//! The rules decide as RFC 9309 says: compared with a reader of robots.txt that shares nothing with them.

use proptest::prelude::*;

use super::*;
use crate::policy::{Facts, Judged, Loader, Policy, Source};
use crate::request::{Headers, Parts, Request};

/// The rules of a file, in a policy of the strict language, so that no lint is left.
fn policy(robots: &str) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("robots.yaml");
    let list = list(&Robots::parse(robots.as_bytes()), "robots.txt").unwrap();
    std::fs::write(&path, &list.text).unwrap();
    let text = format!("version: tollgate/v1\ndefault: ALLOW\nbots:\n- import: {}\n", path.display());
    let loaded = Loader::default().load(&Source::Text { name: "p.yaml".to_owned(), text });
    let loaded = loaded.unwrap_or_else(|e| panic!("{robots}\n{}\n{e}", list.text));
    assert!(loaded.lints.is_empty(), "{robots}\n{}\n{:?}", list.text, loaded.lints);
    assert_eq!(loaded.policy.rules(), list.rules);
    loaded.policy
}

/// Whether the rules let an agent fetch a target.
fn allows(policy: &Policy, agent: &str, target: &str) -> bool {
    let headers: Headers<'_> = [(&b"user-agent"[..], agent.as_bytes())].into_iter().collect();
    let parts = Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: b"a",
        scheme: b"https",
        client: None,
        headers,
    };
    let request = Request::new(parts).unwrap_or_else(|unfit| panic!("{target}: {unfit:?}"));
    match policy.evaluate(&request, &Facts::default(), &mut ()) {
        Judged::Decided(outcome) => outcome.action == crate::policy::Action::Allow,
        judged => panic!("{judged:?}"),
    }
}

/// Whether a crawler of this product token may fetch a target: RFC 9309, 2.2, read line by line.
fn may(robots: &str, token: &str, target: &str) -> bool {
    type Rules = Vec<(bool, String)>;
    let mut groups: Vec<(Vec<String>, Rules)> = Vec::new();
    let mut open = false;
    for line in robots.lines() {
        let Some((key, value)) = line.split_once(": ") else { continue };
        if key == "User-agent" {
            if !open {
                groups.push(Default::default());
            }
            groups.last_mut().unwrap().0.push(value.to_lowercase());
        } else {
            groups.last_mut().unwrap().1.push((key == "Allow", value.to_owned()));
        }
        open = key == "User-agent";
    }
    let of = |token: &str| -> Vec<_> {
        let mine = groups.iter().filter(|(agents, _)| agents.iter().any(|agent| agent == token));
        mine.flat_map(|(_, rules)| rules.clone()).collect()
    };
    let known = groups.iter().any(|(agents, _)| agents.contains(&token.to_lowercase()));
    let rules = if known { of(&token.to_lowercase()) } else { of("*") };
    let hits = rules.into_iter().filter(|(_, pattern)| glob(pattern.as_bytes(), target.as_bytes()));
    hits.max_by_key(|(allow, pattern)| (pattern.len(), *allow)).is_none_or(|(allow, _)| allow)
        || target == "/robots.txt"
}

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => true,
        [b'$'] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|at| glob(rest, &text[at..])),
        [first, rest @ ..] => text.first() == Some(first) && glob(rest, &text[1..]),
    }
}

#[test]
fn the_examples_of_the_rfc_hold() {
    // RFC 9309, 5.1.
    let robots = "User-agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-agent: foobot\nDisallow: /\nAllow: /example/page.html\nAllow: /example/allowed.gif\n\nUser-agent: barbot\nUser-agent: bazbot\nDisallow: /example/page.html\n\nUser-agent: quxbot\n";
    let policy = policy(robots);
    for (agent, target, want) in [
        ("foobot/1.0", "/", false),
        ("foobot/1.0", "/example/page.html", true),
        ("foobot/1.0", "/example/allowed.gif", true),
        ("foobot/1.0", "/example/other.gif", false),
        ("foobot/1.0", "/robots.txt", true),
        ("Mozilla/5.0 (compatible; FooBot/2.1; +https://example.com)", "/a", false),
        ("barbot", "/example/page.html", false),
        ("bazbot/3", "/example/page.html?x=1", false),
        ("barbot", "/example/", true),
        ("quxbot", "/example/", true),
        ("quxbot", "/a.gif", true),
        ("otherbot/1.0", "/example/x", false),
        ("otherbot/1.0", "/a/b.gif", false),
        ("otherbot/1.0", "/a/b.gif?x", true),
        ("otherbot/1.0", "/publications/", true),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0", "/example/x", true),
        ("Mozilla/5.0 (Linux; Android 9; CUBOT NOTE 20) Chrome/140.0.0.0", "/example/x", true),
        ("foobot-news/1.0", "/", true),
        ("notfoobot/1.0", "/", true),
    ] {
        assert_eq!(allows(&policy, agent, target), want, "{agent} {target}");
    }
    // RFC 9309, 5.2: the longest match.
    let longest =
        self::policy("User-agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n");
    assert!(!allows(&longest, "foobot", "/example/page/disallowed.gif"));
    assert!(allows(&longest, "foobot", "/example/page/"));
}

#[test]
fn escapes_mean_what_they_stand_for() {
    let policy = policy(
        "User-agent: a\nDisallow: /\u{30c4}/\nDisallow: /foo%2Fbar\nDisallow: /~joe/\nAllow: /~joe/open\nDisallow: /x%20y\nAllow: /x%20yz\nDisallow: /p.q+r\n",
    );
    for (target, want) in [
        ("/%E3%83%84/x", false),
        ("/%e3%83%84/x", false),
        ("/foo%2fbar", false),
        ("/~joe/x", false),
        ("/%7Ejoe/x", false),
        ("/~joe/open", true),
        ("/%7ejoe/open", true),
        ("/x%20y", false),
        ("/x%20yz", true),
        ("/p.q+r", false),
        ("/pxq+r", true),
    ] {
        assert_eq!(allows(&policy, "a/1", target), want, "{target}");
    }
}

#[test]
fn a_query_is_followed_as_far_as_it_is_seen() {
    let policy = policy("User-agent: a\nDisallow: /*?\nDisallow: /end$\n");
    for (target, want) in [("/x", true), ("/x?y", false), ("/", true), ("/end", false), ("/ends", true)] {
        assert_eq!(allows(&policy, "a", target), want, "{target}");
    }
    let said = |robots: &str| list(&Robots::parse(robots.as_bytes()), "r").unwrap();
    let left_out = said("User-agent: a\nDisallow: /s?q=\n");
    assert!(left_out.rules == 0 && left_out.text.contains("left out") && left_out.notes.len() == 1);
    let wider = self::policy("User-agent: a\nDisallow: /s\nAllow: /s?q=about\n");
    assert!(allows(&wider, "a", "/s?q=about") && !allows(&wider, "a", "/s"));
    assert_eq!(said("User-agent: a\nDisallow: x\n").notes.len(), 1);
}

#[test]
fn a_file_that_asks_nothing_is_an_empty_list() {
    for robots in ["", "User-agent: *\nDisallow:\n", "User-agent: a\nAllow: /\n", "Sitemap: https://a/\n"] {
        assert_eq!(policy(robots).rules(), 0, "{robots}");
    }
}

#[test]
fn hundreds_of_agents_and_thousands_of_paths_are_read() {
    let agents: String =
        (0..450).map(|n| format!("User-agent: crawler-{}\n", "x".repeat(n % 7) + &letters(n))).collect();
    let paths: String = (0..2_000).map(|n| format!("Disallow: /p{n}/*.x$\n")).collect();
    let policy = policy(&format!("{agents}{paths}User-agent: *\nDisallow: /secret/\n"));
    assert!(!allows(&policy, &format!("crawler-x{}/1", letters(449)), "/p1999/a.x"));
    assert!(allows(&policy, "crawler-none", "/p1999/a.x"));
    assert!(!allows(&policy, "crawler-none", "/secret/"));
}

/// 500 KiB that somebody else wrote take no more than they are.
#[test]
fn groups_that_multiply_are_refused() {
    let agents: String = (0..9_000).map(|n| format!("User-agent: a{n}\n")).collect();
    let paths: String = (0..9_000).map(|n| format!("Disallow: /{n}\n")).collect();
    let parse = |text: &str| list(&Robots::parse(text.as_bytes()), "r");
    assert_eq!(parse(&format!("{agents}{paths}")).unwrap().rules, 45);
    let own: String = (0..9_000).map(|n| format!("User-agent: a{n}\nDisallow: /own{n}\n")).collect();
    assert!(parse(&format!("{agents}{paths}{own}")).unwrap_err().contains("more than 100000 paths"));
    let allows: String = (0..9_000).map(|n| format!("Allow: /{n}x\n")).collect();
    assert!(parse(&format!("User-agent: a\n{paths}{allows}")).unwrap_err().contains("too many paths"));
}

fn letters(n: usize) -> String {
    [n / 26, n % 26].map(|at| char::from(b'a' + u8::try_from(at).unwrap())).iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any file of a small world of paths, against the reader above.
    #[test]
    fn rules_decide_as_the_rfc_says(
        groups in prop::collection::vec(
            (prop::collection::vec("[a-c]bot|\\*", 1..3), prop::collection::vec((any::<bool>(), "/[ab]?(/|\\*|[ab.~-]){0,4}\\$?"), 0..6)),
            1..5,
        ),
        targets in prop::collection::vec("/[ab](/[ab]|[ab]|-|~|\\.[ab]){0,4}", 12),
    ) {
        let mut robots = String::new();
        for (agents, rules) in &groups {
            agents.iter().for_each(|agent| robots.push_str(&format!("User-agent: {agent}\n")));
            for (allow, pattern) in rules {
                robots.push_str(&format!("{}: {pattern}\n", if *allow { "Allow" } else { "Disallow" }));
            }
            // Without a rule the agents of the next group would be of this one.
            if rules.is_empty() {
                robots.push_str("Disallow: /never/here\n");
            }
        }
        let policy = policy(&robots);
        for target in targets.iter().map(String::as_str).chain(["/robots.txt", "/"]) {
            for token in ["abot", "bbot", "cbot", "dbot"] {
                let agent = format!("Mozilla/5.0 (compatible; {token}/1.0)");
                prop_assert_eq!(allows(&policy, &agent, target), may(&robots, token, target), "{} {}\n{}", token, target, robots);
            }
        }
    }
}
