//! The codec between tonic and this face: a question comes as the bytes of its message, an answer goes as one that is written already.

use bytes::{Buf as _, BufMut as _, Bytes};
use envoy_types::pb::envoy::service::auth::v3::CheckResponse;
use prost::Message as _;
use tonic::Status;
use tonic::codec::{BufferSettings, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// A `CheckResponse` on its way out.
#[derive(Debug)]
pub(super) enum Reply {
    /// Written already.
    Bytes(Vec<u8>),
    /// Still to be written, into the buffer that is sent.
    Message(Box<CheckResponse>),
}

/// Hands bytes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Codec;

impl tonic::codec::Codec for Codec {
    type Encode = Reply;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Decoder for Codec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(source.copy_to_bytes(source.remaining())))
    }

    /// A browser's request has some 1.5 KB; the default of 8 KiB would be cleared for each.
    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(2 * 1024, 32 * 1024)
    }
}

impl Encoder for Codec {
    type Item = Reply;
    type Error = Status;

    fn encode(&mut self, reply: Reply, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        match reply {
            Reply::Bytes(bytes) => {
                out.reserve(bytes.len());
                out.put_slice(&bytes);
                Ok(())
            }
            Reply::Message(message) => {
                out.reserve(message.encoded_len());
                message.encode(out).map_err(|error| Status::internal(error.to_string()))
            }
        }
    }

    /// An allow has some 400 bytes; a page reserves what it needs.
    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(512, 32 * 1024)
    }
}
