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
        let gate = self.live.load();
        // A panic must end this one question; left alone it would end every question on Envoy's only connection.
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let seed = Seed::draw();
            let moment =
                Moment { now: self.clock.now(), seed: seed.unwrap_or_else(|_| Seed::from_bytes(&[0; 48])) };
            let asker = match seed {
                Ok(_) => trusted(&gate, &metadata, peer),
                Err(_) => Err(Unfit::Incomplete("randomness")),
            };
            answer(&gate, asker, &check, &moment)
        }));
        Ok(Response::new(answer.unwrap_or_else(|_| {
            gate.state().metrics.panics.inc();
            error!(face = Face::Grpc.as_str(), "panicked over a question; it stays undecided");
            write::failure()
        })))
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
