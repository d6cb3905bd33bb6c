//! The gate from question to answer, without a face: what is allowed, minted, refused and limited, and why.

mod identity;
mod lookups;
mod sites;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::challenge::{Token, answer_text, solve};
use crate::clock::Timestamp;
use crate::crypto::{Refusal, Secret, Seed};
use crate::memory::Limit;
use crate::policy::{Loader, Source, Trace};
use crate::request::{Parts, Request, Unfit};

const POLICY: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: denied, action: DENY, paths: [/deny, /deny/**]}
  - {name: work, action: CHALLENGE, paths: [/pay, /pay/**], challenge: {level: 4}}
  - {name: dear, action: CHALLENGE, paths: [/dear], challenge: {level: 6}}
  - {name: wait, action: CHALLENGE, paths: [/wait], challenge: {algorithm: metarefresh, difficulty: 16}}
  - {name: script, action: CHALLENGE, paths: [/script], challenge: {level: 4, wait: off}}
  - {name: shadowed, action: DENY, paths: [/shadow], shadow: true}
";

pub(super) const BROWSER: &[(&str, &str)] = &[("user-agent", "Mozilla/5.0 test"), ("accept", "text/html")];
const START: u64 = 1_800_000_000;

pub(super) fn gate_with(change: impl FnOnce(&mut Settings)) -> Gate {
    gate_under(POLICY, change)
}

pub(super) fn gate_under(policy: &str, change: impl FnOnce(&mut Settings)) -> Gate {
    let mut settings = Settings::default();
    settings.challenge.size = 10;
    change(&mut settings);
    let mut loader = Loader { root: ".".into(), ..Loader::default() };
    loader.defaults.min_level = 0;
    let policy = loader.load(&Source::Text { name: "test".into(), text: policy.into() }).unwrap().policy;
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    Gate::new(settings, Ring::single(Secret::new([7; 32])), policy, state).unwrap()
}

/// The gate that a reload with this policy puts in the place of another.
pub(super) fn reloaded(gate: &Gate, policy: &str) -> Gate {
    let fresh = gate_under(policy, |_| {});
    Gate { state: gate.state.clone(), ..fresh }
}

pub(super) fn gate() -> Gate {
    gate_with(|_| {})
}

#[test]
fn pages_are_made_anew_only_where_they_differ() {
    let first = gate();
    let with = |change: fn(&mut Settings)| {
        let mut settings = first.settings.clone();
        change(&mut settings);
        first.state.pages(&settings.page, &settings.prefix).unwrap()
    };
    assert!(Arc::ptr_eq(&first.pages, &with(|_| {})));
    let branded = with(|settings| settings.page.name = Some("Example".into()));
    let moved = with(|settings| settings.prefix = "/other/".into());
    assert!(!Arc::ptr_eq(&first.pages, &branded) && !Arc::ptr_eq(&branded, &moved));
    assert!(Arc::ptr_eq(&moved, &with(|settings| settings.prefix = "/other/".into())));
}

pub(super) fn at(second: u64, seed: u8) -> Moment {
    Moment {
        now: Timestamp::from_seconds(START + second),
        seed: Seed::from_bytes(&[seed; 48]),
        known: Vec::new(),
        origin: None,
        learn: true,
    }
}

pub(super) fn asking<'a>(
    method: &'a str,
    target: &'a str,
    headers: &[(&'a str, &'a str)],
) -> Result<Request<'a>, Unfit> {
    Request::new(Parts {
        method: method.as_bytes(),
        target: target.as_bytes(),
        host: b"example.com",
        scheme: b"https",
        client: Some(IpAddr::from([192, 0, 2, 1])),
        headers: headers.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect(),
    })
}

pub(super) fn with<'a>(extra: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    BROWSER.iter().chain(extra).copied().collect()
}

pub(super) fn decide<'g>(
    gate: &'g Gate,
    target: &str,
    extra: &[(&str, &str)],
    moment: &Moment,
) -> Decision<'g> {
    gate.decide(Face::Grpc, None, &asking("GET", target, &with(extra)), moment)
}

/// The visitor's answer to a request on the grpc face.
pub(super) fn refusal(gate: &Gate, request: &Result<Request<'_>, Unfit>, moment: &Moment) -> Response {
    match gate.answer(Face::Grpc, None, request, moment) {
        Answer::Public(response) | Answer::Refuse(_, response) | Answer::Undecided(_, response) => response,
        Answer::Allow(decision) => panic!("allowed by {}", decision.rule),
    }
}

pub(super) fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers().iter().find(|(n, _)| *n == name).map(|(_, v)| &**v)
}

/// A solved challenge for this target, as a program solves it.
pub(super) fn solved(gate: &Gate, target: &str, moment: &Moment) -> String {
    let headers = [("user-agent", "Mozilla/5.0 test"), ("accept", "application/json")];
    let response = refusal(gate, &asking("GET", target, &headers), moment);
    let token = Token::parse(header(&response, "tollgate-challenge").unwrap()).unwrap();
    answer_text(&token, &solve(&token))
}

/// The first address on a page that starts so.
pub(super) fn address_in(body: &str, start: &str) -> String {
    let from = body.find(start).expect("the page names this address");
    body[from..].chars().take_while(|c| !matches!(c, '"' | '\'' | ' ' | '>')).collect()
}

pub(super) fn post(gate: &Gate, answer: &str, extra: &[(&str, &str)], moment: &Moment) -> Response {
    refusal(
        gate,
        &asking("POST", "/.tollgate/answer", &[with(extra), vec![("tollgate-answer", answer)]].concat()),
        moment,
    )
}

/// The cookie that an answer buys, as the browser sends it back.
pub(super) fn cookie(response: &Response) -> String {
    assert_eq!(response.status(), 204);
    let set = header(response, "set-cookie").unwrap();
    assert!(
        set.contains("; Path=/; ")
            && set.contains("Secure")
            && set.contains("HttpOnly")
            && !set.contains("Domain"),
        "{set}"
    );
    set.split(';').next().unwrap().to_owned()
}

#[test]
fn rules_decide_and_an_unfit_request_is_never_judged() {
    let gate = gate();
    let verdict = |target| decide(&gate, target, &[], &at(0, 1)).verdict;
    assert_eq!(verdict("/free"), Verdict::Allow);
    assert_eq!(verdict("/deny"), Verdict::Deny);
    assert_eq!(verdict("/free/..%2fdeny"), Verdict::Deny);
    assert_eq!(verdict("/pay"), Verdict::Challenge);
    for (unfit, verdict, rule) in [
        (Unfit::Malformed("target"), Verdict::Deny, "malformed/target"),
        (Unfit::Incomplete("target"), Verdict::Undecided, "undecided/target"),
        (Unfit::Incomplete("peer"), Verdict::Undecided, "undecided/peer"),
    ] {
        let decision = gate.decide(Face::Nginx, None, &Err(unfit), &at(0, 1));
        assert_eq!((decision.verdict, decision.rule), (verdict, rule));
    }
}

#[test]
fn a_right_answer_buys_the_same_clearance_each_time_and_everywhere() {
    let (gate, replica) = (gate(), gate());
    let answer = solved(&gate, "/pay/a?x=1", &at(0, 9));
    let bought = cookie(&post(&gate, &answer, &[], &at(5, 2)));
    assert_eq!(cookie(&post(&gate, &answer, &[], &at(60, 3))), bought);
    assert_eq!(cookie(&post(&replica, &answer, &[], &at(200, 4))), bought);
    assert_eq!(cookie(&post(&replica, &answer, &[("cookie", &bought)], &at(200, 4))), bought, "held already");
    for gate in [&gate, &replica] {
        assert_eq!(decide(gate, "/pay", &[("cookie", &bought)], &at(300, 5)).verdict, Verdict::Allow);
        assert_eq!(decide(gate, "/deny", &[("cookie", &bought)], &at(300, 5)).verdict, Verdict::Deny);
        let dear = decide(gate, "/dear", &[("cookie", &bought)], &at(300, 5));
        assert_eq!((dear.verdict, dear.prior), (Verdict::Challenge, Some(Refusal::Level)));
    }
    let other = [("cookie", bought.as_str()), ("user-agent", "other")];
    let request = asking("GET", "/pay", &other);
    let decision = gate.decide(Face::Grpc, None, &request, &at(300, 5));
    assert_eq!((decision.verdict, decision.prior), (Verdict::Challenge, Some(Refusal::Binding)));
}

#[test]
fn a_wrong_answer_says_why_and_mints_nothing() {
    let gate = gate();
    let answer = solved(&gate, "/pay", &at(0, 9));
    let unsolved = format!("{}{}", &answer[..75], "A".repeat(answer.len() - 75));
    let forged =
        format!("{}{}{}", &answer[..60], if &answer[60..61] == "A" { "B" } else { "A" }, &answer[61..]);
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], u64, u16, &'a str);
    let rows: &[Row<'_>] = &[
        ("", &[], 0, 400, "malformed"),
        (&unsolved, &[], 0, 403, "wrong"),
        (&forged, &[], 0, 403, "forged"),
        (&answer, &[], 301, 403, "expired"),
        (&answer, &[("sec-fetch-site", "cross-site")], 0, 403, "origin"),
        (&answer, &[("sec-fetch-site", "same-site")], 0, 403, "origin"),
        (&answer, &[("origin", "https://evil.example")], 0, 403, "origin"),
        (&answer, &[("origin", "http://example.com")], 0, 403, "origin"),
        (&answer, &[("origin", "null")], 0, 403, "origin"),
        (&answer, &[("tollgate-answer", "other")], 0, 400, "malformed"),
    ];
    for (text, extra, second, status, code) in rows {
        let response = post(&gate, text, extra, &at(*second, 2));
        assert_eq!((response.status(), &response.body()[..]), (*status, code.as_bytes()), "{extra:?}");
        assert_eq!(header(&response, "set-cookie"), None);
    }
    let fine = [("sec-fetch-site", "same-origin"), ("origin", "https://example.com")];
    assert_eq!(post(&gate, &answer, &fine, &at(0, 2)).status(), 204);
}

#[test]
fn answers_are_limited_by_network_before_a_hash_is_computed() {
    let limit = Limit { count: 2, per: Duration::from_secs(60), burst: 2 };
    let gate = gate_with(|settings| settings.limits.answers = limit);
    let answer = solved(&gate, "/pay", &at(0, 9));
    assert_eq!(post(&gate, &answer, &[], &at(1, 2)).status(), 204);
    let bought = cookie(&post(&gate, &answer, &[], &at(1, 2)));
    let third = post(&gate, &answer, &[], &at(1, 2));
    assert_eq!((third.status(), &third.body()[..]), (429, &b"many"[..]));
    assert!(header(&third, "retry-after").is_some());
    assert_eq!(
        post(&gate, &answer, &[("cookie", &bought)], &at(1, 2)).status(),
        204,
        "what is held costs nothing"
    );
    assert_eq!(post(&gate, &answer, &[], &at(62, 2)).status(), 204);
}

#[test]
fn a_clearance_that_does_too_much_is_challenged_again_then_limited_and_a_peek_counts_nothing() {
    let limit = Limit { count: 60, per: Duration::from_secs(60), burst: 3 };
    let gate = gate_with(|settings| settings.limits.work = limit);
    let bought = cookie(&post(&gate, &solved(&gate, "/pay", &at(0, 9)), &[], &at(0, 2)));
    let cookies = [("cookie", bought.as_str())];
    let request = asking("GET", "/pay", &cookies);
    let held = [with(&[]), vec![("cookie", bought.as_str())]].concat();
    for _ in 0..9 {
        gate.explain(None, &asking("GET", "/pay", &held), &at(1, 3), &mut Trace::default());
    }
    for _ in 0..3 {
        assert_eq!(decide(&gate, "/pay", &cookies, &at(1, 3)).verdict, Verdict::Allow);
    }
    for _ in 0..10 {
        let again = decide(&gate, "/pay", &cookies, &at(1, 3));
        assert_eq!(again.verdict, Verdict::Challenge);
        assert_eq!(again.toll.unwrap().level, 6, "a new identity costs two levels more");
    }
    let limited = decide(&gate, "/pay", &cookies, &at(1, 3));
    assert_eq!(limited.verdict, Verdict::Limit);
    assert!(limited.retry_after >= 1);
    let response = refusal(&gate, &asking("GET", "/pay", &held), &at(1, 3));
    assert_eq!(response.status(), 429);
    assert!(header(&response, "retry-after").is_some());
    assert_eq!(decide(&gate, "/pay", &cookies, &at(3, 3)).verdict, Verdict::Allow);
    drop(request);
}

#[test]
fn a_worn_out_clearance_that_somebody_planted_does_not_shut_out_the_visitor_s_own() {
    let limit = Limit { count: 60, per: Duration::from_secs(60), burst: 2 };
    let gate = gate_with(|settings| settings.limits.work = limit);
    let buy = |seed| cookie(&post(&gate, &solved(&gate, "/pay", &at(0, seed)), &[], &at(0, 2)));
    let (planted, own) = (buy(8), buy(9));
    let both = format!("{planted}; {own}");
    let verdict = |cookies: &str| decide(&gate, "/pay", &[("cookie", cookies)], &at(1, 3)).verdict;
    assert_eq!(
        [verdict(&planted), verdict(&planted), verdict(&planted)],
        [Verdict::Allow, Verdict::Allow, Verdict::Challenge]
    );
    assert_eq!(
        [verdict(&both), verdict(&both), verdict(&both)],
        [Verdict::Allow, Verdict::Allow, Verdict::Challenge]
    );
}

#[test]
fn what_a_comma_parts_can_help_and_neither_shuts_out_nor_limits() {
    let limit = Limit { count: 60, per: Duration::from_secs(60), burst: 1 };
    let gate = gate_with(|settings| settings.limits.work = limit);
    let buy = |seed| cookie(&post(&gate, &solved(&gate, "/pay", &at(0, seed)), &[], &at(0, 2)));
    let (planted, own) = (buy(8), buy(9));
    let ask = |cookies: &str| decide(&gate, "/pay", &[("cookie", cookies)], &at(1, 3));
    let name = planted.split('=').next().unwrap();
    // Ten in the value of a neighbour's cookie, before the visitor's own, and in its own value.
    let many = format!("x=1{}; {own}", format!(",{name}=x").repeat(10));
    assert_eq!(ask(&many).verdict, Verdict::Allow, "they do not use up what is looked at");
    let joined = format!("x=1,{planted}");
    assert_eq!(ask(&joined).verdict, Verdict::Allow, "two lines that Envoy joined");
    for _ in 0..20 {
        let decision = ask(&joined);
        assert_eq!(decision.verdict, Verdict::Challenge, "worn out by somebody else, and never a limit");
        assert_eq!((decision.toll.unwrap().level, decision.prior), (4, None), "nor a dearer challenge");
    }
}

#[test]
fn the_wait_lane_lets_through_after_its_time_and_only_to_where_it_was_signed_for() {
    let gate = gate();
    let page = refusal(&gate, &asking("GET", "/wait", BROWSER), &at(0, 9));
    assert_eq!(page.status(), 403);
    let body = String::from_utf8(page.body().to_vec()).unwrap();
    let url = address_in(&body.replace("&#x2f;", "/").replace("&amp;", "&"), "/.tollgate/wait?");

    let early = refusal(&gate, &asking("GET", &url, BROWSER), &at(1, 2));
    assert_eq!((early.status(), header(&early, "set-cookie")), (403, None));

    let through = refusal(&gate, &asking("GET", &url, BROWSER), &at(16, 2));
    assert_eq!(through.status(), 303);
    let again = header(&through, "location").unwrap().to_owned();
    assert_eq!(again, url.replace("/wait?", "/waited?"));
    let bought = header(&through, "set-cookie").unwrap().split(';').next().unwrap().to_owned();

    let back = refusal(&gate, &asking("GET", &again, &with(&[("cookie", &bought)])), &at(17, 2));
    assert_eq!((back.status(), header(&back, "location")), (303, Some("/wait")));
    assert_eq!(decide(&gate, "/wait", &[("cookie", &bought)], &at(18, 2)).verdict, Verdict::Allow);
    assert_eq!(
        decide(&gate, "/pay", &[("cookie", &bought)], &at(18, 2)).verdict,
        Verdict::Allow,
        "the lane is on for this level"
    );
    assert_eq!(decide(&gate, "/script", &[("cookie", &bought)], &at(18, 2)).prior, Some(Refusal::Kind));

    let blocked = refusal(&gate, &asking("GET", &again, BROWSER), &at(17, 2));
    assert_eq!((blocked.status(), header(&blocked, "location")), (403, None));

    let elsewhere = url.replace(&crate::crypto::encode(b"/wait"), &crate::crypto::encode(b"/else"));
    let twice = format!("{url}&r={}", crate::crypto::encode(b"/else"));
    for forged in [elsewhere.as_str(), &twice, "/.tollgate/wait", "/.tollgate/wait?t=x&r=y&s=z"]
        .into_iter()
        .flat_map(|forged| [forged.to_owned(), forged.replacen("/wait", "/waited", 1)])
    {
        let response = refusal(&gate, &asking("GET", &forged, &with(&[("cookie", &bought)])), &at(16, 2));
        assert_eq!(
            (response.status(), header(&response, "location"), header(&response, "set-cookie")),
            (403, None, None),
            "{forged}"
        );
    }
    let late = refusal(&gate, &asking("GET", &url, BROWSER), &at(400, 3));
    assert_eq!((late.status(), header(&late, "set-cookie")), (403, None));
}

#[test]
fn the_public_prefix_is_exact_and_answers_nothing_else() {
    let gate = gate();
    let status = |method, target: &str| refusal(&gate, &asking(method, target, BROWSER), &at(0, 1)).status();
    assert_eq!(status("GET", "/.tollgate/answer"), 405);
    assert_eq!(status("POST", "/.tollgate/check"), 405);
    assert_eq!(status("GET", "/.tollgate/check"), 403);
    for target in [
        "/.tollgate/",
        "/.tollgate/nothing",
        "/.tollgate/page",
        "/.tollgate/page/",
        "/.tollgate/page/default",
        "/.tollgate/page/a/b",
        "/.tollgate/page/..",
        "/.tollgate/static/",
        "/.tollgate/static/x.js",
        "/.tollgate/answer/",
        "/.tollgate/Answer",
    ] {
        assert_eq!(status("GET", target), 404, "{target}");
    }
    // What only starts like it is judged like anything else.
    for target in
        ["/.tollgate", "/.tollgatex", "/a/.tollgate/check", "/.tollgate/../free", "/.tollgate/..%2ffree"]
    {
        assert!(
            matches!(
                gate.answer(Face::Grpc, None, &asking("GET", target, BROWSER), &at(0, 1)),
                Answer::Allow(_)
            ),
            "{target}"
        );
    }
    assert_eq!(status("GET", "/.tollgate/../deny"), 403);
}

#[test]
fn assets_are_immutable_and_revalidate() {
    let gate = gate();
    let page = refusal(&gate, &asking("GET", "/pay", BROWSER), &at(0, 1));
    let body = String::from_utf8(page.body().to_vec()).unwrap();
    let target = address_in(&body, "/.tollgate/static/");
    let file = refusal(&gate, &asking("GET", &target, BROWSER), &at(0, 1));
    assert_eq!(file.status(), 200);
    assert!(header(&file, "cache-control").unwrap().contains("immutable"));
    let tag = header(&file, "etag").unwrap();
    let again = refusal(&gate, &asking("GET", &target, &with(&[("if-none-match", tag)])), &at(0, 1));
    assert_eq!((again.status(), again.body().len()), (304, 0));
    assert_eq!(refusal(&gate, &asking("POST", &target, BROWSER), &at(0, 1)).status(), 405);
}

#[test]
fn nginx_s_page_decides_again_about_the_request_it_describes() {
    let gate = gate();
    let page = |target: &str| {
        let asked = || asking("GET", target, BROWSER);
        gate.public(&asking("GET", "/.tollgate/page", BROWSER), None, asked, &at(0, 1))
    };
    assert_eq!(page("/pay").status(), 403);
    assert!(page("/pay").body().len() > 1000);
    assert_eq!(page("/deny").status(), 403);
    assert_eq!(
        page("/free").status(),
        403,
        "flipped meanwhile: a page with a reload link, not an empty answer"
    );
    assert_eq!(page("/.tollgate/page").status(), 404, "asked by a visitor");
    let undecided = gate.public(
        &asking("GET", "/.tollgate/page", BROWSER),
        None,
        || Err(Unfit::Incomplete("target")),
        &at(0, 1),
    );
    assert_eq!(undecided.status(), 503);
}

#[test]
fn forward_names_the_missing_route_and_nginx_never_exempts_the_prefix() {
    let gate = gate();
    let page = refusal(&gate, &asking("GET", "/pay", BROWSER), &at(0, 1));
    let body = String::from_utf8(page.body().to_vec()).unwrap();
    let target = address_in(&body, "/.tollgate/static/");
    let request = asking("GET", &target, BROWSER);
    let Answer::Refuse(decision, response) = gate.answer(Face::Forward, None, &request, &at(0, 1)) else {
        panic!()
    };
    assert_eq!((decision.rule, response.status()), ("prefix/no-route", 403));
    let nginx = gate.answer(Face::Nginx, None, &request, &at(0, 1));
    assert!(
        matches!(nginx, Answer::Allow(_)),
        "nginx has a location for the prefix; the question is judged like any other"
    );
}

#[test]
fn shadow_lets_through_and_says_what_would_have_been() {
    let rule = decide(&gate(), "/shadow", &[], &at(0, 1)).shadow.map(|s| (s.verdict, s.rule.to_owned()));
    assert_eq!(rule, Some((Verdict::Deny, "bot/shadowed".into())));
    let gate = gate_with(|settings| settings.shadow = true);
    for (target, verdict) in [("/deny", Verdict::Deny), ("/pay", Verdict::Challenge)] {
        let decision = decide(&gate, target, &[], &at(0, 1));
        assert_eq!((decision.verdict, decision.shadow.unwrap().verdict), (Verdict::Allow, verdict));
    }
    let unknown = gate.decide(Face::Grpc, None, &Err(Unfit::Incomplete("target")), &at(0, 1));
    assert_eq!(unknown.verdict, Verdict::Undecided, "what cannot be decided is not let through either");
}

#[test]
fn the_load_reaches_expressions_and_one_without_a_value_decides_nothing() {
    let policy = r#"
version: tollgate/v1
default: ALLOW
bots:
  - {name: busy, action: DENY, expression: 'path == "/costly" && load_1m > 4.0'}
  - {name: broken, action: DENY, expression: 'path == "/broken" && (1 / (size(path) - 7)) > 0'}
"#;
    let gate = gate_under(policy, |_| {});
    let verdict = |target| decide(&gate, target, &[], &at(0, 1)).verdict;
    assert_eq!(verdict("/costly"), Verdict::Allow);
    gate.state.set_load([4.5, 1.0, 1.0]);
    assert_eq!(verdict("/costly"), Verdict::Deny);
    let broken = decide(&gate, "/broken", &[], &at(0, 1));
    assert_eq!((broken.verdict, broken.rule), (Verdict::Undecided, "undecided/expression"));
}

#[test]
fn a_panic_ends_one_request_and_is_counted() {
    let gate = gate();
    let verdict = gate.contained("grpc", || panic!("a bug"), || Verdict::Undecided);
    assert_eq!(verdict, Verdict::Undecided);
    assert!(gate.state.metrics.encode().contains("tollgate_panics_total 1"));
}

#[test]
fn every_refusal_is_for_this_visitor_only() {
    let gate = gate();
    let html = refusal(&gate, &asking("GET", "/pay", BROWSER), &at(0, 1));
    let json = refusal(&gate, &asking("GET", "/pay", &[("accept", "application/json")]), &at(0, 1));
    let image = refusal(
        &gate,
        &asking("GET", "/pay", &[("sec-fetch-dest", "image"), ("sec-fetch-mode", "no-cors")]),
        &at(0, 1),
    );
    let grpc = refusal(&gate, &asking("POST", "/pay", &[("content-type", "application/grpc")]), &at(0, 1));
    for response in [&html, &json, &image, &grpc] {
        assert_eq!(header(response, "cache-control"), Some("no-store"));
        assert_eq!(header(response, "x-robots-tag"), Some("noindex"));
        assert_eq!(header(response, "x-content-type-options"), Some("nosniff"));
        assert_eq!(header(response, "set-cookie"), None);
    }
    assert_eq!(header(&html, "content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(header(&html, "tollgate-challenge"), None);
    assert_eq!(header(&html, "referrer-policy"), Some("same-origin"));
    assert_eq!(header(&html, "cross-origin-resource-policy"), Some("same-origin"));
    let again = refusal(&gate, &asking("GET", "/pay", BROWSER), &at(0, 2));
    let policies = [&html, &again].map(|response| header(response, "content-security-policy").unwrap());
    assert_ne!(policies[0], policies[1], "a nonce is used once");
    assert_eq!(header(&json, "content-type"), Some("application/problem+json"));
    assert!(header(&json, "tollgate-challenge").is_some());
    assert!(image.body().is_empty() && header(&image, "tollgate-challenge").is_some());
    assert!(grpc.body().len() < 100);
}
