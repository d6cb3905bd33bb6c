//! Envoy's gRPC face: `envoy.service.auth.v3.Authorization/Check`.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod allow;
mod call;
mod read;
mod write;

use std::iter;

use arc_swap::Guard;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Body;
use tonic::{Code, Status};

use crate::clock::Clock;
use crate::gate::{Face, Gate, Live, Moment, TOKEN};
use crate::request::{Peer, Request, Unfit, gather, name};
use read::Question;
use write::Passing;

/// The largest question that is decoded, in bytes. Envoy refuses header blocks over 60 KiB; that and its own facts fit
/// four times. A visitor's body does not: it is no ground for a decision and should not be sent along.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The name of the service.
pub const SERVICE: &str = "envoy.service.auth.v3.Authorization";

/// The path of its one method, which everything that asks calls.
pub const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

/// The metadata of a call by which a proxy says that the request is not to be remembered: `off`.
static LEARN: HeaderName = HeaderName::from_static(name::X_TOLLGATE_LEARN.as_str());

/// The service that Envoy asks. What a question says is read where it lies.
#[derive(Clone, Debug)]
pub struct Authorization {
    live: Live,
    clock: Clock,
}

impl Authorization {
    /// Answers for the gate that is in force.
    pub fn new(live: Live, clock: Clock) -> Self {
        Self { live, clock }
    }

    /// Answers a call of [`CHECK`] by this peer. Of the body no more is read than a message may have.
    pub async fn check<B>(&self, peer: Peer, metadata: &HeaderMap, body: &mut B) -> Response
    where
        B: Body<Data = Bytes> + Unpin,
    {
        // What somebody says who may not ask is neither kept nor read: refusing costs nothing.
        let may_ask = trusted(&self.live.load(), metadata, peer).is_ok();
        let message = if may_ask { call::message(body, MAX_MESSAGE).await } else { Ok(Bytes::new()) };
        let reply = match message {
            Ok(message) => self.reply(peer, metadata, &message).await,
            Err(status) => Err(status),
        };
        match reply {
            Ok(reply) => call::reply(reply),
            Err(status) => {
                if status.code() != Code::Cancelled {
                    self.live.load().state().metrics.undecided("message");
                }
                status.into_http()
            }
        }
    }

    async fn reply(&self, peer: Peer, metadata: &HeaderMap, message: &[u8]) -> Result<Vec<u8>, Status> {
        let mut gate = self.live.load();
        let (mut moment, drawn) = Moment::draw(&self.clock);
        // The call's metadata is the proxy's own word, which no visitor can speak.
        moment.learn = metadata.get(&LEARN).is_none_or(|value| value != "off");
        if gate.looks_up() {
            let held = Guard::into_inner(gate);
            // In a box, so that a call which looks nothing up does not carry the room for it.
            Box::pin(look_up(&held, metadata, peer, message, &mut moment)).await;
            gate = Guard::from_inner(held);
        }
        gate.contained(
            Face::Grpc.as_str(),
            || {
                let asker = drawn.and_then(|()| trusted(&gate, metadata, peer));
                // Nor is what was said before a reload took the right away.
                let message = if asker.is_ok() { message } else { &[] };
                let mut question = Question::default();
                question.read(message).ok_or_else(unreadable)?;
                Ok(answer(&gate, asker, &mut question, &moment))
            },
            || Ok(write::failure()),
        )
    }
}

fn unreadable() -> Status {
    Status::invalid_argument("the message is no envoy.service.auth.v3.CheckRequest")
}

/// Who asks, if we answer them. The secret that a peer may show stands in the call's metadata, out of the visitor's reach.
fn trusted(gate: &Gate, metadata: &HeaderMap, peer: Peer) -> Result<Peer, Unfit> {
    // Lazily: a peer that is known by its address need not show anything, and looking takes a while.
    let shown = iter::once(metadata).flat_map(|metadata| metadata.get_all(TOKEN)).map(HeaderValue::as_bytes);
    if gate.trusts(peer, shown) { Ok(peer) } else { Err(Unfit::Incomplete("peer")) }
}

/// Has looked up what the decision needs. What is answered without a rule needs nothing.
async fn look_up(gate: &Gate, metadata: &HeaderMap, peer: Peer, message: &[u8], moment: &mut Moment) {
    let asker = trusted(gate, metadata, peer);
    let mut question = Question::default();
    let request = gate.contained(
        Face::Grpc.as_str(),
        || {
            asker?;
            question.read(message).ok_or(Unfit::Incomplete("request"))?;
            asked(gate, asker, &mut question)
        },
        || Err(Unfit::Incomplete("request")),
    );
    if !request.as_ref().is_ok_and(|request| gate.is_public(request)) {
        gate.look_up(question.policy(), &request, moment).await;
    }
}

/// The visitor's request.
fn asked<'m>(
    gate: &Gate,
    asker: Result<Peer, Unfit>,
    question: &mut Question<'m>,
) -> Result<Request<'m>, Unfit> {
    let peer = asker?;
    let (source, headers) = question.take_request().ok_or(Unfit::Incomplete("request"))?;
    gather(source, headers, peer, gate.client_settings())
}

fn answer(gate: &Gate, asker: Result<Peer, Unfit>, question: &mut Question<'_>, moment: &Moment) -> Vec<u8> {
    let request = asked(gate, asker, question);
    let answer = gate.answer(Face::Grpc, question.policy(), &request, moment);
    write::encode(answer, || Passing::of(question, request.as_ref().ok(), &gate.cookie_names()))
}

#[cfg(test)]
mod tests;
