//! The operator's listener: metrics, health, and the admin API.
//! Never reachable on the listeners that proxies and visitors use.

mod service;
mod token;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Request, State as Shared};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::{mpsc, oneshot};

pub use token::Token;

use crate::clock::Clock;
use crate::gate::{Live, State};

/// The admin API's own messages, as `proto/` says them.
pub mod proto {
    #![allow(missing_docs, reason = "generated; proto/tollgate/admin/v1/admin.proto has the words")]
    #![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
    tonic::include_proto!("tollgate.admin.v1");
}

/// A wish for a reload, and where the outcome goes.
pub type Reload = oneshot::Sender<Result<(), String>>;

/// What the admin listener shows.
#[derive(Clone, Debug)]
pub struct Admin {
    /// The gate.
    pub live: Live,
    /// Its counters.
    pub state: Arc<State>,
    /// The present, for explanations.
    pub clock: Clock,
    /// What a caller must present; `None` lets everyone in who can connect.
    pub token: Option<Token>,
    /// Whether requests are being answered.
    pub ready: Arc<AtomicBool>,
    /// Where wishes for a reload go.
    pub reload: mpsc::Sender<Reload>,
}

impl Admin {
    /// The routes.
    pub fn router(self) -> Router {
        let api = tonic::service::Routes::new(proto::admin_server::AdminServer::new(service::Service(
            self.clone(),
        )));
        let guarded = Router::new()
            .route("/metrics", get(metrics))
            .with_state(self.clone())
            .merge(api.into_axum_router().reset_fallback())
            .layer(middleware::from_fn_with_state(self.token.clone(), guard));
        Router::new()
            .route("/healthz", get(alive))
            .route("/readyz", get(ready))
            .with_state(self)
            .merge(guarded)
    }
}

/// What Prometheus expects of the text below (openmetrics.io).
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async fn metrics(Shared(admin): Shared<Admin>) -> Response {
    admin.state.clock_trouble(&admin.clock);
    ([(header::CONTENT_TYPE, OPEN_METRICS)], admin.state.text(admin.clock.now())).into_response()
}

async fn alive(Shared(admin): Shared<Admin>) -> Response {
    format!("alive\n{}", trouble(&admin)).into_response()
}

async fn ready(Shared(admin): Shared<Admin>) -> Response {
    if admin.ready.load(Ordering::Acquire) {
        format!("ready\n{}", trouble(&admin)).into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready\n").into_response()
    }
}

/// What is wrong without being a reason to be ended or left: a restart would not help, and others have the same clock.
fn trouble(admin: &Admin) -> String {
    admin.state.clock_trouble(&admin.clock).map_or_else(String::new, |what| format!("degraded: {what}\n"))
}

fn is_grpc(request: &Request) -> bool {
    let says = request.headers().get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    says.is_some_and(|value| value.starts_with(b"application/grpc"))
        && !request.headers().contains_key(header::ORIGIN)
}

/// Lets in who presents the token. Where there is none, the listener is a local one, and then only the pages of other sites are
/// to be kept out: they cannot choose the `Host` that they send, and a foreign one is a name rebound to this machine. Nor can they
/// send a gRPC call: its content type needs a preflight, which nothing here answers.
async fn guard(Shared(token): Shared<Option<Token>>, request: Request, next: Next) -> Response {
    match &token {
        Some(token) if !token.admits(request.headers()) => {
            let realm = [(header::WWW_AUTHENTICATE, "Bearer")];
            (StatusCode::UNAUTHORIZED, realm, "the admin token is missing or wrong\n").into_response()
        }
        None if !token::names_this_machine(&request) => {
            (StatusCode::FORBIDDEN, "without a token this listener answers to localhost or an address only\n")
                .into_response()
        }
        _ if !matches!(*request.method(), Method::GET | Method::HEAD) && !is_grpc(&request) => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the admin API speaks gRPC\n").into_response()
        }
        _ => next.run(request).await,
    }
}
