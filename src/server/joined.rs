//! What hyper reads from and writes to: streams that may have been read already, and whose answers leave together.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that can say that it takes one buffer at a time, though a socket takes several.
///
/// h2 takes that for a reason to copy a body of up to 1 KiB into the buffer that holds its headers, and all that are ready leave in one
/// write; else each of more than 256 bytes has a write of its own. An allow has some 400 bytes, and a write costs more than a
/// decision. What is longer costs a write more than it would, so longer answers go in pieces (`envoy/call.rs`). HTTP/1.1 sends one answer
/// at a time, and gains nothing.
pub(super) struct Joined<S> {
    pub(super) stream: S,
    /// Whether it says so.
    pub(super) joins: bool,
    /// What was read from it before, and comes first.
    pub(super) before: Bytes,
}

impl<S: AsyncRead + Unpin> AsyncRead for Joined<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let now = self.before.len().min(buf.remaining());
        buf.put_slice(&self.before.split_to(now));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Joined<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        !self.joins && self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::{HeaderMap, Request, Response};
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// Counts writes, and takes several buffers at once as a socket does.
    struct Counted(DuplexStream, Arc<AtomicUsize>);

    impl AsyncRead for Counted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Counted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut self.0).poll_write(cx, bytes)
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buffers: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut self.0).poll_write_vectored(cx, buffers)
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }
    }

    /// How many writes so many answers take, each of an allow's length, when all are ready.
    async fn writes(answers: usize, joins: bool) -> usize {
        let (ours, theirs) = duplex(1 << 20);
        let writes = Arc::new(AtomicUsize::new(0));
        let stream = Joined { stream: Counted(ours, writes.clone()), joins, before: Bytes::new() };
        let (client, connection) = h2::client::handshake(theirs).await.unwrap();
        tokio::spawn(connection);
        let mut server = h2::server::handshake(stream).await.unwrap();
        let (mut asked, mut client) = (Vec::new(), client.ready().await.unwrap());
        for _ in 0..answers {
            asked.push(client.send_request(Request::get("http://gate/").body(()).unwrap(), true).unwrap().0);
        }
        let mut waiting = Vec::new();
        while waiting.len() < answers {
            waiting.push(server.accept().await.unwrap().unwrap().1);
        }
        let before = writes.load(Ordering::Relaxed);
        for mut answer in waiting {
            let mut body = answer.send_response(Response::new(()), false).unwrap();
            body.send_data(Bytes::from_static(&[7; 400]), false).unwrap();
            body.send_trailers(HeaderMap::new()).unwrap();
        }
        let serving = tokio::spawn(async move { server.accept().await.is_none() });
        for answer in asked {
            assert_eq!(answer.await.unwrap().status(), 200);
        }
        drop(client);
        serving.abort();
        writes.load(Ordering::Relaxed) - before
    }

    #[tokio::test]
    async fn answers_that_are_ready_leave_together() {
        assert_eq!(writes(20, true).await, 1);
        assert!(writes(20, false).await >= 20);
    }
}
