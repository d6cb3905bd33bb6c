//! Tables and a property: what Envoy gets for every kind of answer.

use envoy_types::pb::envoy::service::auth::v3::OkHttpResponse;
use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::gate::{DecisionId, Shadow};
use crate::request::{Headers, Parts};

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

fn untouched() -> Passing {
    Passing::default()
}

/// What Envoy reads.
fn read(framed: Vec<u8>) -> CheckResponse {
    let message = CheckResponse::decode(&framed[5..]).unwrap();
    assert_eq!(message.encoded_len(), framed.len() - 5, "nothing is written that is not read, nor twice");
    message
}

fn encode(answer: Answer<'_>, passing: impl FnOnce() -> Passing) -> CheckResponse {
    read(super::encode(answer, passing))
}

fn failure() -> CheckResponse {
    read(super::failure())
}

fn code(response: &CheckResponse) -> i32 {
    response.status.as_ref().unwrap().code
}

fn denied(response: CheckResponse) -> DeniedHttpResponse {
    match response.http_response {
        Some(HttpResponse::DeniedResponse(denied)) => denied,
        other => panic!("{other:?}"),
    }
}

fn allowed(passing: Passing) -> OkHttpResponse {
    match encode(Answer::Allow(decision(Verdict::Allow)), || passing).http_response {
        Some(HttpResponse::OkResponse(ok)) => ok,
        other => panic!("{other:?}"),
    }
}

fn lines(headers: &[HeaderValueOption]) -> Vec<(&str, &str, i32)> {
    let line = |h: &HeaderValueOption| h.header.as_ref().map(|_| h.append_action).unwrap();
    headers
        .iter()
        .map(|h| {
            let header = h.header.as_ref().unwrap();
            (header.key.as_str(), header.value.as_str(), line(h))
        })
        .collect()
}

const SET: i32 = HeaderAppendAction::OverwriteIfExistsOrAdd as i32;
const ADD: i32 = HeaderAppendAction::AppendIfExistsOrAdd as i32;

#[test]
fn an_allow_sets_our_four_headers_and_removes_what_poses_as_ours() {
    let remove = ["X-Tollgate-Verdict", "x_tollgate_rule", "x-tollgate-bot", "x-tollgate-ja4"]
        .map(str::to_owned)
        .to_vec();
    let ok = allowed(Passing { remove, cookie: Some("a=1".into()) });
    assert_eq!(
        lines(&ok.headers),
        [
            ("x-tollgate-verdict", "allow", SET),
            ("x-tollgate-rule", "bot/evil", SET),
            ("x-tollgate-weight", "-7", SET),
            ("x-tollgate-id", "abababababababababababababababab", SET),
            ("cookie", "a=1", SET),
        ]
    );
    assert_eq!(ok.headers_to_remove, ["x_tollgate_rule", "x-tollgate-bot", "x-tollgate-ja4"]);
    assert!(ok.response_headers_to_add.is_empty() && ok.query_parameters_to_set.is_empty());
}

#[test]
fn a_refusal_overwrites_each_header_once_and_appends_its_repetitions() {
    let response = Response::text(403, "text/html", "no")
        .header("set-cookie", "a=1")
        .header("retry-after", "5")
        .header("set-cookie", "b=2");
    let denied = denied(encode(Answer::Refuse(decision(Verdict::Deny), response), untouched));
    assert_eq!(denied.status.unwrap().code, 403);
    assert_eq!(denied.body, "no");
    assert_eq!(
        lines(&denied.headers),
        [
            ("content-type", "text/html", SET),
            ("set-cookie", "a=1", SET),
            ("retry-after", "5", SET),
            ("set-cookie", "b=2", ADD),
        ]
    );
}

#[test]
fn every_answer_carries_metadata() {
    let word = |response: &CheckResponse, name: &str| {
        response.dynamic_metadata.as_ref().unwrap().fields.get(name).and_then(|value| value.kind.clone())
    };
    let shadow = Some(Shadow { verdict: Verdict::Deny, rule: "bot/x" });
    let response = encode(Answer::Allow(Decision { shadow, ..decision(Verdict::Allow) }), untouched);
    assert_eq!(word(&response, "verdict"), Some(text("allow")));
    assert_eq!(word(&response, "rule"), Some(text("bot/evil")));
    assert_eq!(word(&response, "weight"), Some(Kind::NumberValue(-7.0)));
    assert_eq!(word(&response, "id"), Some(text("abababababababababababababababab")));
    let inside = fields([("verdict", text("deny")), ("rule", text("bot/x"))]);
    assert_eq!(word(&response, "shadow"), Some(Kind::StructValue(inside)));

    let refusal = encode(Answer::Refuse(decision(Verdict::Challenge), Response::empty(403)), untouched);
    assert_eq!(word(&refusal, "verdict"), Some(text("challenge")));
    assert_eq!(word(&refusal, "shadow"), Some(Kind::NullValue(0)));
    assert_eq!(
        word(&encode(Answer::Public(Response::empty(204)), untouched), "verdict"),
        Some(text("public"))
    );
    assert_eq!(word(&failure(), "verdict"), Some(text("undecided")));
}

