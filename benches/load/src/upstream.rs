//! The app behind proxies: answers everything with a line, and `/large` with a mebibyte. It lives in the generator, on the
//! generator's core, so that the measured core holds nothing but the proxy and the gate.

use std::io;
use std::net::SocketAddr;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::visitor::MIB;

/// Starts it and says where it listens.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A proxy that goes away is no reason for anything.
            tokio::spawn(async move { drop(serve(stream).await) });
        }
    });
    Ok(at)
}

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let small = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nhello\n";
    let mut large = format!("HTTP/1.1 200 OK\r\ncontent-length: {MIB}\r\n\r\n").into_bytes();
    large.resize(large.len() + MIB, b'x');
    let mut input = BytesMut::with_capacity(64 * 1024);
    loop {
        let mut lines = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut lines);
        let parsed = request.parse(&input).map_err(io::Error::other)?;
        let httparse::Status::Complete(end) = parsed else {
            input.reserve(16 * 1024);
            if stream.read_buf(&mut input).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let answer: &[u8] = if request.path == Some("/large") { &large } else { small };
        let length = request.headers.iter().find(|line| line.name.eq_ignore_ascii_case("content-length"));
        let length = length.and_then(|line| std::str::from_utf8(line.value).ok()?.parse::<usize>().ok());
        // Envoy hands bodies on as they come, and knows their length only where the visitor said it.
        let chunked = request.headers.iter().any(|line| line.name.eq_ignore_ascii_case("transfer-encoding"));
        input.advance(end);
        if chunked {
            return Err(io::Error::other("a body without a length, which nobody here sends"));
        }
        let mut left = length.unwrap_or(0);
        loop {
            let part = left.min(input.len());
            input.advance(part);
            left -= part;
            if left == 0 {
                break;
            }
            input.reserve(64 * 1024);
            if stream.read_buf(&mut input).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        stream.write_all(answer).await?;
    }
}
