//! The app behind the gate: shows each request as it arrived, and counts them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// A running app; it stops when it is dropped.
pub(crate) struct App {
    reached: Arc<AtomicUsize>,
    _runtime: Runtime,
}

impl App {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("threads can be started");
        let listener = runtime.block_on(TcpListener::bind(address)).expect("the address is this test's own");
        let reached = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reached);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                let service = service_fn(move |request| echo(request, Arc::clone(&count)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { reached, _runtime: runtime }
    }

    /// How many requests have reached it.
    pub(crate) fn reached(&self) -> usize {
        self.reached.load(Ordering::SeqCst)
    }
}

async fn echo(
    request: Request<Incoming>,
    count: Arc<AtomicUsize>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    count.fetch_add(1, Ordering::SeqCst);
    let (head, body) = request.into_parts();
    let body_bytes = body.collect().await.map_or(0, |body| body.to_bytes().len());
    let headers: Vec<_> = head
        .headers
        .iter()
        .map(|(n, v)| json!([n.as_str(), String::from_utf8_lossy(v.as_bytes())]))
        .collect();
    let seen = json!({
        "method": head.method.as_str(), "target": head.uri.to_string(), "headers": headers, "body_bytes": body_bytes,
    });
    Ok(Response::builder()
        .header("content-type", "application/json")
        .header("set-cookie", "app=1; Path=/")
        .body(Full::new(Bytes::from(seen.to_string())))
        .expect("these headers are valid"))
}
