//! Accepts connections and has them served, HTTP/1.1 and h2c, with a cap on everything a peer could make grow.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::{self, Answers};
use super::bind::Listener;
use super::end::Vital;
use super::joined::Joined;
use super::places::Places;
use super::streams::Streams;
use super::{caps, ended, plain};
use crate::gate::{Live, State};
use crate::request::Peer;

/// Which versions of HTTP a listener speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Speaks {
    /// HTTP/1.1, and HTTP/2 without TLS by prior knowledge.
    Both,
    /// HTTP/2 only, as gRPC does.
    Http2,
}

/// How long connections are still accepted, and may still speak up, once the end has come: closing a listener resets those that
/// wait in its queue, and their requests are on the way.
const LAST_WORD: Duration = Duration::from_millis(100);
/// How long accepting pauses when the system refuses, as it does when file descriptors run out.
const BACK_OFF: Duration = Duration::from_millis(100);
/// How often that is said.
const SAID: Duration = Duration::from_secs(10);

/// What a listener's connections are answered with, and who sees to them.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) speaks: Speaks,
    pub(super) answers: Answers,
    /// How long a request may take.
    pub(super) patience: Duration,
    /// Ends accepting, and every connection after what it has begun.
    pub(super) stop: CancellationToken,
    /// Owns every connection.
    pub(super) tasks: TaskTracker,
    /// Room for connections.
    pub(super) places: Arc<Places>,
    /// Who knows which peers may ask; on a listener without one there are no strangers.
    pub(super) live: Option<Live>,
    pub(super) state: Arc<State>,
}

impl Serving {
    /// Accepts connections until `stop`; those that are open then finish what they have begun. It is vital that this does not
    /// end before.
    pub(super) async fn accept(self, listener: Listener, vital: Vital) {
        let witness = self.state.metrics.witness();
        match Door::open(listener) {
            Ok(door) => {
                // One for this listener of this worker: what every request clones must not be another core's too.
                Arc::new(self).receive(door).await;
                vital.done();
            }
            Err(error) => tracing::error!(%error, "cannot wait for connections"),
        }
        drop(witness);
    }

    async fn receive(self: Arc<Self>, door: Door) {
        let mut ending = pin!(self.ending());
        let mut said: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                accepted = door.accept() => accepted,
                () = &mut ending => return,
            };
            match accepted {
                Ok((stream, peer)) => match self.places.take(peer, self.is_stranger(peer)) {
                    Ok(place) => {
                        let (strangers, serving) = (place.is_strangers(), self.clone());
                        self.tasks.spawn(async move {
                            let witness = serving.state.metrics.witness();
                            match stream {
                                Stream::Tcp(stream) => serving.converse(strangers, stream, peer).await,
                                Stream::Unix(stream) => serving.converse(strangers, stream, peer).await,
                            }
                            drop((witness, place));
                        });
                    }
                    // What is dropped is closed: its proxy learns that at once, and asks elsewhere or refuses.
                    Err(full) => self.state.metrics.connection_refused(full.as_str()),
                },
                Err(error) if is_the_peers(&error) => {}
                Err(error) => {
                    self.state.metrics.connection_refused("system");
                    if said.is_none_or(|at| at.elapsed() > SAID) {
                        said = Some(Instant::now());
                        tracing::warn!(%error, "cannot accept connections; those that are open are served on");
                    }
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }

    /// Whether nothing that this peer could send would be answered.
    fn is_stranger(&self, peer: Peer) -> bool {
        self.live.as_ref().is_some_and(|live| !live.load().may_ask(peer))
    }

    /// Waits until the end has come and [`LAST_WORD`] has passed.
    async fn ending(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_WORD).await;
    }

    /// Waits until the end has come; where nothing was asked yet, [`LAST_WORD`] longer, since a question may be on its way; hyper
    /// reads no more from a connection that has said nothing when it is told of the end.
    pub(super) async fn last_word(&self, asked: &AtomicBool) {
        self.stop.cancelled().await;
        if !asked.load(Ordering::Relaxed) {
            tokio::time::sleep(LAST_WORD).await;
        }
    }

    /// Answers one connection's requests until either side ends it.
    pub(super) async fn converse(
        self: &Arc<Self>,
        strangers: bool,
        mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
    ) {
        let (mut before, mut began) = (Bytes::new(), false);
        if let Answers::Http(web) = &self.answers {
            match plain::answer_all(self, web, &mut stream, peer).await {
                Ok(Some(rest)) => (before, began) = (rest.read, rest.asked),
                Ok(None) => return,
                Err(error) => return tracing::debug!(%error, ?peer, "a connection ended early"),
            }
        }
        let asked = AtomicBool::new(began);
        let service = service_fn(|request: Request<Incoming>| {
            asked.store(true, Ordering::Relaxed);
            let answer = answer::to(self.clone(), peer, request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let streams = Streams::new(self.tasks.clone());
        let http = caps::builder(self.speaks, strangers, streams.clone());
        // Whoever spoke HTTP/1.1 goes on with it. What is no beginning of HTTP/2 is not cut up in search of one either: a mistake in it
        // is then seen at once.
        let http = if began || !may_begin_http2(&before) { http.http1_only() } else { http };
        let stream = Joined { stream, joins: self.speaks == Speaks::Http2, before };
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        // What has arrived is answered even if the end has come, hence the order.
        let ended = tokio::select! {
            biased;
            ended = streams.beside(connection.as_mut()) => ended,
            () = self.last_word(&asked) => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    biased;
                    ended = streams.beside(connection) => ended,
                    // Nothing was asked, so there is nothing to finish.
                    () = unasked(&asked, LAST_WORD) => return,
                }
            }
            // hyper has no limit on how long it listens for the version of HTTP, or for HTTP/2's preface.
            () = unasked(&asked, caps::IDLE) => return self.state.metrics.connection_ended("slow"),
        };
        if let Err(error) = ended {
            if let Some(why) = ended::by_us(&*error) {
                self.state.metrics.connection_ended(why);
            }
            tracing::debug!(%error, ?peer, "a connection ended early");
        }
    }
}

/// Whether HTTP/2 may begin so (RFC 9113, 3.4).
fn may_begin_http2(bytes: &[u8]) -> bool {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    bytes.starts_with(PREFACE) || PREFACE.starts_with(bytes)
}

/// Waits so long for a first request; for ever where one has come by then.
async fn unasked(asked: &AtomicBool, patience: Duration) {
    tokio::time::sleep(patience).await;
    if asked.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
}

enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Door {
    fn open(listener: Listener) -> io::Result<Self> {
        match listener {
            Listener::Tcp(listener) => TcpListener::from_std(listener).map(Self::Tcp),
            Listener::Unix(listener) => UnixListener::from_std(listener).map(Self::Unix),
        }
    }

    async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                // An answer is one small write; Nagle would hold it back. A peer that is gone already is served to no end.
                drop(stream.set_nodelay(true));
                let peer: IpAddr = from.ip().to_canonical();
                Ok((Stream::Tcp(stream), Peer::Address(peer)))
            }
            Self::Unix(listener) => {
                listener.accept().await.map(|(stream, _)| (Stream::Unix(stream), Peer::Unix))
            }
        }
    }
}

/// Whether the error is one connection's, gone before it was accepted, and no reason to pause.
fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | NotConnected)
}

#[cfg(test)]
pub(super) mod tests;
