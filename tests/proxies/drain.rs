//! Two Tollgates behind one proxy, one of which ends: in order, which nobody notices, and killed, which lets nobody through.

use std::collections::BTreeMap;

use crate::client::Ask;
use crate::load::during;
use crate::site::{Front, NOTICE, Site, on};

on! { [envoy = FilterOnly, http = HttpService, nginx = Nginx]:
    a_replica_that_ends_in_order_fails_nobody
    replicas_that_are_killed_let_nobody_through
}

/// What the example's comments tell operators of several Tollgates to do.
fn several(front: Front) -> &'static [(&'static str, &'static str)] {
    match front {
        Front::HttpService => &[
            ("# circuit_breakers:", "circuit_breakers:"),
            ("# health_checks:", "health_checks:"),
            ("# retry_policy:", "retry_policy:"),
            (
                "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9002}}}}",
                "{endpoint: {health_check_config: {port_value: 9003}, address: {socket_address: {address: 127.0.0.1, port_value: 9002}}}}",
            ),
        ],
        _ => &[],
    }
}

/// With the delay that is the default and the health checks of the examples.
fn a_replica_that_ends_in_order_fails_nobody(front: Front) {
    let Some(mut site) = Site::start_several(front, 2, several(front), &[NOTICE]) else { return };
    let met = during(&mut site, |site, _| {
        assert_eq!(site.end_gate(0), Some(0));
    });
    assert_eq!(met.failed, BTreeMap::new(), "of {}", met.right);
    assert!(met.allowed > 100, "{met:?}");
}

fn replicas_that_are_killed_let_nobody_through(front: Front) {
    let soon = [("interval: 5s, no_traffic_interval: 5s", "interval: 0.2s, no_traffic_interval: 0.2s")];
    let edits: Vec<_> = match front {
        Front::Nginx => Vec::new(),
        _ => several(front).iter().copied().chain(soon).collect(),
    };
    let Some(mut site) = Site::start_several(front, 2, &edits, &[]) else { return };
    let mut answers = 0;
    let met = during(&mut site, |site, progress| {
        for round in 0..10 {
            site.kill_gate(round % 2);
            progress.wait_for(200);
            site.start_gate(round % 2);
            wait_for_both(site);
            progress.wait_for(200);
            answers += 400;
        }
    });
    let closed = if front == Front::Nginx { 500 } else { 503 };
    assert!(met.failed.keys().all(|status| *status == closed), "{met:?}");
    assert!(met.right >= answers / 2 && met.allowed > 0, "{met:?}");
    eprintln!("{front:?}: {} answers were right, {:?} failed", met.right, met.failed);
}

/// nginx finds out by asking.
fn wait_for_both(site: &mut Site) {
    let admin = site.envoy_admin();
    if site.front != Front::Nginx {
        site.proxy.wait_until("both Tollgates to be found healthy", |_| {
            let reply = Ask::get("/stats?filter=cluster.tollgate.membership_healthy").send(admin);
            reply.text().trim().ends_with(": 2")
        });
    }
}
