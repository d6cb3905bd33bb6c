//! Requests with bodies: complete at the app when allowed, no hang when not.

use crate::client::Ask;
use crate::site::{Front, Site, on_every_front};

on_every_front! {
    an_allowed_body_arrives_whole
    a_challenged_post_gets_its_answer_without_a_hang
}

const LARGE: usize = 500_000;

fn chunked(bytes: usize) -> Vec<u8> {
    let half = "x".repeat(bytes / 2);
    format!("{0:x}\r\n{half}\r\n{0:x}\r\n{half}\r\n0\r\n\r\n", bytes / 2).into_bytes()
}

fn posts(target: &str) -> [(Ask, usize); 4] {
    let post = Ask::new("POST", target).add("content-type", "application/x-www-form-urlencoded");
    let sized = |bytes: usize| post.clone().add("content-length", bytes.to_string()).body(vec![b'x'; bytes]);
    [
        (sized(5), 5),
        (sized(LARGE), LARGE),
        (post.clone().add("transfer-encoding", "chunked").body(chunked(LARGE)), LARGE),
        (sized(2000).add("expect", "100-continue"), 2000),
    ]
}

fn an_allowed_body_arrives_whole(front: Front) {
    let Some(site) = Site::start(front) else { return };
    for (ask, bytes) in posts("/ok") {
        let reply = site.ask(&ask);
        assert_eq!((reply.seen().method(), reply.seen().body_bytes()), ("POST", bytes as u64));
    }
}

fn a_challenged_post_gets_its_answer_without_a_hang(front: Front) {
    let Some(site) = Site::start(front) else { return };
    for (ask, bytes) in posts("/chal").into_iter().chain(posts("/deny")) {
        let reply = site.ask(&ask);
        assert_eq!(reply.status, 403, "{bytes} bytes");
        assert!(reply.text().contains("</html>"), "{bytes} bytes: {reply:?}");
    }
    assert_eq!(site.app.reached(), 0);
}
