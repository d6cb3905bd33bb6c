//! The answer to one request, whatever happens on the way: none comes too late, and a panic ends that request alone.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::{Request, StatusCode};
use tonic::Code;
use tower::Service;

use super::connection::Serving;

/// Answers a request. What takes longer than it may is given up with 408, and what panics with 500: to a proxy that asks, each
/// is "cannot decide" or a refusal, and none is an allow.
pub(super) async fn to(serving: Arc<Serving>, request: Request<Incoming>) -> Response {
    let mut router = serving.router.clone();
    let answer = async move { router.call(request).await.unwrap_or_else(|never| match never {}) };
    let metrics = &serving.state.metrics;
    match tokio::time::timeout(serving.patience, caught(answer)).await {
        Ok(Some(response)) => {
            if not_understood(&response) {
                metrics.undecided("message");
            }
            response
        }
        Ok(None) => {
            metrics.panics.inc();
            tracing::error!("panicked over a request; it gets no answer but 500");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Err(_) => {
            metrics.undecided("body");
            StatusCode::REQUEST_TIMEOUT.into_response()
        }
    }
}

/// Runs a future to its end; `None` where it panics.
async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        polled.map_or(Poll::Ready(None), |poll| poll.map(Some))
    })
    .await
}

/// Whether gRPC refused a message as too large or as none.
fn not_understood(response: &Response) -> bool {
    let status = response.headers().get("grpc-status");
    status.is_some_and(|status| {
        matches!(Code::from_bytes(status.as_bytes()), Code::InvalidArgument | Code::OutOfRange)
    })
}
