//! Tollgate dies: nobody gets through until it is back, unless the operator chose otherwise.

use crate::client::Ask;
use crate::site::{Front, Site, on, on_every_front};
use crate::toll::pay;

on_every_front! { while_tollgate_is_down_nobody_gets_through }
on! { [envoy = FilterOnly, http = HttpService, istio = Istio, nginx = Nginx]: the_switch_to_fail_open_lets_everybody_through }
on! { [envoy = FilterOnly]: envoy_finds_tollgate_healthy }
on! { [envoy = FilterOnly, http = HttpService, nginx = Nginx]: while_tollgate_is_frozen_nobody_gets_through }

fn while_tollgate_is_down_nobody_gets_through(front: Front) {
    let Some(mut site) = Site::start(front) else { return };
    let paid = pay(&site, "/chal");
    let enter = |site: &Site| site.ask(&Ask::get("/chal").add("cookie", &paid)).status;
    assert_eq!((enter(&site), site.app.reached()), (200, 1));

    site.kill_the_gate();
    let down = if front == Front::Nginx { 500 } else { 503 };
    assert_eq!(enter(&site), down);
    for target in ["/ok", "/deny", "/chal"] {
        assert_eq!(site.ask(&Ask::get(target)).status, down, "{target}");
    }
    for target in ["/.tollgate/check", "/.tollgate/static/x.js"] {
        assert!(site.ask(&Ask::get(target)).status >= 500, "{target}");
    }
    assert_eq!(site.app.reached(), 1);

    site.start_the_gate_again();
    let (ask, door) = (Ask::get("/ok"), site.door());
    site.proxy.wait_until("Tollgate to be found again", |_| ask.send(door).status == 200);
    assert_eq!(enter(&site), 200, "what was paid before is still paid");
    assert_eq!(site.ask(&Ask::get("/deny")).status, 403);
    assert_eq!(site.app.reached(), 3);
}

/// A process that is stopped, or a machine that hangs: connections stand, and nobody answers.
fn while_tollgate_is_frozen_nobody_gets_through(front: Front) {
    // The proxy's patience, which tests have more of where they do not wait for its end.
    let edits: &[_] = match front {
        Front::Nginx => &[("_timeout 1s", "_timeout 2s"), ("_timeout 250ms", "_timeout 2s")],
        _ => &[("timeout: 0.25s", "timeout: 2s")],
    };
    let Some(mut site) = Site::start_with(front, edits, &[]) else { return };
    let paid = pay(&site, "/chal");
    let targets = [Ask::get("/ok"), Ask::get("/deny"), Ask::get("/chal").add("cookie", &paid)];
    let statuses = |site: &Site| targets.each_ref().map(|ask| site.ask(ask).status);
    assert_eq!((statuses(&site), site.app.reached()), ([200, 403, 200], 2));

    site.signal_the_gate("STOP");
    let down = if front == Front::Nginx { 500 } else { 503 };
    assert_eq!((statuses(&site), site.app.reached()), ([down; 3], 2));

    site.signal_the_gate("CONT");
    let (ask, door) = (Ask::get("/ok"), site.door());
    site.proxy.wait_until("Tollgate to be heard again", |_| ask.send(door).status == 200);
    assert_eq!(statuses(&site), [200, 403, 200], "what was paid before is still paid");
}

fn the_switch_to_fail_open_lets_everybody_through(front: Front) {
    let edits: &[_] = match front {
        Front::Nginx => &[
            ("# proxy_intercept_errors on; error_page", "proxy_intercept_errors on; error_page"),
            ("# location @tollgate_open", "location @tollgate_open"),
        ],
        _ => &[("failure_mode_allow: false", "failure_mode_allow: true")],
    };
    let Some(mut site) = Site::start_with(front, edits, &[]) else { return };
    assert_eq!(site.ask(&Ask::get("/deny")).status, 403, "a refusal is no failure");
    site.kill_the_gate();
    assert_eq!(
        site.ask(&Ask::get("/deny").add("x-tollgate-verdict", "allow")).seen().all("x-tollgate-verdict"),
        [""; 0]
    );
    assert_eq!(site.app.reached(), 1);
}

fn envoy_finds_tollgate_healthy(front: Front) {
    let Some(mut site) = Site::start(front) else { return };
    let admin = site.envoy_admin();
    site.proxy.wait_until("a health check that succeeds", |_| {
        let reply = Ask::get("/stats?filter=cluster.tollgate.health_check.success").send(admin);
        reply.text().trim().rsplit(' ').next().is_some_and(|count| count != "0")
    });
    let clusters = Ask::get("/clusters").send(admin);
    assert!(!clusters.text().contains("failed_active_hc"), "{}", clusters.text());
}
