//! What only Envoy's messages can say.

use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest, OkHttpResponse};

use crate::ask::{Ask, grpc, outcome, word};
use crate::stage::Stage;

async fn allowed(stage: &Stage, ask: Ask) -> OkHttpResponse {
    match grpc(stage, ask.grpc(true)).await.http_response {
        Some(HttpResponse::OkResponse(ok)) => ok,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn forged_headers_are_overwritten_or_removed() {
    let stage = Stage::new().await;
    let ask = Ask::get("/robots.txt")
        .with("x-tollgate-verdict", "deny")
        .with("x-tollgate-bot", "googlebot")
        .with("x_tollgate_verdict", "allow")
        .with("X.Tollgate-Id", "1");
    let ok = allowed(&stage, ask).await;
    let set: Vec<_> = ok
        .headers
        .iter()
        .map(|line| {
            assert_eq!(line.append_action(), HeaderAppendAction::OverwriteIfExistsOrAdd);
            line.header.as_ref().unwrap().key.as_str()
        })
        .collect();
    assert_eq!(set, ["x-tollgate-verdict", "x-tollgate-rule", "x-tollgate-weight", "x-tollgate-id"]);
    assert_eq!(ok.headers_to_remove, ["x-tollgate-bot", "x_tollgate_verdict", "X.Tollgate-Id"]);
}

#[tokio::test]
async fn a_robot_that_shows_who_it_is_is_named_to_the_app() {
    let stage = Stage::new().await;
    let ask = |client| {
        let mut ask = Ask { client, ..Ask::get("/").with("x-tollgate-bot", "me") };
        ask.headers.retain(|(name, _)| name != "user-agent");
        ask.with("user-agent", "ExampleRobot/1.0")
    };
    let ok = allowed(&stage, ask("198.51.100.98")).await;
    let last = ok.headers.last().unwrap().header.clone().unwrap();
    assert_eq!((&*last.key, &*last.value), ("x-tollgate-bot", "example-robot"));
    assert!(ok.headers_to_remove.is_empty(), "Envoy removes after it has set: {:?}", ok.headers_to_remove);
    let ok = allowed(&stage, ask("198.51.100.99")).await;
    assert_eq!((ok.headers.len(), ok.headers_to_remove), (4, vec!["x-tollgate-bot".to_owned()]));
}

#[tokio::test]
async fn only_the_calls_own_metadata_can_say_that_nothing_is_learned() {
    let stage = Stage::new().await;
    let mut client = AuthorizationClient::connect(format!("http://{}", stage.grpc)).await.unwrap();
    let mut ask = async |ask: Ask, metadata: bool| {
        let mut call = tonic::Request::new(ask.grpc(true));
        if metadata {
            call.metadata_mut().insert("x-tollgate-learn", "off".parse().unwrap());
        }
        outcome(&client.check(call).await.unwrap().into_inner()).2
    };
    for _ in 0..3 {
        assert_eq!(ask(Ask::get("/few"), true).await, 401);
    }
    let forged = || Ask::get("/few").with("x-tollgate-learn", "off");
    assert_eq!([ask(forged(), false).await, ask(forged(), false).await], [401, 429]);
}

#[tokio::test]
async fn our_cookie_does_not_reach_the_app() {
    let stage = Stage::new().await;
    let ok = allowed(&stage, Ask::get("/robots.txt").with("cookie", "a=1; __Host-tollgate=x; b=2")).await;
    let cookie = ok.headers.last().unwrap().header.clone().unwrap();
    assert_eq!((cookie.key.as_str(), cookie.value.as_str()), ("cookie", "a=1; b=2"));
    let ok = allowed(&stage, Ask::get("/robots.txt").with("cookie", "tollgate=x")).await;
    assert_eq!((ok.headers.len(), ok.headers_to_remove), (4, vec!["cookie".to_owned()]));
}

#[tokio::test]
async fn a_message_that_says_nothing_is_no_allow() {
    let stage = Stage::new().await;
    let message = |attributes| CheckRequest { attributes };
    let with = |http| {
        Some(AttributeContext {
            request: Some(Request { http, ..Request::default() }),
            ..AttributeContext::default()
        })
    };
    for check in [
        message(None),
        message(Some(AttributeContext::default())),
        message(with(None)),
        message(with(Some(HttpRequest::default()))),
    ] {
        let response = grpc(&stage, check).await;
        assert!(matches!(outcome(&response), (7, "denied", 403) | (13, "error", 503)), "{response:?}");
        assert_ne!(word(&response, "verdict").as_deref(), Some("allow"));
    }
}

#[tokio::test]
async fn a_message_over_the_cap_is_an_error() {
    let stage = Stage::new().await;
    let check = Ask::get("/robots.txt").with("x-large", &"a".repeat(tollgate::envoy::MAX_MESSAGE)).grpc(true);
    let mut client = AuthorizationClient::connect(format!("http://{}", stage.grpc)).await.unwrap();
    client.check(check).await.unwrap_err();
    // The connection goes on.
    client.check(Ask::get("/robots.txt").grpc(true)).await.unwrap();
}

#[tokio::test]
async fn the_public_prefix_is_answered_in_line_as_a_denial_that_is_none() {
    let stage = Stage::new().await;
    for (target, status) in
        [("/.tollgate/check", 403), ("/.tollgate/nothing", 404), ("/.tollgate/answer", 405)]
    {
        let response = grpc(&stage, Ask::get(target).grpc(false)).await;
        assert_eq!(outcome(&response), (7, "denied", status), "{target}");
        assert_eq!(word(&response, "verdict").as_deref(), Some("public"));
    }
}
