//! Limits, raises and signals through the whole gate.

mod traces;

use std::net::IpAddr;
use std::time::Duration;

use super::super::tests::*;
use super::super::*;
use crate::behaviour::Signal;
use crate::memory::Limit as Limited;
use crate::policy::Trace;
use crate::request::{Request, Unfit};

/// A request of this client.
fn from<'a>(client: [u8; 4], target: &'a str, headers: &[(&'a str, &'a str)]) -> Result<Request<'a>, Unfit> {
    asking("GET", target, headers).map(|request| Request { client: Some(IpAddr::from(client)), ..request })
}

fn verdict(gate: &Gate, request: &Result<Request<'_>, Unfit>, second: u64) -> Verdict {
    gate.decide(Face::Grpc, None, request, &at(second, 1)).verdict
}

/// The verdicts of one client's requests for a target, one after the other.
fn verdicts<const N: usize>(gate: &Gate, client: [u8; 4], target: &str) -> [Verdict; N] {
    std::array::from_fn(|_| verdict(gate, &from(client, target, &[]), 1))
}

use Verdict::{Allow, Challenge, Deny, Limit};

const LIMITED: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: few, action: LIMIT, paths: [/few], rate: {limit: 60/1m, burst: 2}}
  - {name: together, action: LIMIT, paths: [/together], rate: {limit: 60/1m, burst: 2, by: network}}
  - {name: watched, action: LIMIT, paths: [/watched], rate: {limit: 60/1m, burst: 1}, shadow: true}
  - {name: denied, action: DENY, paths: [/few], methods: [POST]}
  - {name: held, action: LIMIT, paths: [/pay], rate: {limit: 60/1m, burst: 2, by: clearance}}
  - {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 4}}
  - {name: open, action: ALLOW, paths: [/few]}
  - {name: late, action: LIMIT, paths: [/few, /late], rate: {limit: 1/1d, burst: 1}}
";

#[test]
fn a_limit_rule_lets_a_rate_pass_and_counts_by_whom_it_says() {
    let gate = gate_under(LIMITED, |_| {});
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/few"), [Allow, Allow, Limit], "by client, the default");
    assert_eq!(verdicts(&gate, [192, 0, 2, 2], "/few"), [Allow, Allow, Limit]);
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/together"), [Allow, Allow, Limit], "by network");
    assert_eq!(verdicts(&gate, [192, 0, 2, 2], "/together"), [Limit]);
    assert_eq!(verdicts(&gate, [198, 51, 100, 1], "/together"), [Allow]);
    let decision = gate.decide(Face::Grpc, None, &from([192, 0, 2, 1], "/few", &[]), &at(1, 1));
    assert_eq!((decision.rule, decision.retry_after), ("bot/few", 2));
    assert_eq!(verdict(&gate, &from([192, 0, 2, 1], "/few", &[]), 4), Allow, "later");
}

#[test]
fn a_limit_never_turns_a_denial_into_anything() {
    let gate = gate_under(LIMITED, |_| {});
    let post = || asking("POST", "/few", &[]);
    for _ in 0..5 {
        assert_eq!(verdict(&gate, &post(), 1), Deny);
    }
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/few"), [Allow, Allow, Limit], "and a denial counts nothing");
}

#[test]
fn a_limit_that_only_watches_says_so() {
    let gate = gate_under(LIMITED, |_| {});
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/watched"), [Allow, Allow]);
    let decision = gate.decide(Face::Grpc, None, &from([192, 0, 2, 1], "/watched", &[]), &at(1, 1));
    assert_eq!((decision.verdict, decision.shadow.map(|s| s.verdict)), (Allow, Some(Limit)));
}

#[test]
fn explaining_counts_nothing() {
    let gate = gate_under(LIMITED, |_| {});
    for _ in 0..5 {
        let decision =
            gate.explain(None, &from([192, 0, 2, 1], "/few", &[]), &at(1, 1), &mut Trace::default());
        assert_eq!(decision.verdict, Allow);
    }
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/few"), [Allow, Allow, Limit]);
    let explained = gate.explain(None, &from([192, 0, 2, 1], "/few", &[]), &at(1, 1), &mut Trace::default());
    assert_eq!(explained.verdict, Limit);
}

