//! A call with one message each way, as gRPC frames it over HTTP/2
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>). Read and written here, since what a framework does around the one
//! method costs more than the decision: the question stays where it arrived, and the answer is one buffer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame};
use tonic::Status;
use tonic::metadata::MetadataValue;

/// What stands before a message: whether it is compressed, and its length in four bytes.
const PREFIX: usize = 5;

/// A message goes in pieces of so many bytes, because those are what h2 copies behind each other: what is longer has a write
/// of its own, which costs more than the pieces do.
const PIECE: usize = 1023;

/// The one message of a call, of at most so many bytes. A body that is whole already is not copied.
pub(super) async fn message<B>(body: &mut B, most: usize) -> Result<Bytes, Status>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let mut whole = Bytes::new();
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Status::cancelled("the call was given up"))?;
        // A client has no trailers that mean anything.
        let Ok(data) = frame.into_data() else { continue };
        if read.is_empty() && body.is_end_stream() {
            whole = data;
            break;
        }
        read.extend_from_slice(&data);
        // What is not wanted is not waited for.
        if announced(&read, most)?.is_some_and(|length| read.len() > PREFIX + length) {
            break;
        }
    }
    if !read.is_empty() {
        whole = read.freeze();
    }
    match announced(&whole, most)? {
        None => Err(Status::invalid_argument("the call holds no message")),
        Some(length) if length == whole.len() - PREFIX => Ok(whole.slice(PREFIX..)),
        Some(length) => {
            let held = whole.len() - PREFIX;
            Err(Status::invalid_argument(format!(
                "a message of {length} bytes is announced, but {held} came"
            )))
        }
    }
}

/// How long a message will be, as soon as that is known.
fn announced(start: &[u8], most: usize) -> Result<Option<usize>, Status> {
    match start.first_chunk() {
        None => Ok(None),
        Some([0, a, b, c, d]) => match u32::from_be_bytes([*a, *b, *c, *d]) as usize {
            length if length > most => {
                Err(Status::out_of_range(format!("the message is longer than {most} bytes")))
            }
            length => Ok(Some(length)),
        },
        // What we could read instead has to be said with it.
        Some([1, ..]) => {
            let mut status = Status::unimplemented("the message is compressed; only identity is read");
            status.metadata_mut().insert("grpc-accept-encoding", MetadataValue::from_static("identity"));
            Err(status)
        }
        Some([flag, ..]) => Err(Status::internal(format!("{flag} is no flag of a message"))),
    }
}

/// Writes a message with what stands before it.
pub(super) fn framed(usual: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(PREFIX + usual);
    out.extend([0; PREFIX]);
    write(&mut out);
    // No answer comes near 4 GiB, and one that did would be cut off by whoever reads it.
    let length = u32::try_from(out.len() - PREFIX).unwrap_or(u32::MAX);
    out[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    out
}

/// The answer to a call: its message, and that all went well.
pub(super) fn reply(framed: Vec<u8>) -> Response {
    let mut response = Response::new(Body::new(Reply::Message(framed.into())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// What is still to be sent.
enum Reply {
    Message(Bytes),
    Status,
    Nothing,
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (frame, rest) = match std::mem::replace(&mut *self, Self::Nothing) {
            Self::Message(mut bytes) if bytes.len() > PIECE => {
                (Frame::data(bytes.split_to(PIECE)), Self::Message(bytes))
            }
            Self::Message(bytes) => (Frame::data(bytes), Self::Status),
            Self::Status => {
                let ok = (HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
                (Frame::trailers(HeaderMap::from_iter([ok])), Self::Nothing)
            }
            Self::Nothing => return Poll::Ready(None),
        };
        *self = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tonic::Code;

    use super::*;

    /// A body that arrives in pieces; `whole` says whether its end is told with the last of them.
    struct Pieces(VecDeque<Bytes>, bool);

    impl HttpBody for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }

        fn is_end_stream(&self) -> bool {
            self.1 && self.0.is_empty()
        }
    }

    async fn read(body: &[u8], size: usize, ends: bool) -> Result<Bytes, Code> {
        let pieces = body.chunks(size).map(Bytes::copy_from_slice).collect();
        message(&mut Pieces(pieces, ends), 100).await.map_err(|status| status.code())
    }

    #[tokio::test]
    async fn a_message_is_read_however_it_is_cut() {
        let body = framed(0, |out| out.extend([7; 100]));
        for size in [1, 2, 5, 6, 50, 104, 105, 200] {
            for ends in [false, true] {
                assert_eq!(read(&body, size, ends).await.unwrap(), [7; 100][..], "{size} {ends}");
            }
        }
        assert_eq!(read(&[0; 5], 5, true).await.unwrap(), b""[..]);
    }

    #[tokio::test]
    async fn what_is_no_single_message_is_refused() {
        let framed = |of: usize| framed(0, |out| out.resize(PREFIX + of, 1));
        let flagged = |flag: u8| [&[flag], &framed(3)[1..]].concat();
        for (body, want) in [
            (vec![], Code::InvalidArgument),
            (vec![0; 4], Code::InvalidArgument),
            (framed(9)[..13].to_vec(), Code::InvalidArgument),
            ([framed(1), framed(1)].concat(), Code::InvalidArgument),
            (flagged(1), Code::Unimplemented),
            (flagged(2), Code::Internal),
            (flagged(255), Code::Internal),
            (framed(101), Code::OutOfRange),
            (vec![0, 255, 255, 255, 255], Code::OutOfRange),
        ] {
            for size in [1, 7, 2000] {
                for ends in [false, true] {
                    assert_eq!(
                        read(&body, size, ends).await,
                        Err(want),
                        "{body:?} in pieces of {size}, {ends}"
                    );
                }
            }
        }
    }

    #[tokio::test]
    async fn an_answer_is_its_message_in_pieces_and_then_its_status() {
        for length in [0, 1, PIECE - PREFIX, PIECE, 5000] {
            let sent = framed(0, |out| out.resize(PREFIX + length, 7));
            let response = reply(sent.clone());
            assert_eq!(response.headers()["content-type"], "application/grpc");
            let mut body = response.into_body();
            let mut read = Vec::new();
            let status = loop {
                match body.frame().await.unwrap().unwrap().into_data() {
                    Ok(piece) => {
                        assert!((1..=PIECE).contains(&piece.len()));
                        read.extend(piece);
                    }
                    Err(frame) => break frame.into_trailers().unwrap(),
                }
            };
            assert_eq!(read, sent);
            assert_eq!(status["grpc-status"], "0");
            assert!(body.frame().await.is_none());
        }
    }
}
