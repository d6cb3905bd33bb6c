//! Envoy's gRPC face: `envoy.service.auth.v3.Authorization/Check`.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod read;
mod write;

use arc_swap::Guard;
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{Authorization, AuthorizationServer};
use envoy_types::pb::envoy::service::auth::v3::{CheckRequest, CheckResponse};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};

use crate::clock::Clock;
use crate::gate::{Face, Gate, Live, Moment};
use crate::request::{Headers, Peer, Unfit, gather};
use write::Passing;

/// The largest question that is decoded, in bytes. Envoy refuses header blocks over 60 KiB; that and its own facts fit
/// four times. A visitor's body does not: it is no ground for a decision and should not be sent along.
pub const MAX_MESSAGE: usize = 256 * 1024;

/// The service that Envoy asks. The listener's connections carry their [`Peer`] as an extension; one without it is not trusted.
pub fn service(live: Live, clock: Clock) -> AuthorizationServer<impl Authorization> {
    AuthorizationServer::new(Service { live, clock }).max_decoding_message_size(MAX_MESSAGE)
}

struct Service {
    live: Live,
    clock: Clock,
}

#[tonic::async_trait]
impl Authorization for Service {
    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let (metadata, extensions, check) = request.into_parts();
        let peer = extensions.get::<Peer>().copied();
        let mut gate = self.live.load();
        let (mut moment, drawn) = Moment::draw(&self.clock);
        if gate.looks_up() {
            let held = Guard::into_inner(gate);
            look_up(&held, &metadata, peer, &check, &mut moment).await;
            gate = Guard::from_inner(held);
        }
        let response = gate.contained(
            Face::Grpc.as_str(),
            || {
                let asker = drawn.and_then(|()| trusted(&gate, &metadata, peer));
                answer(&gate, asker, &check, &moment)
            },
            write::failure,
        );
        Ok(Response::new(response))
    }
}

/// Who asks, if we answer them. The secret that a peer may show stands in the call's metadata, out of the visitor's reach.
fn trusted(gate: &Gate, metadata: &MetadataMap, peer: Option<Peer>) -> Result<Peer, Unfit> {
    let shown: Headers<'_> =
        metadata.as_ref().iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect();
    peer.filter(|peer| gate.trusts(*peer, &shown)).ok_or(Unfit::Incomplete("peer"))
}

/// Has looked up what the decision needs. What is answered without a rule needs nothing.
async fn look_up(
    gate: &Gate,
    metadata: &MetadataMap,
    peer: Option<Peer>,
    check: &CheckRequest,
    moment: &mut Moment,
) {
    let request = gate.contained(
        Face::Grpc.as_str(),
        || asked(gate, trusted(gate, metadata, peer), check),
        || Err(Unfit::Incomplete("request")),
    );
    if !request.as_ref().is_ok_and(|request| gate.is_public(request)) {
        gate.look_up(read::policy(check), &request, moment).await;
    }
}

/// The visitor's request.
fn asked<'a>(
    gate: &Gate,
    asker: Result<Peer, Unfit>,
    check: &'a CheckRequest,
) -> Result<crate::request::Request<'a>, Unfit> {
    let peer = asker?;
    let http = read::http(check).ok_or(Unfit::Incomplete("request"))?;
    gather(read::source(check, http), read::headers(http), peer, gate.client_settings())
}

fn answer(gate: &Gate, asker: Result<Peer, Unfit>, check: &CheckRequest, moment: &Moment) -> CheckResponse {
    let request = asked(gate, asker, check);
    let answer = gate.answer(Face::Grpc, read::policy(check), &request, moment);
    write::encode(answer, || Passing::of(read::http(check), request.as_ref().ok(), &gate.cookie_names()))
}
