//! Allow, deny, challenge: what each verdict looks like through a real proxy.

use crate::client::Ask;
use crate::site::{Front, Site, on_every_front};

on_every_front! {
    an_allowed_request_reaches_the_app_as_it_was_sent
    a_denied_request_gets_a_page_and_never_the_app
    a_challenge_is_served_in_place
    a_program_is_told_what_to_pay_without_a_page
}

fn an_allowed_request_reaches_the_app_as_it_was_sent(front: Front) {
    let Some(site) = Site::start(front) else { return };
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let target = "/ok%20then?a=b%20c&x=%2F&x=%26#".trim_end_matches('#');
        let reply = site.ask(&Ask::new(method, target).add("content-length", "0").add("x-own", "kept"));
        let seen = reply.seen();
        assert_eq!((seen.method(), seen.target()), (method, target));
        assert_eq!(seen.all("x-own"), ["kept"]);
        assert_eq!(seen.all("x-tollgate-verdict"), ["allow"]);
        assert_eq!(seen.all("x-tollgate-rule"), ["bot/everything-else"]);
        assert_eq!(seen.all("x-tollgate-weight"), ["0"]);
        let [id] = seen.all("x-tollgate-id")[..] else { panic!("{method}: not one decision id") };
        assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id} is no decision id");
        assert_eq!(
            reply.all("set-cookie").collect::<Vec<_>>(),
            ["app=1; Path=/"],
            "the app's cookie, and none of ours"
        );
        assert!(
            reply.headers.iter().all(|(name, _)| !name.starts_with("x-tollgate")),
            "visitors see nothing of it: {reply:?}"
        );
    }
}

fn a_denied_request_gets_a_page_and_never_the_app(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let bad_bot = Ask::get("/ok").set("user-agent", "BadBot/1.0");
    for ask in [
        Ask::get("/deny"),
        Ask::get("/deny/x?y=1"),
        Ask::new("POST", "/deny").add("content-length", "0"),
        bad_bot,
    ] {
        let reply = site.ask(&ask);
        assert_eq!(reply.status, 403);
        assert!(reply.header("content-type").is_some_and(|t| t.starts_with("text/html")), "{reply:?}");
        assert!(reply.header("cache-control").is_some_and(|c| c.contains("no-store")), "{reply:?}");
        assert_eq!(reply.header("x-robots-tag"), Some("noindex"));
        assert_eq!(reply.header("www-authenticate"), None);
        assert_eq!(reply.header("tollgate-challenge"), None, "nothing is to be bought here");
        assert!(reply.text().contains("</html>"), "{reply:?}");
    }
    assert_eq!(site.app.reached(), 0);
}

fn a_challenge_is_served_in_place(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let reply = site.ask(&Ask::get("/chal/page?a=1&b=%3Cscript%3E"));
    assert_eq!(reply.status, 403);
    assert!(reply.header("content-type").is_some_and(|t| t.starts_with("text/html")), "{reply:?}");
    assert!(reply.header("cache-control").is_some_and(|c| c.contains("no-store")), "{reply:?}");
    assert!(
        reply.header("content-security-policy").is_some_and(|p| p.contains("default-src 'none'")),
        "{reply:?}"
    );
    assert_eq!(reply.header("location"), None, "the page is served where the visitor is");
    assert!(reply.all("set-cookie").count() <= 1);
    assert!(reply.text().contains("/.tollgate/static/"), "the page names its solver");
    assert!(!reply.text().contains("<script>\""), "what the visitor typed is escaped");
    let head = site.ask(&Ask::new("HEAD", "/chal"));
    assert_eq!((head.status, head.body.len()), (403, 0));
    assert_eq!(site.app.reached(), 0);
}

fn a_program_is_told_what_to_pay_without_a_page(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let image = Ask::get("/chal/i.png")
        .set("accept", "image/avif,*/*")
        .set("sec-fetch-mode", "no-cors")
        .set("sec-fetch-dest", "image");
    for ask in [Ask::fetch("/chal"), image] {
        let reply = site.ask(&ask);
        assert_eq!(reply.status, 403);
        assert!(reply.header("tollgate-challenge").is_some_and(|token| token.len() == 75), "{reply:?}");
        assert!(!reply.text().contains("<html"), "{reply:?}");
    }
    assert_eq!(site.app.reached(), 0);
}
