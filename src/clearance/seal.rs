//! The 52 bytes of a clearance: from claims to text and back.
//!
//! | bytes | |
//! |---|---|
//! | 0 | version and key id of the challenge token |
//! | 1, 2, 3 | kind, level, flags (none is defined, so all must be zero) |
//! | 4..8, 8..12 | issued and expires, Unix seconds, big-endian |
//! | 12..28, 28..36 | id and binding of the challenge token |
//! | 36..52 | MAC of the bytes before it |

use std::fmt;
use std::time::Duration;

use subtle::ConstantTimeEq;

use crate::clock::Timestamp;
use crate::crypto::{Claims, Key, Kind, Refusal, Ring, SKEW, Visitor, decode, encode};

const LENGTH: usize = 52;
const SIGNED: usize = 36;

/// How long clearances live, by kind; whole seconds, counted from the moment the token was issued.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lives {
    /// Of a clearance that was worked for.
    pub work: Duration,
    /// Of one that was waited for.
    pub wait: Duration,
}

impl Default for Lives {
    fn default() -> Self {
        Self { work: Duration::from_secs(7 * 24 * 3600), wait: Duration::from_secs(30 * 60) }
    }
}

impl Lives {
    const fn seconds(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Wait => self.wait.as_secs(),
            Kind::Work => self.work.as_secs(),
        }
    }
}

/// A clearance that can be sent.
#[derive(Clone, Eq, PartialEq)]
pub struct Sealed {
    /// The value of the cookie: 70 characters.
    pub text: String,
    /// When it ends, in Unix seconds.
    pub expires: u64,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed(redacted, expires {})", self.expires)
    }
}

/// A clearance that was opened and counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Clearance {
    /// What was done for it.
    pub kind: Kind,
    /// How much of it.
    pub level: u8,
    /// When its token was issued, in Unix seconds.
    pub issued: u64,
    /// When it ends, in Unix seconds.
    pub expires: u64,
    /// The identity that limits count by.
    pub id: [u8; 16],
}

/// Seals a clearance. `None` when its key has been retired between the check of the answer and now.
pub fn seal(ring: &Ring, claims: &Claims, lives: &Lives) -> Option<Sealed> {
    let key = ring.key(claims.key_id)?;
    let expires = u64::from(claims.issued).saturating_add(lives.seconds(claims.kind));
    let expires = u32::try_from(expires).unwrap_or(u32::MAX);
    let mut bytes = [0; LENGTH];
    bytes[..3].copy_from_slice(&[key.first_byte(), claims.kind.byte(), claims.level]);
    bytes[4..8].copy_from_slice(&claims.issued.to_be_bytes());
    bytes[8..12].copy_from_slice(&expires.to_be_bytes());
    bytes[12..28].copy_from_slice(&claims.id);
    bytes[28..SIGNED].copy_from_slice(&claims.binding);
    Some(Sealed { text: text(key, bytes), expires: u64::from(expires) })
}

/// Opens a clearance for a rule that accepts some kinds and asks a level. Two HMACs at most, no allocation. Refuses with, in
/// this order, `malformed`, `version`, `key`, `forged`, `kind`, `limits`, `future`, `expired`, `binding`, `level`.
pub fn open(
    ring: &Ring,
    lives: &Lives,
    visitor: &Visitor<'_>,
    now: Timestamp,
    text: &[u8],
    accepts: impl Fn(Kind) -> bool,
    level: u8,
) -> Result<Clearance, Refusal> {
    let (bytes, key) = authenticate(ring, text)?;
    let kind = Kind::from_byte(bytes[1]).filter(|kind| accepts(*kind)).ok_or(Refusal::Kind)?;
    let (issued, expires) = (seconds(&bytes, 4), seconds(&bytes, 8));
    let lives_as_configured = issued < expires && expires - issued <= lives.seconds(kind);
    if bytes[3] != 0 || !lives_as_configured {
        return Err(Refusal::Limits);
    }
    if issued > now.seconds().saturating_add(SKEW) {
        return Err(Refusal::Future);
    }
    if now.seconds() >= expires {
        return Err(Refusal::Expired);
    }
    if !bool::from(visitor.binding(key).ct_eq(&bytes[28..SIGNED])) {
        return Err(Refusal::Binding);
    }
    if bytes[2] < level {
        return Err(Refusal::Level);
    }
    Ok(Clearance { kind, level: bytes[2], issued, expires, id: id(&bytes) })
}

/// The id that a clearance claims to have, unproved: to be told what is remembered of it, where a lie earns nothing.
pub fn claimed(text: &[u8]) -> Option<[u8; 16]> {
    let mut bytes = [0; LENGTH];
    (decode(text, &mut bytes)?.len() == LENGTH).then(|| id(&bytes))
}

/// When the token of a clearance was issued, in Unix seconds, if the clearance is genuine at all: for one that was refused
/// as somebody else's or of the wrong kind. It says nothing about whether the clearance counts; only [`open`] does.
pub fn issued(ring: &Ring, text: &[u8]) -> Result<u64, Refusal> {
    authenticate(ring, text).map(|(bytes, _)| seconds(&bytes, 4))
}

fn authenticate<'r>(ring: &'r Ring, text: &[u8]) -> Result<([u8; LENGTH], &'r Key), Refusal> {
    let mut bytes = [0; LENGTH];
    if decode(text, &mut bytes).map(<[u8]>::len) != Some(LENGTH) {
        return Err(Refusal::Malformed);
    }
    let key = ring.named(bytes[0])?;
    let (head, tag) = bytes.split_at(SIGNED);
    if key.clearance.verify(&[head], tag) { Ok((bytes, key)) } else { Err(Refusal::Forged) }
}

/// Signs the bytes and writes them as text.
fn text(key: &Key, mut bytes: [u8; LENGTH]) -> String {
    let tag = key.clearance.tag(&[&bytes[..SIGNED]]);
    bytes[SIGNED..].copy_from_slice(&tag);
    encode(&bytes)
}

fn id(bytes: &[u8; LENGTH]) -> [u8; 16] {
    std::array::from_fn(|i| bytes[12 + i])
}

fn seconds(bytes: &[u8; LENGTH], at: usize) -> u64 {
    u64::from(u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i])))
}

#[cfg(test)]
mod tests;
