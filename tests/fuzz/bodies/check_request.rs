//! Messages to Envoy's face, byte by byte through the real codec: nothing is allowed that the policy does not allow.

use std::cell::OnceCell;

use envoy_types::pb::envoy::config::core::v3::address::Address;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{CheckRequest, CheckResponse};
use http_body_util::BodyExt as _;
use prost::Message as _;
use tollgate::clock::{Clock, Timestamp};
use tollgate::request::Peer;
use tonic::body::Body;
use tonic::service::Routes;
use tower::ServiceExt as _;

use super::fixture::{GATE, NOW, PEER};
use super::naive;
use super::question::may_pass;

thread_local! {
    static LISTENER: OnceCell<(tokio::runtime::Runtime, Routes)> = const { OnceCell::new() };
}

/// The input is the message as it stands on the wire.
pub(crate) fn run(bytes: &[u8]) {
    let answer = ask(bytes);
    assert_eq!(GATE.load().state().metrics.panics.get(), 0, "the gate panicked");
    let question = CheckRequest::decode(bytes);
    let Some(answer) = answer else { return };
    let question = question.expect("only what can be read is answered");
    // To Envoy no status at all is code 0, and code 0 allows.
    let code = answer.status.as_ref().map_or(0, |status| status.code);
    assert_eq!(code == 0, matches!(answer.http_response, Some(HttpResponse::OkResponse(_))), "{answer:?}");
    assert!(answer.http_response.is_some(), "an answer that says nothing");
    assert!(code != 0 || allows(&question), "{question:?}");
}

/// Whether Envoy would let the request of this message through.
pub(crate) fn is_allowed(message: &[u8]) -> bool {
    ask(message).is_some_and(|answer| answer.status.is_none_or(|status| status.code == 0))
}

/// Asks the service that the listener serves; `None` where the call failed.
fn ask(message: &[u8]) -> Option<CheckResponse> {
    let length = u32::try_from(message.len()).ok()?.to_be_bytes();
    let framed = [&[0], &length[..], message].concat();
    let request = axum::http::Request::post("/envoy.service.auth.v3.Authorization/Check")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .extension(Peer::Address(PEER))
        .body(Body::new(http_body_util::Full::new(bytes::Bytes::from(framed))))
        .expect("it is a request");
    LISTENER.with(|listener| {
        let (runtime, routes) = listener.get_or_init(|| {
            let clock = Clock::manual(Timestamp::from_seconds(NOW));
            let routes = Routes::new(tollgate::envoy::service(GATE.clone(), clock)).prepare();
            (tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it builds"), routes)
        });
        runtime.block_on(async {
            let response = routes.clone().oneshot(request).await.expect("a router does not fail");
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

/// Whether the policy could allow what the message describes.
fn allows(question: &CheckRequest) -> bool {
    let Some(attributes) = &question.attributes else { return false };
    let Some(http) = attributes.request.as_ref().and_then(|request| request.http.as_ref()) else {
        return false;
    };
    let place = attributes.source.as_ref().and_then(|peer| peer.address.as_ref()?.address.as_ref());
    let client = match place {
        Some(Address::SocketAddress(socket)) => naive::address(socket.address.as_bytes()),
        _ => None,
    };
    let raw = http.header_map.iter().flat_map(|map| &map.headers).map(|header| {
        let value = if header.raw_value.is_empty() { header.value.as_bytes() } else { &header.raw_value };
        (header.key.to_ascii_lowercase(), value)
    });
    let joined = http.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.as_bytes()));
    let mut lines: Vec<_> = raw.collect();
    if lines.is_empty() {
        lines = joined.collect();
    }
    let of =
        |name: &str| lines.iter().filter(|(n, _)| n == name).map(|(_, value)| *value).collect::<Vec<_>>();
    let agent = of("user-agent").join(&b',');
    may_pass(http.path.as_bytes(), client, &agent, &of("cookie"))
}
