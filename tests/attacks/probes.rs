//! Attacks that take more than one question, or that no row can say; and the controls without which a refusal proves nothing.

use serde_json::{Value, json};

use crate::ask::{Asker, forge, http, message};
use crate::grpc::{Message, entry};
use crate::http::{Head, Reply};
use crate::judge::judge;
use crate::visit::{BROWSER, LOOPBACK, answering, cookie, row};

#[test]
fn the_right_answer_buys_the_same_clearance_whoever_gives_it_again() {
    let mut asker = Asker::new();
    let control = answering("{{answer}}");
    let first = asker.ask(&control);
    assert_eq!(first.status, Some(204), "{first:?}");
    let value = forge(&control).bought_by(&forge(&control).plain_answer());
    assert!(cookie(&first).starts_with(&format!("__Host-tollgate={value}; Path=/; Max-Age=")), "{first:?}");
    for again in [asker.ask_again(&control), asker.ask(&control)] {
        assert_eq!((again.status, cookie(&again)), (Some(204), cookie(&first)));
    }
    for face in ["check", "forward", "grpc", "nginx"] {
        let back = json!({ "headers": [["cookie", format!("a=1; __Host-tollgate={value}")]] });
        let outcome = asker.ask(&row(face, back));
        assert!(outcome.allowed, "{face}: {outcome:?}");
    }
}

#[test]
fn no_bit_of_a_token_can_be_turned() {
    let mut asker = Asker::new();
    for bit in 0..448 {
        let outcome = asker.ask_again(&answering(&format!("{{{{challenge flip={bit}}}}}{{{{zeros k=16}}}}")));
        assert!(outcome.header("set-cookie").is_none(), "bit {bit}");
        assert_eq!(outcome.status, Some(403), "bit {bit}");
        assert!(matches!(outcome.body.as_str(), "version" | "key" | "forged"), "bit {bit}: {}", outcome.body);
    }
}

#[test]
fn the_wait_lane_leads_back_to_the_path_that_was_signed_and_to_no_other() {
    let mut asker = Asker::new();
    let lane = |target: &str, more: Value| row("public", json!({ "target": target, "headers": more }));
    let link = "/.tollgate/wait?t={{wait_token id=1}}";
    let first = asker.ask(&lane(link, json!([])));
    assert_eq!(first.status, Some(303), "{first:?}");
    let value = cookie(&first).split(';').next().expect("a cookie has a value").to_owned();
    let second = first.header("location").expect("it leads on").to_owned();
    assert!(second.starts_with("/.tollgate/waited?t="), "{second}");
    let without = asker.ask_again(&lane(&second, json!([])));
    assert_eq!(without.status, Some(403), "a browser without cookies is told so");
    let back = asker.ask_again(&lane(&second, json!([["cookie", value]])));
    assert_eq!((back.status, back.header("location")), (Some(303), Some("/page?x=1")));
}

#[test]
fn what_a_visitor_sends_comes_back_as_text_or_not_at_all() {
    let mut asker = Asker::new();
    let evil = [
        "\"><script>alert(1)</script>",
        "'-alert(1)-'",
        "</script><script>",
        "{{7*7}}".trim_matches('{'),
        "${7*7}",
        "<!--<script>",
        "javascript:alert(1)",
        "<img src=x onerror=alert(1)>",
        "\u{e2}\u{80}\u{a8}x",
    ];
    for probe in evil {
        for face in ["check", "forward", "grpc", "public"] {
            for (path, name) in [
                ("/page", None),
                ("/admin", None),
                ("/page", Some("referer")),
                ("/page", Some("accept-language")),
                ("/page", Some("cookie")),
                ("/admin", Some("accept-language")),
                ("/page", Some("user-agent")),
            ] {
                // Over HTTP a target cannot hold every byte; what it cannot hold goes into the headers that describe one.
                let target = if name.is_none() { format!("{path}?q={probe}") } else { path.to_owned() };
                let mut headers: Vec<_> = name.iter().map(|name| json!([name, probe])).collect();
                let mut change = json!({ "target": target });
                if face == "public" {
                    change = json!({ "target": "/.tollgate/page" });
                    headers.push(json!(["x-forwarded-uri", target]));
                }
                change["headers"] = headers.into();
                let asked = row(face, change);
                if face == "grpc" && !probe.is_ascii() {
                    continue;
                }
                let outcome = asker.ask(&asked);
                let markup = probe.contains(['<', '\'']) && outcome.body.contains(probe);
                assert!(!markup, "{face} {path} {name:?} {probe}: {}", outcome.body);
                assert!(!outcome.body.contains("<img src=x"), "{face} {path} {name:?} {probe}");
                assert!(
                    outcome.status != Some(200) && !outcome.allowed,
                    "{face} {path} {name:?} {probe}: {outcome:?}"
                );
                judge(&asked, &outcome)
                    .unwrap_or_else(|e| panic!("{face} {path} {name:?} {probe}: {e}\n{outcome:?}"));
            }
        }
    }
}

