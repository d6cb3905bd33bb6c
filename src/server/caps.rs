//! What a connection may make grow: each cap with its reason. Where a library has one by default, it is said here all the same.

use std::time::Duration;

use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;

use super::connection::Speaks;
use super::streams::Streams;
use crate::envoy::MAX_MESSAGE;
use crate::request::MAX_HEADERS;

/// How long a connection may stay without a request, or take over the head of one. Longer than the 60 s for which nginx keeps
/// an idle connection, so that the proxy is the one that closes: a request sent into a connection that we just closed fails.
pub(super) const IDLE: Duration = Duration::from_secs(75);
/// How long a request may take from its head to its answer: what a question takes to arrive, since decisions wait for 50 ms of
/// lookups at most. Proxies send it at once.
pub(super) const ANSWER: Duration = Duration::from_secs(15);
/// The same for an operator, who may wait for a reload.
pub(super) const ANSWER_ADMIN: Duration = Duration::from_secs(60);
/// How long a peer may leave what it was sent unread. What it does not take is ours to keep.
pub(super) const UNREAD: Duration = Duration::from_secs(30);
/// More lines than [`MAX_HEADERS`], so that the face, not the parser, answers a request that has too many.
pub(super) const MAX_LINES: usize = MAX_HEADERS + 32;
/// The head of a request, in bytes. Envoy stops at 60 KiB, nginx at 32 KiB by default, and a visitor fills whatever they allow.
pub(super) const MAX_HEAD: usize = 64 * 1024;
/// Questions at once on one HTTP/2 connection. An Envoy worker opens one connection and sends every question over it.
const MAX_STREAMS: u32 = 1024;
/// The same for a peer that may not ask, of whose questions each is refused: a health check needs one.
const MAX_STRANGERS_STREAMS: u32 = 8;
/// Streams that a peer opened and gave up before we looked at them (CVE-2023-44487). A proxy whose patience ends gives up on all
/// its streams at once, which must not cost it the connection.
const MAX_RESETS: usize = MAX_STREAMS as usize;
/// Streams that we had to reset or refuse for a peer's mistakes, until its connection is closed (RUSTSEC-2024-0003, CVE-2025-8671). A
/// proxy makes one where it opens more than it may before it has heard how many that is.
const MAX_MISTAKES: usize = 1024;
/// Bytes of bodies that a connection may have on the way before we have read any, of one stream and of all: one question of the largest
/// size, and a thousand of the usual kilobyte.
const WINDOW: (u32, u32) = (MAX_MESSAGE as u32, 1024 * 1024);
/// The largest frame, in bytes: the protocol's smallest maximum. A head is at most four frames, and h2 counts how many continue it.
const MAX_FRAME: u32 = 16 * 1024;
/// Bytes of answers that a stream may have waiting for its peer: the largest page is half of it.
const MAX_UNSENT: usize = 128 * 1024;
/// Requests of one connection that are answered in its turn, some tenths of a millisecond of usual ones; other connections wait
/// meanwhile, and further requests for a turn of their own.
pub(super) const TURN: usize = 64;
/// How often a silent HTTP/2 peer is asked whether it is still there, and how long it may take to say so.
const PING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));

/// A connection loop with every cap, for peers that may ask or for others.
pub(super) fn builder(speaks: Speaks, strangers: bool, streams: Streams) -> Builder<Streams> {
    let mut http = Builder::new(streams);
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_headers(MAX_LINES)
        .max_buf_size(MAX_HEAD);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(if strangers { MAX_STRANGERS_STREAMS } else { MAX_STREAMS })
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_local_error_reset_streams(MAX_MISTAKES)
        .initial_stream_window_size(WINDOW.0)
        .initial_connection_window_size(WINDOW.1)
        .max_frame_size(MAX_FRAME)
        .max_send_buf_size(MAX_UNSENT)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    match speaks {
        Speaks::Both => http,
        Speaks::Http2 => http.http2_only(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::exchange::{BATCH, CHANGED};
    use super::super::keeper::ORDERS;
    use super::super::places::{MAX_ADMIN, MAX_CONNECTIONS};
    use super::*;
    use crate::memory::file;

    /// A number as people write it.
    fn written(number: usize) -> String {
        let digits = number.to_string();
        let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group));
        groups.collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_table_of_caps_says_what_holds() {
        let table = include_str!("../../SECURITY.md");
        let kib = |bytes: usize| format!("{} KiB", bytes / 1024);
        let seconds = |span: Duration| format!("{} s", span.as_secs());
        for (what, caps) in [
            ("connections of proxies, ", vec![written(MAX_CONNECTIONS)]),
            ("of the admin listener ", vec![written(MAX_ADMIN)]),
            ("open questions ", vec![written(crate::lookup::MAX_OPEN)]),
            ("silence, ", vec![seconds(IDLE)]),
            ("from a head to its answer ", vec![seconds(ANSWER), seconds(ANSWER_ADMIN)]),
            ("what a peer leaves unread ", vec![seconds(UNREAD)]),
            ("a head, HTTP/1.1 ", vec![kib(MAX_HEAD), format!("{MAX_LINES} lines")]),
            ("a head, HTTP/2, ", vec![kib(MAX_HEAD), kib(MAX_FRAME as usize)]),
            ("streams of an HTTP/2 ", vec![written(MAX_STREAMS as usize), MAX_STRANGERS_STREAMS.to_string()]),
            ("streams given up ", vec![written(MAX_RESETS)]),
            ("streams reset ", vec![written(MAX_MISTAKES)]),
            ("bytes on the way, ", vec![kib(WINDOW.0 as usize), format!("{} MiB", WINDOW.1 >> 20)]),
            ("answers waiting ", vec![kib(MAX_UNSENT)]),
            ("requests of a connection answered ", vec![TURN.to_string()]),
            ("reloads that are stuck ", vec![super::super::loader::MAX_STUCK.to_string()]),
            ("an HTTP/2 peer that is gone ", vec![seconds(PING.0), seconds(PING.1)]),
            ("a question of Envoy's ", vec![kib(MAX_MESSAGE)]),
            ("headers of a visitor ", vec![format!("{MAX_HEADERS} lines")]),
            ("told to the server ", vec![written(BATCH)]),
            (
                "rows of `memory.file`",
                vec![written(file::MOST as usize), format!("{} MiB", file::CACHE >> 20)],
            ),
            ("rows that wait ", vec![written(CHANGED), ORDERS.to_string()]),
            ("a target, ", vec![kib(crate::request::MAX_TARGET)]),
        ] {
            let row = table.lines().find(|line| line.starts_with(&format!("| {what}")));
            let row = row.unwrap_or_else(|| panic!("no row of {what}"));
            let cap = row.split('|').nth(2).unwrap_or_default();
            assert!(caps.iter().all(|said| cap.contains(said)), "{what}: {caps:?}, but {cap}");
        }
    }
}
