//! What leaves a trace and what does not: traps, policies and load tests that are not learned from, the second look of nginx's page.

use zeroize::Zeroizing;

use super::*;

const TRAPS: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: planted, action: DENY, paths: [/archive/**], trap: true}
  - {name: robot, action: CHALLENGE, signals: {any: [trap]}, challenge: {level: 4}}
  - {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 4}}
";

const READER: [u8; 4] = [192, 0, 2, 1];
const OTHER: [u8; 4] = [198, 51, 100, 7];

/// The link on the challenge page that a client gets.
fn link(gate: &Gate, client: [u8; 4]) -> String {
    let page = refusal(gate, &from(client, "/pay", BROWSER), &at(0, 1));
    let page = std::str::from_utf8(page.body()).unwrap();
    assert!(page.contains(r#"<a hidden rel="nofollow" href="/.tollgate/list/"#), "{page}");
    address_in(page, "/.tollgate/list/")
}

fn take(gate: &Gate, client: [u8; 4], link: &str, headers: &[(&str, &str)]) {
    let request = from(client, link, headers);
    assert_eq!(refusal(gate, &request, &at(1, 2)).status(), 404, "whoever asks, nothing is there");
}

fn caught(gate: &Gate, client: [u8; 4]) -> bool {
    verdict(gate, &from(client, "/", &[]), 2) == Challenge
}

#[test]
fn who_takes_the_link_is_known_as_a_robot_and_so_is_who_handed_it_on() {
    let gate = gate_under(TRAPS, |_| {});
    let link = link(&gate, READER);
    assert!(!caught(&gate, READER), "reading the page is no sin");
    take(&gate, OTHER, &link, &[]);
    assert!(caught(&gate, OTHER) && caught(&gate, READER) && !caught(&gate, [203, 0, 113, 9]));
    assert_eq!(verdict(&gate, &from(OTHER, "/", &[]), 3 * 3600), Allow, "and not for ever");
}

#[test]
fn no_other_site_and_no_forger_can_put_a_visitor_into_the_trap() {
    let gate = gate_under(TRAPS, |_| {});
    let link = link(&gate, READER);
    for headers in [
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "image")][..],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        &[("sec-fetch-site", "same-origin"), ("sec-purpose", "prefetch")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "image")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
        &[("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")],
    ] {
        take(&gate, OTHER, &link, headers);
        let planted = verdict(&gate, &from(OTHER, "/archive/a", headers), 1);
        assert_eq!(planted, Deny);
        assert!(!caught(&gate, OTHER), "{headers:?}");
    }
    let mut forged = link.clone().into_bytes();
    let last = forged.len() - 20;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    for link in [
        std::str::from_utf8(&forged).unwrap(),
        "/.tollgate/list/",
        "/.tollgate/list/AAAA",
        &format!("{link}A"),
    ] {
        take(&gate, OTHER, link, &[]);
        assert!(!caught(&gate, OTHER), "{link}");
    }
}

#[test]
fn a_page_that_got_about_is_held_against_its_reader_once() {
    let policy = TRAPS.replace("signals: {any: [trap]}", "expression: client.misdeeds >= 15");
    let gate = gate_under(&policy, |_| {});
    let link = link(&gate, READER);
    (1..9).for_each(|last| take(&gate, [203, 0, 113, last], &link, &[]));
    assert!(!caught(&gate, READER));
    take(&gate, OTHER, &link, &[]);
    assert!(!caught(&gate, OTHER));
    take(&gate, OTHER, &link, &[]);
    assert!(caught(&gate, OTHER), "what one does oneself counts each time");
    let elsewhere = from([203, 0, 113, 50], &link, &[])
        .map(|request| Request { host: crate::request::Host::parse(b"other.example").unwrap(), ..request });
    assert_eq!(refusal(&gate, &elsewhere, &at(1, 2)).status(), 404);
    let (_, figures) = gate.findings(&from([203, 0, 113, 50], "/", &[]).unwrap(), &at(2, 2));
    assert!(figures.iter().all(|(figure, _)| figure.name() != "client.traps_1h"), "a link of another host");
}

#[test]
fn a_rule_plants_pages_of_its_own() {
    let gate = gate_under(TRAPS, |_| {});
    assert!(!caught(&gate, OTHER));
    assert_eq!(verdict(&gate, &from(OTHER, "/archive/a", &[]), 1), Deny);
    assert!(caught(&gate, OTHER));
}

#[test]
fn the_link_can_be_left_out() {
    let gate = gate_under(TRAPS, |settings| settings.trap = false);
    let page = refusal(&gate, &from(READER, "/pay", BROWSER), &at(0, 1));
    assert!(!std::str::from_utf8(page.body()).unwrap().contains("/list/"));
}

#[test]
fn what_is_not_to_be_learned_leaves_no_trace() {
    let secret = "a secret of the load test";
    let learning = |settings: &mut Settings| {
        settings.trust.unlearned = Some(Zeroizing::new(secret.as_bytes().to_vec()));
    };
    let gate = gate_under(LIMITED, learning);
    let asks = |gate: &Gate, headers: &[(&str, &str)]| verdict(gate, &from(READER, "/few", headers), 1);
    for _ in 0..5 {
        assert_eq!(asks(&gate, &[("x-tollgate-learn", secret)]), Allow);
    }
    for forged in
        [&[("x-tollgate-learn", "off")][..], &[("x-tollgate-learn", secret), ("x-tollgate-learn", secret)]]
    {
        let gate = gate_under(LIMITED, learning);
        assert_eq!([(); 3].map(|()| asks(&gate, forged)), [Allow, Allow, Limit], "{forged:?}");
    }
    assert_eq!([(); 3].map(|()| asks(&gate, &[])), [Allow, Allow, Limit]);
    assert_eq!(asks(&gate, &[("x-tollgate-learn", secret)]), Limit, "it is judged like anybody");

    let gate = gate_under(&TRAPS.replace("default:", "learn: false\ndefault:"), |_| {});
    take(&gate, OTHER, &link(&gate, READER), &[]);
    assert_eq!(verdict(&gate, &from(OTHER, "/archive/a", &[]), 1), Deny);
    let next = reloaded(&gate, TRAPS);
    assert!(!caught(&next, OTHER) && !caught(&next, READER));
}

#[test]
fn answers_of_a_load_test_use_nobodys_limit_up() {
    let secret = "a secret of the load test";
    let gate = gate_under(TRAPS, |settings| {
        settings.trust.unlearned = Some(Zeroizing::new(secret.as_bytes().to_vec()));
        settings.limits.answers = Limited { count: 1, per: Duration::from_secs(3600), burst: 1 };
    });
    let answer = |seed, headers: &[(&str, &str)]| {
        post(&gate, &solved(&gate, "/pay", &at(0, seed)), headers, &at(0, seed + 100)).status()
    };
    let unlearned = [("x-tollgate-learn", secret)];
    assert_eq!([answer(1, &unlearned), answer(2, &unlearned)], [204, 204]);
    assert_eq!([answer(3, &[]), answer(4, &[])], [204, 429]);
    assert_eq!(answer(5, &unlearned), 429, "it is judged like anybody");
}

const BOTH: &str = r"
version: tollgate/v1
default: ALLOW
bots:
  - {name: few, action: LIMIT, paths: [/pay], rate: {limit: 60/1m, burst: 2}}
  - {name: pay, action: CHALLENGE, paths: [/pay], challenge: {level: 4}}
";

#[test]
fn nginx_shows_the_page_of_its_own_question_and_not_of_the_next() {
    let gate = gate_under(BOTH, |_| {});
    let statuses = [(); 4].map(|()| {
        let question = from(READER, "/pay", BROWSER);
        let verdict = gate.decide(Face::Nginx, None, &question, &at(1, 1)).verdict;
        let page = asking("GET", "/.tollgate/page", &[("x-tollgate-verdict", verdict.as_str())]);
        (verdict, gate.public(&page, None, || from(READER, "/pay", BROWSER), &at(1, 1)).status())
    });
    assert_eq!(statuses, [(Challenge, 403), (Challenge, 403), (Limit, 429), (Limit, 429)]);
}
