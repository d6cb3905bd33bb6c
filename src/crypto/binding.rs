//! Ties a token to the visitor it was made for.

use super::Key;

/// The facts of a visitor that a token is bound to. Parts that are switched off, or unknown, are empty.
#[derive(Clone, Copy, Debug)]
pub struct Visitor<'a> {
    /// The host: lower case, no port, no final dot.
    pub host: &'a str,
    /// The raw bytes of `User-Agent`, empty when missing.
    pub agent: &'a [u8],
    /// The 3 bytes of an IPv4 /24, the 6 of an IPv6 /48, or nothing.
    pub net: &'a [u8],
    /// The JA4 fingerprint, or nothing.
    pub ja4: &'a [u8],
}

impl Visitor<'_> {
    /// The eight binding bytes under this key. Every part carries its length, so that no two visitors spell the same bytes.
    pub fn binding(&self, key: &Key) -> [u8; 8] {
        let parts = [self.host.as_bytes(), self.agent, self.net, self.ja4];
        let lengths = parts.map(|p| u16::try_from(p.len()).unwrap_or(u16::MAX).to_be_bytes());
        let [host, agent, net, ja4] = parts;
        let sum =
            key.binding.sum(&[&lengths[0], host, &lengths[1], agent, &lengths[2], net, &lengths[3], ja4]);
        let mut binding = [0; 8];
        binding.copy_from_slice(&sum[..8]);
        binding
    }
}
