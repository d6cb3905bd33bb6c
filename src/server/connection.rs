//! One connection loop for every listener: HTTP/1.1 and h2c, with a named cap on everything a peer could make grow.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use super::bind::Listener;
use crate::request::{MAX_HEADERS, Peer};

/// Which versions of HTTP a listener speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Speaks {
    /// HTTP/1.1, and HTTP/2 without TLS by prior knowledge.
    Both,
    /// HTTP/2 only, as gRPC does.
    Http2,
}

/// How long a connection may stay without a request, or take over the head of one. Longer than the 60 s for which nginx keeps
/// an idle connection, so that the proxy is the one that closes: a request sent into a connection that we just closed fails.
const IDLE: Duration = Duration::from_secs(75);
/// How long connections are still accepted, and may still speak up, once the end has come: closing a listener resets those that
/// wait in its queue, and their requests are on the way.
const LAST_WORD: Duration = Duration::from_millis(100);
/// More lines than [`MAX_HEADERS`], so that the face, not the parser, answers a request that has too many.
const MAX_LINES: usize = MAX_HEADERS + 32;
/// The head of a request. Envoy stops at 60 KiB, nginx at 32 KiB by default.
const MAX_HEAD: usize = 64 * 1024;
/// Questions at once on one HTTP/2 connection. An Envoy worker opens one connection and sends every question over it.
const MAX_STREAMS: u32 = 1024;
/// How often a silent HTTP/2 peer is asked whether it is still there, and how long it may take to say so.
const PING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));
/// Connections of one worker on one listener. Proxies open one for each of their threads, or one for each request at once.
const MAX_CONNECTIONS: usize = 16_384;
/// How long accepting pauses when the system refuses, as it does when file descriptors run out.
const BACK_OFF: Duration = Duration::from_millis(100);

/// What a listener's connections are answered with, and who sees to them.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) speaks: Speaks,
    pub(super) router: Router,
    /// Ends accepting, and every connection after what it has begun.
    pub(super) stop: CancellationToken,
    /// Owns every connection.
    pub(super) tasks: TaskTracker,
    /// How many there are.
    pub(super) open: Gauge,
}

impl Serving {
    /// Accepts connections until `stop`; those that are open then finish what they have begun.
    pub(super) async fn accept(self, listener: Listener) {
        let door = match Door::open(listener) {
            Ok(door) => door,
            Err(error) => {
                return tracing::error!(%error, "cannot wait for connections: nobody is served here");
            }
        };
        let http = builder(self.speaks, self.tasks.clone());
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut ending = pin!(self.ending());
        loop {
            let next = async {
                let place = room.clone().acquire_owned().await;
                (place, door.accept().await)
            };
            let (place, accepted) = tokio::select! {
                next = next => next,
                () = &mut ending => return,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let (http, serving) = (http.clone(), self.clone());
                    self.tasks.spawn(async move {
                        serving.open.inc();
                        match stream {
                            stream if !serving.speaks_up(&stream).await => {}
                            Stream::Tcp(stream) => serving.converse(http, stream, peer).await,
                            Stream::Unix(stream) => serving.converse(http, stream, peer).await,
                        }
                        serving.open.dec();
                        drop(place);
                    });
                }
                Err(error) if is_the_peers(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }

    /// Waits until the end has come and [`LAST_WORD`] has passed.
    async fn ending(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(LAST_WORD).await;
    }

    /// Waits for a connection's first byte. hyper has no limit on how long it listens for the version of HTTP.
    async fn speaks_up(&self, stream: &Stream) -> bool {
        tokio::select! {
            ready = tokio::time::timeout(IDLE, stream.readable()) => matches!(ready, Ok(Ok(()))),
            () = self.ending() => false,
        }
    }

    /// Answers one connection's requests until either side ends it.
    async fn converse(
        &self,
        http: Builder<Tracked>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
    ) {
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let mut router = self.router.clone();
            async move { Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|never| match never {})) }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        // What has arrived is answered even if the end has come, hence the order.
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, ?peer, "a connection ended early");
        }
    }
}

fn builder(speaks: Speaks, tasks: TaskTracker) -> Builder<Tracked> {
    let mut http = Builder::new(Tracked(tasks));
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_headers(MAX_LINES)
        .max_buf_size(MAX_HEAD);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    match speaks {
        Speaks::Both => http,
        Speaks::Http2 => http.http2_only(),
    }
}

/// Starts HTTP/2's own tasks where the worker that drains can see them.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> Executor<F> for Tracked
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
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

impl Stream {
    async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
        }
    }
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
                // An answer is one small write; Nagle would hold it back.
                stream.set_nodelay(true)?;
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
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | InvalidInput | NotConnected
    )
}
