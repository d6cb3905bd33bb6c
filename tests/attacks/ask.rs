//! Puts a row to the gate the way that its face's proxy would, and tells what came of it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use envoy_types::pb::envoy::service::auth::v3::CheckResponse;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use tokio::runtime::Runtime;
use tollgate::gate::{self, Gate, Verdict};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::forge::Forge;
use crate::grpc::{self, Message, entry, from_json};
use crate::http::{Head, Reply};
use crate::row::{Face, Row, Via, latin1};
use crate::stand::{NOW, Stand};

/// What came of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// What the gate counted, if it was asked.
    pub(crate) verdict: Option<Verdict>,
    /// Whether the proxy would let the request through.
    pub(crate) allowed: bool,
    /// The status that the proxy hears, over grpc the visitor's; none where the stream was closed.
    pub(crate) status: Option<u16>,
    /// The code of a grpc answer.
    pub(crate) code: Option<i32>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) removed: Vec<String>,
    pub(crate) body: String,
}

impl Outcome {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Asks one row after the other.
pub(crate) struct Asker {
    pub(crate) stand: Stand,
    runtime: Runtime,
    channels: BTreeMap<IpAddr, Channel>,
}

impl Asker {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self {
            stand: Stand::start(),
            runtime: runtime.expect("a runtime can be had"),
            channels: BTreeMap::new(),
        }
    }

    /// Asks a row of a gate that has seen nothing yet.
    pub(crate) fn ask(&mut self, row: &Row) -> Outcome {
        let gate = self.stand.fresh();
        let mut outcome = self.ask_again(row);
        outcome.verdict = counted(&gate, row.face);
        assert_eq!(gate.state().metrics.panics.get(), 0, "{}: the gate panicked", row.id);
        outcome
    }

    /// Asks a row of the gate that is there.
    pub(crate) fn ask_again(&mut self, row: &Row) -> Outcome {
        assert_eq!(row.policy, "fixture", "{}: there is one policy", row.id);
        let peer = row.request.peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        match row.face {
            Face::Grpc => self.over_grpc(row, peer),
            _ => {
                let public = row.face == Face::Public;
                let allowed =
                    |reply: &Reply| !public && reply.status.is_some_and(|s| (200..300).contains(&s));
                let reply = http(row, &forge(row)).send(self.stand.http, peer);
                Outcome {
                    allowed: allowed(&reply),
                    status: reply.status,
                    headers: reply.headers,
                    body: reply.body,
                    ..Outcome::default()
                }
            }
        }
    }

    fn over_grpc(&mut self, row: &Row, peer: IpAddr) -> Outcome {
        self.call(message(row, &forge(row)), peer)
    }

    /// Asks over grpc with a message of any making.
    pub(crate) fn call(&mut self, question: Message, peer: IpAddr) -> Outcome {
        let to = self.stand.grpc;
        let answer = self.runtime.block_on(async {
            let channel = self.channels.entry(peer).or_insert_with(|| grpc::connect(to, peer));
            grpc::ask(channel, question).await
        });
        read(answer)
    }
}

/// The forger for a row's visitor.
pub(crate) fn forge(row: &Row) -> Forge {
    let agents: Vec<_> = row
        .request
        .headers()
        .into_iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("user-agent"))
        .collect();
    let agent = agents.iter().map(|(_, value)| value.trim_matches(' ')).collect::<Vec<_>>().join(",");
    Forge::new(NOW, row.request.host.as_deref().unwrap_or_default(), latin1(&agent))
}

/// The verdict that a gate counted since it was made.
fn counted(gate: &Gate, face: Face) -> Option<Verdict> {
    let face = match face {
        Face::Check => gate::Face::Check,
        Face::Forward => gate::Face::Forward,
        Face::Grpc => gate::Face::Grpc,
        Face::Nginx => gate::Face::Nginx,
        Face::Public => return None,
    };
    let count = |verdict: &Verdict| gate.state().metrics.decisions(face.as_str(), verdict.as_str()).get();
    let total: u64 = Verdict::ALL.iter().map(count).sum();
    assert!(total <= 1, "one row is one decision");
    Verdict::ALL.into_iter().find(|verdict| count(verdict) == 1)
}

