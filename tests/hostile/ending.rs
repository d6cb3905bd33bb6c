//! The end of a gate, as its peers see it on connections that they have.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::frames::Connection;
use crate::gate::{Gate, until};
use crate::http::{connect, read};

#[test]
fn an_http2_peer_is_told_to_go_away() {
    let gate = Gate::start();
    let mut connection = Connection::open(gate.grpc);
    assert_eq!(connection.check("/ok", &[]), 0);
    gate.signal("-TERM");
    assert_eq!(connection.farewell(), Some(0), "GOAWAY without an error");
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn an_http1_peer_gets_its_answer_and_hears_that_it_is_the_last() {
    let gate = Gate::start();
    let mut stream = connect(gate.http);
    let head = "POST /.tollgate/answer HTTP/1.1\r\nhost: a.example\r\ncontent-type: application/x-www-form-urlencoded\r\n\
                content-length: 3\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).expect("it wants the rest");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    let mut idle = connect(gate.http);
    gate.signal("-TERM");
    until("no more connections", || TcpStream::connect(gate.http).is_err());
    stream.write_all(b"a=b").expect("it reads");
    let last = read(&mut stream);
    assert!(last.status >= 400 && last.text().to_ascii_lowercase().contains("connection: close"), "{last:?}");
    assert_eq!(idle.read(&mut [0]).expect("it is closed in order"), 0);
    assert_eq!(gate.end(), Some(0));
}
