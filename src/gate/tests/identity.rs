//! One solve, one identity: on every replica, for as long as was said at the issue, and no matter where it is shown.

use std::net::{IpAddr, Ipv6Addr};

use super::*;

fn from<'a>(client: IpAddr, target: &'a str, headers: &[(&'a str, &'a str)]) -> Result<Request<'a>, Unfit> {
    asking("GET", target, headers).map(|request| Request { client: Some(client), ..request })
}

/// What a visitor from there buys, and whether it was sold.
fn bought(gate: &Gate, client: IpAddr, second: u64) -> Response {
    let json = [("user-agent", "Mozilla/5.0 test"), ("accept", "application/json")];
    let challenge = refusal(gate, &from(client, "/pay", &json), &at(second, 3));
    let token = Token::parse(header(&challenge, "tollgate-challenge").unwrap()).unwrap();
    let answer = answer_text(&token, &solve(&token));
    answered(gate, client, &answer, second)
}

fn answered(gate: &Gate, client: IpAddr, answer: &str, second: u64) -> Response {
    let headers = with(&[("tollgate-answer", answer)]);
    let post = asking("POST", "/.tollgate/answer", &headers)
        .map(|request| Request { client: Some(client), ..request });
    refusal(gate, &post, &at(second, 4))
}

fn shown(gate: &Gate, client: IpAddr, cookies: &str, second: u64) -> Verdict {
    let headers = with(&[("cookie", cookies)]);
    gate.decide(Face::Grpc, None, &from(client, "/pay", &headers), &at(second, 5)).verdict
}

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn ipv6(host: u16) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, host))
}

#[test]
fn an_answer_given_again_prolongs_nothing_and_ends_with_its_challenge() {
    let gate = gate();
    let answer = solved(&gate, "/pay", &at(0, 1));
    let week = 7 * 24 * 3600;
    let first = answered(&gate, HERE, &answer, 0);
    for second in [0, 5, 100, 300] {
        let again = answered(&gate, HERE, &answer, second);
        assert_eq!((again.status(), cookie(&again)), (204, cookie(&first)), "{second}");
        let age = format!("Max-Age={};", week - second);
        assert!(header(&again, "set-cookie").unwrap().contains(&age), "{second}: it ends when it was to end");
    }
    let late = answered(&gate, HERE, &answer, 301);
    assert_eq!((late.status(), &**late.body(), header(&late, "set-cookie")), (403, &b"expired"[..], None));
    assert_eq!(shown(&gate, HERE, &cookie(&first), week - 1), Verdict::Allow);
    assert_eq!(shown(&gate, HERE, &cookie(&first), week), Verdict::Challenge);
    // The page that comes then has a challenge that can be met.
    assert_eq!(bought(&gate, HERE, week).status(), 204);
}

#[test]
fn three_replicas_with_one_ring_are_one() {
    let replicas = [gate(), gate(), gate()];
    for [issues, checks, serves] in [[0, 1, 2], [2, 0, 1], [1, 1, 0]] {
        let answer = solved(&replicas[issues], "/pay", &at(0, 1));
        let sold = answered(&replicas[checks], HERE, &answer, 1);
        assert_eq!(sold.status(), 204);
        assert_eq!(shown(&replicas[serves], HERE, &cookie(&sold), 2), Verdict::Allow);
        let again = answered(&replicas[serves], HERE, &answer, 3);
        assert_eq!(cookie(&again), cookie(&sold), "the same on any of them");
    }
}

#[test]
fn where_a_restart_took_the_key_along_one_fresh_challenge_is_enough() {
    let before = gate();
    let (held, answer) = (cookie(&bought(&before, HERE, 0)), solved(&before, "/pay", &at(0, 1)));
    let fresh = gate();
    let after = Gate { ring: Ring::single(Secret::new([8; 32])), ..fresh };
    let late = answered(&after, HERE, &answer, 1);
    assert_eq!((late.status(), &**late.body(), header(&late, "set-cookie")), (403, &b"forged"[..], None));
    assert_eq!(shown(&after, HERE, &held, 1), Verdict::Challenge);
    let sold = bought(&after, HERE, 2);
    assert_eq!(sold.status(), 204);
    let jar = format!("{held}; {}", cookie(&sold));
    assert_eq!(shown(&after, HERE, &jar, 3), Verdict::Allow, "the old one is in nobody's way");
}

#[test]
fn a_rule_that_comes_to_ask_for_more_challenges_at_once_and_for_less_lets_in_at_once() {
    let gate = gate();
    let held = cookie(&bought(&gate, HERE, 0));
    let asks = |level: u8| {
        reloaded(
            &gate,
            &POLICY.replace(
                "challenge: {level: 4}}\n  - {name: dear",
                &format!("challenge: {{level: {level}}}}}\n  - {{name: dear"),
            ),
        )
    };
    assert_eq!(shown(&asks(4), HERE, &held, 1), Verdict::Allow);
    assert_eq!(shown(&asks(5), HERE, &held, 1), Verdict::Challenge);
    assert_eq!(shown(&asks(3), HERE, &held, 1), Verdict::Allow);
}

#[test]
fn where_it_is_bound_to_a_network_no_other_can_answer_or_show_it() {
    let gate = gate_with(|settings| settings.challenge.bind_prefix = true);
    let (beside, elsewhere) = (IpAddr::from([192, 0, 2, 200]), IpAddr::from([198, 51, 100, 1]));
    let answer = solved(&gate, "/pay", &at(0, 1));
    let refused = answered(&gate, elsewhere, &answer, 1);
    assert_eq!(
        (refused.status(), &**refused.body(), header(&refused, "set-cookie")),
        (403, &b"binding"[..], None)
    );
    let sold = answered(&gate, beside, &answer, 1);
    assert_eq!(sold.status(), 204, "the /24 is one");
    assert_eq!(shown(&gate, HERE, &cookie(&sold), 2), Verdict::Allow);
    assert_eq!(shown(&gate, elsewhere, &cookie(&sold), 2), Verdict::Challenge);
}

