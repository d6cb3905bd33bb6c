//! What may be opened, what may not, and in which order the reasons come.

use proptest::prelude::*;

use super::*;
use crate::crypto::{Claims, Entry, Secret, State};

const NOW: u32 = 1_800_000_000;
const VISITOR: Visitor<'static> = Visitor { host: "example.org", agent: b"agent", net: b"", ja4: b"" };

fn ring() -> Ring {
    let entry = |id, state| Entry { id, state, secret: Secret::new([id; 32]) };
    Ring::new(&[entry(0, State::Sign), entry(5, State::Verify), entry(9, State::Retired)]).unwrap()
}

fn claims(ring: &Ring, visitor: &Visitor<'_>) -> Claims {
    Claims {
        key_id: 0,
        kind: Kind::Work,
        level: 14,
        issued: NOW,
        id: [3; 16],
        binding: visitor.binding(ring.signing()),
    }
}

fn opened(text: impl AsRef<[u8]>, seconds: u32) -> Result<Clearance, Refusal> {
    let now = Timestamp::from_seconds(u64::from(seconds));
    open(&ring(), &Lives::default(), &VISITOR, now, text.as_ref(), |_| true, 0)
}

fn bytes(text: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    assert_eq!(decode(text.as_bytes(), &mut bytes).map(<[u8]>::len), Some(LENGTH));
    bytes
}

/// A clearance that is wrong in every way is refused for one reason after the other as the ways are put right.
#[test]
fn every_reason_comes_in_its_turn() {
    let ring = ring();
    let key = ring.signing();
    let sealed = seal(&ring, &claims(&ring, &VISITOR), &Lives::default()).unwrap();
    let mut wrong = bytes(&sealed.text);
    wrong[0] = 0x29;
    wrong[1] = 3;
    wrong[2] = 13;
    wrong[3] = 0x80;
    wrong[4..8].copy_from_slice(&(NOW + 11).to_be_bytes());
    wrong[8..12].copy_from_slice(&NOW.to_be_bytes());
    wrong[28] ^= 1;
    let mut check = |change: &dyn Fn(&mut [u8; LENGTH]), now: u32, want: Refusal| {
        change(&mut wrong);
        let sent = if matches!(want, Refusal::Version | Refusal::Key | Refusal::Forged) {
            encode(&wrong)
        } else {
            text(key, wrong)
        };
        let now = Timestamp::from_seconds(u64::from(now));
        let got = open(&ring, &Lives::default(), &VISITOR, now, sent.as_bytes(), |k| k == Kind::Work, 14);
        assert_eq!(got, Err(want));
    };
    check(&|_| {}, NOW, Refusal::Version);
    check(&|b| b[0] = 0x19, NOW, Refusal::Key);
    check(&|b| b[0] = 0x10, NOW, Refusal::Forged);
    check(&|_| {}, NOW, Refusal::Kind);
    check(&|b| b[1] = 2, NOW, Refusal::Kind);
    check(&|b| b[1] = 1, NOW, Refusal::Limits);
    check(&|b| b[3] = 0, NOW, Refusal::Limits);
    check(&|b| b[8..12].copy_from_slice(&(NOW + 12).to_be_bytes()), NOW, Refusal::Future);
    check(&|_| {}, NOW + 12, Refusal::Expired);
    check(&|_| {}, NOW + 11, Refusal::Binding);
    check(&|b| b[28] ^= 1, NOW + 11, Refusal::Level);
    wrong[2] = 14;
    let now = Timestamp::from_seconds(u64::from(NOW) + 11);
    let got =
        open(&ring, &Lives::default(), &VISITOR, now, text(key, wrong).as_bytes(), |k| k == Kind::Work, 14);
    assert_eq!(got.map(|c| c.level), Ok(14));
}

#[test]
fn a_clearance_is_sealed_with_the_keys_that_are_left() {
    let ring = ring();
    for (key_id, sealed) in [(0, true), (5, true), (9, false), (1, false), (255, false)] {
        let claims = Claims { key_id, ..claims(&ring, &VISITOR) };
        assert_eq!(seal(&ring, &claims, &Lives::default()).is_some(), sealed, "{key_id}");
    }
}

#[test]
fn the_time_of_issue_of_a_refused_clearance_is_known_only_if_it_is_genuine() {
    let ring = ring();
    let other = Visitor { host: "example.com", ..VISITOR };
    let sealed = seal(&ring, &claims(&ring, &other), &Lives::default()).unwrap().text;
    assert_eq!(opened(&sealed, NOW), Err(Refusal::Binding));
    assert_eq!(issued(&ring, sealed.as_bytes()), Ok(u64::from(NOW)));
    assert_eq!(issued(&Ring::single(Secret::new([1; 32])), sealed.as_bytes()), Err(Refusal::Forged));
    assert_eq!(issued(&ring, b"x"), Err(Refusal::Malformed));
}

