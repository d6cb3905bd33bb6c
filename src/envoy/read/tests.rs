//! What is read of a message, and that the generated types read the same.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::address::Address;
use envoy_types::pb::envoy::config::core::v3::{
    Address as Place, EnvoyInternalAddress, HeaderMap, HeaderValue, Pipe, SocketAddress,
};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Peer, Request};
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest};
use proptest::prelude::*;
use prost::Message as _;

use super::*;

fn raw(lines: &[(&str, &str, &[u8])]) -> HttpRequest {
    let headers = lines.iter().map(|(key, value, raw)| HeaderValue {
        key: (*key).into(),
        value: (*value).into(),
        raw_value: raw.to_vec(),
    });
    HttpRequest { header_map: Some(HeaderMap { headers: headers.collect() }), ..HttpRequest::default() }
}

fn joined(lines: &[(&str, &str)]) -> HttpRequest {
    let headers = lines.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    HttpRequest { headers, ..HttpRequest::default() }
}

fn message(http: HttpRequest) -> Vec<u8> {
    let request = Some(Request { http: Some(http), ..Request::default() });
    CheckRequest { attributes: Some(AttributeContext { request, ..AttributeContext::default() }) }
        .encode_to_vec()
}

fn question(message: &[u8]) -> Option<Question<'_>> {
    let mut question = Question::default();
    question.read(message).map(|()| question)
}

/// Everything that is read, in a form that can be compared. Of a map the order is the encoder's.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    facts: Option<[Vec<u8>; 4]>,
    peer: Option<IpAddr>,
    policy: Option<String>,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    aliases: Vec<String>,
}

impl Seen {
    fn here(message: &[u8]) -> Option<Self> {
        let question = question(message)?;
        let Question { method, target, host, scheme, .. } = question;
        let mut headers: Vec<_> =
            question.headers.iter().map(|h| (h.name.to_vec(), h.value.to_vec())).collect();
        let mut aliases: Vec<_> = question.aliases().iter().map(|name| (*name).to_owned()).collect();
        headers.sort();
        aliases.sort();
        Some(Self {
            facts: question.described.then(|| [method, target, host, scheme].map(<[u8]>::to_vec)),
            peer: question.peer(),
            policy: question.policy().map(str::to_owned),
            headers,
            aliases,
        })
    }

    /// The same by way of the generated types.
    fn there(message: &[u8]) -> Option<Self> {
        let Some(attributes) = CheckRequest::decode(message).ok()?.attributes else {
            return Some(Self::default());
        };
        let address = attributes.source.and_then(|source| source.address).and_then(|place| place.address);
        let peer = match address {
            Some(Address::SocketAddress(socket)) => parse_address(socket.address.as_bytes()),
            _ => None,
        };
        let policy = attributes.context_extensions.get("tollgate_policy").cloned();
        let http = attributes.request.and_then(|request| request.http);
        let Some(http) = http else { return Some(Self { peer, policy, ..Self::default() }) };
        let facts = [http.method, http.path, http.host, http.scheme].map(String::into_bytes);
        let lines: Vec<_> = match http.header_map.filter(|map| !map.headers.is_empty()) {
            None => http.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect(),
            Some(map) => map
                .headers
                .into_iter()
                .map(|h| (h.key, if h.raw_value.is_empty() { h.value.into_bytes() } else { h.raw_value }))
                .collect(),
        };
        let mut aliases: Vec<_> = lines
            .iter()
            .map(|(name, _)| name.clone())
            .filter(|name| poses_as_ours(name.as_bytes()))
            .collect();
        let counts: Headers<'_> = lines.iter().map(|(n, v)| (n.as_bytes(), v.as_slice())).collect();
        let mut headers: Vec<_> = counts.iter().map(|h| (h.name.to_vec(), h.value.to_vec())).collect();
        headers.sort();
        aliases.sort();
        aliases.dedup();
        Some(Self { facts: Some(facts), peer, policy, headers, aliases })
    }
}

