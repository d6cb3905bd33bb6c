//! Several policies in one gate: which of them judges, and that whatever belongs to one request is of one policy.

use std::fs;

use super::*;

const MAIN: &str = r"
version: tollgate/v1
default: DENY
bots:
  - {name: few, action: LIMIT, paths: [/few], rate: {limit: 60/1m, burst: 1}}
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: pay, action: CHALLENGE, path_regex: ^/, challenge: {level: 6}}
sites:
  shop: {hosts: [example.com, '*.shop.example'], policy: shop.yaml}
  api: {policy: api.yaml}
";
const SHOP: &str = r"
version: tollgate/v1
default: ALLOW
status_codes: {CHALLENGE: 429, DENY: 451}
bots:
  - {name: few, action: LIMIT, paths: [/few], rate: {limit: 60/1m, burst: 1}}
  - {name: shop-pay, action: CHALLENGE, paths: [/pay], challenge: {level: 4}}
  - {name: shop-wait, action: CHALLENGE, paths: [/wait], challenge: {algorithm: metarefresh, difficulty: 16}}
  - {name: shop-closed, action: DENY, paths: [/closed]}
";
const API: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: api-closed, action: DENY, paths: [/pay]}
";

fn policies(main: &str) -> Policies {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("main.yaml", main), ("shop.yaml", SHOP), ("api.yaml", API)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut loader = Loader::default();
    loader.defaults.min_level = 0;
    let loaded =
        loader.load(&Source::File(folder.path().join("main.yaml"))).unwrap_or_else(|error| panic!("{error}"));
    Policies::new(loaded.policy, loaded.sites)
}

fn gate_of(main: &str) -> Gate {
    let mut settings = Settings::default();
    settings.challenge.size = 10;
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    Gate::new(settings, Ring::single(Secret::new([7; 32])), policies(main), state).unwrap()
}

fn at_host<'a>(host: &'a str, target: &'a str, headers: &[(&'a str, &'a str)]) -> Result<Request<'a>, Unfit> {
    Request::new(Parts {
        method: b"GET",
        target: target.as_bytes(),
        host: host.as_bytes(),
        scheme: b"https",
        client: Some(IpAddr::from([192, 0, 2, 1])),
        headers: headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
    })
}

#[test]
fn the_proxy_s_hint_comes_before_the_host_and_an_unknown_one_means_the_default() {
    let gate = gate_of(MAIN);
    for (hint, host, policy, rule) in [
        (None, "example.com", "shop", "bot/shop-closed"),
        (None, "EXAMPLE.com.:443", "shop", "bot/shop-closed"),
        (None, "a.shop.example", "shop", "bot/shop-closed"),
        (None, "shop.example", "default", "bot/closed"),
        (None, "example.com.evil", "default", "bot/closed"),
        (Some("default"), "example.com", "default", "bot/closed"),
        (Some("api"), "example.com", "api", "default/allow"),
        (Some("shop"), "other.example", "shop", "bot/shop-closed"),
    ] {
        let decision = gate.decide(Face::Grpc, hint, &at_host(host, "/closed", BROWSER), &at(0, 1));
        assert_eq!((decision.policy, decision.rule), (policy, rule), "{hint:?} {host}");
    }
    let unknown = || gate.state.metrics.unknown_policy.get();
    assert_eq!(unknown(), 0);
    for hint in ["Shop", "", "nothing", "a\r\nb"] {
        let decision = gate.decide(Face::Nginx, Some(hint), &at_host("example.com", "/", BROWSER), &at(0, 1));
        assert_eq!((decision.policy, decision.rule), ("default", "bot/pay"), "{hint:?}");
    }
    assert_eq!(unknown(), 4);
    gate.explain(Some("nothing"), &at_host("example.com", "/", BROWSER), &at(0, 1), &mut Trace::default());
    assert_eq!(unknown(), 4, "an explanation counts nothing");
}

#[test]
fn an_unfit_request_is_of_the_named_policy_or_the_default_one() {
    let gate = gate_of(MAIN);
    for (hint, want) in [(None, "default"), (Some("shop"), "shop")] {
        let decision = gate.decide(Face::Check, hint, &Err(Unfit::Malformed("host")), &at(0, 1));
        assert_eq!((decision.policy, decision.verdict), (want, Verdict::Deny));
    }
    // What a stranger names is neither believed nor counted.
    let stranger = gate.decide(Face::Grpc, Some("nothing"), &Err(Unfit::Incomplete("peer")), &at(0, 1));
    assert_eq!((stranger.policy, stranger.verdict), ("default", Verdict::Undecided));
    assert_eq!(gate.state.metrics.unknown_policy.get(), 0);
}

#[test]
fn statuses_are_those_of_the_policy_that_judged() {
    let gate = gate_of(MAIN);
    for (hint, target, status) in [
        (None, "/pay", 429),
        (None, "/closed", 451),
        (Some("default"), "/closed", 403),
        (Some("api"), "/pay", 403),
    ] {
        let request = at_host("example.com", target, BROWSER);
        let Answer::Refuse(_, response) = gate.answer(Face::Grpc, hint, &request, &at(0, 1)) else {
            panic!()
        };
        assert_eq!(response.status(), status, "{hint:?} {target}");
    }
}

/// The token of a challenge under a hint.
fn token(gate: &Gate, hint: Option<&str>, target: &str) -> Token {
    let headers = [("user-agent", "Mozilla/5.0 test"), ("accept", "application/json")];
    let Answer::Refuse(_, response) =
        gate.answer(Face::Grpc, hint, &at_host("example.com", target, &headers), &at(0, 9))
    else {
        panic!("no challenge")
    };
    Token::parse(header(&response, "tollgate-challenge").unwrap()).unwrap()
}

