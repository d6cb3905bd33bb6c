//! The server in this process, asked over gRPC as an operator and a proxy's health check do.

use std::fs;
use std::path::Path;
use std::thread;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
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

/// Runs a server in this process while `test` talks to it.
fn with_server<T: Future<Output = ()>>(test: impl FnOnce(Addresses, std::path::PathBuf) -> T) {
    let folder = tempfile::tempdir().unwrap();
    policy(folder.path(), "DENY");
    let file = "policy: policy.yaml\nworkers: 2\nlisten: {grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}\n";
    fs::write(folder.path().join("tollgate.yaml"), file).unwrap();
    let sources = Sources { folder: Some(folder.path().to_owned()), ..Sources::default() };
    let loaded = config::load(&sources).unwrap();
    let server = Server::bind(loaded, sources, Clock::System).unwrap();
    let addresses = server.addresses().clone();
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
