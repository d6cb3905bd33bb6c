use super::*;
#[test]
fn dump() {
    let pages = Pages::new(&Settings { name: None, contact: Some("help@example.org".into()) }, "/.tollgate/")
        .unwrap();
    let put = |n: &str, s: &str| std::fs::write(format!("/tmp/bt/out/{n}"), s).unwrap();
    std::fs::create_dir_all("/tmp/bt/out").unwrap();
    let c = ChallengeView {
        accept_language: b"",
        host: "www.example.org",
        request_id: "0123456789abcdef0123456789abcdef",
        nonce: "NONCEMARK",
        method: "GET",
        work: Some(Work { token: "TOKENMARK", k: 16, size: 12, target: 1 << 22, ttl: 300 }),
        wait: Some(WaitLink { seconds: 3, url: "/WAITMARK" }),
        prior: None,
        prior_is_fresh: false,
        original: "/ORIGMARK",
    };
    put("get.html", &pages.challenge(&c));
    put("post.html", &pages.challenge(&ChallengeView { method: "POST", ..c }));
    put("prior.html", &pages.challenge(&ChallengeView { prior: Some("binding"), prior_is_fresh: true, ..c }));
    put("kindwait.html", &pages.challenge(&ChallengeView { work: None, ..c }));
    put("nolane.html", &pages.challenge(&ChallengeView { wait: None, ..c }));
    for (n, notice) in [
        ("deny", Notice::Deny),
        ("limit", Notice::Limit),
        ("early", Notice::Early { seconds: 2, url: "/WAITMARK" }),
        ("refused", Notice::WaitRefused { reason: "forged" }),
        ("cookies", Notice::CookiesBlocked { url: Some("/URLMARK") }),
        ("undecided", Notice::Undecided),
        ("allowed", Notice::Allowed),
    ] {
        put(
            &format!("{n}.html"),
            &pages.notice(&NoticeView {
                accept_language: b"",
                host: "www.example.org",
                request_id: "0123456789abcdef0123456789abcdef",
                nonce: "NONCEMARK",
                notice,
            }),
        );
    }
    put("solver.js", std::str::from_utf8(&pages.solver.body).unwrap());
    println!(
        "page {} solver {} {}",
        pages.challenge(&c).len(),
        pages.solver.body.len(),
        pages.solver.gzip.len()
    );
}
