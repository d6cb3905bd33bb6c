//! The http listener: the faces `check`, `nginx` and `forward`, and the public prefix.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod read;
mod route;
mod write;

use std::error::Error;

use arc_swap::Guard;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Body;

use crate::clock::Clock;
use crate::gate::{Face, Gate, Live, Moment, TOKEN};
use crate::request::{Headers, Peer, Source, Unfit, gather};
use route::Route;

/// What answers on the http listener.
///
/// Its endpoints are told apart by the raw bytes of the target, since a router that decodes or normalises would not see
/// the path that the visitor sent.
#[derive(Clone, Debug)]
pub struct Web {
    live: Live,
    clock: Clock,
}

impl Web {
    /// Answers for the gate that is in force.
    pub fn new(live: Live, clock: Clock) -> Self {
        Self { live, clock }
    }

    /// Answers a request of this peer. A body is read only where it is a form for us.
    pub async fn serve<B>(&self, peer: Peer, parts: &Parts, body: &mut B) -> Response
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
    {
        let mut gate = self.live.load();
        let mut form = None;
        if read::brings_form(parts, gate.prefix()) && trusted(&gate, parts, peer).is_ok() {
            let held = Guard::into_inner(gate);
            // In boxes, here and below, so that a request without a form or a lookup does not carry the room for them.
            match Box::pin(read::form(body)).await {
                Ok(read) => form = Some(read),
                Err(status) => return write::plain(status),
            }
            gate = Guard::from_inner(held);
        }
        let route = Route::of(read::target(parts), gate.prefix().as_bytes());
        let (mut moment, drawn) = Moment::draw(&self.clock);
        if gate.looks_up() {
            let held = Guard::into_inner(gate);
            Box::pin(look_up(&held, peer, parts, route, &mut moment)).await;
            gate = Guard::from_inner(held);
        }
        let answer = gate.contained(
            route.as_str(),
            || {
                let asker = drawn.and_then(|()| trusted(&gate, parts, peer));
                answer(&gate, asker, parts, route, form.as_deref(), &moment)
            },
            || write::failure(route),
        );
        if parts.method == Method::HEAD { write::without_body(answer) } else { answer }
    }
}

/// Who asks, if we answer them.
fn trusted(gate: &Gate, parts: &Parts, peer: Peer) -> Result<Peer, Unfit> {
    let shown = parts.headers.get_all(TOKEN).into_iter().map(HeaderValue::as_bytes);
    if gate.trusts(peer, shown) { Ok(peer) } else { Err(Unfit::Incomplete("peer")) }
}

/// Has looked up what the decision needs. What is answered without a rule needs nothing.
async fn look_up(gate: &Gate, peer: Peer, parts: &Parts, route: Route<'_>, moment: &mut Moment) {
    let request = || {
        let headers = read::headers(parts);
        let host = read::host(parts, &headers);
        let method = parts.method.as_str().as_bytes();
        let source = match route {
            Route::Check(target) => Source::Literal { method, target, host },
            Route::Forward(_) | Route::Nginx(_) | Route::Public(_) => Source::Forwarded { host },
            Route::Unknown => return Err(Unfit::Incomplete("rule")),
        };
        gather(source, headers, trusted(gate, parts, peer)?, gate.client_settings())
    };
    let policy = match route {
        Route::Check(_) => None,
        Route::Forward(policy) | Route::Nginx(policy) => policy,
        // nginx's error page judges the request that was refused once more.
        Route::Public(target) => match gate.error_page_for(target) {
            Some(policy) => policy,
            None => return,
        },
        Route::Unknown => return,
    };
    let request = gate.contained(route.as_str(), request, || Err(Unfit::Incomplete("request")));
    let in_line = matches!(route, Route::Check(_) | Route::Forward(_));
    if !(in_line && request.as_ref().is_ok_and(|request| gate.is_public(request))) {
        gate.look_up(policy, &request, moment).await;
    }
}

fn answer<'a>(
    gate: &Gate,
    asker: Result<Peer, Unfit>,
    parts: &'a Parts,
    route: Route<'a>,
    form: Option<&[u8]>,
    moment: &Moment,
) -> Response {
    let headers = read::headers(parts);
    let host = read::host(parts, &headers);
    let gather =
        |source: Source<'a>, headers: Headers<'a>| gather(source, headers, asker?, gate.client_settings());
    let method = parts.method.as_str().as_bytes();
    let asks = matches!(parts.method, Method::GET | Method::HEAD);
    match route {
        Route::Forward(_) if !asks => write::method_not_allowed(),
        // nginx knows four statuses and no body, whatever is wrong.
        Route::Nginx(_) if !asks => write::failure(route),
        Route::Check(target) => {
            let request = gather(Source::Literal { method, target, host }, headers);
            write::check(gate.answer(Face::Check, None, &request, moment))
        }
        Route::Forward(policy) => {
            let request = gather(Source::Forwarded { host }, headers);
            write::forward(gate.answer(Face::Forward, policy, &request, moment))
        }
        Route::Nginx(policy) => {
            let request = gather(Source::Forwarded { host }, headers);
            write::nginx(&gate.decide(Face::Nginx, policy, &request, moment))
        }
        Route::Public(target) => {
            let gzip = read::accepts_gzip(&headers);
            // Only nginx's error page describes another request beside its own.
            let asked = || gather(Source::Forwarded { host }, headers.clone());
            let request = gather(Source::Routed { method, target, host }, headers.clone());
            write::public(&gate.public(&request, form, asked, moment), gzip)
        }
        Route::Unknown => write::plain(404),
    }
}

#[cfg(test)]
mod tests;