/// The bytes of a row's question over HTTP.
pub(crate) fn http(row: &Row, forge: &Forge) -> Head {
    let asked = &row.request;
    let target = asked.target().map(|target| latin1(&forge.expand(&target)));
    let text = |field: &Option<String>| field.as_deref().map(latin1);
    let (method, host) = (text(&asked.method), text(&asked.host));
    let shared = [("x-forwarded-proto", text(&asked.scheme)), ("x-forwarded-for", text(&asked.client))];
    let literal = |prefix: &[u8]| {
        let target = [prefix, target.as_deref().unwrap_or_default()].concat();
        Head::new(method.as_deref().unwrap_or(b"GET"), &target)
    };
    let (mut head, facts) = match row.face {
        Face::Check => (literal(b"/check"), vec![("host", host)]),
        Face::Public => (literal(b""), vec![("host", host)]),
        face => {
            let names = match face {
                Face::Forward => ["x-forwarded-uri", "x-forwarded-method"],
                _ => ["x-original-uri", "x-original-method"],
            };
            let path = if face == Face::Forward { "/auth/forward" } else { "/auth/nginx" };
            let own = ("host", Some(b"gate.internal".to_vec()));
            let facts = vec![own, (names[0], target), (names[1], method), ("x-forwarded-host", host)];
            (Head::new(b"GET", path.as_bytes()), facts)
        }
    };
    for (name, value) in facts.into_iter().chain(shared) {
        if let Some(value) = value {
            head.line(name, &value);
        }
    }
    for (name, value) in asked.headers() {
        head.line(name, &latin1(&forge.expand(&value)));
    }
    head
}

/// The message of a row's question over grpc.
pub(crate) fn message(row: &Row, forge: &Forge) -> Message {
    if let Some(whole) = &row.check_request {
        return from_json("check", whole);
    }
    let asked = &row.request;
    let text = |field: &Option<String>| latin1(field.as_deref().unwrap_or_default());
    let target = latin1(&forge.expand(&asked.target().unwrap_or_default()));
    let lines =
        asked.headers().into_iter().map(|(name, value)| (name.to_owned(), latin1(&forge.expand(&value))));
    let mut http = Message::default()
        .with(2, text(&asked.method))
        .with(4, target)
        .with(5, text(&asked.host))
        .with(6, text(&asked.scheme));
    if row.via == Some(Via::HeaderMap) {
        let map = lines.fold(Message::default(), |map, (name, value)| {
            map.with(1, Message::default().with(1, name).with(3, value))
        });
        http = http.with(13, map);
    } else {
        // Envoy joins the lines of one name.
        let mut joined: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, value) in lines {
            match joined.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    known.push(b',');
                    known.extend(value);
                }
                None => joined.push((name, value)),
            }
        }
        http = joined.into_iter().fold(http, |http, (name, value)| http.with(3, entry(name, value)));
    }
    let mut attributes = Message::default().with(4, Message::default().with(2, http));
    let place = match (&row.source_address, &asked.client) {
        (Some(place), _) => Some(from_json("address", place)),
        (None, Some(client)) => Some(Message::default().with(1, Message::default().with(2, latin1(client)))),
        (None, None) => None,
    };
    if let Some(place) = place {
        attributes = attributes.with(1, Message::default().with(1, place));
    }
    for (key, value) in &row.context_extensions {
        attributes = attributes.with(10, entry(key, value));
    }
    if row.metadata_context.is_some() {
        attributes = attributes.with(11, Message::default().with(1, entry("row", Message::default())));
    }
    Message::default().with(1, attributes)
}

fn read(answer: Result<CheckResponse, Status>) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        Err(status) => {
            return Outcome {
                code: Some(status.code().into()),
                body: status.to_string(),
                ..Outcome::default()
            };
        }
    };
    // To Envoy no status at all is code 0.
    let code = answer.status.map_or(0, |status| status.code);
    let allowed = code == i32::from(Code::Ok);
    let base = Outcome { allowed, code: Some(code), ..Outcome::default() };
    let lines = |headers: Vec<_>| {
        let pair = |option: envoy_types::pb::envoy::config::core::v3::HeaderValueOption| {
            option.header.map(|header| (header.key, header.value))
        };
        headers.into_iter().filter_map(pair).collect()
    };
    match answer.http_response {
        None => base,
        Some(HttpResponse::OkResponse(ok)) => {
            Outcome { status: Some(200), headers: lines(ok.headers), removed: ok.headers_to_remove, ..base }
        }
        Some(HttpResponse::DeniedResponse(denied) | HttpResponse::ErrorResponse(denied)) => Outcome {
            // Envoy's own default where none is said.
            status: Some(denied.status.map_or(403, |s| u16::try_from(s.code).unwrap_or(0))),
            headers: lines(denied.headers),
            body: denied.body,
            ..base
        },
    }
}
