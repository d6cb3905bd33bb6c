//! A gate with a small policy, and both listeners on ports of their own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tollgate::clock::{Clock, Timestamp};
use tollgate::crypto::{Entry, Ring, Secret, State as KeyState};
use tollgate::envoy::Authorization;
use tollgate::gate::{Gate, Live, Settings, State, Statuses};
use tollgate::policy::{Loader, Source};
use tollgate::request::Peer;
use tollgate::web::Web;

pub(crate) const POLICY: &str = r"
version: tollgate/v1
bots:
  - name: no-admin
    action: DENY
    paths: [/admin, /admin/**]
  - name: no-network
    action: DENY
    remote_addresses: [203.0.113.66/32]
  - name: plain-files
    action: ALLOW
    paths: [/robots.txt, /.well-known/**]
  - name: partner
    action: ALLOW
    remote_addresses: [198.51.100.99/32]
  - name: example-robot
    action: ALLOW
    user_agent_regex: ExampleRobot/
    remote_addresses: [198.51.100.98/32]
  - name: few
    action: LIMIT
    paths: [/few]
    rate: {limit: 1/1d, burst: 1}
  - name: everything-else
    action: CHALLENGE
    path_regex: '.*'
    challenge:
      algorithm: fast
      difficulty: 3
";

/// Where the two listeners are.
pub(crate) struct Stage {
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
}

/// Statuses that tell a challenge from a denial on every face.
pub(crate) fn settings() -> Settings {
    Settings { status: Statuses { challenge: 401, deny: 403 }, ..Settings::default() }
}

impl Stage {
    /// Both listeners, asked by a proxy on this machine.
    pub(crate) async fn new() -> Self {
        Self::set(settings(), Peer::Address([127, 0, 0, 1].into())).await
    }

    /// Both listeners under these settings; every connection is this peer's.
    pub(crate) async fn set(settings: Settings, peer: Peer) -> Self {
        let live: Live = Arc::new(ArcSwap::from_pointee(gate(settings)));
        let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
        let grpc = Authorization::new(live.clone(), clock.clone());
        let http = Web::new(live, clock);
        Self {
            grpc: serve(move |parts, mut body| {
                let grpc = grpc.clone();
                async move { grpc.check(peer, &parts.headers, &mut body).await }
            })
            .await,
            http: serve(move |parts, mut body| {
                let http = http.clone();
                async move { http.serve(peer, &parts, &mut body).await.map(axum::body::Body::from) }
            })
            .await,
        }
    }
}

fn gate(settings: Settings) -> Gate {
    let secret = Secret::parse(&"5e".repeat(32)).unwrap();
    let ring = Ring::new(&[Entry { id: 0, state: KeyState::Sign, secret }]).unwrap();
    let loader = Loader { root: PathBuf::from("."), ..Loader::default() };
    let source = Source::Text { name: "faces.yaml".into(), text: POLICY.into() };
    let loaded = loader.load(&source).unwrap_or_else(|error| panic!("{error}"));
    let state = Arc::new(State::new(&settings, &[9; 16], 1));
    Gate::new(settings, ring, loaded.policy, state).unwrap()
}

async fn serve<A>(answer: impl Fn(Parts, Incoming) -> A + Clone + Send + 'static) -> SocketAddr
where
    A: Future<Output = Response> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let answer = answer.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let (parts, body) = request.into_parts();
                let answer = answer(parts, body);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            let connection = auto::Builder::new(TokioExecutor::new());
            // What a client does to its own connection is no failure of the test.
            tokio::spawn(
                async move { drop(connection.serve_connection(TokioIo::new(stream), service).await) },
            );
        }
    });
    address
}
