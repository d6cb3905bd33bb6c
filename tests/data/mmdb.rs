//! Writes small databases in MaxMind's DB format, for tests: a tree of IPv6 prefixes with 24-bit records, IPv4 at `::/96`.

use std::net::IpAddr;

/// A value of a record.
pub(crate) enum Value {
    /// A list without items.
    Empty,
    /// A number of 64 bits.
    Long(u64),
    /// A number of 32 bits.
    Number(u32),
    /// A number of 16 bits.
    Short(u16),
    /// A text of less than 29 bytes.
    Text(&'static str),
    /// A map of less than 29 keys.
    Map(Vec<(&'static str, Self)>),
}

impl Value {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.extend([0x00, 0x04]),
            Self::Number(number) => {
                out.push(0xc4);
                out.extend(number.to_be_bytes());
            }
            Self::Long(number) => {
                out.extend([0x08, 0x02]);
                out.extend(number.to_be_bytes());
            }
            Self::Short(number) => {
                out.push(0xa2);
                out.extend(number.to_be_bytes());
            }
            Self::Text(text) => put(text, out),
            Self::Map(entries) => {
                out.push(0xe0 | short(entries.len()));
                for (key, value) in entries {
                    put(key, out);
                    value.write(out);
                }
            }
        }
    }
}

fn short(length: usize) -> u8 {
    u8::try_from(length).ok().filter(|l| *l < 29).expect("lengths of tests are short")
}

fn put(text: &str, out: &mut Vec<u8>) {
    out.push(0x40 | short(text.len()));
    out.extend(text.as_bytes());
}

/// A record with the number of a network.
pub(crate) fn asn(number: u32) -> Value {
    Value::Map(vec![("autonomous_system_number", Value::Number(number))])
}

/// A record with a country.
#[allow(dead_code, reason = "not every test has countries")]
pub(crate) fn country(code: &'static str) -> Value {
    Value::Map(vec![("country", Value::Map(vec![("iso_code", Value::Text(code))]))])
}

/// A side of a node.
#[derive(Clone, Copy)]
enum Side {
    Nothing,
    Node(usize),
    /// An offset into the records.
    Record(usize),
}

/// The bytes of a database of this kind. Networks must not overlap.
pub(crate) fn database(kind: &'static str, networks: &[(&str, Value)]) -> Vec<u8> {
    let mut nodes = vec![[Side::Nothing; 2]];
    let mut records = Vec::new();
    for (network, value) in networks {
        let (address, length) = network.split_once('/').expect("a network");
        let length: usize = length.parse().expect("a length");
        let (bits, length) = match address.parse().expect("an address") {
            IpAddr::V4(v4) => (u128::from(v4.to_bits()), length + 96),
            IpAddr::V6(v6) => (v6.to_bits(), length),
        };
        let side = |depth: usize| usize::from(bits >> (127 - depth) & 1 == 1);
        let mut at = 0;
        for depth in 0..length - 1 {
            at = match nodes[at][side(depth)] {
                Side::Node(next) => next,
                _ => {
                    nodes.push([Side::Nothing; 2]);
                    let next = nodes.len() - 1;
                    nodes[at][side(depth)] = Side::Node(next);
                    next
                }
            };
        }
        nodes[at][side(length - 1)] = Side::Record(records.len());
        value.write(&mut records);
    }
    let count = nodes.len();
    let mut out = Vec::new();
    for side in nodes.iter().flatten() {
        let number = match side {
            Side::Nothing => count,
            Side::Node(at) => *at,
            Side::Record(offset) => count + 16 + offset,
        };
        out.extend(&u32::try_from(number).expect("small").to_be_bytes()[1..]);
    }
    out.extend([0; 16]);
    out.extend(records);
    out.extend(b"\xab\xcd\xefMaxMind.com");
    Value::Map(vec![
        ("binary_format_major_version", Value::Short(2)),
        ("binary_format_minor_version", Value::Short(0)),
        ("build_epoch", Value::Long(1)),
        ("database_type", Value::Text(kind)),
        ("description", Value::Map(vec![("en", Value::Text("a test"))])),
        ("ip_version", Value::Short(6)),
        ("languages", Value::Empty),
        ("node_count", Value::Number(u32::try_from(count).expect("small"))),
        ("record_size", Value::Short(24)),
    ])
    .write(&mut out);
    out
}