#[test]
fn a_limit_by_clearance_counts_the_clearance_and_without_one_the_client() {
    let gate = gate_under(LIMITED, |_| {});
    let buy = |seed| cookie(&post(&gate, &solved(&gate, "/pay", &at(0, seed)), &[], &at(0, 2)));
    let (first, second) = (buy(8), buy(9));
    // Each purchase asked for the page once; that counted for the client.
    let with_cookie = |cookie: &str| {
        let headers = [("user-agent", "Mozilla/5.0 test"), ("cookie", cookie)];
        verdict(&gate, &from([192, 0, 2, 1], "/pay", &headers), 10)
    };
    assert_eq!([&first, &first, &first].map(|c| with_cookie(c)), [Allow, Allow, Limit]);
    assert_eq!([&second, &second, &second].map(|c| with_cookie(c)), [Allow, Allow, Limit]);
    assert_eq!(verdicts(&gate, [203, 0, 113, 5], "/pay"), [Challenge, Challenge, Limit]);
}

#[test]
fn limits_survive_a_reload() {
    let gate = gate_under(LIMITED, |_| {});
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/few"), [Allow, Allow]);
    let next = reloaded(&gate, &LIMITED.replace("version: tollgate/v1", "version: tollgate/v1 # changed"));
    assert_eq!(verdicts(&next, [192, 0, 2, 1], "/few"), [Limit]);
}

