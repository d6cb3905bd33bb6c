//! A question as bytes, made once. What differs from visitor to visitor has a fixed width and is written over its marks.

use bytes::Bytes;

/// Stands for the visitor's address, which has as many characters whoever it is.
pub(crate) const CLIENT: &str = "255.254.253.252";
/// Stands for eight digits that no other visit has.
pub(crate) const SERIAL: &str = "87654321";

/// In place of a status: whatever a visitor may be told, short of that the server could not tell.
pub(crate) const ANY: u16 = 0;

/// How many addresses there are. Neighbours lie in different /24, of which there are 24,336.
pub(crate) const CLIENTS: u64 = OCTETS * OCTETS * OCTETS;
/// The octets of three digits.
const OCTETS: u64 = 156;

/// A question, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    bytes: Bytes,
    clients: Vec<usize>,
    serials: Vec<usize>,
    /// What is sent behind it.
    pub(crate) body: Bytes,
    /// The status that is right, or [`ANY`]; anything else is a fault.
    pub(crate) expect: u16,
}

impl Frozen {
    pub(crate) fn new(bytes: Vec<u8>, body: Bytes, expect: u16) -> Self {
        let places = |mark: &str| {
            let windows = bytes.windows(mark.len()).enumerate();
            windows.filter(|(_, part)| *part == mark.as_bytes()).map(|(at, _)| at).collect()
        };
        let (clients, serials) = (places(CLIENT), places(SERIAL));
        Self { bytes: bytes.into(), clients, serials, body, expect }
    }

    /// The question of one visitor, in place of whatever `output` held.
    pub(crate) fn write(&self, client: u64, serial: u64, output: &mut Vec<u8>) {
        output.clear();
        output.extend_from_slice(&self.bytes);
        for at in &self.clients {
            let third = [client / OCTETS % OCTETS, client % OCTETS, client / (OCTETS * OCTETS) % OCTETS];
            output[*at..*at + 4].copy_from_slice(b"198.");
            for (n, octet) in third.into_iter().enumerate() {
                let start = at + 4 + n * 4;
                digits(&mut output[start..start + 3], octet + 100);
                if n < 2 {
                    output[start + 3] = b'.';
                }
            }
        }
        for at in &self.serials {
            digits(&mut output[*at..*at + SERIAL.len()], serial);
        }
    }
}

/// Writes the last digits of a number, as many as there is room for.
fn digits(room: &mut [u8], mut number: u64) {
    for place in room.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn written(client: u64, serial: u64) -> String {
        let text = format!("a{CLIENT}b{SERIAL}c{CLIENT}");
        let mut output = b"what stood there".to_vec();
        Frozen::new(text.into_bytes(), Bytes::new(), 200).write(client, serial, &mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn marks_are_written_over_everywhere() {
        assert_eq!(written(0, 7), "a198.100.100.100b00000007c198.100.100.100");
        assert_eq!(written(157, 123_456_789), "a198.101.101.100b23456789c198.101.101.100");
        assert_eq!(written(CLIENTS - 1, 0), "a198.255.255.255b00000000c198.255.255.255");
    }

    #[test]
    fn neighbours_do_not_share_a_network() {
        let network = |n| written(n, 0).rsplit_once('.').unwrap().0.to_owned();
        assert_eq!((0..OCTETS * OCTETS).map(network).collect::<HashSet<_>>().len(), 24_336);
    }
}
