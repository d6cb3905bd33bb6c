//! Clearances: only those that we made open, and of those only what is asked for.

use tollgate::clearance::{self, Clearance, Lives};
use tollgate::clock::Timestamp;
use tollgate::crypto::{Kind, Refusal, encode};

use super::fixture::{NOW, RING, head, is_made, visitor};

fn open(text: &[u8], level: u8) -> Result<Clearance, Refusal> {
    let now = Timestamp::from_seconds(NOW);
    clearance::open(&RING, &Lives::default(), &visitor(), now, text, |kind| kind == Kind::Work, level)
}

/// Whether this clearance counts.
pub(crate) fn opens(text: &[u8]) -> bool {
    open(text, 12).is_ok()
}

pub(crate) fn run(bytes: &[u8]) {
    assert!(open(bytes, 0).is_err() || is_made(bytes));
    assert!(clearance::issued(&RING, bytes).is_err() || is_made(bytes));

    // A MAC of ours over anything: lives, times, binding, kind and level are asked all the same.
    let mut head = head::<36>(bytes);
    let key = RING.named(head[0]).expect("both keys are there");
    if bytes.get(36).is_some_and(|b| b & 1 == 1) {
        head[28..].copy_from_slice(&visitor().binding(key));
    }
    let level = bytes.get(37).copied().unwrap_or(12);
    let text = encode(&[&head[..], &key.clearance.tag(&[&head])].concat());
    let number =
        |at: usize| u64::from(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let (issued, expires) = (number(4), number(8));
    let counts = head[1] == 1
        && head[3] == 0
        && head[2] >= level
        && issued < expires
        && expires - issued <= 7 * 24 * 3600
        && issued <= NOW + 10
        && NOW < expires
        && head[28..] == visitor().binding(key);
    match open(text.as_bytes(), level) {
        Ok(opened) => {
            assert!(counts);
            assert_eq!((opened.level, opened.issued, opened.expires), (head[2], issued, expires));
            assert_eq!(opened.id[..], head[12..28]);
        }
        Err(refusal) => assert!(!counts, "{refusal:?}"),
    }
}