const SIGNALS: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: early, action: ALLOW, paths: [/free/**]}
  - {name: crawl, action: CHALLENGE, signals: {any: [crawl]}, challenge: {level: 14}}
  - {name: much, action: DENY, expression: client.rate_1m > 55}
  - {name: attack, action: CHALLENGE, paths: [/guarded], expression: attack.level >= 1, challenge: {level: 12}}
  - {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 12}}
  - {name: wait, action: CHALLENGE, paths: [/wait], challenge: {algorithm: metarefresh, difficulty: 16}}
";

#[test]
fn a_crawl_is_challenged_once_it_shows_and_what_is_allowed_above_stays_allowed() {
    let gate = gate_under(SIGNALS, |_| {});
    let mut first = None;
    for page in 0..60_u64 {
        let target = format!("/page/{}", page * 7919 % 1000);
        let got = verdict(&gate, &from([192, 0, 2, 1], &target, &[]), page);
        if got == Challenge {
            first = first.or(Some(page));
        }
    }
    assert_eq!(first, Some(40));
    assert_eq!(verdict(&gate, &from([192, 0, 2, 1], "/free/x", &[]), 60), Allow);
    assert_eq!(
        verdict(&gate, &from([192, 0, 2, 2], "/page/1", &[]), 60),
        Allow,
        "a neighbour is not concerned"
    );
    let (findings, figures) = gate.findings(&from([192, 0, 2, 1], "/", &[]).unwrap(), &at(60, 1));
    assert!(gate.state.metrics.encode().contains("tollgate_signals_total{signal=\"crawl\"} 20"));
    let crawl = findings.iter().find(|finding| finding.signal == Signal::Crawl).unwrap();
    assert!(crawl.raised && crawl.why.contains("client.documents_5m 61"), "{}", crawl.why);
    assert!(figures.iter().any(|(figure, value)| figure.name() == "client.rate_1m" && *value > 50));
}

#[test]
fn figures_count_in_expressions_and_without_an_address_a_strict_rule_is_strict() {
    let gate = gate_under(SIGNALS, |_| {});
    let got: Vec<_> = (0..60).map(|_| verdict(&gate, &from([192, 0, 2, 1], "/", &[]), 1)).collect();
    assert_eq!(got.iter().filter(|verdict| **verdict == Allow).count(), 56);
    assert!(got[56..].iter().all(|verdict| *verdict == Deny));
    let nobody = asking("GET", "/", &[]).map(|request| Request { client: None, ..request });
    assert_eq!(verdict(&gate, &nobody, 1), Deny);
}

#[test]
fn under_attack_new_challenges_cost_more_and_old_clearances_hold() {
    let gate = gate_under(SIGNALS, |settings| settings.marks = [5, 50]);
    let level = |second, client| {
        gate.decide(Face::Grpc, None, &from(client, "/pay", &[]), &at(second, 1)).toll.map(|toll| toll.level)
    };
    let bought = cookie(&post(&gate, &solved(&gate, "/pay", &at(0, 8)), &[], &at(0, 2)));
    assert_eq!((level(1, [10, 0, 0, 1]), gate.state.attack(at(1, 1).now)), (Some(12), 0));
    assert_eq!(verdict(&gate, &from([10, 0, 0, 1], "/guarded", &[]), 1), Allow);
    for second in 0..30 {
        for n in 0..10 {
            level(second, [10, 1, second as u8, n]);
        }
    }
    assert_eq!((level(31, [10, 0, 0, 2]), gate.state.attack(at(31, 1).now)), (Some(14), 1));
    assert_eq!(verdict(&gate, &from([10, 0, 0, 1], "/guarded", &[]), 31), Challenge);
    let held = [("user-agent", "Mozilla/5.0 test"), ("cookie", bought.as_str())];
    assert_eq!(
        verdict(&gate, &from([192, 0, 2, 1], "/pay", &held), 31),
        Allow,
        "judged by the rule's own level"
    );
    let raised = post(&gate, &solved(&gate, "/pay", &at(32, 7)), &[], &at(33, 2));
    assert_eq!(raised.status(), 204, "what was raised is accepted when it comes back");
    assert_eq!(gate.state.attack(at(400, 1).now), 0);
    assert!(gate.state.text(at(401, 1).now).contains("tollgate_attack_level 0"));
}

#[test]
fn a_network_that_does_not_solve_pays_more() {
    let gate = gate_under(SIGNALS, |settings| settings.marks = [0, 0]);
    let level = |client| {
        gate.decide(Face::Grpc, None, &from(client, "/pay", &[]), &at(5, 1)).toll.map(|toll| toll.level)
    };
    for n in 0..50 {
        assert_eq!(level([192, 0, 2, n]), Some(12));
    }
    assert_eq!((level([192, 0, 2, 200]), level([192, 0, 3, 1])), (Some(14), Some(12)));
    let wait = |client| gate.decide(Face::Grpc, None, &from(client, "/wait", &[]), &at(5, 1)).toll;
    assert_eq!(wait([192, 0, 2, 200]), wait([192, 0, 3, 1]), "a wait stays what it is");
}

/// The level that `/pay`, a rule of level 12, asks of this client.
fn level(gate: &Gate, client: [u8; 4], headers: &[(&str, &str)], second: u64) -> Option<u8> {
    let decision = gate.decide(Face::Grpc, None, &from(client, "/pay", headers), &at(second, 1));
    decision.toll.map(|toll| toll.level)
}

/// Half a minute of an attack past the second mark, each challenge from a network of its own; then one network takes 50 more.
fn attacked(gate: &Gate) {
    (0..30 * 60).for_each(|n: u64| {
        level(gate, [10, (n / 200) as u8, (n % 200) as u8, 1], &[], n / 60);
    });
    (0..50).for_each(|n| {
        level(gate, [192, 0, 2, n], &[], 31);
    });
}

#[test]
fn raises_add_up_to_the_configured_cap_and_never_go_below_the_rule() {
    for (cap, attack, and_unsolved) in [(20, 16, 18), (18, 16, 18), (16, 16, 16), (13, 13, 13), (10, 12, 12)]
    {
        let gate = gate_under(SIGNALS, |settings| {
            settings.marks = [5, 50];
            settings.challenge.max_level = cap;
        });
        attacked(&gate);
        let got = [[198, 51, 100, 1], [192, 0, 2, 200]].map(|client| level(&gate, client, &[], 32));
        assert_eq!(got, [Some(attack), Some(and_unsolved)], "with a cap of {cap}");
        assert_eq!(
            level(&gate, [198, 51, 100, 1], &[], 32 + 310),
            Some(cap.clamp(12, 14)),
            "five calm minutes"
        );
        assert_eq!(level(&gate, [198, 51, 100, 1], &[], 32 + 620), Some(12), "and five more");
    }
}

#[test]
fn a_network_that_solved_one_lately_is_raised_to_16_and_no_higher() {
    let gate = gate_under(SIGNALS, |settings| settings.marks = [5, 50]);
    assert_eq!(post(&gate, &solved(&gate, "/pay", &at(0, 8)), &[], &at(0, 2)).status(), 204);
    attacked(&gate);
    let neighbour = [192, 0, 2, 200];
    assert_eq!(
        level(&gate, neighbour, &[], 32),
        Some(16),
        "one in fifty is solved, in the network of the answer"
    );
}

#[test]
fn what_a_visitor_says_of_its_device_changes_no_level() {
    let gate = gate_under(SIGNALS, |settings| settings.marks = [5, 50]);
    attacked(&gate);
    let claims: &[&[(&str, &str)]] = &[
        &[],
        &[(
            "user-agent",
            "Mozilla/5.0 (Linux; Android 5.0; SM-G900P) AppleWebKit/537.36 Chrome/60 Mobile Safari/537.36",
        )],
        &[
            ("sec-ch-ua-mobile", "?1"),
            ("sec-ch-ua-platform", "\"Android\""),
            ("sec-ch-ua-form-factors", "\"Watch\""),
        ],
        &[
            ("device-memory", "0.25"),
            ("sec-ch-device-memory", "0.25"),
            ("save-data", "on"),
            ("ect", "2g"),
            ("rtt", "3000"),
        ],
        &[("sec-ch-prefers-reduced-motion", "reduce"), ("sec-gpc", "1"), ("dnt", "1")],
    ];
    for claim in claims {
        assert_eq!(level(&gate, [198, 51, 100, 1], claim, 32), Some(16), "{claim:?}");
    }
}

#[test]
fn one_answer_solves_once_however_often_it_is_sent() {
    let gate = gate();
    let answer = solved(&gate, "/pay", &at(0, 9));
    for _ in 0..5 {
        assert_eq!(post(&gate, &answer, &[], &at(1, 2)).status(), 204);
    }
    assert_eq!(gate.state.memory.challenges(IpAddr::from([192, 0, 2, 1]), at(2, 1).now), (1, 1));
}

#[test]
fn whoever_only_watches_learns_of_nothing_that_was_not_done() {
    let gate = gate_with(|settings| settings.shadow = true);
    for _ in 0..30 {
        assert_eq!(verdict(&gate, &from([192, 0, 2, 1], "/deny", &[]), 1), Allow);
    }
    let (findings, _) = gate.findings(&from([192, 0, 2, 1], "/", &[]).unwrap(), &at(2, 1));
    assert!(!findings.iter().any(|finding| finding.raised && finding.signal == Signal::Persists));
}

#[test]
fn the_error_page_of_nginx_records_nothing() {
    let gate = gate_under(LIMITED, |_| {});
    let page = || asking("GET", "/.tollgate/page", BROWSER);
    for _ in 0..5 {
        let response = gate.public(&page(), None, || from([192, 0, 2, 1], "/few", BROWSER), &at(1, 1));
        assert_eq!(response.status(), 403);
    }
    assert_eq!(verdicts(&gate, [192, 0, 2, 1], "/few"), [Allow, Allow, Limit]);
    let response = gate.public(&page(), None, || from([192, 0, 2, 1], "/few", BROWSER), &at(1, 1));
    assert_eq!(response.status(), 429, "the page says what the first answer meant");
    assert!(header(&response, "retry-after").is_some());
    let (_, figures) = gate.findings(&from([192, 0, 2, 1], "/", &[]).unwrap(), &at(1, 1));
    let documents = figures.iter().find(|(figure, _)| figure.name() == "client.documents_5m");
    assert_eq!(documents.map(|(_, value)| *value), Some(3));
}

#[test]
fn one_network_is_no_attack() {
    let gate = gate_under(SIGNALS, |settings| settings.marks = [5, 50]);
    for second in 0..60 {
        for _ in 0..10 {
            verdict(&gate, &from([192, 0, 2, 1], "/pay", &[]), second);
        }
    }
    assert_eq!(gate.state.attack(at(60, 1).now), 0);
}

#[test]
fn what_another_site_makes_a_browser_ask_for_says_nothing_about_its_reader() {
    let gate = gate();
    let probes = |client, headers: &[(&str, &str)]| {
        for target in ["/.env", "/deny", "/.%65nv"] {
            verdict(&gate, &from(client, target, headers), 1);
        }
        let (findings, figures) = gate.findings(&from(client, "/", &[]).unwrap(), &at(2, 1));
        let raised = findings.iter().any(|finding| finding.raised && finding.signal == Signal::Probe);
        let misdeeds = figures.iter().any(|(figure, _)| figure.name() == "client.misdeeds");
        (raised, misdeeds)
    };
    let image = [("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")];
    assert_eq!(probes([192, 0, 2, 1], &image), (false, false));
    assert_eq!(probes([192, 0, 2, 2], &[]), (true, true));
}

#[test]
fn a_probe_is_seen_in_every_reading() {
    let gate = gate();
    for (n, target) in
        (1..).zip(["/%2eenv", "/.git%2fconfig", "/.git;a/config", "/x/..;/.git/config", "//.git/./config"])
    {
        verdict(&gate, &from([192, 0, 2, n], target, &[]), 1);
        let (findings, _) = gate.findings(&from([192, 0, 2, n], "/", &[]).unwrap(), &at(2, 1));
        assert!(findings.iter().any(|f| f.raised && f.signal == Signal::Probe), "{target}");
    }
}

#[test]
fn a_clearance_that_nobody_shares_hides_no_other() {
    let gate = gate();
    let buy = |seed| cookie(&post(&gate, &solved(&gate, "/pay", &at(0, seed)), &[], &at(0, seed)));
    let (own, shared) = (buy(3), buy(4));
    for n in 0..8 {
        verdict(&gate, &from([10, 0, n, 1], "/pay", &with(&[("cookie", &shared)])), 1);
    }
    let both = format!("{own}; {shared}");
    let (findings, _) =
        gate.findings(&from([10, 0, 9, 1], "/pay", &with(&[("cookie", &both)])).unwrap(), &at(2, 1));
    assert!(findings.iter().any(|f| f.raised && f.signal == Signal::ClearanceShared));
}

#[test]
fn who_waits_counts_as_who_answers() {
    let gate = gate_with(|settings| {
        settings.limits.answers = Limited { count: 60, per: Duration::from_secs(60), burst: 3 }
    });
    let redeem = |seed| {
        let page = refusal(&gate, &asking("GET", "/wait", BROWSER), &at(0, seed));
        let body =
            String::from_utf8(page.body().to_vec()).unwrap().replace("&#x2f;", "/").replace("&amp;", "&");
        let url = address_in(&body, "/.tollgate/wait?");
        refusal(&gate, &asking("GET", &url, BROWSER), &at(17, 2)).status()
    };
    assert_eq!([10, 11, 12].map(redeem), [303; 3]);
    assert_ne!(redeem(13), 303);
    let client = IpAddr::from([192, 0, 2, 1]);
    assert_eq!(gate.state.memory.challenges(client, at(18, 1).now).1, 0, "a wait earns no reputation");
}

#[test]
fn raises_leave_the_lane_without_scripts_open() {
    let policy = "version: tollgate/v1\ndefault: ALLOW\nbots:\n- {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 14}}\n";
    let gate = gate_under(policy, |settings| settings.marks = [1, 2]);
    for second in 0..60 {
        for n in 0..20 {
            verdict(&gate, &from([10, second, n, 1], "/pay", &[]), second.into());
        }
    }
    let request = from([192, 0, 2, 1], "/pay", BROWSER);
    let level = gate.decide(Face::Grpc, None, &request, &at(60, 1)).toll.map(|toll| toll.level);
    assert_eq!(level, Some(18), "above what waiting stands in for");
    let page = refusal(&gate, &request, &at(60, 1));
    let body = String::from_utf8_lossy(page.body()).replace("&#x2f;", "/");
    assert!(body.contains("/.tollgate/wait?"), "{body}");
}