#[test]
fn both_forms_of_headers_are_read_and_pseudo_headers_and_aliases_do_not_count() {
    let bytes = message(raw(&[
        (":path", "/", b""),
        ("accept", "a", b""),
        ("accept", "b", b"c\xff"),
        ("x_forwarded_for", "", b"1.2.3.4"),
    ]));
    let (_, read) = question(&bytes).unwrap().take_request().unwrap();
    assert_eq!(read.joined("accept").as_deref(), Some(&b"a,c\xff"[..]));
    assert_eq!(read.iter().count(), 2);

    let mut http = joined(&[(":method", "GET"), ("accept", "a,b"), ("x.forwarded.for", "1.2.3.4")]);
    http.header_map = Some(HeaderMap::default());
    let bytes = message(http);
    let (_, read) = question(&bytes).unwrap().take_request().unwrap();
    assert_eq!(read.joined("accept").as_deref(), Some(&b"a,b"[..]));
    assert_eq!(read.iter().count(), 1);
}

#[test]
fn names_that_pose_as_ours_are_listed_once_as_they_arrived() {
    let ours = ["x-tollgate-verdict", "X_Tollgate_Verdict", "x.tollgate.bot", "x-tollgate_id", "x-tollgate-"];
    let foreign = ["x-tollgate", "x-tollgateway", "tollgate-answer", "xx-tollgate-id", "x--tollgate-id", "x"];
    let lines: Vec<_> = ours.iter().chain(&foreign).chain(&ours).map(|name| (*name, "", &b"v"[..])).collect();
    assert_eq!(question(&message(raw(&lines))).unwrap().aliases(), ours);
}

#[test]
fn more_names_that_pose_as_ours_than_a_request_has_headers_are_no_question() {
    let names: Vec<_> = (0..=MAX_HEADERS).map(|n| format!("x-tollgate-{n}")).collect();
    let lines: Vec<_> = names.iter().map(|name| (name.as_str(), "", &b"v"[..])).collect();
    assert!(question(&message(raw(&lines[1..]))).is_some());
    assert!(question(&message(raw(&lines))).is_none());
}

#[test]
fn only_a_socket_address_is_evidence() {
    let check = |place: Option<Address>, want: Option<&str>| {
        let source = Peer { address: Some(Place { address: place.clone() }), ..Peer::default() };
        let attributes = AttributeContext { source: Some(source), ..AttributeContext::default() };
        let bytes = CheckRequest { attributes: Some(attributes) }.encode_to_vec();
        let got = question(&bytes).unwrap().peer();
        assert_eq!(got, want.map(|a| a.parse().unwrap()), "{place:?}");
    };
    let socket = |text: &str| {
        Some(Address::SocketAddress(SocketAddress { address: text.into(), ..SocketAddress::default() }))
    };
    check(socket("198.51.100.7"), Some("198.51.100.7"));
    check(socket("::ffff:198.51.100.7"), Some("198.51.100.7"));
    for text in ["", "localhost", "fe80::1%eth0", "198.51.100.7:80", "0198.51.100.7"] {
        check(socket(text), None);
    }
    check(Some(Address::Pipe(Pipe::default())), None);
    check(Some(Address::EnvoyInternalAddress(EnvoyInternalAddress::default())), None);
    check(None, None);
}

