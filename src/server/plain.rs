//! The short way for what proxies ask all day: requests of HTTP/1.1 without a body, one behind the other, read and answered where they
//! lie. What hyper makes of a request and of its answer costs more than the decision between them.
//!
//! A connection that brings anything else is hyper's, from that request's first byte on: where a body ends, what an upgrade is and what
//! is no HTTP at all is judged in one place only. Heads are parsed by the parser that hyper uses; one that is too long is refused here, since
//! hyper bounds what it has read and not the head.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use axum::http::StatusCode;
use bytes::Bytes;
use httparse::{Header, Request, Status};
use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until, timeout};

use super::answer::guarded;
use super::caps;
use super::connection::Serving;
use super::encode::encode;
use crate::clock::Clock;
use crate::gate::Response;
use crate::request::Peer;
use crate::web::{Question, Web};

/// Bytes that a connection has room for while nothing is asked: a usual question has one to two thousand, its answer fewer.
const ROOM: usize = 4096;
/// Bytes of answers that leave together, in one write; what a peer leaves unread is at most a page more.
const TOGETHER: usize = 16 * 1024;

/// What a connection brought that is not for us.
pub(super) struct Rest {
    /// What was read of it.
    pub(super) read: Bytes,
    /// Whether questions were answered before.
    pub(super) asked: bool,
}

/// Answers a connection's questions until it ends, or brings something else.
pub(super) async fn answer_all<S>(
    serving: &Serving,
    web: &Web,
    stream: &mut S,
    peer: Peer,
) -> io::Result<Option<Rest>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut read, mut out) = (Vec::new(), Vec::new());
    let face = Face { serving, web, peer };
    let asked = AtomicBool::new(false);
    let mut ending = pin!(serving.last_word(&asked));
    let mut since = Instant::now();
    let mut idle = pin!(sleep_until(since + caps::IDLE));
    let mut turn = 0;
    loop {
        let before = read.len();
        make_room(&mut read);
        let came = tokio::select! {
            // What has arrived is answered even if the end has come.
            biased;
            came = stream.read_buf(&mut read) => came?,
            () = &mut ending => return Ok(None),
            () = &mut idle => {
                if since.elapsed() >= caps::IDLE {
                    serving.state.metrics.connection_ended("slow");
                    return Ok(None);
                }
                // Set once for all that was asked meanwhile.
                idle.as_mut().reset(since + caps::IDLE);
                continue;
            }
        };
        if came == 0 {
            return Ok(None);
        }
        let mut rest = without_empty_lines(&read);
        // The beginning of a head is parsed as it comes, which finds what is none; the rest of it when it may be whole.
        let mut more = before == 0 || may_end_a_head(&read, before);
        while more && !rest.is_empty() {
            let answered = match face.answer(rest, &mut out) {
                Poll::Ready(answered) => answered,
                Poll::Pending => Box::pin(face.wait(rest, &mut out)).await,
            };
            let last = match answered {
                Ok((length, last)) => {
                    rest = without_empty_lines(&rest[length..]);
                    turn += 1;
                    asked.store(true, Ordering::Relaxed);
                    since = Instant::now();
                    last
                }
                Err(NotPlain::Part) => {
                    more = false;
                    false
                }
                Err(NotPlain::TooLong) => return face.refuse_head(stream, &mut out).await,
                Err(NotPlain::Other) => {
                    send(stream, &mut out).await?;
                    return Ok(Some(Rest {
                        read: Bytes::copy_from_slice(rest),
                        asked: asked.load(Ordering::Relaxed),
                    }));
                }
            };
            if last {
                send(stream, &mut out).await?;
                stream.shutdown().await?;
                return Ok(None);
            }
            if out.len() >= TOGETHER || turn == caps::TURN {
                send(stream, &mut out).await?;
            }
            if turn == caps::TURN {
                turn = 0;
                tokio::task::yield_now().await;
            }
        }
        let done = read.len() - rest.len();
        read.drain(..done);
        send(stream, &mut out).await?;
        out.shrink_to(ROOM);
        if read.len() > caps::MAX_HEAD {
            return face.refuse_head(stream, &mut out).await;
        }
    }
}

/// Sends what there is. A peer that leaves it unread is left.
async fn send(stream: &mut (impl AsyncWrite + Unpin), out: &mut Vec<u8>) -> io::Result<()> {
    let mut sending = pin!(stream.write_all(out));
    // Most leave at once, and need no timer.
    let sent = match poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await {
        Poll::Ready(sent) => sent,
        Poll::Pending => timeout(caps::UNREAD, sending).await.unwrap_or_else(|late| Err(late.into())),
    };
    out.clear();
    sent
}

/// What is there behind empty lines, which some peers put between questions (RFC 9112, 2.2).
fn without_empty_lines(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_prefix(b"\r\n").or_else(|| bytes.strip_prefix(b"\n")) {
        bytes = rest;
    }
    bytes
}

/// Makes room for more, at most for the longest head and what a read may bring beyond it. What a long question took is not kept.
fn make_room(read: &mut Vec<u8>) {
    if read.is_empty() {
        if read.capacity() != ROOM {
            *read = Vec::with_capacity(ROOM);
        }
    } else if read.capacity() - read.len() < ROOM / 4 {
        let room = (2 * read.len()).clamp(ROOM, caps::MAX_HEAD + ROOM);
        read.reserve_exact(room.saturating_sub(read.len()).max(ROOM / 4));
    }
}

