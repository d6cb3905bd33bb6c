//! Messages to Envoy's face, byte by byte through the real codec: nothing is allowed that the policy does not allow.

use std::cell::OnceCell;

use axum::http::HeaderMap;
use envoy_types::pb::envoy::service::auth::v3::CheckResponse;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use http_body_util::BodyExt as _;
use prost::Message as _;
use tollgate::clock::{Clock, Timestamp};
use tollgate::envoy::Authorization;
use tollgate::request::Peer;

use super::fixture::{GATE, NOW, PEER};
use super::naive;
use super::question::may_pass;

thread_local! {
    static LISTENER: OnceCell<(tokio::runtime::Runtime, Authorization)> = const { OnceCell::new() };
}

/// The input is the message as it stands on the wire.
pub(crate) fn run(bytes: &[u8]) {
    let answer = ask(bytes);
    assert_eq!(GATE.load().state().metrics.panics.get(), 0, "the gate panicked");
    let Some(answer) = answer else { return };
    // To Envoy no status at all is code 0, and code 0 allows.
    let code = answer.status.as_ref().map_or(0, |status| status.code);
    assert_eq!(code == 0, matches!(answer.http_response, Some(HttpResponse::OkResponse(_))), "{answer:?}");
    assert!(answer.http_response.is_some(), "an answer that says nothing");
    let question = Question::read(bytes).expect("only what can be read is answered");
    assert!(code != 0 || question.may_pass(), "{question:?}");
}

/// Whether Envoy would let the request of this message through.
pub(crate) fn is_allowed(message: &[u8]) -> bool {
    ask(message).is_some_and(|answer| answer.status.is_none_or(|status| status.code == 0))
}

/// Asks the service that the listener serves; `None` where the call failed.
fn ask(message: &[u8]) -> Option<CheckResponse> {
    let length = u32::try_from(message.len()).ok()?.to_be_bytes();
    let framed = [&[0], &length[..], message].concat();
    let mut body = http_body_util::Full::new(bytes::Bytes::from(framed));
    LISTENER.with(|listener| {
        let (runtime, service) = listener.get_or_init(|| {
            let clock = Clock::manual(Timestamp::from_seconds(NOW));
            let service = Authorization::new(GATE.clone(), clock);
            (tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it builds"), service)
        });
        runtime.block_on(async {
            let response = service.check(Peer::Address(PEER), &HeaderMap::new(), &mut body).await;
            if response.headers().contains_key("grpc-status") {
                return None;
            }
            let body = response.into_body().collect().await.ok()?;
            let failed = body.trailers().is_none_or(|t| t.get("grpc-status").is_none_or(|s| s != "0"));
            let bytes = body.to_bytes();
            if failed { None } else { CheckResponse::decode(bytes.get(5..)?).ok() }
        })
    })
}

/// What a message says, read as the encoding is specified and in no hurry.
#[derive(Debug, Default)]
struct Question {
    described: bool,
    path: Vec<u8>,
    peer: Option<Vec<u8>>,
    lines: Vec<(Vec<u8>, Vec<u8>)>,
    raw_lines: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The fields of a message with what they hold, the varints and numbers among them empty; `None` where it is no message.
fn fields(message: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let varint = |at: &mut usize| {
        let mut number = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = *message.get(*at)?;
            *at += 1;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    };
    let (mut at, mut found) = (0, Vec::new());
    while at < message.len() {
        let tag = varint(&mut at)?;
        let length = match tag & 7 {
            0 => varint(&mut at).map(|_| 0)?,
            1 => 8,
            2 => usize::try_from(varint(&mut at)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let value = message.get(at..at.checked_add(length)?)?;
        at += length;
        found.push((tag >> 3, if tag & 7 == 2 { value } else { &[] }));
    }
    Some(found)
}

impl Question {
    fn read(message: &[u8]) -> Option<Self> {
        let mut question = Self::default();
        let inner = |list: Vec<(u64, &[u8])>, field: u64| -> Vec<Vec<u8>> {
            list.into_iter().filter(|(number, _)| *number == field).map(|(_, value)| value.to_vec()).collect()
        };
        for attributes in inner(fields(message)?, 1) {
            for (number, value) in fields(&attributes).unwrap_or_default() {
                match number {
                    1 => inner(fields(value).unwrap_or_default(), 1)
                        .iter()
                        .for_each(|place| question.place(place)),
                    4 => inner(fields(value).unwrap_or_default(), 2)
                        .iter()
                        .for_each(|http| question.http(http)),
                    _ => {}
                }
            }
        }
        Some(question)
    }

    fn place(&mut self, address: &[u8]) {
        for (kind, value) in fields(address).unwrap_or_default() {
            match kind {
                1 => {
                    let known = self.peer.get_or_insert_default();
                    for (_, text) in
                        fields(value).unwrap_or_default().into_iter().filter(|(number, _)| *number == 2)
                    {
                        *known = text.to_vec();
                    }
                }
                2 | 3 => self.peer = None,
                _ => {}
            }
        }
    }

    fn http(&mut self, http: &[u8]) {
        self.described = true;
        let last = |list: &[(u64, &[u8])], field: u64| {
            list.iter().rev().find(|(number, _)| *number == field).map(|(_, value)| value.to_vec())
        };
        for (number, value) in fields(http).unwrap_or_default() {
            match number {
                3 => {
                    let entry = fields(value).unwrap_or_default();
                    let of = |field| last(&entry, field).unwrap_or_default();
                    self.lines.push((of(1).to_ascii_lowercase(), of(2)));
                }
                4 => self.path = value.to_vec(),
                13 => {
                    for (_, line) in
                        fields(value).unwrap_or_default().iter().filter(|(number, _)| *number == 1)
                    {
                        let line = fields(line).unwrap_or_default();
                        let bytes = last(&line, 3).filter(|bytes| !bytes.is_empty());
                        let value = bytes.or_else(|| last(&line, 2)).unwrap_or_default();
                        self.raw_lines.push((last(&line, 1).unwrap_or_default().to_ascii_lowercase(), value));
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the policy could allow it.
    fn may_pass(&self) -> bool {
        let lines = if self.raw_lines.is_empty() { &self.lines } else { &self.raw_lines };
        let of = |name: &str| {
            lines.iter().filter(|(n, _)| n == name.as_bytes()).map(|(_, v)| v.as_slice()).collect::<Vec<_>>()
        };
        let client = self.peer.as_deref().and_then(naive::address);
        self.described && may_pass(&self.path, client, &of("user-agent").join(&b','), &of("cookie"))
    }
}
