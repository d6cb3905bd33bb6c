//! Panics in the middle of a question: it stays undecided, and the next one is as good as ever.

use std::path::PathBuf;
use std::sync::Arc;

use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Request as Asked};
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, CheckResponse};
use http_body_util::{BodyExt, Full};
use prost::Message;

use super::*;
use crate::clock::Timestamp;
use crate::crypto::{Ring, Secret};
use crate::gate::{Settings, State, fault};
use crate::policy::{Loader, Source};

const POLICY: &str = "version: tollgate/v1
bots:
  - {name: ok, action: ALLOW, paths: [/ok]}
  - {name: all, action: CHALLENGE, path_regex: ^/}
";

fn live() -> Live {
    let settings = Settings::default();
    let loader = Loader { root: PathBuf::from("."), ..Loader::default() };
    let policy = loader.load(&Source::Text { name: "test".into(), text: POLICY.into() }).unwrap().policy;
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    let gate = Gate::new(settings, Ring::single(Secret::new([7; 32])), policy, state).unwrap();
    Arc::new(arc_swap::ArcSwap::from_pointee(gate))
}

/// Asks about a target; returns the code of the answer, and the status for the visitor.
async fn ask(live: &Live, target: &str) -> (i32, i32) {
    let http = HttpRequest {
        method: "GET".into(),
        path: target.into(),
        host: "a.example".into(),
        scheme: "https".into(),
        ..HttpRequest::default()
    };
    let attributes = AttributeContext {
        request: Some(Asked { http: Some(http), ..Asked::default() }),
        ..AttributeContext::default()
    };
    let message = CheckRequest { attributes: Some(attributes) }.encode_to_vec();
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
    let response = Authorization::new(live.clone(), clock)
        .check(Peer::Unix, &HeaderMap::new(), &mut Full::new(Bytes::from(body)))
        .await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let response = CheckResponse::decode(&body[5..]).unwrap();
    let status = match response.http_response.unwrap() {
        HttpResponse::OkResponse(_) => 200,
        HttpResponse::DeniedResponse(denied) => denied.status.unwrap().code,
        HttpResponse::ErrorResponse(error) => error.status.unwrap().code,
    };
    (response.status.unwrap_or_default().code, status)
}

#[test]
fn the_names_are_those_that_envoy_publishes() {
    use envoy_types::pb::envoy::service::auth::v3::authorization_server::SERVICE_NAME;
    assert_eq!(SERVICE, SERVICE_NAME);
    assert_eq!(CHECK, format!("/{SERVICE_NAME}/Check"));
}

#[tokio::test]
async fn a_panic_ends_one_question_and_allows_nothing() {
    let live = live();
    for (at, (place, target, usual)) in [
        ("decide", "/ok", (0, 200)),
        ("decide", "/other", (7, 403)),
        ("page", "/other", (7, 403)),
        ("public", "/.tollgate/check", (7, 403)),
    ]
    .into_iter()
    .enumerate()
    {
        fault::arm(place);
        assert_eq!(ask(&live, target).await, (13, 503), "{place} {target}");
        let panics = format!("tollgate_panics_total {}\n", at + 1);
        assert!(live.load().state().metrics.encode().contains(&panics), "{place} {target}");
        assert_eq!(ask(&live, target).await, usual, "{place} {target}");
    }
}
