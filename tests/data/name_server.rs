//! A name server for tests: answers out of a table over UDP, and says of everything else that it does not exist.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::thread;

use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, PTR, SOA};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

/// A row: the name with its final dot, and what it has. A text that is no address is the name of a PTR record; `dead` is
/// never answered, `broken` is answered with a failure.
pub(crate) type Row = (&'static str, &'static str);

/// Starts one on a free port; it ends with the process.
pub(crate) fn start(rows: &'static [Row]) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        let mut asked = 0u32;
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if length == 0 {
                socket.send_to(&asked.to_be_bytes(), from).expect("the loopback takes it");
                continue;
            }
            asked += 1;
            if let Some(reply) = Message::from_vec(&buffer[..length]).ok().and_then(|m| reply(&m, rows)) {
                socket.send_to(&reply, from).expect("the loopback takes it");
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

fn name(text: &str) -> Name {
    Name::from_ascii(text).expect("a name")
}

fn reply(asked: &Message, rows: &[Row]) -> Option<Vec<u8>> {
    let query = asked.queries.first()?;
    let wanted = query.name().to_ascii().to_ascii_lowercase();
    let mut answer = Message::new(asked.metadata.id, MessageType::Response, asked.metadata.op_code);
    answer.metadata.recursion_available = true;
    answer.add_query(query.clone());
    let mut there = false;
    for (_, value) in rows.iter().filter(|(row, _)| *row == wanted) {
        there = true;
        let data = match (value.parse(), *value) {
            (_, "dead") => return None,
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
    answer.to_vec().ok()
}
