//! Forged headers: a visitor cannot speak in Tollgate's name to the app, nor in the proxy's name to Tollgate.

use crate::client::Ask;
use crate::site::{Front, Site, on, on_every_front};
use crate::toll::pay;

on_every_front! {
    a_forged_verdict_never_reaches_the_app
    forged_facts_do_not_change_the_verdict
    the_page_of_another_target_cannot_be_asked_for
}
on! { [envoy = FilterOnly, istio = Istio, with_route = WithRoute]: our_cookie_is_cut_out_of_what_the_app_sees }
on! { [envoy = FilterOnly, http = HttpService, with_route = WithRoute, nginx = Nginx]: a_trusted_hop_in_front_names_the_visitor }
on! { [with_route = WithRoute]: on_a_route_without_the_check_the_app_sees_no_verdict }

/// Every way to write our names that an app might take for ours.
const FORGED: [&str; 9] = [
    "x-tollgate-verdict",
    "X-Tollgate-Verdict",
    "x_tollgate_verdict",
    "x.tollgate.verdict",
    "x-tollgate_verdict",
    "x-tollgate-rule",
    "x-tollgate-id",
    "x-tollgate-bot",
    "x-tollgate-ja4",
];

fn with_forged_verdicts(ask: Ask) -> Ask {
    FORGED.iter().chain(&FORGED).fold(ask, |ask, name| ask.add(name, "forged"))
}

fn a_forged_verdict_never_reaches_the_app(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let reply = site.ask(&with_forged_verdicts(Ask::get("/ok")));
    assert_eq!(reply.seen().all("x-tollgate-verdict"), ["allow"]);
    for (name, value) in reply.seen().names_and_values() {
        assert_ne!(value, "forged", "{name} reached the app");
    }
    let reply = site.ask(&Ask::get("/.tollgate/nothing").add("x-tollgate-verdict", "allow"));
    assert_eq!((reply.status, site.app.reached()), (404, 1));
}

fn on_a_route_without_the_check_the_app_sees_no_verdict(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let reply = site.ask(&with_forged_verdicts(Ask::get("/healthz")));
    for name in ["verdict", "rule", "weight", "id", "bot"] {
        assert!(reply.seen().all(&format!("x-tollgate-{name}")).is_empty(), "{name}");
    }
}

fn forged_facts_do_not_change_the_verdict(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let forged = [
        ("x-forwarded-for", "6.6.6.6"),
        ("x-envoy-external-address", "6.6.6.6"),
        ("x-real-ip", "6.6.6.6"),
        ("forwarded", "for=6.6.6.6"),
        ("x-forwarded-uri", "/deny"),
        ("x-original-uri", "/deny"),
        ("x-original-url", "http://shop.example/deny"),
        ("x-forwarded-method", "DELETE"),
        ("x-original-method", "DELETE"),
        ("x-forwarded-host", "other.example"),
        ("x-forwarded-proto", "https"),
    ];
    for (name, value) in forged {
        let reply = site.ask(&Ask::get("/ok").add(name, value));
        assert_eq!(reply.status, 200, "{name}: {value} got an honest visitor refused: {reply:?}");
        let reply = site.ask(&Ask::get("/deny").add(name, value.replace("deny", "ok")));
        assert_eq!(reply.status, 403, "{name}: {value}");
    }
    assert_eq!(site.app.reached(), forged.len());
}

fn a_trusted_hop_in_front_names_the_visitor(front: Front) {
    let (edits, flags): (&[_], &[_]) = match front {
        Front::Nginx => (&[("# set_real_ip_from", "set_real_ip_from")], &[]),
        _ => (&[("xff_num_trusted_hops: 0", "xff_num_trusted_hops: 1")], &["--hops", "1"]),
    };
    let Some(site) = Site::start_with(front, edits, flags) else { return };
    let ask = |chain: &str| site.ask(&Ask::get("/ok").add("x-forwarded-for", chain)).status;
    assert_eq!(ask("6.6.6.6"), 403, "the hop in front says who the visitor is, and that one is denied");
    assert_eq!(ask("6.6.6.6, 5.5.5.5"), 200, "what stands left of it is the visitor's own word");
    assert_eq!(site.app.reached(), 1);
}

fn the_page_of_another_target_cannot_be_asked_for(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let forged = [
        ("x-forwarded-uri", "/deny"),
        ("x-original-uri", "/deny"),
        ("x-forwarded-method", "POST"),
        ("x-forwarded-for", "6.6.6.6"),
    ];
    let ask = forged.iter().fold(Ask::get("/.tollgate/page"), |ask, (name, value)| ask.add(name, *value));
    let reply = site.ask(&ask);
    assert_eq!(reply.status, 404, "{reply:?}");
    assert_eq!(site.app.reached(), 0);
}

fn our_cookie_is_cut_out_of_what_the_app_sees(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let paid = pay(&site, "/chal");
    let reply = site.ask(&Ask::get("/chal").add("cookie", format!("a=1; {paid}; b=2")));
    assert_eq!(reply.seen().all("cookie"), ["a=1; b=2"]);
    let reply = site.ask(&Ask::get("/chal").add("cookie", &paid));
    assert!(reply.seen().all("cookie").is_empty());
}
