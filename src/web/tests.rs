//! Panics in the middle of a request: it is never allowed, and the next one is as good as ever.

use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;

use super::*;
use crate::clock::Timestamp;
use crate::crypto::{Ring, Secret};
use crate::gate::{Settings, State as GateState, fault};
use crate::policy::{Loader, Source as PolicySource};

const POLICY: &str = "version: tollgate/v1
bots:
  - {name: ok, action: ALLOW, paths: [/ok]}
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: all, action: CHALLENGE, path_regex: ^/}
";

fn live() -> Live {
    let settings = Settings::default();
    let loader = Loader { root: PathBuf::from("."), ..Loader::default() };
    let policy =
        loader.load(&PolicySource::Text { name: "test".into(), text: POLICY.into() }).unwrap().policy;
    let state = Arc::new(GateState::new(&settings, &[9; 16], 1));
    let gate = Gate::new(settings, Ring::single(Secret::new([7; 32])), policy, state).unwrap();
    Arc::new(arc_swap::ArcSwap::from_pointee(gate))
}

/// How each endpoint is asked about a target, and what it says to it.
async fn ask(live: &Live, path: &str, target: &str) -> u16 {
    let request = Request::builder()
        .uri(path.replace('*', target))
        .header("host", "a.example")
        .header("user-agent", "Mozilla/5.0")
        .header("accept", "text/html")
        .header("x-forwarded-uri", target)
        .header("x-forwarded-host", "a.example")
        .body(Body::empty())
        .unwrap();
    let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
    let (parts, mut body) = request.into_parts();
    Web::new(live.clone(), clock).serve(Peer::Unix, &parts, &mut body).await.status().as_u16()
}

fn panics(live: &Live) -> usize {
    let text = live.load().state().metrics.encode();
    let line = text.lines().find_map(|line| line.strip_prefix("tollgate_panics_total ")).unwrap();
    line.parse().unwrap()
}

#[tokio::test]
async fn a_panic_ends_one_request_on_every_face_and_allows_nothing() {
    let live = live();
    let mut struck = 0;
    for (place, path, target, usual) in [
        ("decide", "/check*", "/ok", 200),
        ("decide", "/auth/forward", "/ok", 200),
        ("decide", "/auth/nginx", "/ok", 200),
        ("decide", "/.tollgate/page", "/closed", 403),
        ("page", "/check*", "/other", 403),
        ("page", "/check*", "/closed", 403),
        ("page", "/auth/forward", "/other", 403),
        ("page", "/.tollgate/page", "/other", 403),
        ("public", "/.tollgate/check", "/", 403),
        ("public", "/.tollgate/wait", "/", 403),
        ("public", "/check*", "/.tollgate/check", 403),
    ] {
        fault::arm(place);
        let closed = if path == "/auth/nginx" { 500 } else { 503 };
        assert_eq!(ask(&live, path, target).await, closed, "{place} {path} {target}");
        struck += 1;
        assert_eq!(panics(&live), struck, "{place} {path} {target}");
        assert_eq!(ask(&live, path, target).await, usual, "{place} {path} {target}");
    }
    assert_eq!(panics(&live), struck);
}
