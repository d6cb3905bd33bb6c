//! Envoy's gRPC face: `envoy.service.auth.v3.Authorization/Check`.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod read;
mod write;

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
        let gate = self.live.load();
        let (moment, drawn) = Moment::draw(&self.clock);
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

fn answer(gate: &Gate, asker: Result<Peer, Unfit>, check: &CheckRequest, moment: &Moment) -> CheckResponse {
    let http = read::http(check).ok_or(Unfit::Incomplete("request"));
    let request = asker.and_then(|peer| {
        let http = http?;
        gather(read::source(check, http), read::headers(http), peer, gate.client_settings())
    });
    let answer = gate.answer(Face::Grpc, read::policy(check), &request, moment);
    write::encode(answer, || Passing::of(http.ok(), request.as_ref().ok(), &gate.cookie_names()))
}
