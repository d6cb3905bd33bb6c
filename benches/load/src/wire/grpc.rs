//! gRPC as Envoy speaks it to `ext_authz`: one HTTP/2 connection for each of its threads, every question a stream.
//!
//! On `h2` itself and not on a generated client, so that questions are sent as bytes that were encoded beforehand.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;

use bytes::{Buf, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use prost::Message;
use tokio::sync::Mutex;

use super::message::CheckResponse;
use super::{Address, Reply};
use crate::frozen::Frozen;

/// What an HTTP/2 peer may send before it is told that there is room: more than all pages under way together.
const WINDOW: u32 = 16 << 20;
/// A frame of gRPC begins with a flag and four bytes of length.
const PREFIX: usize = 5;

/// One connection, opened by whoever needs it first.
pub(super) struct Channel {
    address: Address,
    sender: RefCell<Option<SendRequest<Bytes>>>,
    opening: Mutex<()>,
    uri: Uri,
    headers: HeaderMap,
}

impl Channel {
    pub(super) fn new(address: Address) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (header::TE, "trailers"),
            (header::CONTENT_TYPE, "application/grpc"),
            (header::HeaderName::from_static("grpc-timeout"), "250m"),
            (header::HeaderName::from_static("x-envoy-internal"), "true"),
            (header::HeaderName::from_static("x-forwarded-for"), "127.0.0.1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Self {
            address,
            sender: RefCell::new(None),
            opening: Mutex::new(()),
            uri: Uri::from_static("http://tollgate/envoy.service.auth.v3.Authorization/Check"),
            headers,
        }
    }

    async fn sender(&self) -> io::Result<SendRequest<Bytes>> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(sender) = &*self.sender.borrow() {
            return Ok(sender.clone());
        }
        let socket = self.address.connect(None).await?;
        let (sender, connection) = h2::client::Builder::new()
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .enable_push(false)
            .handshake(socket)
            .await
            .map_err(io::Error::other)?;
        // Whoever uses the connection next hears of its end.
        tokio::spawn(async move { drop(connection.await) });
        *self.sender.borrow_mut() = Some(sender.clone());
        Ok(sender)
    }
}

/// One stream at a time of a connection that others use as well.
pub(crate) struct Grpc {
    channel: Rc<Channel>,
    sender: Option<SendRequest<Bytes>>,
    output: Vec<u8>,
}

impl Grpc {
    pub(super) fn new(channel: Rc<Channel>) -> Self {
        Self { channel, sender: None, output: Vec::new() }
    }

    pub(super) async fn ask(
        &mut self,
        question: &Frozen,
        client: u64,
        serial: u64,
        keep: bool,
    ) -> io::Result<Reply> {
        if self.sender.is_none() {
            self.sender = Some(self.channel.sender().await?);
        }
        let answered = self.exchange(question, client, serial, keep).await;
        if answered.is_err() {
            self.sender = None;
            self.channel.sender.borrow_mut().take();
        }
        answered
    }

    async fn exchange(
        &mut self,
        question: &Frozen,
        client: u64,
        serial: u64,
        keep: bool,
    ) -> io::Result<Reply> {
        let sender = self.sender.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        poll_fn(|context| sender.poll_ready(context)).await.map_err(io::Error::other)?;
        question.write(client, serial, &mut self.output);
        let mut head = Request::new(());
        *head.method_mut() = Method::POST;
        *head.uri_mut() = self.channel.uri.clone();
        *head.headers_mut() = self.channel.headers.clone();
        let (answer, mut body) = sender.send_request(head, false).map_err(io::Error::other)?;
        body.send_data(Bytes::copy_from_slice(&self.output), true).map_err(io::Error::other)?;

        let answer = answer.await.map_err(io::Error::other)?;
        let in_head = answer.headers().get("grpc-status").cloned();
        let mut stream = answer.into_body();
        let mut frame = BytesMut::new();
        while let Some(part) = stream.data().await {
            let part = part.map_err(io::Error::other)?;
            stream.flow_control().release_capacity(part.len()).map_err(io::Error::other)?;
            frame.extend_from_slice(&part);
        }
        let trailers = stream.trailers().await.map_err(io::Error::other)?;
        let status = in_head.or_else(|| trailers.as_ref()?.get("grpc-status").cloned());
        if status.as_ref().is_none_or(|status| status != "0") {
            return Err(io::Error::other(format!("the call failed with grpc-status {status:?}")));
        }
        if frame.len() < PREFIX {
            return Err(io::Error::other("an answer without a message"));
        }
        frame.advance(PREFIX);
        let message = CheckResponse::decode(frame).map_err(io::Error::other)?;
        message.into_reply(keep).ok_or_else(|| io::Error::other("a message that is no answer"))
    }
}