#[test]
fn undecided_is_an_error_of_ours_whatever_status_its_page_has() {
    for response in
        [encode(Answer::Undecided(decision(Verdict::Undecided), Response::empty(200)), untouched), failure()]
    {
        assert_eq!(code(&response), 13);
        match response.http_response {
            Some(HttpResponse::ErrorResponse(error)) => assert_eq!(error.status.unwrap().code, 503),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn our_cookie_is_cut_out_and_a_cookie_that_cannot_be_written_is_left_alone() {
    let check = |cookie: &[u8], want: Passing| {
        let headers: Headers<'_> = [(&b"cookie"[..], cookie)].into_iter().collect();
        let parts =
            Parts { method: b"GET", target: b"/", host: b"h", scheme: b"https", client: None, headers };
        let request = Request::new(parts).unwrap();
        let got = Passing::of(&Question::default(), Some(&request), &["tollgate", "__Host-tollgate"]);
        assert_eq!(got, want, "{}", String::from_utf8_lossy(cookie));
    };
    check(b"a=1", untouched());
    check(b"a=1; tollgate=x; b=2", Passing { cookie: Some("a=1; b=2".into()), ..untouched() });
    check(b"__Host-tollgate=x", Passing { remove: vec!["cookie".into()], ..untouched() });
    check(b"a=\xff; tollgate=x", untouched());
}

fn response() -> impl Strategy<Value = Response> {
    let body = prop_oneof![Just(String::new()), ".{0,40}"];
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        any::<u16>().prop_map(Response::empty),
        (prop_oneof![any::<u16>(), 100u16..600, Just(204), Just(304)], body)
            .prop_map(|(status, body)| Response::text(status, "text/plain", body)),
        bytes.prop_map(|bytes| Response::asset("application/octet-stream", bytes.into(), None)),
    ]
}

#[test]
fn a_decision_that_is_no_allow_cannot_be_written_as_one() {
    for verdict in Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Allow) {
        assert_eq!(code(&encode(Answer::Allow(decision(verdict)), untouched)), 13, "{verdict:?}");
    }
}

proptest! {
    #[test]
    fn an_allow_is_read_as_it_was_meant(rule in "\\PC{1,300}", weight in any::<i64>(), remove in prop::collection::vec("[a-z_]{0,200}", 0..4), long in 1..70_000_usize) {
        let decision = Decision { rule: &rule, weight, ..decision(Verdict::Allow) };
        let cookie = "c".repeat(long);
        let passing = Passing { remove: remove.clone(), cookie: Some(cookie.clone()) };
        let message = encode(Answer::Allow(decision), || passing);
        prop_assert_eq!(code(&message), 0);
        let ok = match message.http_response {
            Some(HttpResponse::OkResponse(ok)) => ok,
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(ok.headers_to_remove, remove);
        let plain: String = rule.chars().map(|c| if matches!(c, ' '..='~') { c } else { '?' }).collect();
        let weight = weight.to_string();
        let want = [
            ("x-tollgate-verdict", "allow", SET),
            ("x-tollgate-rule", &plain, SET),
            ("x-tollgate-weight", &weight, SET),
            ("x-tollgate-id", "abababababababababababababababab", SET),
            ("cookie", &cookie, SET),
        ];
        prop_assert_eq!(lines(&ok.headers), want);
        let told = message.dynamic_metadata.unwrap().fields.remove("rule").unwrap().kind;
        prop_assert_eq!(told, Some(Kind::StringValue(rule)));
    }

    #[test]
    fn no_refusal_is_ever_an_allow_or_breaks_the_framing(response in response(), which in 0..4) {
        let answer = match which {
            0 => Answer::Public(response),
            1 => Answer::Refuse(decision(Verdict::Deny), response),
            2 => Answer::Refuse(decision(Verdict::Allow), response),
            _ => Answer::Undecided(decision(Verdict::Undecided), response),
        };
        let message = encode(answer, untouched);
        prop_assert_ne!(code(&message), 0);
        let page = match message.http_response {
            Some(HttpResponse::DeniedResponse(page) | HttpResponse::ErrorResponse(page)) => page,
            other => panic!("{other:?}"),
        };
        let status = page.status.unwrap().code;
        prop_assert!((200..600).contains(&status));
        prop_assert!(page.body.is_empty() || !matches!(status, 204 | 304));
    }
}
