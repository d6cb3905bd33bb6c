//! The http listener: the faces `check`, `nginx` and `forward`, and the public prefix.
//! Decodes the question, asks the gate, encodes the answer. Decides nothing, and knows no listener.

mod question;
mod read;
mod route;
mod write;

use std::error::Error;
use std::sync::Arc;

use arc_swap::Guard;
use axum::http;
use axum::http::request::Parts;
use bytes::Bytes;
use hyper::body::Body;

use crate::clock::Clock;
use crate::gate::{Face, Gate, Live, Moment, Response, TOKEN};
use crate::request::{Headers, Peer, Source, Unfit, gather};
pub use question::Question;
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
    pub async fn serve<B>(&self, peer: Peer, parts: &Parts, body: &mut B) -> http::Response<Bytes>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
    {
        let mut gate = self.live.load();
        let mut form = None;
        if read::brings_form(parts, gate.prefix()) && trusted(&gate, parts, peer).is_ok() {
            let held = Guard::into_inner(gate);
            // In a box, here and below, so that a request without a form or a lookup does not carry the room for it.
            match Box::pin(read::form(body)).await {
                Ok(read) => form = Some(read),
                Err(status) => return write::http(write::plain(status)),
            }
            gate = Guard::from_inner(held);
        }
        write::http(self.answer_by(gate, peer, parts, form.as_deref()).await)
    }

    /// Answers a request of this peer that brought no body.
    pub async fn answer(&self, peer: Peer, question: &impl Question) -> Response {
        let gate = self.live.load();
        let form = read::brings_form(question, gate.prefix()).then_some(&b""[..]);
        self.answer_by(gate, peer, question, form).await
    }

    /// Whether an answer may have to wait for lookups.
    pub fn may_wait(&self) -> bool {
        self.live.load().looks_up()
    }

    async fn answer_by(
        &self,
        mut gate: Guard<Arc<Gate>>,
        peer: Peer,
        question: &impl Question,
        form: Option<&[u8]>,
    ) -> Response {
        let route = Route::of(question.target(), gate.prefix().as_bytes());
        let (mut moment, drawn) = Moment::draw(&self.clock);
        if gate.looks_up() {
            let held = Guard::into_inner(gate);
            Box::pin(look_up(&held, peer, question, route, &mut moment)).await;
            gate = Guard::from_inner(held);
        }
        let answer = gate.contained(
            route.as_str(),
            || {
                let asker = drawn.and_then(|()| trusted(&gate, question, peer));
                answer(&gate, asker, question, route, form, &moment)
            },
            || write::failure(route),
        );
        if question.method() == b"HEAD" { answer.without_body() } else { answer }
    }
}

/// Who asks, if we answer them.
fn trusted(gate: &Gate, question: &impl Question, peer: Peer) -> Result<Peer, Unfit> {
    if gate.trusts(peer, question.all(TOKEN)) { Ok(peer) } else { Err(Unfit::Incomplete("peer")) }
}

/// Has looked up what the decision needs. What is answered without a rule needs nothing.
async fn look_up(gate: &Gate, peer: Peer, question: &impl Question, route: Route<'_>, moment: &mut Moment) {
    let request = || {
        let headers = question.headers();
        let host = question.host(&headers);
        let method = question.method();
        let source = match route {
            Route::Check(target) => Source::Literal { method, target, host },
            Route::Forward(_) | Route::Nginx(_) | Route::Public(_) => Source::Forwarded { host },
            Route::Unknown => return Err(Unfit::Incomplete("rule")),
        };
        gather(source, headers, trusted(gate, question, peer)?, gate.client_settings())
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
    question: &'a impl Question,
    route: Route<'a>,
    form: Option<&[u8]>,
    moment: &Moment,
) -> Response {
    let headers = question.headers();
    let host = question.host(&headers);
    let gather =
        |source: Source<'a>, headers: Headers<'a>| gather(source, headers, asker?, gate.client_settings());
    let method = question.method();
    let asks = matches!(method, b"GET" | b"HEAD");
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
            write::public(gate.public(&request, form, asked, moment), gzip)
        }
        Route::Unknown => write::plain(404),
    }
}

#[cfg(test)]
mod tests;
