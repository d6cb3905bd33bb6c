//! As much of HTTP/2 (RFC 9113) as a proxy needs to ask one question over and over: the head of every request is the same, so it is
//! written once as HPACK, and the heads of answers are skipped, because gRPC says in its message what matters here.
//!
//! By hand for the reason that `http1` is: on `h2` a question cost the generator as much as an always-OK server.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, BytesMut};
use tokio::io::AsyncWrite;
use tokio_util::io::poll_read_buf;

use super::Socket;

/// What opens a connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The head of a frame: length, type, flags, stream.
const FRAME: usize = 9;
/// The largest frame that every peer takes.
const MAX_FRAME: usize = 16_384;
/// How much a peer may send on a stream, and how much on the connection before it hears that there is room again.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 1 << 30;
/// What both may send at first (RFC 9113, 6.9.2).
const FIRST_WINDOW: i64 = 65_535;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// One place for one question at a time.
#[derive(Debug, Default)]
struct Seat {
    answer: BytesMut,
    ended: Option<io::Result<()>>,
    waker: Option<Waker>,
}

/// An open connection, shared by those who ask over it and the task that drives it.
#[derive(Debug)]
pub(super) struct Connection(RefCell<State>);

#[derive(Debug)]
struct State {
    seats: Vec<Seat>,
    /// Whose question a stream carries.
    streams: HashMap<u32, usize>,
    /// Bytes on their way out.
    output: Vec<u8>,
    /// Questions that wait until the peer has room.
    held: VecDeque<(usize, Vec<u8>)>,
    next: u32,
    /// The head of the first request, which fills the peer's table, and that of all others, which refers to it.
    heads: [Vec<u8>; 2],
    /// How much the peer has room for.
    room: i64,
    /// How much it has sent since it last heard of ours.
    taken: u32,
    closed: Option<String>,
    /// Nobody will ask any more.
    abandoned: bool,
    driver: Option<Waker>,
}

impl Connection {
    /// Takes a socket over and drives it in a task of its own. `head` are the headers of every request.
    pub(super) fn open(socket: Box<dyn Socket>, head: &[(&str, &str)], seats: usize) -> Rc<Self> {
        let mut output = PREFACE.to_vec();
        // No pushes; room on each stream.
        frame(&mut output, SETTINGS, 0, 0, &[setting(2, 0), setting(4, STREAM_WINDOW)].concat());
        frame(&mut output, WINDOW_UPDATE, 0, 0, &WINDOW.to_be_bytes());
        let state = State {
            seats: (0..seats).map(|_| Seat::default()).collect(),
            streams: HashMap::new(),
            output,
            held: VecDeque::new(),
            next: 1,
            heads: [first_head(head), later_head(head)],
            room: FIRST_WINDOW,
            taken: 0,
            closed: None,
            abandoned: false,
            driver: None,
        };
        let connection = Rc::new(Self(RefCell::new(state)));
        let driven = connection.clone();
        tokio::task::spawn_local(async move {
            let (mut socket, mut input) = (socket, BytesMut::with_capacity(1 << 18));
            let ended =
                poll_fn(|context| driven.0.borrow_mut().drive(&mut socket, &mut input, context)).await;
            driven.0.borrow_mut().close(&ended.to_string());
        });
        connection
    }

    /// Whether there is any use in asking.
    pub(super) fn is_open(&self) -> bool {
        self.0.borrow().closed.is_none()
    }

    /// Nobody will ask any more: the socket is closed.
    pub(super) fn abandon(&self) {
        let mut state = self.0.borrow_mut();
        state.abandoned = true;
        if let Some(driver) = state.driver.take() {
            driver.wake();
        }
    }

