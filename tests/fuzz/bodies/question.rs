//! Whole questions to the http listener: nothing is allowed that the policy of the attack table does not allow.

use std::cell::OnceCell;
use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Uri};
use axum::response::Response;
use tollgate::clock::{Clock, Timestamp};
use tollgate::request::Peer;
use tollgate::web::Web;

use super::fixture::{GATE, NOW, PEER, is_made};
use super::naive;

thread_local! {
    static LISTENER: OnceCell<(tokio::runtime::Runtime, Web)> = const { OnceCell::new() };
}

/// The first line is `METHOD TARGET`, the others are `name: value`, up to an empty one; a form follows.
pub(crate) fn run(bytes: &[u8]) {
    let Some(request) = read(bytes) else { return };
    let (target, method) =
        (request.uri().path_and_query().map(|t| t.as_str().to_owned()), request.method().clone());
    let lines: Vec<_> =
        request.headers().iter().map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_vec())).collect();
    let response = ask(request);
    assert_eq!(GATE.load().state().metrics.panics.get(), 0, "the gate panicked");
    let target = target.unwrap_or_default();
    let status = response.status().as_u16();
    if let Some(asked) =
        target.strip_prefix("/check").filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    {
        // Of the endpoints that are answered in line, none says 200 but the assets, whose names a visitor knows.
        assert!(status != 200 || allows(&[asked.as_bytes()], &lines), "{target} {lines:?}");
    } else if target.starts_with("/auth/") {
        let url = |v: &[u8]| {
            v.iter().enumerate().filter(|(_, b)| **b == b'/').nth(2).map(|(at, _)| v[at..].to_vec())
        };
        let targets: Vec<_> = lines
            .iter()
            .filter_map(|(name, value)| match name.as_str() {
                "x-forwarded-uri" | "x-original-uri" => Some(value.clone()),
                "x-original-url" => url(value),
                _ => None,
            })
            .collect();
        let targets: Vec<_> = targets.iter().map(Vec::as_slice).collect();
        assert!(!(200..400).contains(&status) || allows(&targets, &lines), "{method} {target} {lines:?}");
    } else {
        let minted = response.headers().contains_key("set-cookie");
        assert!(!minted || matches!(status, 204 | 303), "{target}");
        assert!(status != 200 || !target.contains("page"), "a page with status 200: {target}");
    }
}

/// The status that a question gets; none where it is no request.
pub(crate) fn status(bytes: &[u8]) -> Option<u16> {
    read(bytes).map(|request| ask(request).status().as_u16())
}

/// Asks what answers on the listener.
fn ask(request: Request<Body>) -> Response {
    LISTENER.with(|listener| {
        let (runtime, web) = listener.get_or_init(|| {
            let clock = Clock::manual(Timestamp::from_seconds(NOW));
            let web = Web::new(GATE.clone(), clock);
            (tokio::runtime::Builder::new_current_thread().enable_time().build().expect("it builds"), web)
        });
        let (parts, mut body) = request.into_parts();
        runtime.block_on(web.serve(Peer::Address(PEER), &parts, &mut body)).map(Body::from)
    })
}

fn read(bytes: &[u8]) -> Option<Request<Body>> {
    let (head, form) = match bytes.windows(2).position(|w| w == b"\n\n") {
        Some(end) => (&bytes[..end], bytes[end + 2..].to_vec()),
        None => (bytes, Vec::new()),
    };
    let mut lines = head.split(|b| *b == b'\n');
    let mut first = lines.next()?.splitn(2, |b| *b == b' ');
    let mut request = Request::builder().method(first.next()?).uri(Uri::try_from(first.next()?).ok()?);
    for line in lines {
        let colon = line.iter().position(|b| *b == b':')?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
        request = request.header(HeaderName::from_bytes(&line[..colon]).ok()?, value);
    }
    request.body(form.into()).ok()
}

/// Whether the policy could allow a request for one of these targets with these lines.
fn allows(targets: &[&[u8]], lines: &[(String, Vec<u8>)]) -> bool {
    let joined = |wanted: &str| {
        let values: Vec<_> =
            lines.iter().filter(|(name, _)| name == wanted).map(|(_, v)| v.as_slice()).collect();
        (!values.is_empty()).then(|| values.join(&b','))
    };
    let client = match joined("x-forwarded-for") {
        Some(list) => list.rsplit(|b| *b == b',').next().and_then(|last| naive::address(last.trim_ascii())),
        None => Some(PEER),
    };
    let agent = joined("user-agent").unwrap_or_default();
    let cookies: Vec<_> =
        lines.iter().filter(|(name, _)| name == "cookie").map(|(_, v)| v.as_slice()).collect();
    !targets.is_empty() && targets.iter().all(|target| may_pass(target, client, &agent, &cookies))
}

/// What `tests/data/attack_fixture.yaml` lets through, read as strictly as a person would.
pub(crate) fn may_pass(target: &[u8], client: Option<IpAddr>, agent: &[u8], cookies: &[&[u8]]) -> bool {
    let path = target.split(|b| *b == b'?').next().unwrap_or_default();
    let admin = |path: &[u8]| path == b"/admin" || path.starts_with(b"/admin/");
    if !target.starts_with(b"/") || (0..=2).any(|decodings| admin(&naive::plain_form(path, decodings))) {
        return false;
    }
    // The denied network needs an address to be told from.
    let Some(IpAddr::V4(client)) =
        client.map(|a| if a.is_ipv6() { IpAddr::V4([0, 0, 0, 0].into()) } else { a })
    else {
        return false;
    };
    if client.octets() == [203, 0, 113, 66] {
        return false;
    }
    let plain_file = matches!(path, b"/robots.txt" | b"/favicon.ico") || path.starts_with(b"/.well-known/");
    let [a, b, c, _] = client.octets();
    let bot = agent.starts_with(b"Mozilla/5.0 (compatible; Googlebot/2.1;")
        && (a, b) == (66, 249)
        && (64..96).contains(&c);
    let cleared = || {
        let values = cookies.iter().flat_map(|line| line.split(|b| b";,".contains(b)));
        values.filter_map(|pair| pair.rsplit(|b| *b == b'=').next()).any(is_made)
    };
    plain_file || bot || cleared()
}
