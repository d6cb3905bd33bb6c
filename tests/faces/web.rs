//! What only a look at the bytes shows: targets, hosts, lengths, kept connections.

use crate::ask::{Ask, BROWSER};
use crate::http::{Connection, ask};
use crate::stage::Stage;

#[tokio::test]
async fn nginx_asks_twenty_times_over_one_connection_and_never_gets_a_body() {
    let stage = Stage::new().await;
    let mut connection = Connection::open(stage.http).await;
    for round in 0..20 {
        let (target, status) =
            [("/robots.txt", 200), ("/page", 401), ("/admin", 403), ("/.tollgate/check", 401)][round % 4];
        let reply = connection.ask(Ask::get(target).nginx()).await;
        assert_eq!(reply.status, status, "{target}");
        assert_eq!(reply.header("content-length"), Some("0"));
        assert_eq!(reply.header("cache-control"), Some("private, no-store"));
        assert_eq!(reply.header("set-cookie"), None);
        assert_eq!(reply.header("www-authenticate"), None);
        assert_eq!(reply.header("x-tollgate-id").unwrap().len(), 32);
        assert!(reply.head < 4096);
    }
    let without_target = format!("GET /auth/nginx HTTP/1.1\r\nhost: t\r\nuser-agent: {BROWSER}\r\n\r\n");
    let reply = connection.ask(&without_target).await;
    assert_eq!((reply.status, reply.header("content-length")), (500, Some("0")));
    let two_targets = Ask::get("/robots.txt").with("x-forwarded-uri", "/admin").nginx();
    assert_eq!(connection.ask(&two_targets).await.status, 500);
    assert_eq!(connection.ask(Ask::get("/robots.txt").nginx()).await.status, 200);
}

#[tokio::test]
async fn an_allow_sets_all_four_headers_and_nothing_that_rewrites_a_request() {
    let stage = Stage::new().await;
    let ask = Ask::get("/robots.txt").with("x-tollgate-rule", "forged");
    let mut connection = Connection::open(stage.http).await;
    for request in [ask.check(), ask.nginx(), ask.forward()] {
        let reply = connection.ask(&request).await;
        assert_eq!(reply.body, b"");
        assert_eq!(reply.header("x-tollgate-verdict"), Some("allow"));
        assert_eq!(reply.header("x-tollgate-rule"), Some("bot/plain-files"));
        assert_eq!(reply.header("x-tollgate-weight"), Some("0"));
        let ours = |name: &str| {
            name.starts_with("x-tollgate-") || matches!(name, "cache-control" | "content-length" | "date")
        };
        assert!(reply.headers.iter().all(|(name, _)| ours(name)), "{reply:?}");
    }
}

#[tokio::test]
async fn targets_reach_the_gate_as_they_were_sent() {
    let stage = Stage::new().await;
    for (line, status) in [
        ("GET /check/robots.txt", 200),
        ("GET /check", 403),
        ("GET /check?/robots.txt", 403),
        ("GET /check/../robots.txt", 401),
        ("GET /check/x/../admin", 403),
        ("GET /check//admin", 403),
        ("GET /check/check/robots.txt", 401),
        ("GET /check/auth/nginx", 401),
        ("GET /checkx/robots.txt", 404),
        ("GET /Check/robots.txt", 404),
        ("GET //check/robots.txt", 404),
        ("GET /x/../check/robots.txt", 404),
        ("GET http://evil.test/check/robots.txt", 403),
        ("GET /%63heck/robots.txt", 404),
        ("OPTIONS *", 404),
        ("GET /metrics", 404),
        ("GET /healthz", 404),
        ("POST /envoy.service.auth.v3.Authorization/Check", 404),
        ("POST /auth/nginx", 500),
        ("PUT /auth/forward/default", 405),
    ] {
        let reply = ask(stage.http, format!("{line} HTTP/1.1\r\nhost: example.com\r\n\r\n")).await;
        assert_eq!(reply.status, status, "{line}");
        assert_eq!(reply.header("allow"), (status == 405).then_some("GET, HEAD"), "{line}");
    }
}

