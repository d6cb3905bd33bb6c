//! Secrets that are looked for.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// The secret of the key that signs.
pub(crate) const KEY: [u8; 32] = *b"canary of a key, 32 bytes long.\xf5";
/// What proxies show.
pub(crate) const TRUST: &str = "canary-of-the-proxies-0123456789";
/// What operators show.
pub(crate) const ADMIN: &str = "canary-of-the-operators-abcdef01";

/// The key as a key file has it.
pub(crate) fn key() -> String {
    URL_SAFE_NO_PAD.encode(KEY)
}

/// A key ring file.
pub(crate) fn ring() -> String {
    format!("keys:\n  - {{ id: 3, state: sign, secret: {} }}\n", key())
}

/// Every way that a secret could be spelled, and enough of it to give it away.
fn needles() -> Vec<String> {
    let hex: String = KEY.iter().map(|b| format!("{b:02x}")).collect();
    let middle = |text: String| text[8..24].to_owned();
    let list = format!("{KEY:?}");
    vec![
        middle(URL_SAFE_NO_PAD.encode(KEY)),
        middle(STANDARD.encode(KEY)),
        middle(URL_SAFE.encode(KEY)),
        middle(STANDARD_NO_PAD.encode(KEY)),
        middle(hex.to_uppercase()),
        middle(hex),
        list[20..40].to_owned(),
        "canary of a key".to_owned(),
        "canary-of".to_owned(),
    ]
}

/// Panics where something that was printed shows a secret, or one of these texts.
pub(crate) fn assert_kept(what: &str, printed: &str, more: &[&str]) {
    for needle in needles().iter().map(String::as_str).chain(more.iter().copied()) {
        if let Some(at) = printed.find(needle) {
            let line = printed[..at].lines().count();
            panic!(
                "{what} shows {needle:?} near line {line}:\n{}",
                printed.lines().skip(line.saturating_sub(2)).take(4).collect::<Vec<_>>().join("\n")
            );
        }
    }
}
