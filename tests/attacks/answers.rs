//! Answers that are sent at once, again, changed, spliced, or made of something else of ours.

use std::collections::BTreeSet;
use std::thread;

use serde_json::json;
use tollgate::challenge::Token;
use tollgate::clock::Timestamp;
use tollgate::gate::Gate;

use crate::ask::{Asker, Outcome, forge, http};
use crate::stand::NOW;
use crate::visit::{LOOPBACK, answering, cookie, row};

fn refused(outcome: &Outcome, code: &str, what: &str) {
    assert!(outcome.header("set-cookie").is_none(), "{what}: minted {outcome:?}");
    let status = match code {
        "malformed" => 400,
        "many" => 429,
        _ => 403,
    };
    assert_eq!((outcome.status, outcome.body.trim_end()), (Some(status), code), "{what}");
}

/// How many answers of a kind had this outcome.
fn counted(gate: &Gate, kind: &str, outcome: &str) -> u64 {
    let line = format!("tollgate_answers_total{{kind=\"{kind}\",outcome=\"{outcome}\"}} ");
    let text = gate.state().text(Timestamp::from_seconds(NOW));
    text.lines().find_map(|l| l.strip_prefix(&line)).map_or(0, |n| n.trim().parse().expect("a number"))
}

#[test]
fn one_answer_sent_by_many_at_once_buys_one_identity() {
    let asker = Asker::new();
    drop(asker.stand.fresh());
    let text = answering(&forge(&answering("")).expand("{{answer id=7}}"));
    let at = asker.stand.http;
    let cookies: BTreeSet<_> = thread::scope(|scope| {
        let send = || http(&text, &forge(&text)).send(at, LOOPBACK);
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(send)).collect();
        threads
            .into_iter()
            .map(|thread| {
                let reply = thread.join().expect("it asks");
                assert_eq!(reply.status, Some(204), "{reply:?}");
                reply.header("set-cookie").expect("a right answer buys a cookie").to_owned()
            })
            .collect()
    });
    assert_eq!(cookies.len(), 1, "{cookies:?}");
}

#[test]
fn whichever_step_of_the_check_fails_nothing_is_minted() {
    let mut asker = Asker::new();
    for (text, code) in [
        ("", "malformed"),
        ("{{answer truncate=1}}", "malformed"),
        ("{{answer prepend=4}}", "malformed"),
        ("{{answer std_alphabet=1}}", "malformed"),
        ("{{answer k=8 trailing_bits=1}}", "malformed"),
        ("{{challenge}}", "malformed"),
        ("{{challenge}}{{zeros k=15}}", "malformed"),
        ("{{answer version=0}}", "version"),
        ("{{answer version=2}}", "version"),
        ("{{answer kid=15}}", "key"),
        ("{{answer key=retired}}", "key"),
        ("{{answer kid=0}}", "forged"),
        ("{{answer purpose=clearance}}", "forged"),
        ("{{answer purpose=binding}}", "forged"),
        ("{{answer purpose=return}}", "forged"),
        ("{{challenge kind=2}}{{zeros k=16}}", "kind"),
        ("{{challenge kind=3}}{{zeros k=16}}", "kind"),
        ("{{challenge size=11}}{{zeros k=16}}", "limits"),
        ("{{challenge size=31}}{{zeros k=16}}", "limits"),
        ("{{challenge k=0}}{{zeros k=16}}", "limits"),
        ("{{challenge k=255}}{{zeros k=16}}", "limits"),
        ("{{challenge target=4294967295}}{{zeros k=16}}", "limits"),
        ("{{challenge target=0}}{{zeros k=16}}", "limits"),
        ("{{answer ttl=0}}", "limits"),
        ("{{answer ttl=601}}", "limits"),
        ("{{answer policy=elsewhere}}", "limits"),
        ("{{answer issued=11}}", "future"),
        ("{{answer issued=-301}}", "expired"),
        ("{{answer host=other.example}}", "binding"),
        ("{{answer ua=other}}", "binding"),
        ("{{challenge k=8}}{{zeros k=16}}", "malformed"),
        ("{{answer unsolved=1}}", "wrong"),
        ("{{answer unsolved=16}}", "wrong"),
        ("{{answer repeat_first=1}}", "wrong"),
    ] {
        refused(&asker.ask(&answering(text)), code, text);
    }
    // The controls: the borders of what is refused above.
    for text in [
        "{{answer}}",
        "{{answer k=8}}",
        "{{answer key=verify}}",
        "{{answer issued=10}}",
        "{{answer issued=-300}}",
        "{{answer ttl=600 issued=-600}}",
    ] {
        let outcome = asker.ask(&answering(text));
        assert_eq!(outcome.status, Some(204), "{text}: {outcome:?}");
    }
    // Past sixty a minute from one network none is hashed, right or not.
    drop(asker.stand.fresh());
    let spent =
        (0..60).filter(|_| asker.ask_again(&answering("{{answer id=1 unsolved=16}}")).status == Some(403));
    assert_eq!(spent.count(), 60);
    refused(&asker.ask_again(&answering("{{answer id=1}}")), "many", "the sixty-first");
}

#[test]
fn no_part_of_a_genuine_token_fits_another() {
    let mut asker = Asker::new();
    for field in ["version", "kind", "k", "size", "target", "issued", "ttl", "policy", "id", "binding", "mac"]
    {
        let outcome =
            asker.ask(&answering(&format!("{{{{challenge id=1 splice={field}}}}}{{{{zeros k=16}}}}")));
        // Where both have the same bytes in the field the token is genuine, and only its nonces are wrong.
        let same = matches!(field, "version" | "kind" | "k" | "size" | "ttl" | "policy");
        refused(&outcome, if same { "wrong" } else { "forged" }, field);
    }
    for field in ["version", "kind", "level", "flags", "issued", "expires", "id", "binding", "mac"] {
        let spliced = format!("__Host-tollgate={{{{clearance id=1 splice={field}}}}}");
        let outcome = asker.ask(&row("check", json!({ "headers": [["cookie", spliced]] })));
        let same = matches!(field, "version" | "kind" | "flags");
        assert_eq!(outcome.allowed, same, "{field}: {outcome:?}");
    }
}

