//! Reads Envoy's `CheckRequest`. Every field of a protobuf message may be absent; what is absent stays absent here.

use std::net::IpAddr;

use envoy_types::pb::envoy::config::core::v3::address::Address;
use envoy_types::pb::envoy::service::auth::v3::CheckRequest;
use envoy_types::pb::envoy::service::auth::v3::attribute_context::HttpRequest;

use crate::request::{Headers, Source, parse_address};

/// The key of a route's `context_extensions` that names the policy for its requests.
const POLICY: &str = "tollgate_policy";

/// The visitor's request, if the message describes one.
pub(super) fn http(check: &CheckRequest) -> Option<&HttpRequest> {
    check.attributes.as_ref()?.request.as_ref()?.http.as_ref()
}

/// The policy that the route asks for.
pub(super) fn policy(check: &CheckRequest) -> Option<&str> {
    check.attributes.as_ref()?.context_extensions.get(POLICY).map(String::as_str)
}

/// Where the facts of the request stand.
pub(super) fn source<'a>(check: &'a CheckRequest, http: &'a HttpRequest) -> Source<'a> {
    Source::Envoy {
        method: http.method.as_bytes(),
        target: http.path.as_bytes(),
        host: http.host.as_bytes(),
        scheme: http.scheme.as_bytes(),
        source: address(check),
    }
}

/// The TCP peer that Envoy saw. A pipe, an internal address and a name are no evidence of one.
fn address(check: &CheckRequest) -> Option<IpAddr> {
    match check.attributes.as_ref()?.source.as_ref()?.address.as_ref()?.address.as_ref()? {
        Address::SocketAddress(socket) => parse_address(socket.address.as_bytes()),
        Address::Pipe(_) | Address::EnvoyInternalAddress(_) => None,
    }
}

/// The headers that count.
pub(super) fn headers(http: &HttpRequest) -> Headers<'_> {
    let mut headers = Headers::default();
    each(http, |name, value| headers.push(name.as_bytes(), value));
    headers
}

/// The names that pose as ours, as they arrived: all of `x-tollgate-*`, also where `_` or `.` stands for a dash.
pub(super) fn aliases(http: &HttpRequest) -> Vec<&str> {
    let mut names = Vec::new();
    each(http, |name, _| {
        if poses_as_ours(name.as_bytes()) && !names.contains(&name) {
            names.push(name);
        }
    });
    names
}

fn poses_as_ours(name: &[u8]) -> bool {
    const OURS: &[u8] = b"x-tollgate-";
    let folded = |b: u8| if matches!(b, b'_' | b'.') { b'-' } else { b.to_ascii_lowercase() };
    name.get(..OURS.len()).is_some_and(|start| start.iter().map(|b| folded(*b)).eq(OURS.iter().copied()))
}

/// Shows every header line. With `encode_raw_headers` Envoy fills `header_map` and leaves `headers` empty; else the reverse.
fn each<'a>(http: &'a HttpRequest, mut line: impl FnMut(&'a str, &'a [u8])) {
    match http.header_map.as_ref().map(|map| map.headers.as_slice()) {
        None | Some([]) => http.headers.iter().for_each(|(name, value)| line(name, value.as_bytes())),
        Some(lines) => lines.iter().for_each(|header| match header.raw_value.as_slice() {
            [] => line(&header.key, header.value.as_bytes()),
            raw => line(&header.key, raw),
        }),
    }
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::config::core::v3::{
        Address as Place, EnvoyInternalAddress, HeaderMap, HeaderValue, Pipe, SocketAddress,
    };
    use envoy_types::pb::envoy::service::auth::v3::AttributeContext;
    use envoy_types::pb::envoy::service::auth::v3::attribute_context::{Peer, Request};

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

    #[test]
    fn both_forms_of_headers_are_read_and_pseudo_headers_and_aliases_do_not_count() {
        let http = raw(&[
            (":path", "/", b""),
            ("accept", "a", b""),
            ("accept", "b", b"c\xff"),
            ("x_forwarded_for", "", b"1.2.3.4"),
        ]);
        let read = headers(&http);
        assert_eq!(read.joined("accept").as_deref(), Some(&b"a,c\xff"[..]));
        assert_eq!(read.iter().count(), 2);

        let mut http = joined(&[(":method", "GET"), ("accept", "a,b"), ("x.forwarded.for", "1.2.3.4")]);
        http.header_map = Some(HeaderMap::default());
        let read = headers(&http);
        assert_eq!(read.joined("accept").as_deref(), Some(&b"a,b"[..]));
        assert_eq!(read.iter().count(), 1);
    }

    #[test]
    fn names_that_pose_as_ours_are_listed_once_as_they_arrived() {
        let ours =
            ["x-tollgate-verdict", "X_Tollgate_Verdict", "x.tollgate.bot", "x-tollgate_id", "x-tollgate-"];
        let foreign =
            ["x-tollgate", "x-tollgateway", "tollgate-answer", "xx-tollgate-id", "x--tollgate-id", "x"];
        let lines: Vec<_> =
            ours.iter().chain(&foreign).chain(&ours).map(|name| (*name, "", &b"v"[..])).collect();
        assert_eq!(aliases(&raw(&lines)), ours);
    }

    #[test]
    fn only_a_socket_address_is_evidence() {
        let check = |place: Option<Address>, want: Option<&str>| {
            let source = Peer { address: Some(Place { address: place.clone() }), ..Peer::default() };
            let attributes = AttributeContext { source: Some(source), ..AttributeContext::default() };
            let got = address(&CheckRequest { attributes: Some(attributes) });
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
            let check = CheckRequest { attributes };
            assert!(http(&check).is_none() && policy(&check).is_none() && address(&check).is_none());
        }
    }
}