#[tokio::test]
async fn two_hosts_that_differ_are_refused() {
    let stage = Stage::new().await;
    let question = |hosts: &str| format!("GET /check/robots.txt HTTP/1.1\r\n{hosts}\r\n");
    for (hosts, status) in [
        ("host: a.example\r\n", 200),
        ("host: a.example\r\nhost: b.example\r\n", 403),
        // Envoy says the host in Host; what a visitor forwards is inert here.
        ("host: a.example\r\nx-forwarded-host: b.example\r\nx-forwarded-host: c.example\r\n", 200),
        ("host: a b\r\n", 403),
        ("", 403),
    ] {
        assert_eq!(ask(stage.http, question(hosts)).await.status, status, "{hosts:?}");
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let stage = Stage::new().await;
    let mut connection = Connection::open(stage.http).await;
    let head = |target: &str| Ask { method: "HEAD", ..Ask::get(target) };
    let page = |ask: Ask| ask.with("accept", "text/html");
    let pairs = [
        (page(Ask::get("/admin")).check(), page(head("/admin")).check()),
        (page(Ask::get("/robots.txt")).check(), page(head("/robots.txt")).check()),
        (page(Ask::get("/admin")).forward(), page(Ask::get("/admin")).forward().replacen("GET", "HEAD", 1)),
        (Ask::get("/.tollgate/nothing").public(), head("/.tollgate/nothing").public()),
    ];
    for (get, head) in pairs {
        let (get, head) = (connection.ask(&get).await, connection.ask(&head).await);
        assert_eq!(get.status, head.status);
        let names =
            |reply: &crate::http::Reply| reply.headers.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        assert_eq!(names(&get), names(&head));
        assert_eq!(head.body, b"");
    }
}

#[tokio::test]
async fn the_public_prefix_belongs_to_visitors_and_to_no_trick() {
    let stage = Stage::new().await;
    let mut connection = Connection::open(stage.http).await;
    for (ask, status) in [
        (Ask::get("/.tollgate/check"), 403),
        (Ask::get("/.tollgate/nothing"), 404),
        (Ask::get("/.tollgate/../admin"), 404),
        (Ask::get("/.tollgate/%2e%2e/robots.txt"), 404),
        (Ask::get("/.tollgate/answer"), 405),
        (Ask::get("/.tollgatex"), 404),
        (Ask { method: "POST", ..Ask::get("/.tollgate/check") }, 405),
    ] {
        let reply = connection.ask(ask.public()).await;
        assert_eq!(reply.status, status, "{}", ask.target);
        assert_eq!(reply.header("set-cookie"), None);
        assert_eq!(reply.header("location"), None);
    }
    // In line on check nothing of it is ever an allow, and forward names what is missing.
    assert_eq!(connection.ask(Ask::get("/.tollgate/check").check()).await.status, 403);
    let reply = connection.ask(Ask::get("/.tollgate/check").forward()).await;
    assert_eq!(reply.status, 403);
    assert!(String::from_utf8(reply.body).unwrap().contains("route"));
}

#[tokio::test]
async fn only_a_small_form_for_the_answer_is_read() {
    let stage = Stage::new().await;
    let post = |target: &str, kind: &str, length: usize| {
        let ask = Ask { method: "POST", ..Ask::get(target) };
        let ask = ask.with("content-type", kind).with("content-length", &length.to_string());
        ask.public()
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    let reply = ask(stage.http, post("/.tollgate/answer", FORM, 1024) + &"a".repeat(1024)).await;
    assert!((400..413).contains(&reply.status), "{reply:?}");
    // The body never comes, and the answer does not wait for it.
    let mut connection = Connection::open(stage.http).await;
    let reply = connection.ask(post("/.tollgate/answer", FORM, 1025)).await;
    assert_eq!(reply.status, 413);
    assert!(connection.is_closed().await);
    let mut connection = Connection::open(stage.http).await;
    let reply = connection.ask(post("/.tollgate/answer", "application/octet-stream", 10_000_000)).await;
    assert!((400..413).contains(&reply.status), "{reply:?}");
}
