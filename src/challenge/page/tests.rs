//! The pages as a visitor gets them: what they hold, what they weigh, and that nothing hostile becomes markup.

use proptest::prelude::*;

use super::*;

const WAIT: &str = "/.tollgate/wait?t=EQIOAAAAAANrSdIAASwAAAARIjNEVWZ3iJmqu8zd7v9vSntzcLIWmP-LMTZTS75Kp1-Tnzmrxwk&r=L2EvYj94PTE&s=AAAAAAAAAAAAAAAAAAAAAA";
const TRAP: &str = "/.tollgate/list/EGtJ0gABI0VniavN7wECAwQFBgcICQoLDA0ODxA";
const TOKEN: &str = "EQEQDABAAABrSdIAASwAABARIjNEVWZ3iJmqu8zd7v9vSntzcLIWmP-LMTZTS75Kp1-Tnzmrxw0";

fn pages() -> Pages {
    let settings = Settings { contact: Some("help@example.org".to_owned()), ..Settings::default() };
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
        trap: Some(TRAP),
        original: "/a/b?x=1",
    }
}

fn notice_view(notice: Notice<'_>) -> NoticeView<'_> {
    let ChallengeView { accept_language, host, request_id, nonce, .. } = view();
    NoticeView { accept_language, host, request_id, nonce, notice }
}

fn notice(notice: Notice<'_>) -> String {
    pages().notice(&notice_view(notice)).html
}

/// The data block, as the script reads it.
fn job(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once(r#"<script id="job" type="application/json">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The part of the body that browsers without script show.
fn off(html: &str) -> &str {
    html.split_once(r#"<div class="off">"#).unwrap().1.split_once("</div>").unwrap().0
}

/// Every language's pages, with the longest texts that they can have.
fn longest() -> impl Iterator<Item = (&'static str, String)> {
    language::tags().flat_map(|tag| {
        let get = ChallengeView { accept_language: tag.as_bytes(), ..view() };
        let post = ChallengeView { method: "POST", trap: None, ..get };
        [get, post].map(|view| (tag, pages().challenge(&view).html))
    })
}

#[test]
fn a_copied_page_is_the_rendered_one_byte_by_byte() {
    let brand =
        Settings { name: Some("A & B".to_owned()), footer: Some("<foot>".to_owned()), ..Settings::default() };
    let work = |target| Some(Work { target, ..view().work.unwrap() });
    let wait = |seconds, url| Some(WaitLink { seconds, url });
    for pages in [pages(), Pages::new(&brand, "/p/").unwrap()] {
        for (place, tag) in language::tags().enumerate() {
            let plain = ChallengeView { accept_language: tag.as_bytes(), ..view() };
            for view in [
                plain,
                ChallengeView { host: "b\"><i>", nonce: "", original: "/<&'\"{host}\u{fdd0}&", ..plain },
                ChallengeView { work: work(1 << 20), wait: wait(15, "/w?a=1&b=<2>&c='"), ..plain },
                ChallengeView { work: work(1 << 20), wait: wait(15, "/w?a=1&b=2"), ..plain },
                ChallengeView { work: work(1 << 20), wait: wait(16, WAIT), ..plain },
                ChallengeView { work: work(1), wait: None, ..plain },
                ChallengeView { work: work(u32::MAX), prior: Some("expired"), ..plain },
                ChallengeView { work: None, ..plain },
                ChallengeView { prior: Some("binding"), prior_is_fresh: true, ..plain },
                ChallengeView { method: "POST", ..plain },
                ChallengeView { method: "HEAD", ..plain },
                ChallengeView { trap: None, ..plain },
            ] {
                let rendered = pages.render_challenge(&pages.languages[place], &view);
                assert_eq!(pages.challenge(&view).html, rendered, "{view:?}");
                assert!(!rendered.contains('\u{fdd1}'));
            }
        }
    }
}

#[test]
fn a_common_page_is_copied_and_a_text_with_a_mark_prevents_it() {
    let copied = |pages: &Pages, view: &ChallengeView<'_>| {
        pages.molds[0].page(view, |view| pages.render_challenge(&pages.languages[0], view)).is_some()
    };
    let pages = pages();
    assert!(copied(&pages, &ChallengeView { trap: None, ..view() }));
    assert!(copied(&pages, &view()), "whichever comes first");
    assert!(copied(&pages, &ChallengeView { work: None, ..view() }));
    assert!(!copied(&pages, &ChallengeView { method: "POST", ..view() }));
    let marked = Settings { footer: Some("\u{fdd2}".to_owned()), ..Settings::default() };
    assert!(!copied(&Pages::new(&marked, "/p/").unwrap(), &view()));
}

#[test]
fn sizes_stay_within_budget_in_every_language() {
    let script = Asset::script();
    assert!(script.body.len() <= 16 * 1024, "script: {}", script.body.len());
    assert!(script.gzip.len() <= 6656, "script, gzip: {}", script.gzip.len());
    for (tag, html) in longest() {
        let gzip = asset::gzip(html.as_bytes()).len();
        assert!(gzip <= 3584, "{tag}: {gzip} gzipped");
        // In line over gRPC both go out as they are.
        let plain = html.len() + script.body.len();
        assert!(plain <= 24 * 1024, "{tag}: {plain} plain");
    }
    let html = pages().challenge(&view()).html;
    assert!(html.len() <= 8 * 1024, "page: {}", html.len());
}

#[test]
fn a_page_says_which_language_it_is_in() {
    let rows = [
        ("de-AT,de;q=0.8", "de", "ltr"),
        ("pt", "pt-BR", "ltr"),
        ("ar-EG", "ar", "rtl"),
        ("xx", "en", "ltr"),
    ];
    for (accept, lang, dir) in rows {
        let page = pages().challenge(&ChallengeView { accept_language: accept.as_bytes(), ..view() });
        assert_eq!(page.language, lang);
        let start = format!("<!doctype html>\n<html lang=\"{lang}\" dir=\"{dir}\">\n");
        assert!(page.html.starts_with(&start), "{accept}: {}", page.html);
    }
    let forced = Settings { language: language_tag("zh-hk").ok(), ..Settings::default() };
    let forced = Pages::new(&forced, "/.tollgate/").unwrap();
    assert!(!forced.varies_by_language() && pages().varies_by_language());
    assert_eq!(forced.challenge(&ChallengeView { accept_language: b"de", ..view() }).language, "zh-TW");
    assert!(language_tag("xx").unwrap_err().contains("pt-BR"));
}

#[test]
fn a_brand_is_on_every_page() {
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><path d='M0 0h9v9z'/></svg>";
    let settings = Settings {
        name: Some("The <Library>".to_owned()),
        footer: Some("Run by & for readers".to_owned()),
        logo: Some(Logo::parse(svg).unwrap()),
        accent: Accent::parse("#042").unwrap().0,
        frame_ancestors: FrameAncestors::parse(["self", "https://portal.example"]).unwrap(),
        ..Settings::default()
    };
    let branded = Pages::new(&settings, "/.tollgate/").unwrap();
    let denied = branded.notice(&notice_view(Notice::Deny)).html;
    for html in [branded.challenge(&view()).html, denied] {
        for part in [
            "The &lt;Library&gt; ",
            "<p>Run by &amp; for readers</p>",
            r#"<img id="logo" src="data:image/svg+xml,%3Csvg%20"#,
            r#"alt="The &lt;Library&gt;">"#,
            "--accent:#004422",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
    assert!(branded.security_policy("N").ends_with("frame-ancestors 'self' https://portal.example"));
    assert!(!pages().challenge(&view()).html.contains("<img"));
}

#[test]
fn an_own_template_takes_the_place_of_ours() {
    let branded = |own: &str| {
        let settings = Settings { template: Some(Template::parse(own).unwrap()), ..Settings::default() };
        Pages::new(&settings, "/.tollgate/").unwrap()
    };
    let own =
        branded("{% extends 'page.html' %}{% block header %}<p>Welcome to {{ site }}</p>{% endblock %}");
    assert!(own.challenge(&view()).html.contains("<p>Welcome to www.example.org</p>"));
    // What it fails to show when it matters, ours shows.
    let fails = branded(
        "{% extends 'page.html' %}{% block header %}{% if request_id == 'x' %}{{ nothing }}{% endif %}{% endblock %}",
    );
    let html = fails.challenge(&ChallengeView { request_id: "x", ..view() }).html;
    assert!(html.contains(r#"<h1 id="heading">"#), "{html}");
}

#[test]
fn previews_show_every_state_in_every_language_and_do_nothing() {
    let pages = pages();
    let mut seen = std::collections::HashMap::new();
    let mut files = pages.previews().unwrap().into_iter();
    let index = String::from_utf8(files.next().unwrap().body).unwrap();
    let script = String::from_utf8(files.next().unwrap().body).unwrap();
    for Preview { path, body } in files {
        let (language, state) = path.strip_suffix(".html").unwrap().split_once('/').unwrap();
        let html = String::from_utf8(body).unwrap();
        assert!(index.contains(&format!("href=\"{path}\"")), "{path}");
        assert!(html.contains(&format!("<html lang=\"{language}\"")), "{path}");
        assert!(!html.contains("http-equiv"), "{path}: it would go away");
        if html.contains("id=\"job\"") {
            assert_eq!(job(&html)["show"], state);
            assert!(html.contains("src=\"../script.js\""), "{path}");
        }
        let same = seen.insert(html, path.clone());
        assert_eq!(same, None, "{path} looks like another");
    }
    assert_eq!(seen.len(), language::tags().count() * 25);
    assert!(script.contains("job.show"));
    assert!(job(&pages.challenge(&view()).html).get("show").is_none(), "a true page never only shows");
}

#[test]
fn the_script_gets_what_it_needs() {
    let pages = pages();
    let html = pages.challenge(&view()).html;
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
fn without_script_the_page_goes_on_by_itself_or_by_a_link() {
    let html = pages().challenge(&view()).html;
    let url = WAIT.replace('&', "&amp;");
    let refresh = format!("<noscript>\n<meta http-equiv=\"refresh\" content=\"6;url={url}\">\n</noscript>");
    assert!(html.contains(&refresh), "{html}");
    // No `noscript` around the link: where scripts are blocked rather than off, browsers take `noscript` away.
    assert!(off(&html).contains(&format!(r#"<a class="go" href="{url}">"#)), "{html}");
    assert!(off(&html).contains("off or blocked"));
    let posted = pages().challenge(&ChallengeView { method: "POST", ..view() }).html;
    assert!(off(&posted).contains("is not kept"), "{posted}");
}

#[test]
fn without_lane_the_page_says_that_it_needs_script() {
    let html = pages().challenge(&ChallengeView { wait: None, ..view() }).html;
    assert!(off(&html).contains("needs JavaScript"));
    assert!(!html.contains("http-equiv"));
    assert!(job(&html)["wait"].is_null());
}

#[test]
fn a_rule_that_asks_for_a_wait_runs_no_script() {
    let html = pages().challenge(&ChallengeView { work: None, ..view() }).html;
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
        let html = pages().challenge(&ChallengeView { prior, prior_is_fresh, ..view() }).html;
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
fn the_scripts_reload_where_they_are_and_take_no_target_from_anywhere() {
    for (name, script) in
        [("page.js", include_str!("assets/page.js")), ("guard.js", include_str!("assets/guard.js"))]
    {
        for (at, word) in script.match_indices("location") {
            let used = &script[at + word.len()..];
            assert!(
                used.starts_with(".reload()") || used.starts_with(".hostname"),
                "{name}: {word}{used:.30}"
            );
        }
        let sources =
            ["referrer", "Storage", "opener", "document.cookie", "'message'", "URLSearchParams", "pushState"];
        for source in sources {
            assert!(!script.contains(source), "{name} reads {source}");
        }
        // The one link that a script makes is the lane's, which is signed.
        let links: Vec<_> = script.matches(".href").collect();
        assert_eq!(links.len(), script.matches("lane.href = job.wait").count(), "{name}");
    }
}

#[test]
fn every_address_on_a_page_is_of_this_site() {
    let hostile = ChallengeView { host: "evil.example", original: "//evil.example/x", ..view() };
    let gate = pages();
    let mut pages: Vec<_> = [view(), hostile].iter().map(|view| gate.challenge(view).html).collect();
    pages.push(notice(Notice::Early { seconds: 3, url: WAIT }));
    pages.push(notice(Notice::CookiesBlocked { url: Some("/a") }));
    pages.push(notice(Notice::Allowed));
    let mut found = 0;
    for page in &pages {
        for (at, attribute) in
            [" href=", " src=", " action=", "url=", "\"wait\":", "\"script\":", "\"prefix\":"]
                .iter()
                .flat_map(|attribute| page.match_indices(attribute))
        {
            let value = page[at + attribute.len()..].trim_start_matches(['"', '\'']);
            // An empty one is the page itself.
            let own = value.starts_with('>')
                || value.starts_with('/') && !value.starts_with("//") && !value.starts_with("/\\");
            assert!(
                own || value.starts_with("data:,") || value.starts_with("mailto:help@example.org"),
                "{attribute}{value:.60}"
            );
            found += usize::from(own);
        }
        assert!(!page.contains("http://") && !page.contains("https://"), "an absolute address");
    }
    assert!(found > 15, "{found}");
}

#[test]
fn the_policy_of_pages_is_exact() {
    assert_eq!(
        pages().security_policy("N"),
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
    let hostile = ChallengeView {
        host: text,
        request_id: text,
        method: text,
        original: text,
        wait: Some(wait),
        ..calm
    };
    let html = pages.challenge(&hostile).html;
    assert_eq!(
        marks(&html),
        marks(&pages.challenge(&ChallengeView { method: "POST", ..calm }).html),
        "{text:?}"
    );
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
            marks(&pages.notice(&NoticeView { accept_language, host, request_id: host, nonce, notice }).html)
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
    let html =
        pages().challenge(&ChallengeView { original: "{{7*7}}", host: "{site}{{7*7}}", ..view() }).html;
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
        let html = pages().challenge(&ChallengeView { accept_language: &bytes, ..view() }).html;
        prop_assert!(html.starts_with("<!doctype html>"));
    }
}
