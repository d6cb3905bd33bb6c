//! In which order an answer is refused, and that nothing but the right nonces pass.

use std::time::Duration;

use proptest::prelude::*;

use super::super::token::SIGNED;
use super::super::{Stamp, answer_text, issue_wait, issue_work, policy_id, solve};
use super::*;
use crate::crypto::{Claims, Secret, encode};

const NOW: u64 = 1_800_000_000;
const VISITOR: Visitor<'static> = Visitor { host: "example.org", agent: b"agent", net: b"", ja4: b"" };

fn ring() -> Ring {
    Ring::single(Secret::new([7; 32]))
}

fn limits() -> Limits {
    Limits {
        max_ttl: 600,
        policies: vec![(policy_id("default"), 0..=18), (policy_id("cheap"), 0..=12)],
        max_k: 64,
        sizes: vec![10, 12],
        min_wait: 1,
        max_wait: 60,
        max_wait_level: 16,
    }
}

#[test]
fn a_token_is_judged_by_the_levels_of_the_policy_that_it_names() {
    let ring = ring();
    let check =
        Check { ring: &ring, limits: &limits(), visitor: &VISITOR, now: Timestamp::from_seconds(NOW) };
    for (policy, level, want) in [
        ("default", 18, Ok(())),
        ("cheap", 12, Ok(())),
        ("cheap", 14, Err(Refusal::Limits)),
        ("gone", 12, Err(Refusal::Limits)),
    ] {
        let stamp = Stamp { policy: policy_id(policy), ..stamp(&ring, &VISITOR, [1; 16]) };
        let token = issue_work(&stamp, level, 10);
        let text = answer_text(&token, &vec![0; token.k().into()]);
        assert_eq!(check.answer(text.as_bytes()).map(drop), want, "{policy} {level}");
    }
}

fn stamp<'a>(ring: &'a Ring, visitor: &'a Visitor<'a>, id: [u8; 16]) -> Stamp<'a> {
    let now = Timestamp::from_seconds(NOW);
    Stamp { ring, visitor, policy: policy_id("default"), id, now, ttl: Duration::from_secs(300) }
}

fn work(level: u8, id: [u8; 16]) -> Token {
    issue_work(&stamp(&ring(), &VISITOR, id), level, 10)
}

fn answered(text: impl AsRef<[u8]>, now: u64) -> Result<Answer, Refusal> {
    let (ring, limits, now) = (ring(), limits(), Timestamp::from_seconds(now));
    Check { ring: &ring, limits: &limits, visitor: &VISITOR, now }.answer(text.as_ref())
}

fn waited(text: impl AsRef<[u8]>, now: u64) -> Result<Claims, Refusal> {
    let (ring, limits, now) = (ring(), limits(), Timestamp::from_seconds(now));
    Check { ring: &ring, limits: &limits, visitor: &VISITOR, now }.wait(text.as_ref())
}

