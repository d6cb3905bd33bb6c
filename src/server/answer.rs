//! The answer to one request, whatever happens on the way: none comes too late, and a panic ends that request alone.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use tower::Service as _;

use super::connection::Serving;
use crate::envoy::{self, Authorization};
use crate::request::Peer;
use crate::web::Web;

/// What answers the requests of a listener.
#[derive(Clone, Debug)]
pub(super) enum Answers {
    /// Envoy's questions, and whether we are well.
    Grpc { authorization: Authorization, health: Router },
    /// The other faces and the public prefix.
    Http(Web),
    /// Whatever is asked seldom. Requests carry their [`Peer`] as an extension.
    Routes(Router),
}

impl Answers {
    async fn answer(&self, peer: Peer, head: &Parts, mut body: Incoming) -> Response {
        let router = match self {
            Self::Grpc { authorization, .. } if head.uri.path() == envoy::CHECK => {
                return authorization.check(peer, &head.headers, &mut body).await;
            }
            Self::Http(web) => return web.serve(peer, head, &mut body).await.map(Body::from),
            Self::Grpc { health: router, .. } | Self::Routes(router) => router,
        };
        // The copy of the head is the price of what is asked seldom.
        let mut request = Request::from_parts(head.clone(), body);
        request.extensions_mut().insert(peer);
        // In a box, so that those above do not carry the room for it.
        let answer = Box::pin(router.clone().call(request));
        answer.await.unwrap_or_else(|never| match never {})
    }
}

/// Answers a request that hyper read.
///
/// What this future holds is moved some five times before it is polled, so that it holds nothing twice: as plain nested futures it
/// had 3,520 bytes in place of a thousand.
pub(super) fn to(
    serving: Arc<Serving>,
    peer: Peer,
    request: Request<Incoming>,
) -> impl Future<Output = Response> {
    let (head, body) = request.into_parts();
    async move {
        let answer = pin!(serving.answers.answer(peer, &head, body));
        guarded(&serving, answer).await.unwrap_or_else(IntoResponse::into_response)
    }
}

/// Waits for an answer. What takes longer than it may is given up with 408, and what panics with 500: to a proxy that asks, each
/// is "cannot decide" or a refusal, and none is an allow.
pub(super) async fn guarded<T>(
    serving: &Serving,
    mut answer: Pin<&mut impl Future<Output = T>>,
) -> Result<T, StatusCode> {
    let metrics = &serving.state.metrics;
    // `None` where it panics.
    let mut caught = |cx: &mut Context<'_>| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)));
        polled.map_or(Poll::Ready(None), |poll| poll.map(Some))
    };
    // Most are done at once, and need no timer.
    let answered = match poll_fn(|cx| Poll::Ready(caught(cx))).await {
        Poll::Ready(answered) => Ok(answered),
        Poll::Pending => tokio::time::timeout(serving.patience, poll_fn(caught)).await,
    };
    match answered {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => {
            metrics.panics.inc();
            tracing::error!("panicked over a request; it gets no answer but 500");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Err(_) => {
            metrics.undecided("body");
            Err(StatusCode::REQUEST_TIMEOUT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size<A, B, C, R>(_: impl Fn(A, B, C) -> R) -> usize {
        size_of::<R>()
    }

    #[test]
    fn what_is_moved_for_each_request_is_small() {
        assert!(size(to) <= 1280, "{}", size(to));
    }
}
