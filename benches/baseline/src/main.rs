//! What a gate costs that decides nothing: a gRPC server that says OK and an HTTP server that says 200, as one writes them with tonic and
//! axum, on the runtime, the allocator and the time limits that Tollgate has (`src/server/`). Prints its addresses as Tollgate does.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use envoy_types::ext_authz::v3::CheckResponseExt;
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{Authorization, AuthorizationServer};
use envoy_types::pb::envoy::service::auth::v3::{CheckRequest, CheckResponse};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tower::Service;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct AlwaysOk;

#[tonic::async_trait]
impl Authorization for AlwaysOk {
    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        // The question is decoded, as it must be, and not looked at.
        drop(request);
        Ok(Response::new(CheckResponse::with_status(Status::ok(""))))
    }
}

/// The time limits and the most usual caps of Tollgate's connections.
fn builder(http2_only: bool) -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(75))
        .max_headers(160)
        .max_buf_size(64 * 1024);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1024)
        .max_header_list_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(60))
        .keep_alive_timeout(Duration::from_secs(20));
    if http2_only { http.http2_only() } else { http }
}

async fn serve(listener: TcpListener, http: Builder<TokioExecutor>, router: Router) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (http, router) = (http.clone(), router.clone());
        tokio::spawn(async move {
            let service = service_fn(|request: hyper::Request<Incoming>| {
                let mut router = router.clone();
                async move {
                    Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|never| match never {}))
                }
            });
            // A peer that goes away is no reason for anything.
            drop(http.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let grpc = TcpListener::bind("127.0.0.1:0").await?;
    let http = TcpListener::bind("127.0.0.1:0").await?;
    println!("{{\"grpc\":\"{}\",\"http\":\"{}\"}}", grpc.local_addr()?, http.local_addr()?);
    let always_ok = Routes::new(AuthorizationServer::new(AlwaysOk)).prepare().into_axum_router();
    let always_200 = Router::new().fallback(async || StatusCode::OK);
    tokio::try_join!(serve(grpc, builder(true), always_ok), serve(http, builder(false), always_200))?;
    Ok(())
}