/// An answer that is wrong in every way is refused for one reason after the other as the ways are put right, and its nonces,
/// which solve nothing, are the last to be looked at.
#[test]
fn nothing_is_hashed_before_every_other_question_is_answered() {
    let (ring, key) = (ring(), ring().signing().clone());
    let hard = issue_work(&stamp(&ring, &VISITOR, [1; 16]), 18, 12);
    let mut head: [u8; SIGNED] = std::array::from_fn(|at| hard.as_bytes()[at]);
    head[0] = 0x21;
    head[1] = 2;
    head[8..12].copy_from_slice(&u32::try_from(NOW + 11).unwrap().to_be_bytes());
    head[12..14].copy_from_slice(&[0, 0]);
    head[32] ^= 1;
    let mut check =
        |change: &dyn Fn(&mut [u8; SIGNED]), genuine: bool, nonces: usize, now: u64, want: Refusal| {
            change(&mut head);
            let token = if genuine {
                Token::sign(&key, &head)
            } else {
                Token::from_bytes(std::array::from_fn(|at| head.get(at).copied().unwrap_or(0)))
            };
            let text = answer_text(&token, &vec![0; nonces]);
            assert_eq!(answered(text, now).map(|answer| answer.verify()).err(), Some(want));
        };
    check(&|_| {}, false, 0, NOW, Refusal::Malformed);
    check(&|_| {}, false, 65, NOW, Refusal::Malformed);
    check(&|_| {}, false, 15, NOW, Refusal::Version);
    check(&|h| h[0] = 0x11, false, 15, NOW, Refusal::Key);
    check(&|h| h[0] = 0x10, false, 15, NOW, Refusal::Forged);
    check(&|_| {}, true, 15, NOW, Refusal::Kind);
    check(&|h| h[1] = 1, true, 15, NOW, Refusal::Limits);
    check(&|h| h[13] = 1, true, 15, NOW, Refusal::Future);
    check(&|_| {}, true, 15, NOW + 13, Refusal::Expired);
    check(&|_| {}, true, 15, NOW + 12, Refusal::Binding);
    check(&|h| h[32] ^= 1, true, 15, NOW + 12, Refusal::Malformed);
    check(&|_| {}, true, 17, NOW + 12, Refusal::Malformed);
    let text = answer_text(&Token::sign(&key, &head), &[0; 16]);
    assert_eq!(answered(text, NOW + 12).map(|answer| answer.verify()).ok(), Some(Err(Refusal::Wrong)));
}

#[test]
fn every_limit_is_checked_after_the_mac() {
    let key = ring().signing().clone();
    let check = |at: usize, bytes: &[u8], want: Option<Refusal>| {
        let mut head: [u8; SIGNED] = std::array::from_fn(|i| work(8, [1; 16]).as_bytes()[i]);
        head[at..at + bytes.len()].copy_from_slice(bytes);
        let nonces = vec![0; usize::from(head[2].clamp(1, 64))];
        let text = answer_text(&Token::sign(&key, &head), &nonces);
        assert_eq!(answered(text, NOW).err(), want, "{at} {bytes:?}");
    };
    check(2, &[16], None);
    check(2, &[0], Some(Refusal::Limits));
    check(2, &[65], Some(Refusal::Limits));
    check(2, &[255], Some(Refusal::Limits));
    for size in (0..=255).filter(|size| ![10, 12].contains(size)) {
        check(3, &[size], Some(Refusal::Limits));
    }
    check(4, &[0, 0, 0, 0], Some(Refusal::Limits));
    check(4, &[0, 0, 0, 1], Some(Refusal::Limits));
    check(4, &[0, 4, 0, 0], None);
    check(4, &[0, 2, 0, 0], Some(Refusal::Limits));
    check(12, &[0, 0], Some(Refusal::Limits));
    check(12, &[2, 88], None);
    check(12, &[2, 89], Some(Refusal::Limits));
    check(14, &[0, 0], Some(Refusal::Limits));
}

#[test]
fn a_wait_counts_when_it_is_over_and_not_before() {
    let ring = ring();
    let token = issue_wait(&stamp(&ring, &VISITOR, [1; 16]), 14, 3).text();
    assert_eq!(waited(&token, NOW + 2), Err(Refusal::Early));
    let paid = waited(&token, NOW + 3).unwrap();
    assert_eq!((paid.kind, paid.level, paid.id, u64::from(paid.issued)), (Kind::Wait, 14, [1; 16], NOW));
    assert_eq!(waited(&token, NOW + 301), Err(Refusal::Expired));
    for (level, seconds) in [(17, 3), (14, 0), (14, 61), (14, u32::MAX)] {
        let token = issue_wait(&stamp(&ring, &VISITOR, [1; 16]), level, seconds).text();
        assert_eq!(waited(token, NOW + 100), Err(Refusal::Limits), "{level} {seconds}");
    }
}

#[test]
fn a_token_of_one_kind_is_no_token_of_the_other() {
    let ring = ring();
    let wait = issue_wait(&stamp(&ring, &VISITOR, [1; 16]), 14, 3);
    assert_eq!(answered(answer_text(&wait, &[0; 14]), NOW).err(), Some(Refusal::Kind));
    assert_eq!(waited(work(8, [1; 16]).text(), NOW).err(), Some(Refusal::Kind));
}

