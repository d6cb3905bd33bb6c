//! Tables of facts: which sources count on which face, and what a contradiction yields.

use std::net::Ipv4Addr;

use super::*;

const PEER: Peer = Peer::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));

fn list<'a>(lines: &[(&'a str, &'a str)]) -> Headers<'a> {
    lines.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect()
}

fn forwarded<'a>(lines: &[(&'a str, &'a str)]) -> Result<Request<'a>, Unfit> {
    gather(Source::Forwarded { host: b"fallback.example" }, list(lines), PEER, &ClientSettings::default())
}

#[test]
fn forwarded_sources_that_agree_are_one_and_that_disagree_decide_nothing() {
    let request = forwarded(&[
        ("X-Forwarded-Uri", "/a?b"),
        ("X-Original-URI", "/a?b"),
        ("X-Original-URL", "https://h.example/a?b"),
    ])
    .unwrap();
    assert_eq!(
        (request.target.raw, &*request.host, request.scheme.as_str()),
        (&b"/a?b"[..], "h.example", "https")
    );
    let disagree: &[(&[(&str, &str)], &str)] = &[
        (&[("X-Forwarded-Uri", "/admin"), ("X-Original-URI", "/robots.txt")], "target"),
        (&[("X-Forwarded-Uri", "/admin"), ("X-Forwarded-Uri", "/robots.txt")], "target"),
        (&[("X-Forwarded-Uri", "/admin"), ("X-Original-URL", "http://h/robots.txt")], "target"),
        (&[("X-Forwarded-Uri", "/"), ("X-Forwarded-Method", "GET"), ("X-Original-Method", "POST")], "method"),
        (&[("X-Forwarded-Uri", "/"), ("X-Forwarded-Proto", "http"), ("X-Scheme", "https")], "scheme"),
        (&[("X-Forwarded-Host", "a"), ("X-Original-URL", "http://b/")], "host"),
        (&[("X-Forwarded-Host", "a"), ("X-Forwarded-Host", "b"), ("X-Forwarded-Uri", "/")], "host"),
        (&[], "target"),
    ];
    for (lines, fact) in disagree {
        assert_eq!(forwarded(lines).err(), Some(Unfit::Incomplete(fact)), "{lines:?}");
    }
}

#[test]
fn an_original_url_is_taken_apart_by_hand_or_refused() {
    for url in [
        "https://example.com",
        "//example.com/x",
        "https://example.com\\x",
        "https:///x",
        "https://a@example.com/x",
        "ftp://h/x",
        "",
        "http:/x",
        "httpss://h/x",
    ] {
        assert!(matches!(forwarded(&[("X-Original-URL", url)]), Err(Unfit::Malformed(_))), "{url}");
    }
}

#[test]
fn an_alias_of_a_source_is_no_source() {
    assert_eq!(
        forwarded(&[("X_Forwarded_Uri", "/a"), ("X.Original.URI", "/a")]).err(),
        Some(Unfit::Incomplete("target"))
    );
}

#[test]
fn what_is_said_in_the_question_itself_is_not_overruled_by_a_visitor_s_header() {
    let lines = [("x-forwarded-host", "other.example"), ("x-scheme", "https"), ("x-forwarded-proto", "http")];
    let (method, target, host) = (&b"GET"[..], &b"/"[..], &b"h.example"[..]);
    let literal =
        gather(Source::Literal { method, target, host }, list(&lines), PEER, &ClientSettings::default());
    let literal = literal.unwrap();
    assert_eq!((&*literal.host, literal.scheme.as_str()), ("h.example", "http"));
    let routed = |lines| {
        gather(Source::Routed { method, target, host }, list(lines), PEER, &ClientSettings::default())
    };
    assert_eq!(&*routed(&lines[..2]).unwrap().host, "other.example");
    assert_eq!(&*routed(&[]).unwrap().host, "h.example");
    assert_eq!(routed(&lines).err(), Some(Unfit::Incomplete("scheme")));
}