#[test]
fn the_claimed_id_is_read_from_whatever_has_the_shape() {
    let sealed = seal(&ring(), &claims(&ring(), &VISITOR), &Lives::default()).unwrap();
    assert_eq!(claimed(sealed.text.as_bytes()), Some([3; 16]));
    assert_eq!(claimed(encode(&[9; LENGTH]).as_bytes()), Some([9; 16]), "forged, and told of all the same");
    for other in ["", "AAAA", &sealed.text[1..], &format!("{}A", sealed.text)] {
        assert_eq!(claimed(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn the_end_of_time_is_no_overflow() {
    let ring = ring();
    let lives = Lives { work: Duration::MAX, wait: Duration::ZERO };
    let last = Claims { issued: u32::MAX, ..claims(&ring, &VISITOR) };
    assert_eq!(seal(&ring, &last, &lives).unwrap().expires, u64::from(u32::MAX));
    let sealed = seal(&ring, &claims(&ring, &VISITOR), &Lives::default()).unwrap().text;
    let at = |now| open(&ring, &lives, &VISITOR, now, sealed.as_bytes(), |_| true, 0).err();
    assert_eq!(at(Timestamp::from_millis(u64::MAX)), Some(Refusal::Expired));
    assert_eq!(at(Timestamp::default()), Some(Refusal::Future));
    let waited = seal(&ring, &Claims { kind: Kind::Wait, ..claims(&ring, &VISITOR) }, &lives).unwrap().text;
    assert_eq!(opened(&waited, NOW), Err(Refusal::Limits), "a life of nothing");
}

#[test]
fn nothing_secret_is_printed() {
    let ring = ring();
    let sealed = seal(&ring, &claims(&ring, &VISITOR), &Lives::default()).unwrap();
    assert!(!format!("{sealed:?}").contains(&sealed.text));
}

prop_compose! {
    fn any_claims()(
        key_id in prop::sample::select(vec![0u8, 5]),
        work: bool,
        level: u8,
        issued in 1_000_000_000u32..4_000_000_000,
        id: [u8; 16],
    ) -> Claims {
        let ring = ring();
        let binding = VISITOR.binding(ring.key(key_id).expect("both keys are in the ring"));
        Claims { key_id, kind: if work { Kind::Work } else { Kind::Wait }, level, issued, id, binding }
    }
}

fn sealed(claims: &Claims) -> String {
    seal(&ring(), claims, &Lives::default()).expect("its key is in the ring").text
}

proptest! {
    #[test]
    fn open_of_seal_is_what_was_sealed(claims in any_claims(), age in 0u32..1800) {
        let text = sealed(&claims);
        prop_assert_eq!(text.len(), 70);
        let got = opened(&text, claims.issued + age).map_err(|r| TestCaseError::fail(r.code()))?;
        prop_assert_eq!((got.kind, got.level, got.issued, got.id), (claims.kind, claims.level, u64::from(claims.issued), claims.id));
        prop_assert_eq!(got.expires, got.issued + Lives::default().seconds(claims.kind));
    }

    #[test]
    fn any_flipped_bit_is_refused(claims in any_claims(), bit in 0..LENGTH * 8) {
        let mut bytes = bytes(&sealed(&claims));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(opened(encode(&bytes), claims.issued).is_err());
    }

    #[test]
    fn splices_of_two_genuine_ones_are_refused(a in any_claims(), b in any_claims(), cut in 1..LENGTH) {
        let (one, two) = (bytes(&sealed(&a)), bytes(&sealed(&b)));
        let spliced: Vec<u8> = one[..cut].iter().chain(&two[cut..]).copied().collect();
        prop_assume!(spliced != one && spliced != two);
        prop_assert!(opened(encode(&spliced), a.issued).is_err());
    }

    #[test]
    fn a_second_spelling_is_malformed(claims in any_claims(), change in 1u8..16) {
        let mut text = sealed(&claims).into_bytes();
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let last = alphabet.iter().position(|c| Some(c) == text.last()).expect("text is of the alphabet");
        prop_assert_eq!(last % 16, 0, "the spare bits are zero");
        text[69] = alphabet[last + usize::from(change)];
        prop_assert_eq!(opened(&text, claims.issued), Err(Refusal::Malformed));
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(text: Vec<u8>, raw: [u8; LENGTH], now: u32) {
        prop_assert!(opened(&text, now).is_err());
        prop_assert!(opened(encode(&raw), now).is_err());
    }
}
