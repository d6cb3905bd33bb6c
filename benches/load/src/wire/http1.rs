//! HTTP/1.1 as a proxy speaks it to its sidecar: kept connections, one request at a time.
//!
//! Written by hand on `httparse`, because the generator has one core as the server has: a client that costs more than
//! the server would measure itself.

use std::io;
use std::net::Ipv4Addr;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Address, Reply, Socket};
use crate::frozen::Frozen;

/// More header lines than any answer here has.
const MAX_LINES: usize = 64;
/// What a body may weigh that somebody wants to read.
const MAX_KEPT: u64 = 4 << 20;

/// One connection.
pub(crate) struct Http1 {
    address: Address,
    from: Option<Ipv4Addr>,
    stream: Option<Box<dyn Socket>>,
    input: BytesMut,
    output: Vec<u8>,
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Length {
    Bytes(u64),
    Chunked,
    UntilClosed,
}

struct Head {
    status: u16,
    cookies: Vec<String>,
    length: Length,
    closes: bool,
}

impl Http1 {
    pub(super) fn new(address: Address, from: Option<Ipv4Addr>) -> Self {
        Self { address, from, stream: None, input: BytesMut::new(), output: Vec::new() }
    }

    pub(super) async fn ask(
        &mut self,
        question: &Frozen,
        client: u64,
        serial: u64,
        keep: bool,
    ) -> io::Result<Reply> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                self.input.clear();
                self.address.connect(self.from).await?
            }
        };
        question.write(client, serial, &mut self.output);
        stream.write_all(&self.output).await?;
        if !question.body.is_empty() {
            stream.write_all(&question.body).await?;
        }
        let head = loop {
            if let Some(head) = parse(&mut self.input)? {
                break head;
            }
            fill(&mut stream, &mut self.input).await?;
        };
        let mut reply = Reply { status: head.status, cookies: head.cookies, ..Reply::default() };
        let mut body = BytesMut::new();
        let sink = keep.then_some(&mut body);
        reply.length = match head.length {
            Length::Bytes(length) => take(&mut stream, &mut self.input, length, sink).await?,
            Length::Chunked => take_chunks(&mut stream, &mut self.input, sink).await?,
            Length::UntilClosed => take_all(&mut stream, &mut self.input, sink).await?,
        };
        reply.body = Bytes::from(body);
        if !head.closes && head.length != Length::UntilClosed {
            self.stream = Some(stream);
        }
        Ok(reply)
    }
}

/// Reads more; the end is an error, because something was still to come.
async fn fill(stream: &mut Box<dyn Socket>, input: &mut BytesMut) -> io::Result<()> {
    input.reserve(16 * 1024);
    match stream.read_buf(input).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// The head of an answer, cut from the input, once all of it is there.
fn parse(input: &mut BytesMut) -> io::Result<Option<Head>> {
    let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut lines = [httparse::EMPTY_HEADER; MAX_LINES];
    let mut answer = httparse::Response::new(&mut lines);
    let end = match answer.parse(input).map_err(|error| bad(&error.to_string()))? {
        httparse::Status::Complete(end) => end,
        httparse::Status::Partial => return Ok(None),
    };
    let status = answer.code.ok_or_else(|| bad("no status"))?;
    let mut head = Head { status, cookies: Vec::new(), length: Length::UntilClosed, closes: false };
    for line in answer.headers.iter() {
        let value = line.value.trim_ascii();
        if line.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            head.length = Length::Bytes(text.ok_or_else(|| bad("a content-length that is no number"))?);
        } else if line.name.eq_ignore_ascii_case("transfer-encoding") {
            head.length = Length::Chunked;
        } else if line.name.eq_ignore_ascii_case("connection") {
            head.closes = value.eq_ignore_ascii_case(b"close");
        } else if line.name.eq_ignore_ascii_case("set-cookie") {
            let pair = value.split(|b| *b == b';').next().unwrap_or_default();
            head.cookies.push(String::from_utf8_lossy(pair).into_owned());
        }
    }
    if matches!(status, 100..200 | 204 | 304) {
        head.length = Length::Bytes(0);
    }
    input.advance(end);
    Ok(Some(head))
}

/// Takes so many bytes off the input.
async fn take(
    stream: &mut Box<dyn Socket>,
    input: &mut BytesMut,
    length: u64,
    mut sink: Option<&mut BytesMut>,
) -> io::Result<u64> {
    if sink.is_some() && length > MAX_KEPT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a page that nobody would read"));
    }
    let mut left = length;
    loop {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        if let Some(sink) = &mut sink {
            sink.extend_from_slice(&input[..part]);
        }
        input.advance(part);
        left -= part as u64;
        if left == 0 {
            return Ok(length);
        }
        fill(stream, input).await?;
    }
}

async fn take_chunks(
    stream: &mut Box<dyn Socket>,
    input: &mut BytesMut,
    mut sink: Option<&mut BytesMut>,
) -> io::Result<u64> {
    let mut total = 0;
    loop {
        let (start, size) = loop {
            match httparse::parse_chunk_size(input) {
                Ok(httparse::Status::Complete(found)) => break found,
                Ok(httparse::Status::Partial) => fill(stream, input).await?,
                Err(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "a chunk without a size")),
            }
        };
        input.advance(start);
        take(stream, input, size, sink.as_deref_mut()).await?;
        // The line's end behind each chunk; behind the last one too, where trailers would stand.
        take(stream, input, 2, None).await?;
        total += size;
        if size == 0 {
            return Ok(total);
        }
    }
}

async fn take_all(
    stream: &mut Box<dyn Socket>,
    input: &mut BytesMut,
    mut sink: Option<&mut BytesMut>,
) -> io::Result<u64> {
    let mut total = 0;
    loop {
        total += input.len() as u64;
        if let Some(sink) = &mut sink {
            sink.extend_from_slice(input);
        }
        input.clear();
        if stream.read_buf(input).await? == 0 {
            return Ok(total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<(u16, Length, bool, Vec<String>)> {
        let mut input = BytesMut::from(text);
        parse(&mut input).unwrap().map(|h| (h.status, h.length, h.closes, h.cookies))
    }

    #[test]
    fn a_head_says_where_the_body_ends() {
        let none = Vec::new;
        assert_eq!(head("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n"), None);
        assert_eq!(
            head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            Some((200, Length::Bytes(5), false, none()))
        );
        assert_eq!(
            head("HTTP/1.1 403 x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"),
            Some((403, Length::Chunked, true, none()))
        );
        assert_eq!(
            head("HTTP/1.1 204 x\r\nset-cookie: a=b; Path=/\r\n\r\n"),
            Some((204, Length::Bytes(0), false, vec!["a=b".to_owned()]))
        );
        assert_eq!(head("HTTP/1.1 200 OK\r\n\r\n"), Some((200, Length::UntilClosed, false, none())));
    }

    #[tokio::test]
    async fn chunks_are_joined_and_what_follows_is_left() {
        let (mine, mut theirs) = tokio::io::duplex(64);
        let mut stream: Box<dyn Socket> = Box::new(mine);
        theirs.write_all(b"ello\r\n1;x=y\r\n!\r\n0\r\n\r\nHTTP").await.unwrap();
        let (mut input, mut body) = (BytesMut::from("5\r\nh"), BytesMut::new());
        assert_eq!(take_chunks(&mut stream, &mut input, Some(&mut body)).await.unwrap(), 6);
        assert_eq!((&body[..], &input[..]), (&b"hello!"[..], &b"HTTP"[..]));
    }
}
