//! The listeners of the whole server over HTTP/2: which path gets to whom, and what HTTP/1.1 libraries do for us there and nobody here.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use h2::client::SendRequest;
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::ask::{Ask, grpc, outcome};
use crate::served::Served;
use crate::stage::POLICY;

/// An answer: its status, its headers, and all that came behind them.
struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn connect(address: SocketAddr) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    client.ready().await.unwrap()
}

async fn ask(client: &mut SendRequest<Bytes>, method: &str, path: &str, lines: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri(format!("http://example.com{path}"));
    for (name, value) in lines {
        request = request.header(*name, *value);
    }
    let (answer, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
    let (head, mut stream) = answer.await.unwrap().into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        body.extend(data.unwrap());
    }
    Reply { status: head.status.as_u16(), headers: head.headers, body }
}

async fn served() -> Served {
    Served::start(&[("policy.yaml", POLICY.as_bytes())], "").await
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let served = served().await;
    let mut client = connect(served.stage.http).await;
    let lines = [
        ("x-forwarded-for", "198.51.100.7"),
        ("x-forwarded-uri", "/admin"),
        ("x-forwarded-host", "example.com"),
        ("accept", "text/html"),
        ("user-agent", crate::ask::BROWSER),
    ];
    for path in ["/check/admin", "/check/robots.txt", "/auth/forward", "/.tollgate/nothing"] {
        let get = ask(&mut client, "GET", path, &lines).await;
        let head = ask(&mut client, "HEAD", path, &lines).await;
        assert_eq!(get.status, head.status, "{path}");
        let length = |reply: &Reply| reply.header("content-length").map_or(0, |n| n.parse().unwrap());
        assert_eq!(length(&get), get.body.len(), "{path}");
        assert_eq!(length(&head), get.body.len(), "{path}");
        assert_eq!(head.body, b"", "{path}");
    }
}

#[tokio::test]
async fn what_is_not_modified_and_what_has_no_content_announces_none() {
    let served = served().await;
    let mut client = connect(served.stage.http).await;
    let page =
        ask(&mut client, "GET", "/check/page", &[("accept", "text/html"), ("user-agent", "Mozilla/5.0")]);
    let page = String::from_utf8(page.await.body).unwrap();
    let start = page.find("/.tollgate/static/").unwrap();
    let script = page[start..].split('"').next().unwrap();
    let whole = ask(&mut client, "GET", script, &[]).await;
    assert_eq!((whole.status, whole.body.is_empty()), (200, false));
    let tag = whole.header("etag").unwrap();
    let known = ask(&mut client, "GET", script, &[("if-none-match", tag)]).await;
    assert_eq!((known.status, &known.body[..], known.header("content-length")), (304, &b""[..], None));
    let request = format!("GET {script} HTTP/1.1\r\nhost: example.com\r\nif-none-match: {tag}\r\n\r\n");
    let known = crate::http::ask(served.stage.http, request).await;
    assert_eq!((known.status, known.header("content-length")), (304, None));
}

#[tokio::test]
async fn each_path_of_the_grpc_listener_gets_to_its_service() {
    let served = served().await;
    assert_eq!(outcome(&grpc(&served.stage, Ask::get("/robots.txt").grpc(true)).await).0, 0);

    let mut client = connect(served.stage.grpc).await;
    for path in [
        "/envoy.service.auth.v3.Authorization/check",
        "/envoy.service.auth.v3.Authorization/Check/",
        "/envoy.service.auth.v3.Authorization/%43heck",
        "//envoy.service.auth.v3.Authorization/Check",
        "/envoy.service.auth.v2.Authorization/Check",
        "/check/robots.txt",
        "/",
    ] {
        let reply = ask(&mut client, "POST", path, &[("content-type", "application/grpc")]).await;
        assert_eq!((reply.header("grpc-status"), &reply.body[..]), (Some("12"), &b""[..]), "{path}");
    }

    let channel =
        Channel::from_shared(format!("http://{}", served.stage.grpc)).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel);
    for name in ["", "envoy.service.auth.v3.Authorization"] {
        let asked = health.check(HealthCheckRequest { service: name.into() }).await.unwrap();
        assert_eq!(asked.into_inner().status(), ServingStatus::Serving, "{name}");
    }
    let unknown = health.check(HealthCheckRequest { service: "another".into() }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn a_call_that_cannot_be_read_says_why_and_is_counted() {
    let served = served().await;
    let path = "/envoy.service.auth.v3.Authorization/Check";
    for (count, (body, status, said)) in [
        (&[][..], "3", "the call holds no message"),
        (&[1, 0, 0, 0, 1, 7], "12", "the message is compressed; only identity is read"),
        (&[9, 0, 0, 0, 1, 7], "13", "9 is no flag of a message"),
        (&[0, 0, 0, 0, 9, 7], "3", "a message of 9 bytes is announced, but 1 came"),
        (&[0, 0, 0, 0, 1, 7], "3", "the message is no envoy.service.auth.v3.CheckRequest"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut client = connect(served.stage.grpc).await;
        let request = Request::post(format!("http://gate{path}")).header("content-type", "application/grpc");
        let (answer, mut stream) = client.send_request(request.body(()).unwrap(), false).unwrap();
        stream.send_data(Bytes::from_static(body), true).unwrap();
        let head = answer.await.unwrap();
        let header = |name: &str| head.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("grpc-status"), Some(status), "{body:?}");
        assert_eq!(header("grpc-message").map(|text| text.replace("%20", " ")).as_deref(), Some(said));
        assert_eq!(header("grpc-accept-encoding").is_some(), status == "12", "{body:?}");
        let counted = served.metric("tollgate_undecided_total{missing=\"message\"}").await;
        assert_eq!(counted, Some(count as u64 + 1), "{body:?}");
    }
}