/// Whether a head may end among what came after so many bytes. Else one that comes byte by byte would be parsed for each.
fn may_end_a_head(bytes: &[u8], before: usize) -> bool {
    let new = &bytes[before.saturating_sub(2)..];
    [&b"\n\r\n"[..], b"\n\n"].iter().any(|end| memmem::find(new, end).is_some())
}

/// What bytes begin with where it is no plain question.
#[derive(Debug, Eq, PartialEq)]
enum NotPlain {
    /// A part of what may become one.
    Part,
    /// A head of more than [`caps::MAX_HEAD`]. hyper would take up to twice as much, as its reads happen to fall.
    TooLong,
    /// Something else.
    Other,
}

/// Who is asked, and by whom.
#[derive(Clone, Copy)]
struct Face<'s> {
    serving: &'s Serving,
    web: &'s Web,
    peer: Peer,
}

impl Face<'_> {
    /// Answers the question at the beginning of some bytes; yields its length, and whether it is the last. Pending where that has to
    /// wait. The lines of the question lie on the stack, where they do not make each connection larger.
    fn answer(self, bytes: &[u8], out: &mut Vec<u8>) -> Poll<Result<(usize, bool), NotPlain>> {
        if self.web.may_wait() {
            return Poll::Pending;
        }
        let mut lines = [const { MaybeUninit::uninit() }; caps::MAX_LINES];
        let (question, length) = match parse(bytes, &mut lines) {
            Ok(parsed) => parsed,
            Err(not) => return Poll::Ready(Err(not)),
        };
        let asking = pin!(self.web.answer(self.peer, &question));
        let asking = pin!(guarded(self.serving, asking));
        // Pending after all where a reload came in between.
        let asked = asking.poll(&mut Context::from_waker(Waker::noop()));
        asked.map(|answer| Ok((length, self.write(answer, out))))
    }

    /// The same where it may have to wait.
    async fn wait(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(usize, bool), NotPlain> {
        let mut lines = [const { MaybeUninit::uninit() }; caps::MAX_LINES];
        let (question, length) = parse(bytes, &mut lines)?;
        let asking = pin!(self.web.answer(self.peer, &question));
        let answer = guarded(self.serving, asking).await;
        Ok((length, self.write(answer, out)))
    }

    /// Ends a connection for a head that is too long (RFC 6585, 5).
    async fn refuse_head(
        self,
        stream: &mut (impl AsyncWrite + Unpin),
        out: &mut Vec<u8>,
    ) -> io::Result<Option<Rest>> {
        self.serving.state.metrics.connection_ended("head");
        encode(&Response::empty(431), Clock::System.now(), true, out);
        send(stream, out).await?;
        stream.shutdown().await?;
        Ok(None)
    }

    /// Writes an answer, and tells whether it is the last: the peer hears so too.
    fn write(self, answer: Result<Response, StatusCode>, out: &mut Vec<u8>) -> bool {
        let last = self.serving.stop.is_cancelled();
        let response = answer.unwrap_or_else(|status| Response::empty(status.as_u16()));
        encode(&response, Clock::System.now(), last, out);
        last
    }
}

/// A question with its length, if bytes begin with one that is whole and has no more to it than its head.
fn parse<'l, 'b>(
    bytes: &'b [u8],
    lines: &'l mut [MaybeUninit<Header<'b>>],
) -> Result<(Request<'l, 'b>, usize), NotPlain> {
    let mut request = Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, lines) {
        Ok(Status::Complete(length)) if length > caps::MAX_HEAD => Err(NotPlain::TooLong),
        Ok(Status::Complete(length)) if is_plain(&request) => Ok((request, length)),
        Ok(Status::Partial) => Err(NotPlain::Part),
        Ok(Status::Complete(_)) | Err(_) => Err(NotPlain::Other),
    }
}

/// Whether a head is one of HTTP/1.1 with which the question ends, and that hyper would read to the same.
fn is_plain(request: &Request<'_, '_>) -> bool {
    let usual = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    request.version == Some(1)
        && request.method.is_some_and(|method| usual.contains(&method))
        && request.path.is_some_and(|target| target.starts_with('/') && target.bytes().all(stays))
        && request.headers.iter().all(|line| says_nothing_of_more(line.name, line.value))
}

/// Whether hyper's type of targets leaves a byte as it is, wherever it stands.
fn stays(byte: u8) -> bool {
    matches!(byte, b'!' | b'$'..=b';' | b'=' | b'?'..=b'_' | b'a'..=b'~')
}

/// Whether a line says nothing of a body, nor of another use of the connection.
fn says_nothing_of_more(name: &str, value: &[u8]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        6 => !is("expect"),
        10 => !is("connection") || value.eq_ignore_ascii_case(b"keep-alive"),
        14 => !is("content-length") || value == b"0",
        17 => !is("transfer-encoding"),
        _ => true,
    }
}

impl Question for Request<'_, '_> {
    fn method(&self) -> &[u8] {
        self.method.unwrap_or_default().as_bytes()
    }

    fn target(&self) -> &[u8] {
        self.path.unwrap_or_default().as_bytes()
    }

    fn authority(&self) -> Option<&[u8]> {
        None
    }

    fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.headers.iter().map(|line| (line.name.as_bytes(), line.value))
    }
}

#[cfg(test)]
mod tests;
