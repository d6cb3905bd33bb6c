//! The demo's site and its proxy in one: asks the gate in process about every request, then shows what the app would see.

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{Request, Response, StatusCode};

use crate::clock::Clock;
use crate::crypto::Seed;
use crate::gate::{Answer, Decision, Face, Live, Moment};
use crate::request::{Headers, Peer, Source, Unfit, gather};

/// The site.
pub(super) struct Site {
    live: Live,
    clock: Clock,
}

/// The page that pretends its proxy said too little.
const UNDECIDED: &str = "/undecided";

impl Site {
    pub(super) fn new(live: Live, clock: Clock) -> Self {
        Self { live, clock }
    }

    /// What a visitor gets.
    pub(super) fn answer(&self, visitor: &Request<()>) -> Response<Bytes> {
        let gate = self.live.load();
        let Ok(seed) = Seed::draw() else { return page(StatusCode::SERVICE_UNAVAILABLE, "no randomness") };
        let moment = Moment { now: self.clock.now(), seed, known: Vec::new(), origin: None, learn: true };
        let target = visitor.uri().path_and_query().map_or("/", |t| t.as_str());
        let source = Source::Literal {
            method: visitor.method().as_str().as_bytes(),
            target: target.as_bytes(),
            host: visitor.headers().get("host").map_or(b"", |h| h.as_bytes()),
        };
        // No proxy stands in front, so nothing a visitor says about one counts.
        let headers: Headers<'_> = visitor
            .headers()
            .iter()
            .filter(|(name, _)| !name.as_str().starts_with("x-"))
            .map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()))
            .collect();
        let request = match visitor.extensions().get::<Peer>() {
            Some(peer) if visitor.uri().path() != UNDECIDED => {
                gather(source, headers, *peer, gate.client_settings())
            }
            _ => Err(Unfit::Incomplete("target")),
        };
        match gate.answer(Face::Grpc, None, &request, &moment) {
            Answer::Allow(decision) => self.page(visitor.uri().path(), &decision),
            Answer::Public(response) | Answer::Refuse(_, response) | Answer::Undecided(_, response) => {
                let mut built = Response::new(response.body().clone());
                *built.status_mut() =
                    StatusCode::from_u16(response.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
                for (name, value) in response.headers() {
                    if let Ok(value) = HeaderValue::from_str(value) {
                        built.headers_mut().append(*name, value);
                    }
                }
                built
            }
        }
    }

    fn page(&self, path: &str, decision: &Decision<'_>) -> Response<Bytes> {
        let (status, title) = match path {
            "/" => (StatusCode::OK, "You are in"),
            "/open" => (StatusCode::OK, "Open to everybody"),
            "/challenge-me" => (StatusCode::OK, "You paid for this page too"),
            _ => (StatusCode::NOT_FOUND, "There is no such page"),
        };
        let mut seen = String::new();
        decision.each_header(|name, value| seen += &format!("<tr><th>{name}<td>{}", escape(value)));
        let body = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><link rel=icon href=data:,>\
             <style>:root{{color-scheme:light dark}}body{{font:1rem/1.6 system-ui;max-width:36rem;margin:3rem auto;padding:0 1rem}}\
             th{{text-align:start;font-weight:normal;padding-inline-end:2rem}}</style>\
             <h1>{title}</h1><p>This is the site behind the gate. The gate told it about your request:\
             <table>{seen}</table>\
             <h2>Every verdict</h2><ul>\
             <li><a href=/>allowed, once you have paid</a>\
             <li><a href=/open>allowed at once</a>\
             <li><a href=/challenge-me>challenged again: this page asks for more work</a>\
             <li><a href=/denied>denied, paid or not</a>\
             <li><a href={UNDECIDED}>not decided: as if the proxy had said too little</a>\
             </ul><p>Reload more than 120 times in a few seconds, and you are asked to come back later."
        );
        page(status, body)
    }
}

fn page(status: StatusCode, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    response
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
