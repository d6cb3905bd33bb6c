//! All faces, one verdict.

use tollgate::gate::{Settings, Verdict};
use tollgate::request::Peer;

use crate::ask::{Ask, every_face, grpc, word};
use crate::stage::{Stage, settings};

#[tokio::test]
async fn the_same_request_gets_the_same_verdict_through_every_face() {
    use Verdict::{Allow, Challenge, Deny};
    let get = Ask::get;
    let from = |client| Ask { client, ..get("/page") };
    let method = |method, target: &str| Ask { method, ..get(target) };
    let host = |host| Ask { host, ..get("/robots.txt") };
    let table = [
        (get("/robots.txt"), Allow),
        (get("/robots.txt?x=1"), Allow),
        (get("/.well-known/acme-challenge/x"), Allow),
        (from("198.51.100.99"), Allow),
        (host("EXAMPLE.com:443"), Allow),
        (method("HEAD", "/robots.txt"), Allow),
        (get("/"), Challenge),
        (get("/page?next=/robots.txt"), Challenge),
        (get("/ROBOTS.TXT"), Challenge),
        (get("/.well-known/../page"), Challenge),
        (get("/.well-known/%2e%2e/page"), Challenge),
        (get("/robots.txt;v=1"), Challenge),
        (get("/.tollgate"), Challenge),
        (method("POST", "/page"), Challenge),
        (method("FOO", "/page"), Challenge),
        (get("/page").with("x_real_ip", "198.51.100.99"), Challenge),
        (get("/page").with("x-tollgate-verdict", "allow"), Challenge),
        (get("/page").with("x-envoy-original-path", "/robots.txt"), Challenge),
        (get("/page").with("cookie", "__Host-tollgate=x; tollgate=y"), Challenge),
        (get("/admin"), Deny),
        (get("/admin?next=/robots.txt"), Deny),
        (get("/public/../admin"), Deny),
        (get("/%61dmin/x"), Deny),
        (get("//admin"), Deny),
        (get("/public%5c..%5cadmin"), Deny),
        (get("/admin;x=y/action"), Deny),
        (get("/%2561dmin"), Deny),
        (get("/.well-known//..//admin"), Deny),
        (get("/%zz"), Deny),
        (get("/robots.txt%00"), Deny),
        (from("203.0.113.66"), Deny),
        (host("user@h"), Deny),
        (host("a,b"), Deny),
        (method("TRACE", "/robots.txt"), Deny),
        (Ask { scheme: "javascript", ..get("/robots.txt") }, Deny),
    ];
    let stage = Stage::new().await;
    for (ask, verdict) in &table {
        every_face(&stage, ask, *verdict).await;
    }
}

#[tokio::test]
async fn nobody_who_is_not_trusted_hears_a_verdict() {
    let stage = Stage::set(settings(), Peer::Address([192, 0, 2, 1].into())).await;
    for target in ["/robots.txt", "/page", "/admin", "/.tollgate/check"] {
        every_face(&stage, &Ask::get(target), Verdict::Undecided).await;
    }
}

#[tokio::test]
async fn a_peer_is_trusted_by_a_secret_that_only_the_question_itself_can_carry() {
    let mut settings = settings();
    settings.trust.secret = Some(b"a long shared secret".to_vec().into());
    let stage = Stage::set(settings, Peer::Address([192, 0, 2, 1].into())).await;
    let ask = Ask::get("/robots.txt").with("x-tollgate-token", "a long shared secret");
    let reply = crate::http::ask(stage.http, ask.forward()).await;
    assert_eq!(reply.status, 200);
    // Over gRPC the visitor's headers are no part of the question's own.
    let response = grpc(&stage, ask.grpc(true)).await;
    assert_eq!(word(&response, "verdict").as_deref(), Some("undecided"));

    let address = format!("http://{}", stage.grpc);
    let mut client =
        envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient::connect(
            address,
        )
        .await
        .unwrap();
    let mut question = tonic::Request::new(Ask::get("/robots.txt").grpc(true));
    question.metadata_mut().insert("x-tollgate-token", "a long shared secret".parse().unwrap());
    let response = client.check(question).await.unwrap().into_inner();
    assert_eq!(word(&response, "verdict").as_deref(), Some("allow"));
}

#[tokio::test]
async fn shadow_mode_lets_everything_through_and_says_what_would_have_been() {
    let stage =
        Stage::set(Settings { shadow: true, ..settings() }, Peer::Address([127, 0, 0, 1].into())).await;
    for target in ["/admin", "/page", "/robots.txt"] {
        every_face(&stage, &Ask::get(target), Verdict::Allow).await;
    }
}
