//! Envoy's gRPC face: `envoy.service.auth.v3.Authorization/Check`.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod allow;
mod codec;
mod read;
mod write;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use arc_swap::Guard;
use axum::http::{self, HeaderValue};
use bytes::Bytes;
use envoy_types::pb::envoy::service::auth::v3::authorization_server::SERVICE_NAME;
use hyper::body::Body;
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status};
use tower::Service;

use crate::clock::Clock;
use crate::gate::{Face, Gate, Live, Moment, TOKEN};
use crate::request::{Peer, Unfit, gather};
use codec::{Codec, Reply};
use read::Question;
use write::Passing;

/// The largest question that is decoded, in bytes. Envoy refuses header blocks over 60 KiB; that and its own facts fit
/// four times. A visitor's body does not: it is no ground for a decision and should not be sent along.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The metadata of a call by which a proxy says that the request is not to be remembered: `off`.
const LEARN: &str = "x-tollgate-learn";

/// The path of the one method, which everything that asks calls.
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";

/// The service that Envoy asks. The listener's connections carry their [`Peer`] as an extension; one without it is not trusted.
pub fn service(live: Live, clock: Clock) -> Authorization {
    Authorization { live, clock }
}

/// `envoy.service.auth.v3.Authorization`, with a codec of its own in place of the generated one: what a question says is read where
/// it lies, and nothing of it is copied.
#[derive(Clone, Debug)]
pub struct Authorization {
    live: Live,
    clock: Clock,
}

impl NamedService for Authorization {
    const NAME: &'static str = SERVICE_NAME;
}

type Answering<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl<B> Service<http::Request<B>> for Authorization
where
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    B::Data: Send,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Answering<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let check = Check(self.clone());
        Box::pin(async move {
            if request.uri().path() != CHECK {
                return Ok(Status::unimplemented("the one method is Check").into_http());
            }
            Ok(Grpc::new(Codec).max_decoding_message_size(MAX_MESSAGE).unary(check, request).await)
        })
    }
}

/// The one method.
struct Check(Authorization);

impl Service<Request<Bytes>> for Check {
    type Response = Response<Reply>;
    type Error = Status;
    type Future = Answering<Self::Response, Status>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move { service.check(request).await.map(Response::new) })
    }
}

impl Authorization {
    async fn check(&self, request: Request<Bytes>) -> Result<Reply, Status> {
        let (metadata, extensions, message) = request.into_parts();
        let peer = extensions.get::<Peer>().copied();
        let mut gate = self.live.load();
        let (mut moment, drawn) = Moment::draw(&self.clock);
        // The call's metadata is the proxy's own word, which no visitor can speak.
        moment.learn = metadata.get(LEARN).is_none_or(|value| value != "off");
        if gate.looks_up() {
            let held = Guard::into_inner(gate);
            look_up(&held, &metadata, peer, &message, &mut moment).await;
            gate = Guard::from_inner(held);
        }
        gate.contained(
            Face::Grpc.as_str(),
            || {
                let asker = drawn.and_then(|()| trusted(&gate, &metadata, peer));
                // What somebody says who may not ask is not read: refusing costs nothing.
                let message = if asker.is_ok() { &message[..] } else { &[] };
                let question = Question::read(message).ok_or_else(unreadable)?;
                Ok(answer(&gate, asker, question, &moment))
            },
            || Ok(write::failure()),
        )
    }
}

fn unreadable() -> Status {
    Status::invalid_argument("the message is no envoy.service.auth.v3.CheckRequest")
}

/// Who asks, if we answer them. The secret that a peer may show stands in the call's metadata, out of the visitor's reach.
fn trusted(gate: &Gate, metadata: &MetadataMap, peer: Option<Peer>) -> Result<Peer, Unfit> {
    let shown = metadata.as_ref().get_all(TOKEN).into_iter().map(HeaderValue::as_bytes);
    peer.filter(|peer| gate.trusts(*peer, shown)).ok_or(Unfit::Incomplete("peer"))
}

/// Has looked up what the decision needs. What is answered without a rule needs nothing.
async fn look_up(
    gate: &Gate,
    metadata: &MetadataMap,
    peer: Option<Peer>,
    message: &[u8],
    moment: &mut Moment,
) {
    let asker = trusted(gate, metadata, peer);
    let question =
        gate.contained(Face::Grpc.as_str(), || asker.ok().and_then(|_| Question::read(message)), || None);
    let Some(mut question) = question else { return };
    let request = gate.contained(
        Face::Grpc.as_str(),
        || asked(gate, asker, &mut question),
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
) -> Result<crate::request::Request<'m>, Unfit> {
    let peer = asker?;
    let (source, headers) = question.take_request().ok_or(Unfit::Incomplete("request"))?;
    gather(source, headers, peer, gate.client_settings())
}

fn answer(gate: &Gate, asker: Result<Peer, Unfit>, mut question: Question<'_>, moment: &Moment) -> Reply {
    let request = asked(gate, asker, &mut question);
    let answer = gate.answer(Face::Grpc, question.policy(), &request, moment);
    write::encode(answer, || Passing::of(&question, request.as_ref().ok(), &gate.cookie_names()))
}

#[cfg(test)]
mod tests;
