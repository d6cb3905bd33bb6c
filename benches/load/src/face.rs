//! Puts a visitor's request into the words of a face, as the proxy behind it would.

use bytes::Bytes;
use prost::Message;

use crate::frozen::{ANY, CLIENT, Frozen};
use crate::visitor::{Expect, HOST, Step, Via};
use crate::wire::message::{
    Asked, Attributes, CheckRequest, Empty, Header, HeaderMap, HttpRequest, Peer, Place, SocketAddress, Time,
    Tls,
};

/// Who asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Face {
    /// Envoy over gRPC, with `encode_raw_headers` as in the example.
    Grpc,
    /// Envoy over HTTP.
    Check,
    /// nginx `auth_request`.
    Nginx,
    /// Traefik, Caddy and their like.
    Forward,
    /// Nobody: the visitor's own request, to a proxy or to a peer.
    Plain,
}

impl Face {
    /// The steps of a visit that this face's proxy would bring before the gate.
    pub(crate) fn takes_part(self, step: &Step) -> bool {
        step.via != Via::Page || self == Self::Nginx
    }

    /// The question as bytes.
    pub(crate) fn freeze(self, step: &Step) -> Frozen {
        let bytes = match (self, step.via) {
            (Self::Grpc, _) => grpc(step),
            (Self::Check, _) => {
                let target = format!("/check{}", step.target);
                http(&step.method, &target, &[("x-forwarded-proto", "https")], step)
            }
            (Self::Nginx, Via::Question) => forwarded("GET", "/auth/nginx", step),
            (Self::Nginx, Via::Page) => forwarded("GET", "/.tollgate/page", step),
            (Self::Forward, Via::Question) => forwarded("GET", "/auth/forward", step),
            (Self::Nginx | Self::Forward, _) => forwarded(&step.method, &step.target, step),
            (Self::Plain, _) => plain(step),
        };
        // An ask about a body brings none: proxies do not send it along.
        let body = if self == Self::Plain { step.body.clone() } else { Bytes::new() };
        Frozen::new(bytes, body, self.status(step.expect))
    }

    /// The status that an outcome has on this face.
    fn status(self, expect: Expect) -> u16 {
        match expect {
            Expect::Allow => 200,
            Expect::Challenge if self == Self::Nginx => 401,
            Expect::Challenge | Expect::Deny | Expect::Page => 403,
            Expect::Accepted => 204,
            Expect::Status(status) => status,
            Expect::Any => ANY,
        }
    }
}

fn line(output: &mut String, name: &str, value: &str) {
    output.push_str(name);
    output.push_str(": ");
    output.push_str(value);
    output.push_str("\r\n");
}

/// A head: what the proxy says, then the visitor's headers.
fn http(method: &str, target: &str, facts: &[(&str, &str)], step: &Step) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nhost: {HOST}\r\nx-forwarded-for: {CLIENT}\r\n");
    facts.iter().for_each(|(name, value)| line(&mut head, name, value));
    step.headers.iter().for_each(|(name, value)| line(&mut head, name, value));
    if method == "POST" {
        line(&mut head, "content-length", "0");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn forwarded(method: &str, target: &str, step: &Step) -> Vec<u8> {
    let facts = [
        ("x-forwarded-host", HOST),
        ("x-forwarded-method", &step.method),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-uri", &step.target),
    ];
    http(method, target, &facts, step)
}

fn plain(step: &Step) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", step.method, step.target);
    if !step.headers.iter().any(|(name, _)| name == "host") {
        line(&mut head, "host", HOST);
    }
    step.headers.iter().for_each(|(name, value)| line(&mut head, name, value));
    if step.method == "POST" || step.method == "PUT" {
        line(&mut head, "content-length", &step.body.len().to_string());
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A `CheckRequest` behind gRPC's five bytes.
fn grpc(step: &Step) -> Vec<u8> {
    let pseudo =
        [(":authority", HOST), (":path", &step.target), (":method", &step.method), (":scheme", "https")];
    let added = [("x-forwarded-proto", "https"), ("x-forwarded-for", CLIENT)];
    let visitors = step.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let lines = pseudo.into_iter().chain(visitors).chain(added);
    let headers = lines
        .map(|(name, value)| Header {
            key: name.to_owned(),
            value: String::new(),
            raw: value.to_owned().into(),
        })
        .collect();
    let peer = |address: &str, port| Peer {
        address: Some(Place { socket: Some(SocketAddress { address: address.to_owned(), port }) }),
    };
    let message = CheckRequest {
        attributes: Some(Attributes {
            source: Some(peer(CLIENT, 45_678)),
            destination: Some(peer("192.0.2.80", 443)),
            request: Some(Asked {
                time: Some(Time { seconds: 1_800_000_000, nanos: 123_456_000 }),
                http: Some(HttpRequest {
                    id: "4637362745823019183".to_owned(),
                    method: step.method.clone(),
                    path: step.target.clone(),
                    host: HOST.to_owned(),
                    scheme: "https".to_owned(),
                    size: if step.method == "GET" { 0 } else { -1 },
                    protocol: "HTTP/2".to_owned(),
                    header_map: Some(HeaderMap { headers }),
                }),
            }),
            metadata: Some(Empty {}),
            route_metadata: Some(Empty {}),
            tls: Some(Tls { sni: HOST.to_owned() }),
        }),
    }
    .encode_to_vec();
    let length = u32::try_from(message.len()).expect("a question is far below 4 GiB");
    [&[0][..], &length.to_be_bytes(), &message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visitor;

    fn text(face: Face, step: &Step) -> String {
        let mut output = Vec::new();
        face.freeze(step).write(0, 0, &mut output);
        String::from_utf8_lossy(&output).into_owned()
    }

    #[test]
    fn each_face_says_the_facts_where_its_proxy_would() {
        let step = visitor::browser("/a?b=c");
        assert!(
            text(Face::Check, &step)
                .starts_with("GET /check/a?b=c HTTP/1.1\r\nhost: www.example.org\r\nx-forwarded-for: 198.")
        );
        let nginx = text(Face::Nginx, &step);
        assert!(nginx.starts_with("GET /auth/nginx HTTP/1.1\r\n"));
        assert!(nginx.contains("\r\nx-forwarded-uri: /a?b=c\r\n"));
        assert!(text(Face::Plain, &step).starts_with("GET /a?b=c HTTP/1.1\r\nhost: www.example.org\r\n"));

        let mut frame = Vec::new();
        Face::Grpc.freeze(&step).write(0, 0, &mut frame);
        let read = CheckRequest::decode(&frame[5..]).unwrap().attributes.unwrap();
        let http = read.request.unwrap().http.unwrap();
        assert_eq!((http.method.as_str(), http.path.as_str(), http.host.as_str()), ("GET", "/a?b=c", HOST));
        let forwarded = http.header_map.unwrap().headers.into_iter().find(|h| h.key == "x-forwarded-for");
        assert_eq!(forwarded.unwrap().raw, read.source.unwrap().address.unwrap().socket.unwrap().address);
    }
}
