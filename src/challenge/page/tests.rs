//! The pages as a visitor gets them: what they hold, what they weigh, and that nothing hostile becomes markup.

use proptest::prelude::*;

use super::*;

const WAIT: &str = "/.tollgate/wait?t=EQIOAAAAAANrSdIAASwAAAARIjNEVWZ3iJmqu8zd7v9vSntzcLIWmP-LMTZTS75Kp1-Tnzmrxwk&r=L2EvYj94PTE&s=AAAAAAAAAAAAAAAAAAAAAA";
const TOKEN: &str = "EQEQDABAAABrSdIAASwAABARIjNEVWZ3iJmqu8zd7v9vSntzcLIWmP-LMTZTS75Kp1-Tnzmrxw0";

fn pages() -> Pages {
    let settings = Settings { name: None, contact: Some("help@example.org".to_owned()) };
    Pages::new(&settings, "/.tollgate/").unwrap()
}

fn view() -> ChallengeView<'static> {
    ChallengeView {
        accept_language: b"en",
        host: "www.example.org",
        request_id: "0123456789abcdef0123456789abcdef",
        nonce: "c7Zq0m4l9yTgq0iVx2n3Ww",
        method: "GET",
        work: Some(Work { token: TOKEN, k: 16, size: 12, target: 1 << 22, ttl: 300 }),
        wait: Some(WaitLink { seconds: 5, url: WAIT }),
        prior: None,
        prior_is_fresh: false,
        original: "/a/b?x=1",
    }
}

fn notice(notice: Notice<'_>) -> String {
    let ChallengeView { accept_language, host, request_id, nonce, .. } = view();
    pages().notice(&NoticeView { accept_language, host, request_id, nonce, notice })
}

