//! Every requester gets an answer that it can use, through every face: a page for a person, a few words for a program.

use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;

use crate::ask::{Ask, grpc};
use crate::http::Connection;
use crate::stage::Stage;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// Headers alone.
    Empty,
    /// A page.
    Page,
    /// `application/problem+json`.
    Problem,
    /// A line of text.
    Text,
}

type Lines = &'static [(&'static str, &'static str)];

/// Who asks, with what, and what it can use.
const REQUESTERS: &[(&str, &str, Lines, Form)] = &[
    (
        "navigation",
        "GET",
        &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"), ("accept", "text/html,*/*;q=0.8")],
        Form::Page,
    ),
    (
        "form",
        "POST",
        &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"), ("accept", "text/html,*/*;q=0.8")],
        Form::Page,
    ),
    ("frame", "GET", &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], Form::Page),
    ("text browser", "GET", &[("accept", "text/html, text/plain, */*;q=0.01")], Form::Page),
    ("head of a navigation", "HEAD", &[("accept", "text/html")], Form::Page),
    (
        "fetch",
        "GET",
        &[("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty"), ("accept", "*/*")],
        Form::Problem,
    ),
    (
        "fetch for html",
        "POST",
        &[("sec-fetch-mode", "same-origin"), ("sec-fetch-dest", "empty"), ("accept", "text/html")],
        Form::Problem,
    ),
    ("script", "GET", &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")], Form::Problem),
    (
        "style",
        "GET",
        &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "style"), ("accept", "text/css,*/*")],
        Form::Problem,
    ),
    (
        "event source",
        "GET",
        &[("sec-fetch-mode", "cors"), ("sec-fetch-dest", "empty"), ("accept", "text/event-stream")],
        Form::Problem,
    ),
    ("worker", "GET", &[("sec-fetch-mode", "same-origin"), ("sec-fetch-dest", "worker")], Form::Problem),
    (
        "preflight",
        "OPTIONS",
        &[
            ("origin", "https://a.example"),
            ("access-control-request-method", "PUT"),
            ("sec-fetch-mode", "cors"),
            ("sec-fetch-dest", "empty"),
        ],
        Form::Problem,
    ),
    (
        "image",
        "GET",
        &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image"), ("accept", "image/avif,*/*")],
        Form::Empty,
    ),
    ("old browser's image", "GET", &[("accept", "image/webp,*/*;q=0.8")], Form::Empty),
    (
        "video",
        "GET",
        &[("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "video"), ("range", "bytes=0-")],
        Form::Empty,
    ),
    ("feed reader", "GET", &[("accept", "application/rss+xml, application/atom+xml;q=0.9")], Form::Problem),
    (
        "feed reader that reads pages",
        "GET",
        &[("accept", "application/atom+xml, text/html;q=0.8")],
        Form::Problem,
    ),
    ("program", "GET", &[("accept", "*/*")], Form::Problem),
    ("silent program", "GET", &[], Form::Problem),
    (
        "websocket",
        "GET",
        &[("upgrade", "websocket"), ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")],
        Form::Empty,
    ),
    (
        "websocket behind a proxy that keeps the upgrade",
        "GET",
        &[("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==")],
        Form::Empty,
    ),
    (
        "websocket over h2",
        "GET",
        &[("sec-fetch-mode", "websocket"), ("sec-fetch-dest", "websocket")],
        Form::Empty,
    ),
    (
        "prefetch of a page",
        "GET",
        &[
            ("sec-purpose", "prefetch"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
            ("accept", "text/html"),
        ],
        Form::Empty,
    ),
    (
        "prerender",
        "GET",
        &[
            ("sec-purpose", "prefetch;prerender"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ],
        Form::Empty,
    ),
    ("old browser's prefetch", "GET", &[("purpose", "prefetch"), ("accept", "text/html")], Form::Empty),
    ("grpc", "POST", &[("content-type", "application/grpc"), ("te", "trailers")], Form::Text),
    (
        "grpc-web",
        "POST",
        &[
            ("content-type", "application/grpc-web+proto"),
            ("sec-fetch-mode", "cors"),
            ("sec-fetch-dest", "empty"),
        ],
        Form::Text,
    ),
];

/// An answer of any face, as the visitor gets it.
struct Answer {
    face: &'static str,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let first = all.next();
        assert_eq!(all.next(), None, "{}: {name} stands twice", self.face);
        first
    }
}

/// What a visitor gets through each face; over nginx, what its error page says.
async fn answers(stage: &Stage, ask: &Ask) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (face, raw) in [("grpc", true), ("grpc, joined headers", false)] {
        let Some(HttpResponse::DeniedResponse(denied)) = grpc(stage, ask.grpc(raw)).await.http_response
        else {
            panic!("{face}: {ask:?} was not refused")
        };
        let header = |h: envoy_types::pb::envoy::config::core::v3::HeaderValue| {
            let value =
                if h.raw_value.is_empty() { h.value } else { String::from_utf8(h.raw_value).unwrap() };
            (h.key, value)
        };
        let status = u16::try_from(denied.status.unwrap().code).unwrap();
        let headers = denied.headers.into_iter().map(|h| header(h.header.unwrap())).collect();
        answers.push(Answer { face, status, headers, body: denied.body });
    }
    let mut connection = Connection::open(stage.http).await;
    let nginx = connection.ask(ask.nginx()).await;
    assert!(
        matches!(nginx.status, 401 | 403) && nginx.body.is_empty(),
        "nginx only hears a status: {nginx:?}"
    );
    for (face, request) in [("check", ask.check()), ("forward", ask.forward()), ("nginx", ask.error_page())] {
        let reply = connection.ask(request).await;
        let body = String::from_utf8(reply.body).unwrap();
        answers.push(Answer { face, status: reply.status, headers: reply.headers, body });
    }
    answers
}

fn judge(answer: &Answer, who: &str, form: Form, verdict: &str, head: bool) {
    let what = format!("{who}, {verdict}, {}", answer.face);
    let kind = answer.header("content-type");
    let body = answer.body.as_str();
    // Envoy drops the body of an answer to HEAD itself, and so do the others where the question was another method.
    let empty_for_head = head && answer.face == "check";
    match form {
        Form::Empty => assert_eq!((kind, body), (None, ""), "{what}"),
        Form::Page => {
            assert_eq!(kind, Some("text/html; charset=utf-8"), "{what}");
            assert!(
                empty_for_head == body.is_empty() && (body.is_empty() || body.starts_with("<!doctype html>")),
                "{what}"
            );
            assert_eq!(answer.header("content-language"), Some("de"), "{what}");
            let policy = answer.header("content-security-policy").expect("a policy");
            assert!(
                policy.contains("default-src 'none'") && policy.ends_with("frame-ancestors 'self'"),
                "{what}: {policy}"
            );
        }
        Form::Problem => {
            assert_eq!(kind, Some("application/problem+json"), "{what}");
            let problem: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(problem["type"], format!("urn:tollgate:{verdict}"), "{what}");
            assert_eq!(problem["status"], answer.status, "{what}");
            assert_eq!(problem["request"].as_str().unwrap().len(), 32, "{what}");
        }
        Form::Text => {
            assert_eq!(kind, Some("text/plain; charset=utf-8"), "{what}");
            assert!(
                body.starts_with(&format!("tollgate: {verdict}, request ")) && body.len() < 100,
                "{what}: {body}"
            );
        }
    }
    let payable = verdict == "challenge" && form != Form::Page;
    assert_eq!(answer.header("tollgate-challenge").map(str::len), payable.then_some(75), "{what}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
    assert_eq!(answer.header("x-robots-tag"), Some("noindex"), "{what}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
    let vary = answer.header("vary").expect("it varies");
    assert_eq!(vary.contains("Accept-Language"), form == Form::Page, "{what}: {vary}");
    for never in ["set-cookie", "location", "refresh", "www-authenticate", "access-control-allow-origin"] {
        assert_eq!(answer.header(never), None, "{what}: {never}");
    }
}

#[tokio::test]
async fn every_requester_gets_what_it_can_use_through_every_face() {
    let stage = Stage::new().await;
    for (target, verdict, status) in [("/page", "challenge", 401), ("/admin", "deny", 403)] {
        for (who, method, lines, form) in REQUESTERS {
            let mut ask =
                Ask { method, ..Ask::get(target) }.with("accept-language", "de-CH,de;q=0.9,en;q=0.5");
            for (name, value) in *lines {
                ask = ask.with(name, value);
            }
            for answer in answers(&stage, &ask).await {
                // Nginx's page serves a challenge as the same status as the other faces.
                assert_eq!(answer.status, status, "{who}, {verdict}, {}", answer.face);
                judge(&answer, who, *form, verdict, *method == "HEAD");
            }
        }
    }
}
