//! Paying: the challenge is solved, the answer buys a clearance, and the clearance opens the door.

use std::process::Command;

use tollgate::challenge::{Token, answer_text, solve};

use crate::client::{Ask, BROWSER, HOST, Reply};
use crate::program::tollgate;
use crate::site::{Front, Site, on_every_front};

on_every_front! {
    a_solved_challenge_opens_the_door
    a_wrong_answer_buys_nothing
    the_reference_client_pays
    what_was_solved_before_a_crash_is_bought_after_it
}

/// Fetches a challenge as a program would and solves it.
pub(crate) fn solved(site: &Site, target: &str) -> String {
    let reply = site.ask(&Ask::fetch(target));
    let token = reply.header("tollgate-challenge").unwrap_or_else(|| panic!("no challenge: {reply:?}"));
    let token = Token::parse(token.as_bytes()).expect("our own token can be read");
    answer_text(&token, &solve(&token))
}

/// Hands in an answer.
pub(crate) fn answer(site: &Site, answer: &str) -> Reply {
    site.ask(&Ask::new("POST", "/.tollgate/answer").add("tollgate-answer", answer).add("content-length", "0"))
}

/// Pays for `target`. Returns the cookie as a browser sends it back.
pub(crate) fn pay(site: &Site, target: &str) -> String {
    cookie(&answer(site, &solved(site, target)))
}

fn cookie(reply: &Reply) -> String {
    assert_eq!(reply.status, 204, "the answer was refused: {reply:?}");
    let [line] = reply.all("set-cookie").collect::<Vec<_>>()[..] else { panic!("not one cookie: {reply:?}") };
    for part in ["tollgate=", "; Max-Age=", "; Path=/", "; HttpOnly", "; SameSite=Lax"] {
        assert!(line.contains(part), "{part} is missing in {line}");
    }
    assert!(!line.contains(','), "proxies join cookies with commas: {line}");
    line.split(';').next().unwrap_or_default().to_owned()
}

fn a_solved_challenge_opens_the_door(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let probe = |cookie: &str| site.ask(&Ask::fetch("/.tollgate/check").add("cookie", cookie)).status;
    let text = solved(&site, "/chal/page?q=1");
    let paid = cookie(&answer(&site, &text));
    assert_eq!(cookie(&answer(&site, &text)), paid, "the same answer buys the same clearance");
    assert_eq!((probe(&paid), probe("tollgate=AAAA")), (204, 403));
    assert_eq!(site.app.reached(), 0);

    let ask = Ask::get("/chal/page?q=1").add("cookie", format!("a=1; {paid}; b=2"));
    let reply = site.ask(&ask);
    assert_eq!(reply.seen().target(), "/chal/page?q=1");
    assert_eq!(reply.seen().all("x-tollgate-rule"), ["bot/challenge-path"]);
    assert!(
        reply.all("set-cookie").all(|line| !line.contains("tollgate")),
        "a clearance is never renewed: {reply:?}"
    );
    // A second Cookie line, as HTTP/1.1 clients and proxies make them.
    assert_eq!(site.ask(&Ask::get("/chal").add("cookie", "a=1").add("cookie", &paid)).status, 200);
    assert_eq!(site.app.reached(), 2);

    assert_eq!(site.ask(&ask.clone().set("user-agent", "Other/1.0")).status, 403, "another browser's");
    assert_eq!(site.ask(&ask.clone().set("host", "other.example")).status, 403, "another host's");
    assert_eq!(
        site.ask(&Ask::get("/deny").add("cookie", &paid)).status,
        403,
        "a clearance never lifts a deny"
    );
    assert_eq!(site.app.reached(), 2);
}

fn a_wrong_answer_buys_nothing(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let right = solved(&site, "/chal");
    let token = Token::parse(&right.as_bytes()[..75]).expect("an answer starts with its token");
    let mut nonces = solve(&token);
    *nonces.last_mut().expect("there is a puzzle") ^= 1;
    let wrong = answer_text(&token, &nonces);
    let mut forged = right.clone();
    forged.replace_range(30..31, if &right[30..31] == "A" { "B" } else { "A" });
    for (text, status, reason) in
        [(&wrong, 403, "wrong"), (&forged, 403, "forged"), (&"AAAA".to_owned(), 400, "malformed")]
    {
        let reply = answer(&site, text);
        assert_eq!((reply.status, reply.text().trim()), (status, reason));
        assert_eq!(reply.header("set-cookie"), None);
    }
    let post =
        Ask::new("POST", "/.tollgate/answer").add("tollgate-answer", &right).add("content-length", "0");
    for (name, value) in [("sec-fetch-site", "cross-site"), ("origin", "http://evil.example")] {
        let reply = site.ask(&post.clone().add(name, value));
        assert_eq!((reply.status, reply.text().trim()), (403, "origin"), "{name}: {value}");
    }
    let own = post.add("sec-fetch-site", "same-origin").add("origin", format!("http://{HOST}"));
    assert_eq!(site.ask(&own).status, 204, "our own page may");
    assert_eq!(site.app.reached(), 0);
}

fn the_reference_client_pays(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let host = site.door().to_string();
    let mut client = Command::new(tollgate());
    client.args(["solve", "--user-agent", BROWSER]).arg(format!("http://{host}/chal/page"));
    let paid = client.output().expect("tollgate can be started");
    assert!(paid.status.success(), "{}", String::from_utf8_lossy(&paid.stderr));
    let cookie = String::from_utf8(paid.stdout).expect("it prints text");
    let reply = site.ask(&Ask::get("/chal/page").set("host", host).add("cookie", cookie.trim()));
    assert_eq!(reply.seen().target(), "/chal/page");
    assert_eq!(site.app.reached(), 1);
}

fn what_was_solved_before_a_crash_is_bought_after_it(front: Front) {
    let Some(mut site) = Site::start(front) else { return };
    let text = solved(&site, "/chal/page");
    site.kill_the_gate();
    site.start_the_gate_again();
    let (ask, door) = (Ask::get("/ok"), site.door());
    site.proxy.wait_until("Tollgate to be found again", |_| ask.send(door).status == 200);
    let paid = cookie(&answer(&site, &text));
    assert_eq!(site.ask(&Ask::get("/chal/page").add("cookie", &paid)).status, 200);
    assert_eq!(cookie(&answer(&site, &text)), paid, "the same as ever");
}
