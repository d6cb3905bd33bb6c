//! Challenge tokens: only those that we made count, and of those only what the limits allow.

use tollgate::challenge::{Check, MAX_PUZZLES, SIZES, Token, way_back};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Kind, encode};

use super::fixture::{MADE, NOW, RING, head, limits, visitor};

pub(crate) fn run(bytes: &[u8]) {
    what_is_read_has_one_spelling(bytes);
    only_what_was_made_is_served(bytes);
    what_is_signed_is_judged_all_the_same(bytes);
}

fn what_is_read_has_one_spelling(text: &[u8]) {
    let Ok(token) = Token::parse(text) else { return };
    assert_eq!(token.text().as_bytes(), text);
    match token.kind() {
        Kind::Work => {
            assert!((1..=MAX_PUZZLES).contains(&token.k()) && SIZES.contains(&token.size()));
            assert!(token.target() > 0 && token.seconds() == 0);
        }
        Kind::Wait => assert!(token.k() == 0 && token.size() == 0 && token.target() == 0),
    }
    assert_eq!(token.claims().level, token.level());
}

/// Whether this token of a wait buys a clearance.
pub(crate) fn is_served(text: &[u8]) -> bool {
    let (limits, visitor) = (limits(), visitor());
    let check = Check { ring: &RING, limits: &limits, visitor: &visitor, now: Timestamp::from_seconds(NOW) };
    check.wait(text).is_ok()
}

fn only_what_was_made_is_served(text: &[u8]) {
    assert!(!is_served(text) || text == MADE.wait.as_bytes());
    // Token, way back and tag stand one after the other, parted by blanks.
    let mut parts = text.splitn(3, |b| *b == b' ');
    let (Some(Ok(token)), Some(path), Some(tag)) =
        (parts.next().map(Token::parse), parts.next(), parts.next())
    else {
        return;
    };
    if way_back::verify(&RING, &token, path, tag).is_ok() {
        assert_eq!((token.text().as_str(), path), (MADE.wait.as_str(), &b"/page?x=1"[..]));
    }
}

/// A MAC of ours is worth nothing beyond the limits: an older policy, or a mistake of ours, may have signed anything.
fn what_is_signed_is_judged_all_the_same(bytes: &[u8]) {
    let mut head = head::<40>(bytes);
    let key = RING.named(head[0]).expect("both keys are there");
    if bytes.get(40).is_some_and(|b| b & 1 == 1) {
        head[32..].copy_from_slice(&visitor().binding(key));
    }
    let text = encode(&[&head[..], &key.challenge.tag(&[&head])].concat());
    let (limits, visitor) = (limits(), visitor());
    let check = Check { ring: &RING, limits: &limits, visitor: &visitor, now: Timestamp::from_seconds(NOW) };
    let Ok(claims) = check.wait(text.as_bytes()) else { return };
    let token = Token::parse(&text).expect("what is served can be read");
    let (issued, ttl) = (u64::from(token.issued()), u64::from(token.ttl()));
    assert_eq!(head[1], 2, "a wait");
    assert!((1..=60).contains(&token.seconds()) && token.size() == 0);
    assert!((1..=600).contains(&ttl) && issued + u64::from(token.seconds()) <= NOW && NOW <= issued + ttl);
    assert!((12..=16).contains(&claims.level));
    assert_eq!(token.binding(), visitor.binding(key));
}