/// The data block, as the script reads it.
fn job(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once(r#"<script id="job" type="application/json">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The page as text browsers and engines without script see it.
fn noscript(html: &str) -> String {
    html.split("<noscript>").skip(1).map(|part| part.split("</noscript>").next().unwrap()).collect()
}

#[test]
fn sizes_stay_within_budget() {
    let html = pages().challenge(&view());
    assert!(html.len() <= 8 * 1024, "page: {}", html.len());
    assert!(asset::gzip(html.as_bytes()).len() <= 3584, "page, gzip: {}", asset::gzip(html.as_bytes()).len());
    let script = Asset::script();
    assert!(script.body.len() <= 16 * 1024, "script: {}", script.body.len());
    assert!(script.gzip.len() <= 6656, "script, gzip: {}", script.gzip.len());
}

#[test]
fn the_script_gets_what_it_needs() {
    let pages = pages();
    let html = pages.challenge(&view());
    let job = job(&html);
    for (key, want) in [("k", 16), ("size", 12), ("target", 1 << 22), ("ttl", 300)] {
        assert_eq!(job[key], want, "{key}");
    }
    for (key, want) in [("token", TOKEN), ("method", "GET"), ("prefix", "/.tollgate/"), ("wait", WAIT)] {
        assert_eq!(job[key], want, "{key}");
    }
    let name = job["script"].as_str().unwrap().strip_prefix("/.tollgate/static/").unwrap();
    assert!(pages.asset(name).is_some());
    assert!(html.contains("/a/b?x=1"));
    assert!(html.contains(r#"<a href="mailto:help@example.org">"#));
}

#[test]
fn without_script_the_page_goes_on_by_itself() {
    let html = noscript(&pages().challenge(&view()));
    let url = WAIT.replace('&', "&amp;");
    assert!(html.contains(&format!(r#"<meta http-equiv="refresh" content="6;url={url}">"#)), "{html}");
    assert!(html.contains(&format!(r#"<a class="go" href="{url}">"#)), "{html}");
    let posted = noscript(&pages().challenge(&ChallengeView { method: "POST", ..view() }));
    assert!(posted.contains("is not kept"), "{posted}");
}

#[test]
fn without_lane_the_page_says_that_it_needs_script() {
    let html = pages().challenge(&ChallengeView { wait: None, ..view() });
    assert!(noscript(&html).contains("needs JavaScript"));
    assert!(!html.contains("http-equiv"));
    assert!(job(&html)["wait"].is_null());
}

#[test]
fn a_rule_that_asks_for_a_wait_runs_no_script() {
    let html = pages().challenge(&ChallengeView { work: None, ..view() });
    assert!(!html.contains("<script") && !html.contains("<noscript"));
    assert!(html.contains(r#"<meta http-equiv="refresh" content="6;url="#));
}

#[test]
fn no_refresh_is_faster_than_two_seconds() {
    let html = notice(Notice::Early { seconds: 0, url: WAIT });
    assert!(html.contains(r#"content="2;url="#), "{html}");
}

#[test]
fn a_fresh_clearance_that_was_refused_asks_before_it_works() {
    let rows = [
        (None, true, false),
        (Some("binding"), true, true),
        (Some("binding"), false, false),
        (Some("kind"), true, true),
        (Some("limits"), true, true),
        (Some("level"), true, false),
        (Some("expired"), true, false),
    ];
    for (prior, prior_is_fresh, want) in rows {
        let html = pages().challenge(&ChallengeView { prior, prior_is_fresh, ..view() });
        assert_eq!(job(&html)["ask"], want, "{prior:?} {prior_is_fresh}");
    }
}

#[test]
fn notices_say_what_to_do_next() {
    let rows = [
        (Notice::Allowed, "You can go on", Some("")),
        (Notice::CookiesBlocked { url: Some("/a") }, "Cookies are needed", Some("/a")),
        (Notice::CookiesBlocked { url: None }, "Cookies are needed", None),
        (Notice::Deny, "Access denied", None),
        (Notice::Early { seconds: 2, url: "/w" }, "One moment, please", Some("/w")),
        (Notice::Limit, "Too many requests", Some("")),
        (Notice::WaitRefused { reason: "forged" }, "This link does not work", Some("/")),
    ];
    for (what, heading, link) in rows {
        let html = notice(what);
        assert!(html.contains(&format!(r#"<h1 id="heading">{heading}</h1>"#)), "{what:?}: {html}");
        let found =
            html.split(r#"<p><a class="go" href=""#).nth(1).map(|rest| rest.split('"').next().unwrap());
        assert_eq!(found, link, "{what:?}");
        assert!(html.contains("0123456789abcdef") && !html.contains("<script"), "{what:?}");
        assert_eq!(html.contains("http-equiv"), matches!(what, Notice::Early { .. }), "{what:?}");
    }
}

#[test]
fn the_script_is_text_and_named_by_its_content() {
    let pages = pages();
    let script = &pages.script;
    assert!(std::str::from_utf8(&script.body).unwrap().contains("const WASM='AGFzbQ"));
    assert_eq!(pages.asset(&pages.script_name).unwrap().body, script.body);
    assert!(pages.asset("solver.js").is_none() && pages.asset("").is_none());
    let mut plain = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&*script.gzip), &mut plain).unwrap();
    assert_eq!(plain, script.body);
}

#[test]
fn the_policy_of_pages_is_exact() {
    assert_eq!(
        security_policy("N"),
        "default-src 'none'; script-src 'nonce-N'; style-src 'nonce-N'; worker-src 'self'; connect-src 'self'; \
         img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    );
}

#[test]
fn a_prefix_is_a_path() {
    for good in ["/.tollgate/", "/a/b/"] {
        Pages::new(&Settings::default(), good).unwrap();
    }
    for bad in ["", "/", "//", "//evil/", "tollgate/", "/tollgate", "/a\"/", "/a b/", "/a?/", "/a\\/"] {
        assert!(Pages::new(&Settings::default(), bad).is_err(), "{bad}");
    }
}

/// However hostile what is shown, the page has as many tags and attributes as with harmless words, and the script reads its words back.
fn hostile(text: &str) {
    let pages = pages();
    let marks = |html: &str| {
        let (before, rest) = html.split_once("application/json\">").unwrap_or((html, ""));
        let rest = rest.split_once("</script>").map_or("", |(_, after)| after);
        ['<', '>', '"', '\''].map(|mark| before.matches(mark).count() + rest.matches(mark).count())
    };
    let (calm, wait) = (view(), WaitLink { seconds: 5, url: text });
    let html = pages.challenge(&ChallengeView {
        host: text,
        request_id: text,
        method: text,
        original: text,
        wait: Some(wait),
        ..calm
    });
    assert_eq!(marks(&html), marks(&pages.challenge(&ChallengeView { method: "POST", ..calm })), "{text:?}");
    let job = job(&html);
    assert_eq!((job["method"].as_str(), job["wait"].as_str()), (Some(text), Some(text)));
    let show = |host, url, reason| {
        let NoticeView { accept_language, nonce, .. } =
            NoticeView { accept_language: b"", host, request_id: host, nonce: "N", notice: Notice::Deny };
        [
            Notice::Early { seconds: 1, url },
            Notice::CookiesBlocked { url: Some(url) },
            Notice::WaitRefused { reason },
        ]
        .map(|notice| {
            marks(&pages.notice(&NoticeView { accept_language, host, request_id: host, nonce, notice }))
        })
    };
    assert_eq!(show(text, text, text), show("h", "/u", "r"), "{text:?}");
}

#[test]
fn hostile_words_make_no_node() {
    for text in [
        "\"><script>alert(1)</script>",
        "'-alert(1)-'",
        "</script><script>",
        "</title><svg onload=x>",
        "</noscript><img src=x>",
        "\u{2028}\u{2029}",
        "{{7*7}}{% for %}{# #}",
        "${7*7}{site}{code}",
        "<!--",
        "&lt;&#60;",
        "\0\u{feff}\u{202e}",
        "\\\"\\u003c",
    ] {
        hostile(text);
    }
    let html = pages().challenge(&ChallengeView { original: "{{7*7}}", host: "{site}{{7*7}}", ..view() });
    assert!(
        html.contains("<code dir=\"ltr\">{{7*7}}</code>")
            && html.contains("{site}{{7*7}} checks that")
            && !html.contains("49 checks")
    );
}

proptest! {
    #[test]
    fn no_word_makes_a_node(text in "\\PC{0,40}|[<>\"'&{}%/!-]{0,30}") {
        hostile(&text);
    }

    #[test]
    fn any_accept_language_finds_a_language(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let html = pages().challenge(&ChallengeView { accept_language: &bytes, ..view() });
        prop_assert!(html.starts_with("<!doctype html>"));
    }
}
