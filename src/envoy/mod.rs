//! Envoy's gRPC face: `envoy.service.auth.v3.Authorization/Check`.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod read;
mod write;

use std::panic::{AssertUnwindSafe, catch_unwind};

use envoy_types::pb::envoy::service::auth::v3::authorization_server::{Authorization, AuthorizationServer};
use envoy_types::pb::envoy::service::auth::v3::{CheckRequest, CheckResponse};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status};
use tracing::error;

use crate::clock::Clock;
use crate::crypto::Seed;
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
        // A panic must end this one question; left alone it would end every question on Envoy's only connection.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&metadata, peer, &check)));
        Ok(Response::new(answer.unwrap_or_else(|_| {
            error!(face = Face::Grpc.as_str(), "panicked while answering a question; it stays undecided");
            write::failure()
        })))
    }
}

impl Service {
    fn answer(&self, metadata: &MetadataMap, peer: Option<Peer>, check: &CheckRequest) -> CheckResponse {
        let Ok(seed) = Seed::draw() else {
            error!(face = Face::Grpc.as_str(), "the system has no randomness; the question stays undecided");
            return write::failure();
        };
        let moment = Moment { now: self.clock.now(), seed };
        answer(&self.live.load(), metadata, peer, check, &moment)
    }
}

fn answer(
    gate: &Gate,
    metadata: &MetadataMap,
    peer: Option<Peer>,
    check: &CheckRequest,
    moment: &Moment,
) -> CheckResponse {
    let shown: Headers<'_> =
        metadata.as_ref().iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect();
    let peer = peer.filter(|peer| gate.trusts(*peer, &shown)).ok_or(Unfit::Incomplete("peer"));
    let http = read::http(check).ok_or(Unfit::Incomplete("request"));
    let request = peer.and_then(|peer| {
        let http = http?;
        gather(read::source(check, http), read::headers(http), peer, gate.client_settings())
    });
    let answer = gate.answer(Face::Grpc, read::policy(check), &request, moment);
    write::encode(answer, || Passing::of(http.ok(), request.as_ref().ok(), &gate.cookie_names()))
}
