//! Tables and a property: what each family of proxies gets for every kind of answer.

use proptest::prelude::*;

use super::*;
use crate::gate::DecisionId;

const REFUSED: [Verdict; 3] = [Verdict::Challenge, Verdict::Deny, Verdict::Limit];

fn decision(verdict: Verdict) -> Decision<'static> {
    let id = DecisionId::new([0xab; 16]);
    Decision {
        verdict,
        policy: "default",
        rule: "bot/evil",
        weight: -7,
        id,
        shadow: None,
        toll: None,
        prior: None,
        bot: false,
        retry_after: 0,
    }
}

fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.get(name)
}

fn length(response: &Response) -> usize {
    response.body().len()
}

#[test]
fn an_allow_is_an_empty_200_with_our_headers_on_every_face() {
    let allow = || Answer::Allow(decision(Verdict::Allow));
    for response in [check(allow()), forward(allow()), nginx(&decision(Verdict::Allow))] {
        assert_eq!(response.status(), 200);
        assert_eq!(length(&response), 0);
        assert_eq!(header(&response, "x-tollgate-verdict"), Some("allow"));
        assert_eq!(header(&response, "x-tollgate-rule"), Some("bot/evil"));
        assert_eq!(header(&response, "x-tollgate-weight"), Some("-7"));
        assert_eq!(header(&response, "x-tollgate-id"), Some("abababababababababababababababab"));
        assert_eq!(header(&response, "cache-control"), Some("private, no-store"));
    }
}

#[test]
fn nginx_hears_four_statuses_and_never_a_body() {
    let rows = [
        (Verdict::Allow, 200),
        (Verdict::Challenge, 401),
        (Verdict::Deny, 403),
        (Verdict::Limit, 403),
        (Verdict::Undecided, 500),
    ];
    for (verdict, status) in rows {
        let response = nginx(&decision(verdict));
        assert_eq!(response.status(), status, "{verdict:?}");
        assert_eq!(header(&response, "content-length"), Some("0"));
        assert_eq!(length(&response), 0);
        assert!(response.get("www-authenticate").is_none());
    }
    assert_eq!(failure(Route::Nginx(None)).status(), 500);
    assert_eq!(length(&failure(Route::Nginx(None))), 0);
}

#[test]
fn headers_for_nginx_fit_its_buffer_whatever_a_rule_is_called() {
    let rule = "r\u{e9}".repeat(4000);
    let response = nginx(&Decision { rule: &rule, ..decision(Verdict::Deny) });
    let size: usize = response.headers().iter().map(|(n, v)| n.len() + v.len() + 4).sum();
    assert!(size < 2048, "{size}");
}

#[test]
fn statuses_of_check_and_forward() {
    type Encode = fn(Answer<'_>) -> Response;
    let check_face: Encode = check;
    let rows: &[(Encode, Answer<'_>, u16)] = &[
        (check_face, Answer::Public(Response::empty(200)), 203),
        (check, Answer::Public(Response::empty(204)), 204),
        (check, Answer::Public(Response::empty(304)), 304),
        (check, Answer::Public(Response::empty(404)), 404),
        (check, Answer::Public(Response::empty(503)), 403),
        (check, Answer::Refuse(decision(Verdict::Challenge), Response::empty(403)), 403),
        (check, Answer::Refuse(decision(Verdict::Limit), Response::empty(429)), 429),
        (check, Answer::Refuse(decision(Verdict::Deny), Response::empty(200)), 403),
        (check, Answer::Refuse(decision(Verdict::Deny), Response::empty(503)), 403),
        (check, Answer::Undecided(decision(Verdict::Undecided), Response::empty(200)), 503),
        (forward, Answer::Public(Response::empty(204)), 403),
        (forward, Answer::Public(Response::empty(404)), 404),
        (forward, Answer::Refuse(decision(Verdict::Deny), Response::empty(299)), 403),
        (forward, Answer::Refuse(decision(Verdict::Limit), Response::empty(429)), 429),
        (forward, Answer::Undecided(decision(Verdict::Undecided), Response::empty(403)), 503),
    ];
    for (encode, answer, status) in rows {
        let shown = format!("{answer:?}");
        let answer = match answer {
            Answer::Allow(decision) => Answer::Allow(*decision),
            Answer::Public(response) => Answer::Public(response.clone()),
            Answer::Refuse(decision, response) => Answer::Refuse(*decision, response.clone()),
            Answer::Undecided(decision, response) => Answer::Undecided(*decision, response.clone()),
        };
        assert_eq!(encode(answer).status(), *status, "{shown}");
    }
}

#[test]
fn gzip_goes_only_to_who_can_read_it_and_caches_hear_of_both() {
    let asset = Response::asset("text/css", "body{}".into(), Some(Bytes::from_static(b"\x1f\x8b")))
        .header("etag", "\"1\"");
    let (plain, zipped) = (public(asset.clone(), false), public(asset, true));
    assert_eq!((length(&plain), header(&plain, "content-encoding")), (6, None));
    assert_eq!((length(&zipped), header(&zipped, "content-encoding")), (2, Some("gzip")));
    assert_eq!(
        (header(&plain, "vary"), header(&zipped, "vary")),
        (Some("accept-encoding"), Some("accept-encoding"))
    );
    assert_eq!((header(&plain, "etag"), header(&zipped, "etag")), (Some("\"1\""), Some("W/\"1\"")));
    assert_eq!(header(&public(Response::empty(404), true), "vary"), None);
}

#[test]
fn a_204_and_a_304_have_no_body() {
    for status in [204, 304] {
        let response = public(Response::text(status, "text/plain", "dropped"), true);
        assert!(response.body().is_empty() && header(&response, "content-length").is_none());
    }
}

fn response() -> impl Strategy<Value = Response> {
    let status = prop_oneof![any::<u16>(), 100u16..600, Just(200), Just(204), Just(304)];
    prop_oneof![
        any::<u16>().prop_map(Response::empty),
        (status, ".{0,40}", ".{0,40}").prop_map(|(status, body, value)| Response::text(
            status,
            "text/plain",
            body
        )
        .header("x-any", value)),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|b| Response::asset("text/css", b.into(), None)),
    ]
}

proptest! {
    #[test]
    fn no_refusal_leaves_as_success_and_no_answer_breaks_the_framing(response in response(), which in 0usize..3) {
        let refusals = || [
            Answer::Public(response.clone()),
            Answer::Refuse(decision(REFUSED[which]), response.clone()),
            Answer::Undecided(decision(Verdict::Undecided), response.clone()),
        ];
        let mut all = vec![public(response.clone(), true), nginx(&decision(REFUSED[which]))];
        for answer in refusals() {
            let undecided = matches!(answer, Answer::Undecided(..));
            let out = check(answer);
            prop_assert_ne!(out.status(), 200);
            prop_assert_eq!(out.status() >= 500, undecided);
            all.push(out);
        }
        for answer in refusals() {
            let out = forward(answer);
            prop_assert!(out.status() >= 300);
            all.push(out);
        }
        for out in all {
            prop_assert!((200..600).contains(&out.status()));
            prop_assert!(out.body().is_empty() || !matches!(out.status(), 204 | 304));
        }
    }
}