fn envoy_client(source: Option<&str>, lines: &[(&str, &str)], settings: &ClientSettings) -> Option<String> {
    let source = Source::Envoy {
        method: b"GET",
        target: b"/",
        host: b"h",
        scheme: b"http",
        source: source.and_then(|s| parse_address(s.as_bytes())),
    };
    gather(source, list(lines), PEER, settings).unwrap().client.map(|a| a.to_string())
}

fn web_client(lines: &[(&str, &str)], settings: &ClientSettings) -> Option<String> {
    let source = Source::Literal { method: b"GET", target: b"/", host: b"h" };
    gather(source, list(lines), PEER, settings).unwrap().client.map(|a| a.to_string())
}

#[test]
fn the_walk_goes_right_to_left_and_stops_at_the_first_that_is_not_trusted() {
    let direct = ClientSettings::default();
    let trusted = ClientSettings {
        hops: Hops::In(Networks::parse(["10.0.0.0/8"]).unwrap()),
        ..ClientSettings::default()
    };
    let one = ClientSettings { hops: Hops::Count(1), ..ClientSettings::default() };
    let xff = |v| vec![("x-forwarded-for", v)];
    let envoy = [
        (&direct, "198.51.100.7", "66.249.64.1", Some("198.51.100.7")),
        (&trusted, "198.51.100.7", "66.249.64.1", Some("198.51.100.7")),
        (&trusted, "10.0.0.1", "66.249.64.1, 198.51.100.7", Some("198.51.100.7")),
        (&trusted, "10.0.0.1", "66.249.64.1,198.51.100.7,10.0.0.1", Some("198.51.100.7")),
        (&trusted, "10.0.0.1", "198.51.100.7, 66.249.64.1, 10.0.0.9", Some("66.249.64.1")),
        (&trusted, "10.0.0.1", "198.51.100.7, unknown", None),
        (&trusted, "10.0.0.1", "10.0.0.2", Some("10.0.0.2")),
        (&one, "192.0.2.9", "6.6.6.6,198.51.100.7,192.0.2.9", Some("198.51.100.7")),
        (&one, "192.0.2.9", "6.6.6.6,198.51.100.7", Some("198.51.100.7")),
        (&one, "192.0.2.9", "192.0.2.9", None),
    ];
    for (settings, source, list, want) in envoy {
        assert_eq!(envoy_client(Some(source), &xff(list), settings).as_deref(), want, "{source} {list}");
    }
    assert_eq!(envoy_client(None, &xff("66.249.64.1"), &trusted), None);
    let web = [
        (&direct, "6.6.6.6, 198.51.100.7", Some("198.51.100.7")),
        (&one, "6.6.6.6, 192.0.2.9", Some("6.6.6.6")),
        (&one, "6.6.6.6", None),
        (&direct, "x", None),
        (&direct, "", None),
    ];
    for (settings, list, want) in web {
        assert_eq!(web_client(&xff(list), settings).as_deref(), want, "{list}");
    }
    assert_eq!(web_client(&[], &direct).as_deref(), Some("127.0.0.1"));
    assert_eq!(web_client(&[], &one), None);
}

#[test]
fn a_header_of_the_proxy_counts_only_where_the_settings_say_so() {
    let external = ClientSettings { envoy_external: true, ..ClientSettings::default() };
    let header = ClientSettings { header: Some("x-real-ip".into()), ..ClientSettings::default() };
    let lines = [("x-envoy-external-address", "192.0.2.1"), ("x-real-ip", "192.0.2.2")];
    assert_eq!(
        envoy_client(Some("192.0.2.3"), &lines, &ClientSettings::default()).as_deref(),
        Some("192.0.2.3")
    );
    assert_eq!(envoy_client(Some("192.0.2.3"), &lines, &external).as_deref(), Some("192.0.2.1"));
    assert_eq!(envoy_client(Some("192.0.2.3"), &lines, &header).as_deref(), Some("192.0.2.2"));
    let twice = [("x-envoy-external-address", "192.0.2.1"), ("x-envoy-external-address", "192.0.2.2")];
    assert_eq!(envoy_client(Some("192.0.2.3"), &twice, &external), None);
}