#[test]
fn what_poses_as_ours_is_gone_before_the_app_sees_it() {
    let mut asker = Asker::new();
    let names = [
        "x-tollgate-verdict",
        "x-tollgate-bot",
        "X_Tollgate_Verdict",
        "x.tollgate.bot",
        "x-tollgate_id",
        "x-tollgate-ja4",
        "x-tollgate-x",
    ];
    let lines: Vec<_> = names.iter().map(|name| json!([name, "allow"])).collect();
    for via in [None, Some("header_map")] {
        let mut asked = row("grpc", json!({ "target": "/robots.txt", "headers": lines }));
        asked.via = via.map(|_| crate::row::Via::HeaderMap);
        let outcome = asker.ask(&asked);
        assert!(outcome.allowed, "{outcome:?}");
        for name in names {
            let gone = outcome.removed.iter().any(|removed| removed.eq_ignore_ascii_case(name));
            let ours = outcome.header(name).is_some();
            assert!(gone != ours, "{name}: removed {gone}, overwritten {ours}");
        }
    }
}

fn post(asker: &Asker, lines: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut head = Head::new(b"POST", b"/.tollgate/answer");
    let usual = [
        ("host", "example.com"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-for", "198.51.100.7"),
        ("user-agent", BROWSER),
    ];
    for (name, value) in usual.iter().chain(lines) {
        head.line(name, value.as_bytes());
    }
    head.send_with(body, asker.stand.http, LOOPBACK)
}

#[test]
fn an_answer_s_body_is_read_up_to_its_cap_and_never_twice() {
    let asker = Asker::new();
    drop(asker.stand.fresh());
    let form = ("content-type", "application/x-www-form-urlencoded");
    let text = forge(&answering("")).expand("{{answer id=1}}");
    let right = format!("a={text}");
    let length = right.len().to_string();
    let reply = post(&asker, &[form, ("content-length", &length)], right.as_bytes());
    assert_eq!(reply.status, Some(204), "{reply:?}");
    let chunked = format!("{:x}\r\n{right}\r\n0\r\n\r\n", right.len());
    assert_eq!(post(&asker, &[form, ("transfer-encoding", "chunked")], chunked.as_bytes()).status, Some(204));
    let refused = |lines: &[(&str, &str)], body: &[u8]| {
        let reply = post(&asker, lines, body);
        let status = reply.status.unwrap_or(400);
        assert!((400..500).contains(&status) && reply.header("set-cookie").is_none(), "{lines:?}: {reply:?}");
    };
    refused(&[form, ("content-length", "10485760")], &vec![b'a'; 10 << 20]);
    // Two lengths: the chunks count (RFC 9112, 6.3), and nothing behind them is taken for another request.
    let smuggled = [chunked.as_bytes(), b"GET /check/robots.txt HTTP/1.1\r\nhost: h\r\n\r\n"].concat();
    let both = post(&asker, &[form, ("content-length", "5"), ("transfer-encoding", "chunked")], &smuggled);
    assert_eq!((both.status, both.header("connection")), (Some(204), Some("close")));
    refused(&[form, ("transfer-encoding", "chunked, identity")], chunked.as_bytes());
    refused(&[form, ("transfer-encoding", "xchunked")], chunked.as_bytes());
    refused(&[form, ("content-length", "5"), ("content-length", "6")], b"a=123");
    refused(&[form, ("content-length", "-1")], b"a=123");
    refused(
        &[form, ("content-length", &length), ("content-encoding", "gzip")],
        &[&[0x1f, 0x8b][..], right.as_bytes()].concat()[..right.len()],
    );
    refused(&[("content-length", &length)], right.as_bytes());
    refused(&[("content-type", "application/json"), ("content-length", &length)], right.as_bytes());
    refused(&[("content-type", "multipart/form-data"), ("content-length", &length)], right.as_bytes());
    let twice = format!("{right}&{right}");
    refused(&[form, ("content-length", &twice.len().to_string())], twice.as_bytes());
    let other = format!("{right}&a=x");
    refused(&[form, ("content-length", &other.len().to_string())], other.as_bytes());
    refused(&[form, ("content-length", &length), ("tollgate-answer", "x")], right.as_bytes());
    let padded = format!("{right}&x={}", "y".repeat(1024));
    refused(&[form, ("content-length", &padded.len().to_string())], padded.as_bytes());
    refused(&[form, ("content-length", &length), ("sec-fetch-site", "cross-site")], right.as_bytes());
    refused(&[form, ("content-length", &length), ("origin", "null")], right.as_bytes());
}

/// Random enough to find what a parser did not expect, and the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("53 bits fit") % sides
    }

    /// Changes, cuts, doubles and inserts bytes.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = bytes.to_vec();
        for _ in 0..=self.roll(6) {
            let at = self.roll(out.len().max(1)).min(out.len().saturating_sub(1));
            match self.roll(5) {
                0 => out[at] ^= 1 << self.roll(8),
                1 => out[at] = u8::try_from(self.roll(256)).expect("a byte"),
                2 => drop(out.remove(at)),
                3 => {
                    let end = (at + self.roll(40)).min(out.len());
                    let piece = out[at..end].to_vec();
                    out.splice(at..at, piece);
                }
                _ => out.insert(at, b"\0\r\n ;,:%/.\xff\t"[self.roll(12)]),
            }
            if out.is_empty() {
                return out;
            }
        }
        out
    }
}

