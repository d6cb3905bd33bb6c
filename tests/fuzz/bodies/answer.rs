//! Answers: nothing mints but the right answer to a challenge that we made, through the endpoint as well as below it.

use sha2::{Digest, Sha256};
use tollgate::challenge::{Check, Filler};
use tollgate::clock::Timestamp;
use tollgate::crypto::{decode, encode};
use tollgate::request::{Headers, Parts, Request, Unfit};

use super::fixture::{AGENT, GATE, HOST, MADE, NOW, RING, head, limits, moment, visitor};

pub(crate) fn run(bytes: &[u8]) {
    only_the_right_answer_is_accepted(bytes);
    what_is_signed_is_judged_all_the_same(bytes);
    only_the_right_answer_mints(bytes);
}

/// Whether this answer buys a clearance.
pub(crate) fn accepted(text: &[u8]) -> bool {
    let (limits, visitor) = (limits(), visitor());
    let check = Check { ring: &RING, limits: &limits, visitor: &visitor, now: Timestamp::from_seconds(NOW) };
    check.answer(text).is_ok_and(|answer| answer.verify().is_ok())
}

/// Other nonces may solve the same puzzles; the token is ours in any case.
fn only_the_right_answer_is_accepted(text: &[u8]) {
    if accepted(text) {
        let read = std::str::from_utf8(text).expect("base64url is ASCII");
        assert_eq!(read[..74], MADE.answer[..74], "another token");
        assert!(text == MADE.answer.as_bytes() || solves(&MADE.answer, read));
    }
}

/// Solved by our own arithmetic, as the paper has it, on the token of `made`.
fn solves(made: &str, text: &str) -> bool {
    let (mut token, mut given) = ([0; 320], [0; 320]);
    let token = decode(made.as_bytes(), &mut token).expect("it was made")[..56].to_vec();
    let given = decode(text.as_bytes(), &mut given).expect("it was accepted");
    let token: [u8; 56] = token.try_into().expect("as long as a token");
    let filler = Filler::new(&token, token[3]).expect("a size of ours");
    let target = u32::from_be_bytes([token[4], token[5], token[6], token[7]]);
    given[..56] == token
        && given[56..].len() == 4 * usize::from(token[2])
        && (0u32..).zip(given[56..].chunks_exact(4)).all(|(puzzle, nonce)| {
            let mut message = filler.as_bytes().to_vec();
            message[..4].copy_from_slice(&puzzle.to_be_bytes());
            message[4..8].copy_from_slice(nonce);
            let hash = Sha256::digest(&message);
            u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) < target
        })
}

/// What we signed once is held against the limits of today, and hashed no more often than they allow.
fn what_is_signed_is_judged_all_the_same(bytes: &[u8]) {
    let mut head = head::<40>(bytes);
    let key = RING.named(head[0]).expect("both keys are there");
    head[32..].copy_from_slice(&visitor().binding(key));
    let nonces = bytes.get(40..).unwrap_or_default();
    let text = encode(&[&head[..], &key.challenge.tag(&[&head]), nonces].concat());
    let (limits, visitor) = (limits(), visitor());
    let check = Check { ring: &RING, limits: &limits, visitor: &visitor, now: Timestamp::from_seconds(NOW) };
    let Ok(answer) = check.answer(text.as_bytes()) else { return };
    let (k, size) = (head[2], head[3]);
    let target = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    let issued = u64::from(u32::from_be_bytes([head[8], head[9], head[10], head[11]]));
    let ttl = u64::from(u16::from_be_bytes([head[12], head[13]]));
    assert!(head[1] == 1 && (1..=64).contains(&k) && size == 10 && target > 0);
    assert!((1..=600).contains(&ttl) && issued <= NOW + 10 && NOW <= issued + ttl);
    assert!((12..=18).contains(&answer.paid().level));
    assert_eq!(nonces.len(), 4 * usize::from(k));
    assert_eq!(answer.verify().is_ok(), solves(&text, &text));
}

/// The first line is the header, the second the form; either may be missing.
fn only_the_right_answer_mints(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |b| *b == b'\n');
    let header = lines.next().filter(|line| !line.is_empty());
    let form = lines.next();
    let mut headers = Headers::default();
    headers.push(b"user-agent", AGENT.as_bytes());
    if let Some(header) = header {
        headers.push(b"tollgate-answer", header);
    }
    let parts = Parts {
        method: b"POST",
        target: b"/.tollgate/answer",
        host: HOST.as_bytes(),
        scheme: b"https",
        client: None,
        headers,
    };
    let request = Request::new(parts);
    let response = GATE.load().public(&request, form, || Err(Unfit::Incomplete("target")), &moment());
    let cookie = response.headers().iter().find(|(name, _)| *name == "set-cookie");
    assert_eq!(cookie.is_some(), response.status() == 204, "{response:?}");
    assert!((400..500).contains(&response.status()) || cookie.is_some(), "{response:?}");
    if let Some((_, cookie)) = cookie {
        assert!(cookie.starts_with(&format!("__Host-tollgate={};", MADE.clearances[0])));
        let token = &MADE.answer[..74];
        let shown = |text: &[u8]| text.windows(74).any(|w| w == token.as_bytes());
        let decoded =
            form.map(|form| form_urlencoded::parse(form).map(|(_, v)| v.into_owned()).collect::<String>());
        assert!(header.is_some_and(shown) || decoded.is_some_and(|text| shown(text.as_bytes())));
    }
}
