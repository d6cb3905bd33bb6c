//! A name server for tests: answers out of a table over UDP, and says of everything else that it does not exist.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;

use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, PTR, SOA};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

/// A row: the name with its final dot, and what it has. A text that is no address is the name of a PTR record, but for a
/// server's faults: `dead` is never answered, `broken` with a failure, `garbage` with bytes that are no message, `foreign`
/// with an answer to another question's number. What follows `late ` is answered once [`release`] was called.
pub(crate) type Row = (&'static str, &'static str);

/// Starts one on a free port; it ends with the process.
pub(crate) fn start(rows: &'static [Row]) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        let (mut asked, mut held, mut released) = (0u32, Vec::new(), false);
        let send = |bytes: &[u8], to: SocketAddr| {
            socket.send_to(bytes, to).expect("the loopback takes it");
        };
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            match length {
                0 => send(&asked.to_be_bytes(), from),
                1 => {
                    released = true;
                    held.drain(..).for_each(|(bytes, to): (Vec<u8>, _)| send(&bytes, to));
                    send(&[1], from);
                }
                _ => {
                    asked += 1;
                    let message = Message::from_vec(&buffer[..length]).ok();
                    match message.and_then(|message| reply(&message, rows)) {
                        Some((bytes, true)) if !released => held.push((bytes, from)),
                        Some((bytes, _)) => send(&bytes, from),
                        None => {}
                    }
                }
            }
        }
    });
    address
}

/// How many questions it was asked: an empty datagram is answered with that number.
#[allow(dead_code, reason = "not every test counts")]
pub(crate) fn asked(server: SocketAddr) -> u32 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.send_to(&[], server).expect("the loopback takes it");
    let mut number = [0; 4];
    socket.recv(&mut number).expect("the server runs");
    u32::from_be_bytes(number)
}

/// Has everything late answered, now and from now on.
#[allow(dead_code, reason = "not every test has something late")]
pub(crate) fn release(server: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.send_to(&[1], server).expect("the loopback takes it");
    socket.recv(&mut [0]).expect("the server runs");
}

fn name(text: &str) -> Name {
    Name::from_ascii(text).expect("a name")
}

/// The bytes of a reply, and whether they are late.
fn reply(asked: &Message, rows: &[Row]) -> Option<(Vec<u8>, bool)> {
    let query = asked.queries.first()?;
    let wanted = query.name().to_ascii().to_ascii_lowercase();
    let mut answer = Message::new(asked.metadata.id, MessageType::Response, asked.metadata.op_code);
    answer.metadata.recursion_available = true;
    answer.add_query(query.clone());
    let (mut there, mut late) = (false, false);
    for (_, value) in rows.iter().filter(|(row, _)| *row == wanted) {
        there = true;
        let value = value.strip_prefix("late ").inspect(|_| late = true).unwrap_or(value);
        let data = match (value.parse(), value) {
            (_, "dead") => return None,
            (_, "garbage") => return Some((vec![0xff; 64], false)),
            (_, "foreign") => {
                answer.metadata.id = answer.metadata.id.wrapping_add(1);
                continue;
            }
            (_, "broken") => {
                answer.metadata.response_code = ResponseCode::ServFail;
                continue;
            }
            (Ok(IpAddr::V4(v4)), _) => RData::A(A(v4)),
            (Ok(IpAddr::V6(v6)), _) => RData::AAAA(AAAA(v6)),
            (Err(_), text) => RData::PTR(PTR(name(text))),
        };
        if data.record_type() == query.query_type() {
            answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
        }
    }
    if !there {
        answer.metadata.response_code = ResponseCode::NXDomain;
    }
    if answer.answers.is_empty() && query.query_type() != RecordType::SOA {
        let soa = SOA::new(name("ns."), name("root."), 1, 60, 60, 60, 60);
        answer.add_authority(Record::from_rdata(Name::root(), 60, RData::SOA(soa)));
    }
    answer.to_vec().ok().map(|bytes| (bytes, late))
}