#[test]
fn no_damaged_question_is_allowed_and_the_next_one_is_answered() {
    let mut asker = Asker::new();
    drop(asker.stand.fresh());
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let cookie =
        json!([["cookie", "__Host-tollgate={{clearance flip=300}}"], ["x-tollgate-verdict", "allow"]]);
    for round in 0..1500 {
        let grpc = row("grpc", json!({ "headers": cookie }));
        let damaged = Message(dice.damage(&message(&grpc, &forge(&grpc)).0));
        let outcome = asker.call(damaged, LOOPBACK);
        assert!(!outcome.allowed, "grpc, round {round}: {outcome:?}");
        for face in ["check", "forward", "nginx"] {
            let asked = row(face, json!({ "headers": cookie }));
            let mut head = http(&asked, &forge(&asked));
            head.0 = dice.damage(&head.0);
            let shown = head.0.escape_ascii().to_string();
            let reply = head.send_cut(asker.stand.http, LOOPBACK);
            assert!(
                reply.status.is_none_or(|status| status >= 400),
                "{face}, round {round}: {shown}\n{reply:?}"
            );
        }
    }
    for face in ["check", "forward", "grpc", "nginx"] {
        assert!(asker.ask(&row(face, json!({ "target": "/robots.txt" }))).allowed, "{face}");
    }
}

#[test]
fn a_question_that_lacks_its_parts_or_has_too_many_is_no_allow() {
    let mut asker = Asker::new();
    drop(asker.stand.fresh());
    let empty = Message::default;
    let within = |http: Message| empty().with(1, empty().with(4, empty().with(2, http)));
    let plain = || empty().with(2, "GET").with(4, "/robots.txt").with(5, "example.com").with(6, "https");
    let deep = (0..1000).fold(empty(), |inner, _| empty().with(1, entry("a", empty().with(5, inner))));
    let many = (0..10_000).fold(plain(), |http, at| http.with(3, entry(format!("x-{at}"), "1")));
    let questions = [
        empty(),
        empty().with(1, ""),
        empty().with(1, empty().with(4, "")),
        within(empty()),
        within(empty().with(4, "/robots.txt")),
        within(empty().with(2, "GET").with(4, "/robots.txt")),
        within(empty().with(2, "GET").with(4, "/robots.txt").with(6, "https")),
        within(empty().with(2, "GET").with(5, "example.com").with(6, "https")),
        within(empty().with(2, "GET").with(4, "\u{ff}").with(5, "example.com").with(6, "https")),
        within(plain().with(4, b"/\xff".as_slice())),
        within(plain().with(4, "/page")),
        within(plain().with(3, entry("a", b"\xff".as_slice()))),
        within(plain().with(11, "x".repeat(5 << 20))),
        within(many),
        empty().with(1, empty().with(11, empty().with(1, entry("deep", deep)))),
        Message(vec![0xff; 100]),
        Message(vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    ];
    for (at, question) in questions.into_iter().enumerate() {
        let outcome = asker.call(question, LOOPBACK);
        assert!(!outcome.allowed, "question {at}: {outcome:?}");
    }
    // The control. A source that is no address is no evidence, which a rule against addresses takes strictly.
    assert_eq!(asker.call(within(plain()), LOOPBACK).status, Some(403));
    let somebody = empty().with(1, empty().with(1, empty().with(2, "198.51.100.7")));
    let known = empty().with(1, empty().with(1, somebody).with(4, empty().with(2, plain())));
    assert!(asker.call(known, LOOPBACK).allowed);
}

#[test]
fn one_identity_has_one_budget_on_all_faces() {
    let mut asker = Asker::new();
    drop(asker.stand.fresh());
    let faces = ["check", "forward", "grpc", "nginx"];
    let ask = |asker: &mut Asker, face| {
        asker.ask_again(&row(face, json!({ "headers": [["cookie", "__Host-tollgate={{clearance id=1}}"]] })))
    };
    let allowed = (0..200).filter(|at| ask(&mut asker, faces[at % 4]).allowed).count();
    assert_eq!(allowed, 120, "the burst of the default limit");
    for face in faces {
        let outcome = ask(&mut asker, face);
        let (status, later) = (outcome.status, outcome.header("retry-after").is_some());
        assert_eq!(
            (status, later),
            if face == "nginx" { (Some(403), false) } else { (Some(429), true) },
            "{face}"
        );
        let denied = asker.ask_again(&row(
            face,
            json!({ "target": "/admin", "headers": [["cookie", "__Host-tollgate={{clearance id=1}}"]] }),
        ));
        assert_eq!(denied.status, Some(403), "{face}");
    }
}
