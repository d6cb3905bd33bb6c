//! Asks over gRPC with messages that are written byte by byte: a library would not write what is no UTF-8.

use std::net::{IpAddr, SocketAddr};

use envoy_types::pb::envoy::service::auth::v3::CheckResponse;
use prost::Message as _;
use serde_json::Value;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// A protobuf message in the making. All fields that questions have are texts, bytes or messages.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    /// Adds a field.
    pub(crate) fn with(mut self, number: u64, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.varint(number << 3 | 2);
        self.varint(u64::try_from(value.len()).expect("lengths fit"));
        self.0.extend(value);
        self
    }

    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(u8::try_from(number & 0x7f).expect("seven bits fit") | 0x80);
            number >>= 7;
        }
        self.0.push(u8::try_from(number).expect("seven bits fit"));
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A map's entry.
pub(crate) fn entry(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Message {
    Message::default().with(1, key).with(2, value)
}

/// The message that a JSON form of it stands for, as far as questions use its fields. Names are those of the proto file, or the
/// JSON names of its fields.
pub(crate) fn from_json(kind: &str, value: &Value) -> Message {
    let Value::Object(fields) = value else { panic!("{kind} is a message, not {value}") };
    fields.iter().fold(Message::default(), |message, (name, value)| {
        let (number, inner) = match (kind, name.as_str()) {
            ("check", "attributes") => (1, "attributes"),
            ("attributes", "source") => (1, "peer"),
            ("attributes", "destination") => (2, "peer"),
            ("attributes", "request") => (4, "request"),
            ("attributes", "contextExtensions" | "context_extensions") => (10, "map"),
            ("peer", "address") => (1, "address"),
            ("peer", "service") => (2, "text"),
            ("peer", "principal") => (4, "text"),
            ("address", "socketAddress" | "socket_address") => (1, "socket"),
            ("address", "pipe") => (2, "pipe"),
            ("address", "envoyInternalAddress" | "envoy_internal_address") => (4, "pipe"),
            ("socket", "address") => (2, "text"),
            ("pipe", "path" | "server_listener_name" | "serverListenerName") => (1, "text"),
            ("request", "http") => (2, "http"),
            ("http", "id") => (1, "text"),
            ("http", "method") => (2, "text"),
            ("http", "headers") => (3, "map"),
            ("http", "path") => (4, "text"),
            ("http", "host") => (5, "text"),
            ("http", "scheme") => (6, "text"),
            ("http", "query") => (7, "text"),
            ("http", "fragment") => (8, "text"),
            ("http", "protocol") => (10, "text"),
            ("http", "body") => (11, "text"),
            // Numbers, times and what nothing of ours reads.
            _ => return message,
        };
        match (inner, value) {
            ("map", Value::Object(pairs)) => pairs.iter().fold(message, |message, (key, value)| {
                message.with(number, entry(key, value.as_str().unwrap_or_default()))
            }),
            ("text", Value::String(text)) => message.with(number, text),
            _ => message.with(number, from_json(inner, value)),
        }
    })
}

/// Opens a connection from that address.
pub(crate) fn connect(to: SocketAddr, from: IpAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{to}")).expect("an address makes a URI");
    endpoint.local_address(Some(from)).connect_lazy()
}

/// Asks. What the server refuses to read, or does not answer, is an error.
pub(crate) async fn ask(channel: &Channel, question: Message) -> Result<CheckResponse, Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
    let path = "/envoy.service.auth.v3.Authorization/Check".parse().expect("it is a path");
    client.unary(Request::new(question), path, Bytes).await.map(tonic::Response::into_inner)
}

/// Sends bytes as they are.
struct Bytes;

impl Codec for Bytes {
    type Encode = Message;
    type Decode = CheckResponse;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Bytes {
    type Item = Message;
    type Error = Status;

    fn encode(&mut self, item: Message, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(buffer, item.as_ref());
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = CheckResponse;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<CheckResponse>, Status> {
        CheckResponse::decode(buffer).map(Some).map_err(|e| Status::internal(e.to_string()))
    }
}