#[test]
fn every_level_that_can_be_asked_can_be_answered() {
    for level in 0..=10 {
        let token = work(level, [level; 16]);
        let answer = answered(answer_text(&token, &solve(&token)), NOW).unwrap();
        assert_eq!(answer.verify(), Ok(()), "{level}");
        assert_eq!(answer.paid().level, level);
    }
}

#[test]
fn issuing_is_total() {
    let ring = ring();
    let late = Stamp {
        now: Timestamp::from_millis(u64::MAX),
        ttl: Duration::MAX,
        ..stamp(&ring, &VISITOR, [1; 16])
    };
    for level in 0..=255 {
        let token = issue_work(&late, level, 255);
        assert_eq!((token.issued(), token.ttl()), (u32::MAX, u16::MAX));
        assert!(solve(&token).is_empty(), "no solver works on a size that does not exist");
    }
}

#[test]
fn nothing_secret_is_printed() {
    let token = work(8, [1; 16]);
    assert_eq!(format!("{token:?}"), "Token(redacted)");
    let answer = answered(answer_text(&token, &[0; 16]), NOW).unwrap();
    assert_eq!(format!("{answer:?}"), "Answer(redacted)");
}

fn bytes(text: &str) -> Vec<u8> {
    let mut buffer = [0; MAX_ANSWER];
    decode(text.as_bytes(), &mut buffer).expect("we wrote it").to_vec()
}

fn outcome(text: impl AsRef<[u8]>) -> Result<Claims, Refusal> {
    let answer = answered(text, NOW)?;
    answer.verify().map(|()| *answer.paid())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_solved_answer_is_worth_what_its_token_says(id: [u8; 16], level in 0u8..10) {
        let token = work(level, id);
        let paid = outcome(answer_text(&token, &solve(&token))).map_err(|r| TestCaseError::fail(r.code()))?;
        prop_assert_eq!((paid.kind, paid.level, paid.id, paid.binding), (Kind::Work, level, id, token.binding()));
        prop_assert_eq!(Token::parse(token.text()), Ok(token));
    }

    #[test]
    fn any_flipped_bit_of_a_token_is_refused(id: [u8; 16], bit in 0..LENGTH * 8) {
        let token = work(2, id);
        let mut bytes = bytes(&answer_text(&token, &solve(&token)));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(outcome(encode(&bytes)).is_err());
    }

    #[test]
    fn splices_of_two_genuine_tokens_are_refused(one: [u8; 16], two: [u8; 16], levels in (0u8..10, 0u8..10), cut in 1..LENGTH) {
        let (one, two) = (work(levels.0, one), work(levels.1, two));
        let spliced = std::array::from_fn(|at| if at < cut { one.as_bytes()[at] } else { two.as_bytes()[at] });
        let spliced = Token::from_bytes(spliced);
        prop_assume!(spliced != one && spliced != two);
        let nonces = vec![0; usize::from(spliced.k())];
        prop_assert_eq!(outcome(answer_text(&spliced, &nonces)), Err(Refusal::Forged));
    }

    #[test]
    fn a_second_spelling_is_malformed(id: [u8; 16], change in 1u8..16) {
        let token = work(2, id);
        let mut text = answer_text(&token, &solve(&token)).into_bytes();
        prop_assert_eq!(text.len() % 4, 2, "two nonces leave four spare bits");
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let last = alphabet.iter().position(|c| Some(c) == text.last()).expect("text is of the alphabet");
        let end = text.len() - 1;
        text[end] = alphabet[last + usize::from(change)];
        prop_assert_eq!(outcome(text), Err(Refusal::Malformed));
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(text: Vec<u8>, raw in prop::collection::vec(any::<u8>(), 0..400), now: u32) {
        prop_assert!(outcome(&text).is_err());
        prop_assert!(answered(encode(&raw), u64::from(now)).is_err());
        prop_assert!(waited(encode(&raw), u64::from(now)).is_err());
        let _ = Token::parse(&raw);
    }
}
