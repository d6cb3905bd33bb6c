//! Checks answers and waits, cheapest question first: nothing of a puzzle is hashed for an answer that any other question refuses.
//! The types say so: an [`Answer`] comes only from [`Check::answer`], and only it can be verified.

use std::fmt;
use std::ops::RangeInclusive;

use super::token::LENGTH;
use super::{Filler, Limits, MAX_PUZZLES, Token};
use crate::clock::Timestamp;
use crate::crypto::{Claims, Kind, Refusal, Ring, SKEW, Visitor, decode};

/// The most bytes of an answer.
const MAX_ANSWER: usize = LENGTH + 4 * MAX_PUZZLES as usize;
/// The characters of an answer's text, from one nonce to [`MAX_PUZZLES`].
const TEXT: RangeInclusive<usize> = 80..=416;

/// What answers are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The keys of this request's snapshot.
    pub ring: &'a Ring,
    /// The limits of this request's snapshot.
    pub limits: &'a Limits,
    /// Who answers.
    pub visitor: &'a Visitor<'a>,
    /// When.
    pub now: Timestamp,
}

impl Check<'_> {
    /// Judges everything about an answer but its nonces: two HMACs at most, no hash of a puzzle, no allocation. Refuses with,
    /// in this order, `malformed`, `version`, `key`, `forged`, `kind`, `limits`, `future`, `expired`, `binding`, and
    /// `malformed` again when there are more or fewer nonces than puzzles.
    pub fn answer(&self, text: &[u8]) -> Result<Answer, Refusal> {
        let mut bytes = [0; MAX_ANSWER];
        let read =
            Some(text).filter(|text| TEXT.contains(&text.len())).and_then(|text| decode(text, &mut bytes));
        let (token, nonces) = read.and_then(<[u8]>::split_first_chunk::<LENGTH>).ok_or(Refusal::Malformed)?;
        let (nonces, []) = nonces.as_chunks::<4>() else { return Err(Refusal::Malformed) };
        let token = Token::from_bytes(*token);
        self.token(&token, Kind::Work)?;
        if nonces.len() != usize::from(token.k()) {
            return Err(Refusal::Malformed);
        }
        let mut answer = Answer { token, nonces: [0; MAX_PUZZLES as usize], paid: token.claims() };
        for (nonce, bytes) in answer.nonces.iter_mut().zip(nonces) {
            *nonce = u32::from_be_bytes(*bytes);
        }
        Ok(answer)
    }

    /// Judges a served wait: what a token of kind `wait` is worth once its time is over. Refuses with what [`Check::answer`]
    /// refuses a token with, then `early`. The way back was checked before (see [`super::way_back::verify`]).
    pub fn wait(&self, text: &[u8]) -> Result<Claims, Refusal> {
        let token = Token::decode(text)?;
        self.token(&token, Kind::Wait)?;
        if self.now.seconds() < u64::from(token.issued()) + u64::from(token.seconds()) {
            return Err(Refusal::Early);
        }
        Ok(token.claims())
    }

    fn token(&self, token: &Token, kind: Kind) -> Result<(), Refusal> {
        let key = token.authenticate(self.ring)?;
        if !token.is_kind(kind) {
            return Err(Refusal::Kind);
        }
        if !self.limits.allow(token, kind) {
            return Err(Refusal::Limits);
        }
        let (now, issued) = (self.now.seconds(), u64::from(token.issued()));
        if issued > now.saturating_add(SKEW) {
            return Err(Refusal::Future);
        }
        if now > issued + u64::from(token.ttl()) {
            return Err(Refusal::Expired);
        }
        if !token.is_bound_to(self.visitor, key) {
            return Err(Refusal::Binding);
        }
        Ok(())
    }
}

/// An answer of which everything is in order but, perhaps, the nonces.
pub struct Answer {
    token: Token,
    /// As many as the token has puzzles, then zeros.
    nonces: [u32; MAX_PUZZLES as usize],
    paid: Claims,
}

impl Answer {
    /// What the answer is worth **if it verifies**. Before that it only says which clearance the answer asks for, so that
    /// a visitor who already holds that one costs no hash.
    pub const fn paid(&self) -> &Claims {
        &self.paid
    }

    /// Hashes: the filler, then puzzle after puzzle up to the first that is not solved. Refuses with `wrong`.
    pub fn verify(&self) -> Result<(), Refusal> {
        let filler = Filler::new(self.token.as_bytes(), self.token.size()).ok_or(Refusal::Limits)?;
        let puzzles = (0..u32::from(self.token.k())).zip(self.nonces);
        for (puzzle, nonce) in puzzles {
            if filler.first_u32(puzzle, nonce) >= self.token.target() {
                return Err(Refusal::Wrong);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer(redacted)")
    }
}

#[cfg(test)]
mod tests;
