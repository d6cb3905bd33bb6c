//! The public prefix: Tollgate's own files and answers, with or without a route of their own.

use std::process::Command;

use crate::client::{Ask, BROWSER, Connection, Reply};
use crate::program::find;
use crate::site::{Front, Site, on, on_every_front};
use crate::toll::{pay, solved};

on_every_front! {
    the_public_prefix_is_answered_without_the_app
    answers_without_a_body_leave_the_connection_usable
}
on! { [envoy = FilterOnly, istio = Istio]: the_public_prefix_is_answered_over_http2 }
on! { [envoy = FilterOnly, istio = Istio, http = HttpService]: the_filter_alone_needs_no_route }

/// The solver that the challenge page names.
fn solver(site: &Site) -> String {
    let page = site.ask(&Ask::get("/chal"));
    let start = page
        .text()
        .find("/.tollgate/static/")
        .unwrap_or_else(|| panic!("the page names no solver: {page:?}"));
    page.text()[start..].split(['"', '\'', ' ', '<', '&']).next().unwrap_or_default().to_owned()
}

fn the_public_prefix_is_answered_without_the_app(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let solver = solver(&site);
    let script = Ask::get(&solver)
        .set("accept", "*/*")
        .set("sec-fetch-mode", "no-cors")
        .set("sec-fetch-dest", "script");

    let reply = site.ask(&script);
    // Where 200 would let the request through to the app, a success goes out as 203.
    assert_eq!(reply.status, if front == Front::HttpService { 203 } else { 200 });
    assert!(reply.header("content-type").is_some_and(|t| t.starts_with("text/javascript")), "{reply:?}");
    assert_eq!(reply.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(reply.body, script.send(site.behind_the_door()).body, "the bytes are the same on every face");
    let etag = reply.header("etag").expect("a file has an etag").to_owned();

    let head = site.ask(&Ask::new("HEAD", &solver));
    assert_eq!((head.status, head.header("etag")), (reply.status, Some(&*etag)));

    let known = site.ask(&script.clone().add("if-none-match", &etag));
    assert_eq!(
        (known.status, known.header("etag"), known.header("content-length")),
        (304, Some(&*etag), None)
    );

    let refused = |ask: Ask| {
        let reply = site.ask(&ask);
        (reply.status, reply.header("allow").map(str::to_owned))
    };
    assert_eq!(
        refused(Ask::new("POST", &solver).add("content-length", "0")),
        (405, Some("GET, HEAD".to_owned()))
    );
    assert_eq!(refused(Ask::get("/.tollgate/answer")), (405, Some("POST".to_owned())));
    for unknown in [
        "/.tollgate/",
        "/.tollgate/nothing",
        "/.tollgate/static/0123.js",
        "/.tollgate/static/",
        "/.tollgate/Answer",
    ] {
        assert_eq!(refused(Ask::get(unknown)).0, 404, "{unknown}");
    }
    assert_eq!(site.ask(&Ask::fetch("/.tollgate/check")).status, 403);
    // An upgrade gets the plain answer.
    let upgrade = Ask::get(&solver)
        .add("connection", "upgrade")
        .add("upgrade", "websocket")
        .add("sec-websocket-version", "13");
    assert_eq!(site.ask(&upgrade.add("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")).status, reply.status);
    assert_eq!(site.app.reached(), 0);
}

fn answers_without_a_body_leave_the_connection_usable(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let text = solved(&site, "/chal");
    let solver = solver(&site);
    let mut connection = Connection::open(site.door());
    let post = Ask::new("POST", "/.tollgate/answer").add("tollgate-answer", &text).add("content-length", "0");
    for _ in 0..3 {
        let reply = connection.send(&post);
        assert_eq!(
            (reply.status, reply.header("content-length"), reply.header("content-type")),
            (204, None, None)
        );
    }
    let success =
        |reply: Reply| assert!(matches!(reply.status, 200 | 203) && reply.body.is_empty(), "{reply:?}");
    success(connection.send(&Ask::new("HEAD", &solver)));
    success(connection.send(&Ask::new("HEAD", &solver)));
    assert_eq!(connection.send(&Ask::fetch("/.tollgate/check")).status, 403);
    assert_eq!(connection.send(&Ask::get("/.tollgate/nothing")).status, 404);
    assert_eq!(connection.send(&Ask::get("/ok")).seen().target(), "/ok");
}

fn the_filter_alone_needs_no_route(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let post = Ask::new("POST", "/.tollgate/answer").add("content-type", "application/x-www-form-urlencoded");
    let reply = site.ask(&post.add("content-length", "3").body("a=x"));
    assert_eq!(reply.status, 400, "no body reaches a filter, so a form cannot answer here: {reply:?}");
    assert!(site.ask(&Ask::get("/.tollgate/wait")).status < 500);
    // Envoy turns such an answer into one of gRPC's.
    let grpc = site.ask(
        &Ask::new("POST", "/.tollgate/nothing")
            .add("content-type", "application/grpc")
            .add("content-length", "0"),
    );
    assert!(grpc.header("grpc-status").is_some_and(|status| status != "0"), "{grpc:?}");
    assert_eq!(site.app.reached(), 0);
}

fn the_public_prefix_is_answered_over_http2(front: Front) {
    let (Some(site), Some(curl)) = (Site::start(front), find("curl")) else { return };
    let ask = |arguments: &[&str], path: &str| {
        let mut command = Command::new(&curl);
        command.args([
            "--silent",
            "--max-time",
            "20",
            "--http2-prior-knowledge",
            "--output",
            "-",
            "--write-out",
            "\n%{http_version} %{http_code}",
        ]);
        command.args(["--user-agent", BROWSER]).args(arguments).arg(format!("http://{}{path}", site.door()));
        String::from_utf8(command.output().expect("curl can be started").stdout)
            .expect("all our answers are text")
    };
    let solver = solver(&site);
    let file = Ask::get(&solver).send(site.behind_the_door());
    assert_eq!(ask(&[], &solver), format!("{}\n2 200", file.text()));
    assert!(ask(&["--head"], &solver).ends_with("\n2 200"));
    let etag = format!("if-none-match: {}", file.header("etag").expect("a file has an etag"));
    assert_eq!(ask(&["--header", &etag], &solver), "\n2 304");
    assert!(ask(&["--request", "POST"], "/.tollgate/answer").ends_with("\n2 400"));
    assert_eq!(ask(&["--header", "host: shop.example"], "/.tollgate/check"), "\n2 403");
    let paid = format!("cookie: {}", pay(&site, "/chal"));
    assert_eq!(ask(&["--header", "host: shop.example", "--header", &paid], "/.tollgate/check"), "\n2 204");
    assert_eq!(site.app.reached(), 0);
}
