//! A stream on which every reply is one short line, and none comes unasked; anything else ends it before a parser sees it.
//!
//! What we ask is answered by a number, by `OK` or by an error. So a server that has gone mad, or is none, cannot make us
//! hold a bulk of 512 MiB or an array without an end: what is held is bounded by what was asked.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A way to a server.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// The longest line, in bytes: errors of scripts have a hundred or two.
const MAX_LINE: usize = 512;

/// What may still come, shared between the stream and whoever asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    due: AtomicUsize,
    broken: OnceLock<&'static str>,
}

impl Terms {
    /// Lets as many replies come, and no more.
    pub(super) fn expect(&self, replies: usize) {
        self.0.due.store(replies, Ordering::Relaxed);
    }

    /// What the other side did against them.
    pub(super) fn broken(&self) -> Option<&'static str> {
        self.0.broken.get().copied()
    }

    fn due(&self) -> usize {
        self.0.due.load(Ordering::Relaxed)
    }
}

/// The stream.
pub(super) struct OneLine {
    inner: Box<dyn Stream>,
    terms: Terms,
    /// How much of a line has come.
    line: usize,
}

impl OneLine {
    pub(super) fn new(inner: Box<dyn Stream>, terms: Terms) -> Self {
        Self { inner, terms, line: 0 }
    }

    /// Looks at what came.
    fn admit(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for byte in bytes {
            match (self.line, byte) {
                (0, b'+' | b'-' | b':') if self.terms.due() == 0 => return Err("it speaks unasked"),
                (0, b'+' | b'-' | b':') => {}
                (0, _) => return Err("it answers with what we do not ask for"),
                (MAX_LINE.., _) => return Err("its reply has no end"),
                _ => {}
            }
            self.line += 1;
            if *byte == b'\n' {
                self.line = 0;
                // One task asks and reads.
                self.terms.expect(self.terms.due().saturating_sub(1));
            }
        }
        Ok(())
    }
}

impl AsyncRead for OneLine {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        Poll::Ready(self.admit(&buffer.filled()[before..]).map_err(|what| {
            let what = *self.terms.0.broken.get_or_init(|| what);
            io::Error::new(io::ErrorKind::InvalidData, what)
        }))
    }
}

impl AsyncWrite for OneLine {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of bytes that come in these pieces when so many replies are due.
    fn check(due: usize, pieces: &[&[u8]]) -> Result<(), &'static str> {
        let terms = Terms::default();
        terms.expect(due);
        let mut stream = OneLine::new(Box::new(tokio::io::empty()), terms);
        pieces.iter().try_for_each(|piece| stream.admit(piece))
    }

    #[test]
    fn lines_that_were_asked_for_pass_in_whatever_pieces_they_come() {
        assert_eq!(check(3, &[b"+OK\r\n:12\r\n-ERR no\r\n"]), Ok(()));
        assert_eq!(check(2, &[b":", b"1\r", b"\n:", b"2\r\n"]), Ok(()));
    }

    #[test]
    fn everything_else_ends_it() {
        assert_eq!(check(1, &[b":1\r\n:2\r\n"]), Err("it speaks unasked"));
        assert_eq!(check(0, &[b":1\r\n"]), Err("it speaks unasked"));
        for garbage in [
            &b"$536870912\r\n"[..],
            b"*1000000000\r\n",
            b"%3\r\n",
            b">2\r\n",
            b"|1\r\n",
            b"HTTP/1.1 400 Bad Request\r\n",
            b"\r\n",
            b"\0",
        ] {
            assert_eq!(check(9, &[garbage]), Err("it answers with what we do not ask for"), "{garbage:?}");
        }
        assert_eq!(check(1, &[b"-", &[b'x'; 1000]]), Err("its reply has no end"));
        assert_eq!(check(1, &[b"-", &[b'x'; 400], b"\r\n"]), Ok(()));
    }
}
