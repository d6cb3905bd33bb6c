//! What a visitor paid for: the link between a challenge that was met and the clearance it buys.

use super::Kind;

/// What a clearance is made from. A function of the challenge token alone, so that one solve is one identity however
/// often it is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Claims {
    /// The token's key, which seals the clearance too, even if it no longer signs tokens.
    pub key_id: u8,
    /// What was done.
    pub kind: Kind,
    /// How much of it.
    pub level: u8,
    /// When the token was issued, in Unix seconds.
    pub issued: u32,
    /// The token's id: the identity that limits count by.
    pub id: [u8; 16],
    /// Whom the token was made for.
    pub binding: [u8; 8],
}