#[test]
fn an_answer_is_judged_by_the_policy_that_asked_and_its_clearance_counts_by_level() {
    let gate = gate_of(MAIN);
    // The browser posts without a hint, to a host that is the shop's.
    let (cheap, dear) = (token(&gate, None, "/pay"), token(&gate, Some("default"), "/pay"));
    assert_eq!((cheap.level(), dear.level()), (4, 6));
    assert_ne!(cheap.policy(), dear.policy());
    let bought = |token: &Token| cookie(&post(&gate, &answer_text(token, &solve(token)), &[], &at(1, 2)));
    let (cheap_cookie, dear_cookie) = (bought(&cheap), bought(&dear));
    let verdict = |hint, held: &str| {
        let headers = [with(&[]), vec![("cookie", held)]].concat();
        gate.decide(Face::Grpc, hint, &at_host("example.com", "/pay", &headers), &at(2, 3)).verdict
    };
    assert_eq!(verdict(None, &cheap_cookie), Verdict::Allow);
    assert_eq!(verdict(Some("default"), &cheap_cookie), Verdict::Challenge, "its level is too low");
    assert_eq!(verdict(None, &dear_cookie), Verdict::Allow, "whoever sold it");
    assert_eq!(verdict(Some("api"), &dear_cookie), Verdict::Deny, "no clearance changes a denial");
}

#[test]
fn a_challenge_of_a_policy_that_is_gone_buys_nothing() {
    let (gate, without) = (
        gate_of(MAIN),
        gate_of(&MAIN.replace("  shop: {hosts: [example.com, '*.shop.example'], policy: shop.yaml}\n", "")),
    );
    let token = token(&gate, None, "/pay");
    let refused = post(&without, &answer_text(&token, &solve(&token)), &[], &at(1, 2));
    assert_eq!((refused.status(), &refused.body()[..]), (403, &b"limits"[..]));
}

#[test]
fn a_wait_that_took_too_long_starts_anew_under_the_policy_that_asked() {
    let gate = gate_of(MAIN);
    let page = |response: Response| String::from_utf8(response.body().to_vec()).unwrap();
    let html = page(refusal(&gate, &at_host("example.com", "/wait", BROWSER), &at(0, 5)));
    let link = address_in(&html, "/.tollgate/wait").replace("&amp;", "&");
    let of = |link: &str| {
        let text = link.split(['?', '&']).find_map(|part| part.strip_prefix("t=")).unwrap();
        Token::parse(text).unwrap().policy()
    };
    // Asked at a host of the default policy's, as a link that is clicked is.
    let late = page(refusal(&gate, &at_host("example.com", &link, BROWSER), &at(10_000, 6)));
    let fresh = address_in(&late, "/.tollgate/wait").replace("&amp;", "&");
    assert_ne!(fresh, link);
    assert_eq!(of(&fresh), of(&link));
    assert_ne!(of(&fresh), token(&gate, Some("default"), "/pay").policy());
}

#[test]
fn nginx_s_page_is_of_the_policy_that_the_question_named() {
    let gate = gate_of(MAIN);
    let status = |page: &str, target: &str| {
        let asked = || at_host("example.com", target, BROWSER);
        gate.public(&at_host("example.com", page, BROWSER), None, asked, &at(0, 1)).status()
    };
    for (page, target, want) in [
        ("/.tollgate/page", "/closed", 451),
        ("/.tollgate/page/shop", "/closed", 451),
        ("/.tollgate/page/default", "/closed", 403),
        ("/.tollgate/page/nothing?x", "/closed", 403),
        ("/.tollgate/page/shop", "/.tollgate/page/default", 404),
        ("/.tollgate/page/shop/", "/closed", 404),
    ] {
        assert_eq!(status(page, target), want, "{page} {target}");
    }
    assert_eq!(gate.error_page_for(b"/.tollgate/page?a"), Some(None));
    assert_eq!(gate.error_page_for(b"/.tollgate/page/shop?a"), Some(Some("shop")));
    for target in [&b"/.tollgate/pages"[..], b"/.tollgate/page/a/b", b"/.tollgate/page/", b"/page/shop", b""]
    {
        assert_eq!(gate.error_page_for(target), None);
    }
}

#[test]
fn two_names_of_one_id_are_refused() {
    let names = (0..).map(|n| format!("s{n}"));
    let mut seen = std::collections::HashMap::new();
    let (one, other) = names
        .into_iter()
        .find_map(|name| seen.insert(challenge::policy_id(&name), name.clone()).map(|before| (before, name)))
        .unwrap();
    let main = MAIN.replace("  shop:", &format!("  {one}:")).replace("  api:", &format!("  {other}:"));
    let settings = Settings::default();
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    let error = Gate::new(settings, Ring::single(Secret::new([7; 32])), policies(&main), state).unwrap_err();
    assert!(matches!(error, Error::PolicyIds { .. }), "{error}");
    assert!(error.to_string().contains(&one) && error.to_string().contains(&other), "{error}");
}

#[test]
fn hosts_of_one_policy_share_its_limits_and_two_policies_share_none() {
    let gate = gate_of(MAIN);
    let verdict = |host| gate.decide(Face::Grpc, None, &at_host(host, "/few", BROWSER), &at(1, 1)).verdict;
    let hosts = ["example.com", "example.com", "a.shop.example", "elsewhere.example", "elsewhere.example"];
    let (allow, limit) = (Verdict::Allow, Verdict::Limit);
    assert_eq!(hosts.map(verdict), [allow, limit, limit, Verdict::Challenge, limit]);
}