    /// Sends a request and waits for the body of its answer. A seat asks one at a time.
    pub(super) async fn ask(&self, seat: usize, body: &[u8]) -> io::Result<BytesMut> {
        {
            let mut state = self.0.borrow_mut();
            if let Some(why) = &state.closed {
                return Err(io::Error::new(io::ErrorKind::NotConnected, why.clone()));
            }
            (state.seats[seat].ended, state.seats[seat].waker) = (None, None);
            state.seats[seat].answer.clear();
            if state.held.is_empty() && state.room >= body.len() as i64 {
                state.send(seat, body);
            } else {
                state.held.push_back((seat, body.to_vec()));
            }
            if let Some(driver) = state.driver.take() {
                driver.wake();
            }
        }
        poll_fn(|context| {
            let seat = &mut self.0.borrow_mut().seats[seat];
            match seat.ended.take() {
                Some(ended) => Poll::Ready(ended.map(|()| seat.answer.split())),
                None => {
                    seat.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl State {
    fn send(&mut self, seat: usize, body: &[u8]) {
        let stream = self.next;
        self.next += 2;
        self.room -= body.len() as i64;
        self.streams.insert(stream, seat);
        let head = &self.heads[usize::from(stream > 1)];
        frame(&mut self.output, HEADERS, END_HEADERS, stream, head);
        let mut parts = body.chunks(MAX_FRAME).peekable();
        while let Some(part) = parts.next() {
            let last = if parts.peek().is_none() { END_STREAM } else { 0 };
            frame(&mut self.output, DATA, last, stream, part);
        }
    }

    /// Reads what has come and writes what is to go, until neither is possible. Ready when the connection is over.
    fn drive(
        &mut self,
        socket: &mut Box<dyn Socket>,
        input: &mut BytesMut,
        context: &mut Context<'_>,
    ) -> Poll<io::Error> {
        loop {
            if self.abandoned {
                return Poll::Ready(io::ErrorKind::ConnectionAborted.into());
            }
            input.reserve(1 << 16);
            let read = match poll_read_buf(Pin::new(&mut *socket), context, input) {
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Ready(Ok(read)) => Some(read),
                Poll::Pending => None,
            };
            if let Some(read) = read {
                if read == 0 {
                    return Poll::Ready(io::ErrorKind::UnexpectedEof.into());
                }
                if let Err(error) = self.take_frames(input) {
                    return Poll::Ready(error);
                }
            }
            let mut wrote = false;
            while !self.output.is_empty() {
                match Pin::new(&mut *socket).poll_write(context, &self.output) {
                    Poll::Ready(Err(error)) => return Poll::Ready(error),
                    Poll::Ready(Ok(written)) => drop(self.output.drain(..written)),
                    Poll::Pending => break,
                }
                wrote = true;
            }
            if read.is_none() && !wrote {
                self.driver = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
    }

    fn take_frames(&mut self, input: &mut BytesMut) -> io::Result<()> {
        loop {
            let Some(&[a, b, c, kind, flags, d, e, f, g]) = input.first_chunk::<FRAME>() else {
                return Ok(());
            };
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if input.len() < FRAME + length {
                return Ok(());
            }
            input.advance(FRAME);
            let payload = input.split_to(length);
            self.take_frame(kind, flags, u32::from_be_bytes([d, e, f, g]) & 0x7fff_ffff, &payload)?;
        }
    }

    fn take_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let number = |at: usize| {
            let bytes = payload.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(u32::from_be_bytes).ok_or_else(|| io::Error::other("a frame that is too short"))
        };
        match kind {
            DATA => {
                self.taken += payload.len() as u32;
                if self.taken > WINDOW / 4 {
                    let taken = std::mem::take(&mut self.taken);
                    frame(&mut self.output, WINDOW_UPDATE, 0, 0, &taken.to_be_bytes());
                }
                if let Some(seat) = self.streams.get(&stream) {
                    // Nobody pads what is not secret; padding would show as an answer that cannot be decoded.
                    self.seats[*seat].answer.extend_from_slice(payload);
                }
            }
            SETTINGS if flags & ACK == 0 => {
                let tables = payload.chunks_exact(6).filter(|setting| setting[..2] == [0, 1]);
                if tables.map(|setting| &setting[2..]).any(|size| size < &4096u32.to_be_bytes()[..]) {
                    return Err(io::Error::other(
                        "a peer with a smaller header table than usual, which nobody here fits into",
                    ));
                }
                frame(&mut self.output, SETTINGS, ACK, 0, &[]);
            }
            PING if flags & ACK == 0 => frame(&mut self.output, PING, ACK, 0, payload),
            WINDOW_UPDATE if stream == 0 => {
                self.room += i64::from(number(0)?);
                while self.held.front().is_some_and(|(_, body)| self.room >= body.len() as i64) {
                    if let Some((seat, body)) = self.held.pop_front() {
                        self.send(seat, &body);
                    }
                }
            }
            RESET => {
                let code = number(0)?;
                self.end(stream, Err(io::Error::other(format!("the stream was reset with code {code}"))));
            }
            GOAWAY => return Err(io::Error::other(format!("the peer goes away with code {}", number(4)?))),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.end(stream, Ok(()));
        }
        Ok(())
    }

    fn end(&mut self, stream: u32, outcome: io::Result<()>) {
        let Some(seat) = self.streams.remove(&stream) else { return };
        self.seats[seat].ended = Some(outcome);
        if let Some(waker) = self.seats[seat].waker.take() {
            waker.wake();
        }
    }

    /// Nothing will be answered any more.
    fn close(&mut self, why: &str) {
        self.closed = Some(why.to_owned());
        let error = || io::Error::new(io::ErrorKind::ConnectionAborted, why.to_owned());
        for seat in
            self.streams.drain().map(|(_, seat)| seat).chain(self.held.drain(..).map(|(seat, _)| seat))
        {
            self.seats[seat].ended = Some(Err(error()));
            if let Some(waker) = self.seats[seat].waker.take() {
                waker.wake();
            }
        }
    }
}

fn frame(output: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).expect("a frame is at most 16 KiB").to_be_bytes();
    output.extend_from_slice(&[length[1], length[2], length[3], kind, flags]);
    output.extend_from_slice(&stream.to_be_bytes());
    output.extend_from_slice(payload);
}

fn setting(name: u16, value: u32) -> [u8; 6] {
    let ([a, b], [c, d, e, f]) = (name.to_be_bytes(), value.to_be_bytes());
    [a, b, c, d, e, f]
}

/// HPACK (RFC 7541): every header literally, and to be remembered.
fn first_head(head: &[(&str, &str)]) -> Vec<u8> {
    let text = |output: &mut Vec<u8>, text: &str| {
        // Below 127 bytes a length is one byte; nothing here is longer.
        output.push(u8::try_from(text.len()).expect("names and values are short"));
        output.extend_from_slice(text.as_bytes());
    };
    let mut output = Vec::new();
    for (name, value) in head {
        output.push(0x40);
        text(&mut output, name);
        text(&mut output, value);
    }
    output
}

/// The same by its places in the table, where what was added last stands first, behind 61 that are always there.
fn later_head(head: &[(&str, &str)]) -> Vec<u8> {
    (0..head.len()).rev().map(|place| 0x80 | (62 + u8::try_from(place).expect("there are few"))).collect()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::runtime::{Builder, LocalOptions};

    use super::*;

    const HEAD: [(&str, &str); 2] = [(":method", "POST"), ("te", "trailers")];

    #[test]
    fn later_heads_refer_to_the_first() {
        assert_eq!(first_head(&HEAD), b"\x40\x07:method\x04POST\x40\x02te\x08trailers");
        // `:method` was added first, so it stands behind `te`.
        assert_eq!(later_head(&HEAD), [0x80 | 63, 0x80 | 62]);
    }

    async fn read_frame(peer: &mut DuplexStream) -> (u8, u8, u32, Vec<u8>) {
        let mut head = [0; FRAME];
        peer.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        peer.read_exact(&mut payload).await.unwrap();
        (head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]), payload)
    }

    /// Speaks with a peer that is played by `peer`, which has got everything up to the first request.
    fn with<F: Future<Output = ()>>(peer: impl FnOnce(DuplexStream, Rc<Connection>) -> F) {
        let runtime = Builder::new_current_thread().build_local(LocalOptions::default()).unwrap();
        runtime.block_on(async {
            let (mine, mut theirs) = duplex(1 << 20);
            let connection = Connection::open(Box::new(mine), &HEAD, 2);
            let mut preface = [0; PREFACE.len()];
            theirs.read_exact(&mut preface).await.unwrap();
            assert_eq!(preface, PREFACE);
            assert_eq!(read_frame(&mut theirs).await.0, SETTINGS);
            assert_eq!(read_frame(&mut theirs).await.0, WINDOW_UPDATE);
            peer(theirs, connection).await;
        });
    }

    fn ask(
        connection: &Rc<Connection>,
        seat: usize,
        size: usize,
    ) -> tokio::task::JoinHandle<io::Result<BytesMut>> {
        let connection = connection.clone();
        tokio::task::spawn_local(async move { connection.ask(seat, &vec![b'q'; size]).await })
    }

    #[test]
    fn answers_find_their_askers_in_any_order() {
        with(async |mut peer, connection| {
            let (first, second) = (ask(&connection, 0, 3), ask(&connection, 1, 4));
            for stream in [1, 3] {
                let (kind, _, at, head) = read_frame(&mut peer).await;
                assert_eq!(
                    (kind, at, head),
                    (HEADERS, stream, connection.0.borrow().heads[usize::from(stream > 1)].clone())
                );
                assert_eq!(read_frame(&mut peer).await.1, END_STREAM);
            }
            let mut answers = Vec::new();
            frame(&mut answers, PING, 0, 0, &[7; 8]);
            frame(&mut answers, HEADERS, END_HEADERS, 3, &[0x88]);
            frame(&mut answers, DATA, 0, 3, b"se");
            frame(&mut answers, DATA, 0, 3, b"cond");
            frame(&mut answers, DATA, END_STREAM, 1, b"first");
            frame(&mut answers, HEADERS, END_HEADERS | END_STREAM, 3, &[]);
            peer.write_all(&answers).await.unwrap();
            assert_eq!(first.await.unwrap().unwrap(), b"first"[..]);
            assert_eq!(second.await.unwrap().unwrap(), b"second"[..]);
            assert_eq!(read_frame(&mut peer).await, (PING, ACK, 0, vec![7; 8]));
        });
    }

    #[test]
    fn nothing_is_sent_that_the_peer_has_no_room_for() {
        with(async |mut peer, connection| {
            let (first, second) = (ask(&connection, 0, 60_000), ask(&connection, 1, 6_000));
            for length in [0, 16_384, 16_384, 16_384, 10_848] {
                let payload = read_frame(&mut peer).await.3;
                assert!(length == 0 || payload.len() == length, "{}", payload.len());
            }
            let mut more = Vec::new();
            frame(&mut more, DATA, END_STREAM, 1, b"x");
            peer.write_all(&more).await.unwrap();
            first.await.unwrap().unwrap();
            assert_eq!(connection.0.borrow().held.len(), 1);
            more.clear();
            frame(&mut more, WINDOW_UPDATE, 0, 0, &1_000u32.to_be_bytes());
            peer.write_all(&more).await.unwrap();
            assert_eq!(read_frame(&mut peer).await.2, 3);
            assert_eq!(read_frame(&mut peer).await.3.len(), 6_000);
            drop(peer);
            assert!(second.await.unwrap().is_err(), "who still waits hears of the end");
            assert!(!connection.is_open());
        });
    }

    #[test]
    fn an_abandoned_connection_is_closed() {
        with(async |mut peer, connection| {
            connection.abandon();
            assert_eq!(peer.read(&mut [0; 1]).await.unwrap(), 0);
        });
    }

    #[test]
    fn a_reset_is_one_streams_and_a_farewell_is_everybodys() {
        with(async |mut peer, connection| {
            let (first, second) = (ask(&connection, 0, 3), ask(&connection, 1, 3));
            let mut frames = Vec::new();
            frame(&mut frames, RESET, 0, 1, &[0, 0, 0, 8]);
            peer.write_all(&frames).await.unwrap();
            assert!(first.await.unwrap().unwrap_err().to_string().contains("code 8"));
            assert!(connection.is_open());
            frames.clear();
            frame(&mut frames, GOAWAY, 0, 0, &[0; 8]);
            peer.write_all(&frames).await.unwrap();
            assert!(second.await.unwrap().is_err());
        });
    }
}