#[test]
fn nothing_that_we_signed_passes_for_something_else() {
    let mut asker = Asker::new();
    let things =
        ["{{clearance}}", "{{challenge}}", "{{challenge kind=wait}}", "{{answer}}", "{{wait_token}}"];
    for thing in &things[..4] {
        let cookie = row("grpc", json!({ "headers": [["cookie", format!("__Host-tollgate={thing}")]] }));
        assert_eq!(asker.ask(&cookie).allowed, *thing == "{{clearance}}", "{thing} as a clearance");
        let probe = row(
            "public",
            json!({ "target": "/.tollgate/check", "headers": [["cookie", format!("__Host-tollgate={thing}")]] }),
        );
        assert_eq!(asker.ask(&probe).status == Some(204), *thing == "{{clearance}}", "{thing} at the probe");
        let answer = asker.ask(&answering(thing));
        assert_eq!(answer.header("set-cookie").is_some(), *thing == "{{answer}}", "{thing} as an answer");
    }
    for thing in things {
        let lane = asker.ask(&row("public", json!({ "target": format!("/.tollgate/wait?t={thing}") })));
        assert_eq!(lane.header("set-cookie").is_some(), thing == "{{wait_token}}", "{thing} as a wait");
        let back = asker.ask(&row("public", json!({ "target": format!("/.tollgate/waited?t={thing}") })));
        assert_eq!((back.status, back.header("location")), (Some(403), None), "{thing} as a way back");
    }
}

#[test]
fn the_wait_lane_buys_one_identity_for_one_host_and_no_work() {
    let mut asker = Asker::new();
    let lane = |link: &str| row("public", json!({ "target": format!("/.tollgate/wait?t={link}") }));
    let first = asker.ask(&lane("{{wait_token id=1}}"));
    let again = asker.ask(&lane("{{wait_token id=1}}"));
    assert_eq!((first.status, cookie(&first)), (Some(303), cookie(&again)), "twice is once");
    for (link, code) in [
        ("{{wait_token issued=0}}", "early"),
        ("{{wait_token issued=-2}}", "early"),
        ("{{wait_token host=other.example}}", "binding"),
        ("{{wait_token ua=other}}", "binding"),
        ("{{wait_token key=retired}}", "key"),
        ("{{wait_token purpose=return}}", "forged"),
        ("{{wait_token level=17}}", "limits"),
        ("{{wait_token level=11}}", "limits"),
        ("{{wait_token target=0}}", "limits"),
        ("{{wait_token target=61}}", "limits"),
        ("{{wait_token size=10}}", "forged"),
        ("{{wait_token kind=1}}", "kind"),
    ] {
        let outcome = asker.ask(&lane(link));
        assert!(
            outcome.header("set-cookie").is_none() && outcome.header("location").is_none(),
            "{link}: {outcome:?}"
        );
        assert_eq!(outcome.status, Some(403), "{link}");
        let gate = asker.stand.fresh();
        asker.ask_again(&lane(link));
        assert_eq!(counted(&gate, "wait", code), 1, "{link} is refused for {code}");
    }
    // What it buys counts as a wait, of the level of that wait, wherever it is shown.
    let value = cookie(&first).split(';').next().expect("a cookie has a value").to_owned();
    let bytes = value.split('=').nth(1).expect("a value");
    assert!(bytes.starts_with("EQIM"), "version and key, kind 2, level 12: {bytes}");
}

#[test]
fn a_thousand_challenges_have_nothing_in_common() {
    let mut asker = Asker::new();
    drop(asker.stand.fresh());
    let asked = row("check", json!({ "headers": [["sec-fetch-mode", "cors"]] }));
    let mut ids = BTreeSet::new();
    let mut seen = [const { BTreeSet::new() }; 16];
    for _ in 0..1000 {
        let outcome = asker.ask_again(&asked);
        let token = outcome.header("tollgate-challenge").unwrap_or_else(|| panic!("no token in {outcome:?}"));
        let id = Token::parse(token).expect("a token of ours").id();
        assert!(ids.insert(id), "an id came twice");
        for (byte, seen) in id.iter().zip(&mut seen) {
            seen.insert(*byte);
        }
    }
    // Of 256 values a thousand draws show 251 on average.
    let fewest = seen.iter().map(BTreeSet::len).min();
    assert!(fewest > Some(200), "a byte of the ids takes only {fewest:?} values");
}

#[test]
fn the_largest_token_is_refused_a_hundred_times_at_once_and_others_are_served() {
    let asker = Asker::new();
    let gate = asker.stand.fresh();
    // 64 puzzles of which the last is unsolved: nobody is hashed for longer.
    let wrong = answering(&forge(&answering("")).expand("{{answer k=64 target=33554432 id=1 unsolved=1}}"));
    let at = asker.stand.http;
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let reply = http(&wrong, &forge(&wrong)).send(at, LOOPBACK);
                assert!(matches!(reply.status, Some(403 | 429)), "{reply:?}");
            });
        }
        let free = row("check", json!({ "target": "/robots.txt" }));
        for _ in 0..20 {
            assert_eq!(http(&free, &forge(&free)).send(at, LOOPBACK).status, Some(200));
        }
    });
    assert_eq!(counted(&gate, "work", "wrong"), 60, "sixty a minute are hashed");
    assert_eq!(counted(&gate, "work", "many"), 40);
}
