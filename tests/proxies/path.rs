//! Odd spellings of a path: however the proxy hands them over, what is denied stays out of reach.

use crate::client::Ask;
use crate::site::{Front, Site, on_every_front};

on_every_front! {
    no_spelling_of_a_denied_path_reaches_the_app
    an_odd_query_arrives_or_is_refused_but_injects_nothing
}

fn no_spelling_of_a_denied_path_reaches_the_app(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let spellings = [
        "/deny",
        "/deny/",
        "/deny/x",
        "//deny",
        "/./deny",
        "/a/../deny",
        "/a/%2e%2e/deny",
        "/den%79",
        "/%64eny/x",
        "/%2fdeny",
        "/deny%00",
        "/deny;x",
        "/deny;x/y",
        "/deny%2fx",
        "/static/..%2fdeny",
        "/static/..%5cdeny",
        "/static/..\\deny",
        "/%2564eny",
        "/.tollgate/../deny",
        "/.tollgate/../../deny",
        "/.tollgate/..%2f..%2fdeny",
        "/.tollgate/%2e%2e/deny",
        "/.tollgate/static/../../deny",
        "/deny?x",
        "/deny#x",
        "http://shop.example/deny",
    ];
    for target in spellings {
        let reply = site.ask(&Ask::get(target));
        assert!((300..500).contains(&reply.status), "{target}: {reply:?}");
        assert_eq!(site.app.reached(), 0, "{target}");
    }
}

fn an_odd_query_arrives_or_is_refused_but_injects_nothing(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let long = format!("x={}", "y".repeat(7000));
    for query in [
        "a=1&b=2&&",
        "a=%0d%0aset-cookie:%20evil=1",
        "next=//evil.example",
        "rd=https://evil.example",
        "a=%zz",
        "a=\u{fc}",
        &long,
    ] {
        let reply = site.ask(&Ask::get(format!("/ok?{query}")));
        if reply.status == 200 {
            assert_eq!(reply.seen().target().as_bytes(), format!("/ok?{query}").as_bytes());
        }
        for path in ["/chal", "/.tollgate/wait", "/.tollgate/answer", "/.tollgate/nothing"] {
            let reply = site.ask(&Ask::get(format!("{path}?{query}")));
            assert!(reply.status >= 200 && reply.status != 500, "{path}?{query}: {reply:?}");
            assert!(
                reply.headers.iter().all(|(_, value)| !value.contains("evil")),
                "{path}?{query}: {reply:?}"
            );
        }
    }
}