#[test]
fn whatever_is_absent_stays_absent() {
    let empty = AttributeContext { request: Some(Request::default()), ..AttributeContext::default() };
    for attributes in [None, Some(AttributeContext::default()), Some(empty)] {
        let bytes = CheckRequest { attributes }.encode_to_vec();
        assert_eq!(Seen::here(&bytes), Some(Seen::default()));
        assert!(question(&bytes).unwrap().take_request().is_none());
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let long = [0xff; 11];
    for bytes in [
        &b"\x0a"[..],                                    // a length is missing
        b"\x0a\x05ab",                                   // shorter than it says
        b"\x08\x01",                                     // a number where a message stands
        b"\x0a\x02\x22\x01",                             // the same further in
        b"\x0b\x0c",                                     // a group
        b"\x00\x01",                                     // field 0
        b"\x0f",                                         // a kind that there is not
        b"\x1d\x00\x00",                                 // four bytes of which two are there
        b"\x19\x00",                                     // eight bytes
        &long,                                           // a number without end
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", // one of 70 bits
    ] {
        assert!(question(bytes).is_none(), "{bytes:?}");
        assert!(CheckRequest::decode(bytes).is_err(), "{bytes:?}");
    }
    assert!(question(b"\x12\x00\x18\x07\x25\x00\x00\x00\x00").is_some(), "what is unknown is skipped");
}

fn any_question() -> impl Strategy<Value = CheckRequest> {
    let name = prop_oneof!["[a-z-]{1,12}", "[xX][-_.]tollgate[-_.][a-z]{0,4}", Just(":path".to_owned())];
    let lines =
        proptest::collection::vec((name, "\\PC{0,20}", proptest::collection::vec(any::<u8>(), 0..9)), 0..12);
    let address = prop_oneof![
        Just(None),
        Just(Some(Address::Pipe(Pipe::default()))),
        "[0-9.:a-f]{0,12}|192\\.0\\.2\\.[1-9]".prop_map(|text| Some(Address::SocketAddress(SocketAddress {
            address: text,
            ..SocketAddress::default()
        })))
    ];
    let texts = ("[A-Z]{0,5}", "\\PC{0,30}", "[a-z.]{0,9}", "https?");
    (texts, lines, address, any::<bool>(), proptest::option::of("[a-z]{0,9}"), any::<i64>()).prop_map(
        |((method, path, host, scheme), lines, address, raw, policy, size)| {
            let mut http =
                HttpRequest { method, path, host, scheme, size, body: "x".into(), ..HttpRequest::default() };
            if raw {
                let headers =
                    lines.into_iter().map(|(key, value, raw_value)| HeaderValue { key, value, raw_value });
                http.header_map = Some(HeaderMap { headers: headers.collect() });
            } else {
                http.headers = lines.into_iter().map(|(name, value, _)| (name, value)).collect();
            }
            let source = Peer { address: Some(Place { address }), service: "s".into(), ..Peer::default() };
            let context_extensions: HashMap<_, _> =
                policy.into_iter().map(|policy| ("tollgate_policy".to_owned(), policy)).collect();
            CheckRequest {
                attributes: Some(AttributeContext {
                    source: Some(source),
                    request: Some(Request { http: Some(http), ..Request::default() }),
                    context_extensions,
                    ..AttributeContext::default()
                }),
            }
        },
    )
}

proptest! {
    #[test]
    fn the_generated_types_read_the_same(question in any_question(), other in any_question()) {
        let bytes = question.encode_to_vec();
        prop_assert_eq!(Seen::here(&bytes), Seen::there(&bytes));
        // Two messages one after the other are one, but a map's key that stands twice stays two lines here: the stricter way.
        let both = [bytes, other.encode_to_vec()].concat();
        let (here, there) = (Seen::here(&both).unwrap(), Seen::there(&both).unwrap());
        prop_assert!(there.headers.iter().all(|line| here.headers.contains(line)));
        prop_assert_eq!(Seen { headers: Vec::new(), aliases: Vec::new(), ..here }, Seen { headers: Vec::new(), aliases: Vec::new(), ..there });
    }

    #[test]
    fn damage_never_reads_as_something_else(question in any_question(), at in any::<prop::sample::Index>(), with in any::<u8>(), end in any::<bool>()) {
        let mut bytes = question.encode_to_vec();
        let at = at.index(bytes.len());
        if end { bytes.truncate(at) } else { bytes[at] = with }
        // Texts that are none are for the facts to refuse; everything else is read alike, or not at all.
        if let (Some(here), Some(there)) = (Seen::here(&bytes), Seen::there(&bytes)) {
            prop_assert_eq!(here, there);
        }
    }
}