#[test]
fn who_changes_between_two_families_of_addresses_pays_once_for_each() {
    let gate = gate_with(|settings| settings.challenge.bind_prefix = true);
    let (four, six) = (bought(&gate, HERE, 0), bought(&gate, ipv6(1), 0));
    let (four, six) = (cookie(&four), cookie(&six));
    assert_eq!(shown(&gate, ipv6(1), &four, 1), Verdict::Challenge, "one fresh challenge");
    let name = |cookie: &str| cookie.split('=').next().unwrap().to_owned();
    assert_ne!(name(&four), name(&six), "a browser keeps both");
    let jar = format!("{four}; {six}");
    for n in 0..10 {
        let client = if n % 2 == 0 { HERE } else { ipv6(n) };
        assert_eq!(shown(&gate, client, &jar, 2), Verdict::Allow, "{n}");
    }
    let other_site = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1));
    assert_eq!(shown(&gate, other_site, &jar, 2), Verdict::Challenge);
    let loose = super::gate();
    let same = [bought(&loose, HERE, 0), bought(&loose, ipv6(1), 0)];
    assert_eq!(name(&cookie(&same[0])), name(&cookie(&same[1])), "where nothing is bound there is one name");
}

#[test]
fn one_identity_in_fifty_networks_has_one_budget_and_is_counted_as_shared() {
    let policy = POLICY.replacen(
        "bots:\n",
        "bots:\n  - {name: look, action: WEIGH, signals: {any: [clearance_shared]}, weight: {adjust: 5}}\n",
        1,
    );
    let gate = gate_under(&policy, |_| {});
    let held = cookie(&bought(&gate, HERE, 0));
    let verdicts: Vec<_> = (0..600u16)
        .map(|n| {
            shown(
                &gate,
                IpAddr::from([10, 0, u8::try_from(n % 50).unwrap(), 1]),
                &held,
                1 + u64::from(n) / 60,
            )
        })
        .collect();
    let allowed = verdicts.iter().filter(|verdict| **verdict == Verdict::Allow).count();
    // 120 at once and ten a second, wherever they come from.
    assert!((200..=230).contains(&allowed), "{allowed}");
    assert!(!verdicts.contains(&Verdict::Deny) && verdicts.contains(&Verdict::Limit));
    let text = gate.state().text(at(20, 1).now);
    let counted = text.lines().find(|line| line.contains("clearance_shared") && !line.ends_with(" 0"));
    assert!(counted.is_some(), "{text}");
}

#[test]
fn ten_thousand_addresses_of_one_ipv6_site_are_one_network() {
    let gate = gate_with(|settings| settings.marks = [0, 0]);
    let site = |n: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, n, 0, 0, 0, 1));
    let level = |client| {
        let decision = gate.decide(Face::Grpc, None, &from(client, "/pay", BROWSER), &at(5, 1));
        decision.toll.map(|toll| toll.level)
    };
    let first = level(site(0));
    for n in 1..10_000 {
        level(site(n));
    }
    assert_eq!(first, Some(4));
    assert!(level(site(20_000)) > first, "the whole /48 pays more");
    assert_eq!(level(ipv6(1)), first, "and no other");
}

#[test]
fn no_refusal_sets_or_takes_away_a_cookie_or_speaks_to_another_origin() {
    let gate = gate();
    let cookies =
        [None, Some("__Host-tollgate=x"), Some("__Host-tollgate=x; __Host-tollgate=y; tollgate=z; a=1")];
    let kinds: [&[(&str, &str)]; 4] = [
        BROWSER,
        &[("sec-fetch-dest", "image"), ("sec-fetch-mode", "no-cors")],
        &[("accept", "application/json"), ("origin", "https://evil.example"), ("sec-fetch-mode", "cors")],
        &[("content-type", "application/grpc")],
    ];
    let targets = [
        "/pay",
        "/deny",
        "/wait",
        "/script",
        "/.tollgate/answer",
        "/.tollgate/check",
        "/.tollgate/wait?t=x",
        "/.tollgate/waited?t=x",
        "/.tollgate/nothing",
        "/.tollgate/static/x.js",
    ];
    for (method, target) in ["GET", "POST", "OPTIONS"].iter().flat_map(|m| targets.map(|t| (*m, t))) {
        for (kind, cookie) in kinds.iter().flat_map(|kind| cookies.map(|cookie| (*kind, cookie))) {
            let headers: Vec<_> = kind.iter().copied().chain(cookie.map(|c| ("cookie", c))).collect();
            let request = asking(method, target, &headers);
            let response = refusal(&gate, &request, &at(0, 1));
            for (name, value) in response.headers() {
                let forbidden = [
                    "set-cookie",
                    "location",
                    "etag",
                    "last-modified",
                    "x-frame-options",
                    "cross-origin-opener-policy",
                ];
                assert!(
                    !forbidden.contains(name) && !name.starts_with("access-control"),
                    "{method} {target}: {name}"
                );
                assert!(*name != "cache-control" || value == "no-store", "{method} {target}: {value}");
            }
            assert!(header(&response, "cache-control").is_some(), "{method} {target}");
            assert!((400..500).contains(&response.status()), "{method} {target}: {}", response.status());
        }
    }
}
