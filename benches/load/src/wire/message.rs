//! The fields of `envoy.service.auth.v3` that a proxy writes and reads here. What is not declared is skipped.

use bytes::Bytes;
use prost::{Message, Oneof};

use super::Reply;

#[derive(Message)]
pub(crate) struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) attributes: Option<Attributes>,
}

#[derive(Message)]
pub(crate) struct Attributes {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<Peer>,
    #[prost(message, optional, tag = "2")]
    pub(crate) destination: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    pub(crate) request: Option<Asked>,
    #[prost(message, optional, tag = "11")]
    pub(crate) metadata: Option<Empty>,
    #[prost(message, optional, tag = "13")]
    pub(crate) route_metadata: Option<Empty>,
    #[prost(message, optional, tag = "12")]
    pub(crate) tls: Option<Tls>,
}

#[derive(Message)]
pub(crate) struct Empty {}

#[derive(Message)]
pub(crate) struct Tls {
    #[prost(string, tag = "1")]
    pub(crate) sni: String,
}

#[derive(Message)]
pub(crate) struct Peer {
    #[prost(message, optional, tag = "1")]
    pub(crate) address: Option<Place>,
}

#[derive(Message)]
pub(crate) struct Place {
    #[prost(message, optional, tag = "1")]
    pub(crate) socket: Option<SocketAddress>,
}

#[derive(Message)]
pub(crate) struct SocketAddress {
    #[prost(string, tag = "2")]
    pub(crate) address: String,
    #[prost(uint32, tag = "3")]
    pub(crate) port: u32,
}

#[derive(Message)]
pub(crate) struct Asked {
    #[prost(message, optional, tag = "1")]
    pub(crate) time: Option<Time>,
    #[prost(message, optional, tag = "2")]
    pub(crate) http: Option<HttpRequest>,
}

#[derive(Message)]
pub(crate) struct Time {
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}

#[derive(Message)]
pub(crate) struct HttpRequest {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) method: String,
    #[prost(string, tag = "4")]
    pub(crate) path: String,
    #[prost(string, tag = "5")]
    pub(crate) host: String,
    #[prost(string, tag = "6")]
    pub(crate) scheme: String,
    #[prost(int64, tag = "9")]
    pub(crate) size: i64,
    #[prost(string, tag = "10")]
    pub(crate) protocol: String,
    #[prost(message, optional, tag = "13")]
    pub(crate) header_map: Option<HeaderMap>,
}

#[derive(Message)]
pub(crate) struct HeaderMap {
    #[prost(message, repeated, tag = "1")]
    pub(crate) headers: Vec<Header>,
}

#[derive(Message)]
pub(crate) struct Header {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) raw: Bytes,
}

#[derive(Message)]
pub(crate) struct CheckResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<Status>,
    #[prost(oneof = "Outcome", tags = "2, 3, 5")]
    outcome: Option<Outcome>,
}

#[derive(Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Oneof)]
enum Outcome {
    #[prost(message, tag = "2")]
    Denied(Refused),
    #[prost(message, tag = "3")]
    Ok(Empty),
    #[prost(message, tag = "5")]
    Error(Refused),
}

#[derive(Message)]
struct Refused {
    #[prost(message, optional, tag = "1")]
    status: Option<HttpStatus>,
    #[prost(message, repeated, tag = "2")]
    headers: Vec<Option_>,
    #[prost(bytes = "bytes", tag = "3")]
    body: Bytes,
}

#[derive(Message)]
struct HttpStatus {
    #[prost(int32, tag = "1")]
    code: i32,
}

#[derive(Message)]
struct Option_ {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
}

impl CheckResponse {
    /// What the visitor would see; `None` where Envoy could not tell either.
    pub(super) fn into_reply(self, keep: bool) -> Option<Reply> {
        let code = self.status.map_or(0, |status| status.code);
        let refused = match (code, self.outcome) {
            (0, None | Some(Outcome::Ok(_))) => return Some(Reply { status: 200, ..Reply::default() }),
            (1.., Some(Outcome::Denied(refused) | Outcome::Error(refused))) => refused,
            _ => return None,
        };
        let cookie = |line: Option_| {
            let header = line.header.filter(|header| header.key.eq_ignore_ascii_case("set-cookie"))?;
            header.value.split(';').next().map(str::to_owned)
        };
        Some(Reply {
            status: refused.status.map_or(403, |status| u16::try_from(status.code).unwrap_or_default()),
            cookies: refused.headers.into_iter().filter_map(cookie).collect(),
            length: refused.body.len() as u64,
            body: if keep { refused.body } else { Bytes::new() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: i32, outcome: Option<Outcome>) -> Option<(u16, u64)> {
        let message = CheckResponse { status: Some(Status { code }), outcome };
        let read = CheckResponse::decode(message.encode_to_vec().as_slice()).unwrap();
        read.into_reply(true).map(|reply| (reply.status, reply.length))
    }

    #[test]
    fn only_code_0_passes() {
        let refused = |status| Refused {
            status: Some(HttpStatus { code: status }),
            headers: Vec::new(),
            body: Bytes::from_static(b"no"),
        };
        assert_eq!(reply(0, Some(Outcome::Ok(Empty {}))), Some((200, 0)));
        assert_eq!(reply(0, None), Some((200, 0)));
        assert_eq!(reply(7, Some(Outcome::Denied(refused(403)))), Some((403, 2)));
        assert_eq!(reply(13, Some(Outcome::Error(refused(503)))), Some((503, 2)));
        assert_eq!(reply(0, Some(Outcome::Denied(refused(403)))), None);
        assert_eq!(reply(7, None), None);
    }
}
