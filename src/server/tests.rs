//! The server in this process, asked over gRPC as an operator and a proxy's health check do.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::*;
use crate::admin::proto::admin_client::AdminClient;
use crate::admin::proto::{ExplainRequest, ReloadRequest, StatsRequest};
use crate::config;

fn policy(folder: &Path, action: &str) {
    let text = format!("version: tollgate/v1\nbots:\n  - {{name: all, action: {action}, path_regex: .*}}\n");
    fs::write(folder.join("policy.yaml"), text).unwrap();
}

/// A server of that folder, with a policy that denies, and where it listens.
pub(super) fn bound(folder: &Path, settings: &str) -> (Server, Addresses) {
    policy(folder, "DENY");
    let file = "policy: policy.yaml\nworkers: 2\nlisten: {grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}\n";
    fs::write(folder.join("tollgate.yaml"), format!("{file}{settings}")).unwrap();
    let sources = Sources { folder: Some(folder.to_owned()), ..Sources::default() };
    let loaded = config::load(&sources).unwrap();
    let server = Server::bind(loaded, sources, Clock::System).unwrap();
    let addresses = server.addresses().clone();
    (server, addresses)
}

/// Runs a server in this process while `test` talks to it.
fn with_server<T: Future<Output = ()>>(test: impl FnOnce(Addresses, std::path::PathBuf) -> T) {
    let folder = tempfile::tempdir().unwrap();
    let (server, addresses) = bound(folder.path(), "");
    let (end, ended) = oneshot::channel::<()>();
    let running = thread::spawn(move || server.run(async { ended.await.unwrap_or_default() }));
    Runtime::new().unwrap().block_on(test(addresses, folder.path().to_owned()));
    drop(end);
    running.join().unwrap().unwrap();
}

async fn channel(address: &Option<String>) -> Channel {
    let url = format!("http://{}", address.as_ref().unwrap());
    Channel::from_shared(url).unwrap().connect().await.unwrap()
}

#[test]
fn the_admin_api_explains_counts_and_reloads() {
    with_server(|at, folder| async move {
        let mut admin = AdminClient::new(channel(&at.admin).await);
        let asked = || ExplainRequest {
            method: "GET".into(),
            target: "/".into(),
            host: "a.example".into(),
            scheme: "https".into(),
            ..ExplainRequest::default()
        };
        let explained = admin.explain(asked()).await.unwrap().into_inner();
        assert_eq!((explained.verdict.as_str(), explained.rule.as_str()), ("deny", "bot/all"));
        assert!(explained.trace.iter().any(|step| step.matched));

        policy(&folder, "CHALLENGE");
        admin.reload(ReloadRequest {}).await.unwrap();
        let explained = admin.explain(asked()).await.unwrap().into_inner();
        assert_eq!(
            explained.challenge.map(|c| (c.kind, c.attempts, c.level)),
            Some(("work".into(), 1 << 14, 14))
        );

        policy(&folder, "CHALENGE");
        let refused = admin.reload(ReloadRequest {}).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(refused.message().contains("policy.yaml:3"), "{}", refused.message());
        assert_eq!(admin.explain(asked()).await.unwrap().into_inner().verdict, "challenge");

        let stats = admin.stats(StatsRequest {}).await.unwrap().into_inner();
        assert!(stats.ready && stats.metrics.contains("tollgate_reloads_total"));
        let odd = ExplainRequest { client: "nobody".into(), ..asked() };
        assert_eq!(admin.explain(odd).await.unwrap_err().code(), Code::InvalidArgument);
    });
}

#[test]
fn the_grpc_listener_tells_its_health_and_has_no_admin_api() {
    with_server(|at, _| async move {
        let mut health = HealthClient::new(channel(&at.grpc).await);
        for service in ["", "envoy.service.auth.v3.Authorization"] {
            let asked = HealthCheckRequest { service: service.into() };
            let answer = health.check(asked).await.unwrap().into_inner();
            assert_eq!(answer.status(), ServingStatus::Serving);
        }
        for address in [&at.grpc, &at.http] {
            let mut admin = AdminClient::new(channel(address).await);
            // The refusal may overtake the question's body; tonic then takes the stream's early end for an error of its own.
            let refused = admin.stats(StatsRequest {}).await.unwrap_err();
            assert!(matches!(refused.code(), Code::Unimplemented | Code::Internal), "{refused:?}");
        }
    });
}

/// Sends a request and returns what comes back up to a text in it.
fn until(at: &Option<String>, request: &str, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at.as_ref().unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let (mut got, mut byte) = (Vec::new(), [0]);
    while !got.ends_with(text.as_bytes()) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&got));
        got.push(byte[0]);
    }
    stream
}

#[test]
fn an_announced_end_is_told_to_proxies_and_each_further_word_ends_a_wait() {
    let folder = tempfile::tempdir().unwrap();
    let (server, at) = bound(folder.path(), "drain: {delay: 10m, timeout: 10m}\n");
    let (tell, mut told) = mpsc::unbounded_channel();
    let running = thread::spawn(move || server.run_until(async || told.recv().await.unwrap_or(Stop::AtOnce)));
    tell.send(Stop::Announced).unwrap();
    Runtime::new().unwrap().block_on(async {
        for service in ["", "envoy.service.auth.v3.Authorization"] {
            let mut status = ServingStatus::Serving;
            while status == ServingStatus::Serving {
                // On a new connection each time: they are still accepted.
                let asked = HealthCheckRequest { service: service.into() };
                let mut health = HealthClient::new(channel(&at.grpc).await);
                status = health.check(asked).await.unwrap().into_inner().status();
            }
            assert_eq!(status, ServingStatus::NotServing);
        }
        let mut admin = AdminClient::new(channel(&at.admin).await);
        assert!(!admin.stats(StatsRequest {}).await.unwrap().into_inner().ready);
        let refused = admin.reload(ReloadRequest {}).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
    });
    until(&at.admin, "GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n", "HTTP/1.1 503 ");
    until(&at.http, "GET /check/ HTTP/1.1\r\nhost: a.example\r\n\r\n", "HTTP/1.1 403 ");
    let form = "POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\ncontent-type: application/x-www-form-urlencoded\r\n\
                content-length: 9\r\nexpect: 100-continue\r\n\r\n";
    let mut in_flight = until(&at.http, form, "HTTP/1.1 100 Continue\r\n\r\n");
    assert!(!running.is_finished());

    tell.send(Stop::AtOnce).unwrap();
    while TcpStream::connect(at.http.as_ref().unwrap()).is_ok() {}
    assert!(!running.is_finished(), "one request has not ended");

    tell.send(Stop::AtOnce).unwrap();
    running.join().unwrap().unwrap();
    let mut rest = String::new();
    drop(in_flight.read_to_string(&mut rest));
    assert_eq!(rest, "", "it was cut");
}

#[test]
fn what_nothing_works_without_ends_the_process_when_it_dies() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = bound(folder.path(), "drain: {delay: 0s}\n");
    let state = server.live.load().state().clone();
    // A socket that blocks makes the task that accepts panic.
    let blocking = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    server.bound.doors[0].http = Some(Listener::Tcp(blocking));
    let error = server.run(std::future::pending()).unwrap_err();
    assert!(matches!(error, Error::Died { what: "a listener" }), "{error}");
    assert_eq!(state.metrics.panics.get(), 1);
}
