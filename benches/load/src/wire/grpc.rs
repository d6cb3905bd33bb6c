//! gRPC as Envoy speaks it to `ext_authz`: one HTTP/2 connection for each of its threads, every question a stream.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use bytes::Buf;
use prost::Message;
use tokio::sync::Mutex;

use super::http2::Connection;
use super::message::CheckResponse;
use super::{Address, Reply};
use crate::frozen::Frozen;

/// A frame of gRPC begins with a flag and four bytes of length.
const PREFIX: usize = 5;

/// The head of every question, as Envoy sends it.
const HEAD: [(&str, &str); 9] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/envoy.service.auth.v3.Authorization/Check"),
    (":authority", "tollgate"),
    ("te", "trailers"),
    ("content-type", "application/grpc"),
    ("grpc-timeout", "250m"),
    ("x-envoy-internal", "true"),
    ("x-forwarded-for", "127.0.0.1"),
];

/// One connection, opened by whoever needs it first.
pub(super) struct Channel {
    address: Address,
    seats: usize,
    open: RefCell<Option<Rc<Connection>>>,
    opening: Mutex<()>,
}

impl Channel {
    pub(super) fn new(address: Address, seats: usize) -> Self {
        Self { address, seats, open: RefCell::new(None), opening: Mutex::new(()) }
    }

    fn opened(&self) -> Option<Rc<Connection>> {
        self.open.borrow().as_ref().filter(|connection| connection.is_open()).cloned()
    }

    async fn connection(&self) -> io::Result<Rc<Connection>> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(connection) = self.opened() {
            return Ok(connection);
        }
        let connection = Connection::open(self.address.connect(None).await?, &HEAD, self.seats);
        *self.open.borrow_mut() = Some(connection.clone());
        Ok(connection)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Some(connection) = self.open.borrow().as_ref() {
            connection.abandon();
        }
    }
}

/// One stream at a time of a connection that others use as well.
pub(crate) struct Grpc {
    channel: Rc<Channel>,
    seat: usize,
    output: Vec<u8>,
}

impl Grpc {
    pub(super) fn new(channel: Rc<Channel>, seat: usize) -> Self {
        Self { channel, seat, output: Vec::new() }
    }

    pub(super) async fn ask(
        &mut self,
        question: &Frozen,
        client: u64,
        serial: u64,
        keep: bool,
    ) -> io::Result<Reply> {
        let connection = match self.channel.opened() {
            Some(connection) => connection,
            None => self.channel.connection().await?,
        };
        question.write(client, serial, &mut self.output);
        let mut answer = connection.ask(self.seat, &self.output).await?;
        // A call that fails has no message, whatever its trailers say.
        if answer.len() < PREFIX {
            return Err(io::Error::other("an answer without a message"));
        }
        answer.advance(PREFIX);
        let message = CheckResponse::decode(answer).map_err(io::Error::other)?;
        message.into_reply(keep).ok_or_else(|| io::Error::other("a message that is no answer"))
    }
}
