//! The canary: what is written into the link of a challenge page that no person sees. Whoever follows the link reads pages as
//! robots do, and the canary says to whom the page was shown, in a word that means nothing outside this process.

use crate::clock::Timestamp;
use crate::crypto::{Refusal, Ring, Tag, decode, encode};

/// How many bytes a canary has.
const LENGTH: usize = 29;
/// How many of them the MAC covers: all that stand before it.
const SIGNED: usize = 13;
/// How long a canary is known again, in seconds: robots come back for what they collected, but not for ever.
pub const LIFE: u64 = 24 * 3600;

/// Writes the canary of a page that is shown to `reader` on a host now: 39 characters. All integers are big-endian.
///
/// | bytes | |
/// |---|---|
/// | 0 | version and key id |
/// | 1..5 | issued in Unix seconds |
/// | 5..13 | the reader |
/// | 13..29 | MAC of the bytes before it, and of the host |
pub fn sign(ring: &Ring, host: &str, reader: u64, now: Timestamp) -> String {
    let key = ring.signing();
    let mut bytes = [0; LENGTH];
    bytes[0] = key.first_byte();
    bytes[1..5].copy_from_slice(&u32::try_from(now.seconds()).unwrap_or(u32::MAX).to_be_bytes());
    bytes[5..SIGNED].copy_from_slice(&reader.to_be_bytes());
    let (head, tag) = bytes.split_at_mut(SIGNED);
    tag.copy_from_slice(&key.canary.tag(&[head, host.as_bytes()]));
    encode(&bytes)
}

/// To whom the page was shown that a canary of this host comes from, and its tag, which no other has. Refuses with `malformed`, `version`, `key`, `forged` or `expired`.
pub fn open(ring: &Ring, host: &str, text: &[u8], now: Timestamp) -> Result<(u64, Tag), Refusal> {
    let mut bytes = [0; LENGTH];
    if decode(text, &mut bytes).is_none_or(|read| read.len() != LENGTH) {
        return Err(Refusal::Malformed);
    }
    let key = ring.named(bytes[0])?;
    let (head, tag) = bytes.split_at(SIGNED);
    if !key.canary.verify(&[head, host.as_bytes()], tag) {
        return Err(Refusal::Forged);
    }
    let [_, a, b, c, d, reader @ ..] = head else { return Err(Refusal::Malformed) };
    if now.seconds() > u64::from(u32::from_be_bytes([*a, *b, *c, *d])) + LIFE {
        return Err(Refusal::Expired);
    }
    match (reader.try_into(), tag.try_into()) {
        (Ok(reader), Ok(tag)) => Ok((u64::from_be_bytes(reader), tag)),
        _ => Err(Refusal::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Secret;

    #[test]
    fn a_canary_says_who_read_the_page_for_a_day_and_cannot_be_made_up() {
        let at = Timestamp::from_seconds;
        let (ring, other) = (Ring::single(Secret::new([7; 32])), Ring::single(Secret::new([8; 32])));
        let text = sign(&ring, "a.example", 0x0123_4567_89ab_cdef, at(1_800_000_000));
        assert_eq!(text.len(), 39);
        let on = |ring, host, text: &str, seconds| {
            open(ring, host, text.as_bytes(), at(seconds)).map(|(reader, _)| reader)
        };
        let open = |ring, text: &str, seconds| on(ring, "a.example", text, seconds);
        assert_eq!(on(&ring, "b.example", &text, 1_800_000_000), Err(Refusal::Forged));
        assert_eq!(open(&ring, &text, 1_800_000_000 + LIFE), Ok(0x0123_4567_89ab_cdef));
        assert_eq!(open(&ring, &text, 1_800_000_001 + LIFE), Err(Refusal::Expired));
        assert_eq!(open(&other, &text, 1_800_000_000), Err(Refusal::Forged));
        assert_eq!(open(&ring, &text[1..], 1_800_000_000), Err(Refusal::Malformed));
        let mut bytes = [0; LENGTH];
        decode(text.as_bytes(), &mut bytes).unwrap();
        for bit in 8..LENGTH * 8 {
            let mut edited = bytes;
            edited[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&ring, &encode(&edited), 1_800_000_000), Err(Refusal::Forged), "{bit}");
        }
    }
}
