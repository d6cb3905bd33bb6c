//! Several policies behind one proxy: chosen by the host, or named by the proxy's own configuration.

use crate::client::Ask;
use crate::site::{Front, Site, on, on_every_front};
use crate::toll::pay;

on_every_front! { a_host_is_judged_by_the_policy_of_its_site }
on! { [envoy = FilterOnly, nginx = Nginx]: a_proxy_names_the_policy_of_a_route }

fn a_host_is_judged_by_the_policy_of_its_site(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let at = |host: &str, target: &str| site.ask(&Ask::get(target).set("host", host));
    assert_eq!(at("shop.example", "/ok").seen().all("x-tollgate-rule"), ["bot/everything-else"]);
    assert_eq!(at("Second.Example", "/deny").seen().all("x-tollgate-rule"), ["bot/other-rest"]);
    let reached = site.app.reached();
    for (host, target) in
        [("second.example", "/ok"), ("second.example", "/other"), ("xsecond.example", "/deny")]
    {
        assert_eq!(at(host, target).status, 403, "{host} {target}");
    }
    assert_eq!(site.app.reached(), reached);
}

/// What an operator adds to the example: the name, once for the question and, for nginx, once for the page.
const NAMED: [(Front, &[(&str, &str)]); 2] = [
    (
        Front::FilterOnly,
        &[(
            "                route: {cluster: app}\n",
            "                route: {cluster: app}
                typed_per_filter_config:
                  envoy.filters.http.ext_authz:
                    \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                    check_settings: {context_extensions: {tollgate_policy: other}}
",
        )],
    ),
    (Front::Nginx, &[("/auth/nginx;", "/auth/nginx/other;"), ("/.tollgate/page?", "/.tollgate/page/other?")]),
];

fn a_proxy_names_the_policy_of_a_route(front: Front) {
    let (_, edits) = NAMED.iter().find(|(named, _)| *named == front).expect("it is above");
    let Some(site) = Site::start_with(front, edits, &[]) else { return };
    assert_eq!(site.ask(&Ask::get("/deny")).seen().all("x-tollgate-rule"), ["bot/other-rest"]);
    assert_eq!(site.ask(&Ask::get("/ok")).status, 403);
    // The answer goes to a path that no route names a policy for, and counts all the same.
    let paid = pay(&site, "/other");
    let reply = site.ask(&Ask::get("/other").add("cookie", paid));
    assert_eq!(reply.seen().all("x-tollgate-rule"), ["bot/other-pays"]);
}
