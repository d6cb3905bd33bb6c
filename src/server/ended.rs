//! Why we ended a connection: for the metrics, in words that no peer chooses.

use std::error::Error;

/// The word for what a peer did to have its connection ended; `None` where it was not us who ended it.
pub(super) fn by_us(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let http: &hyper::Error = error.downcast_ref()?;
    if http.is_parse_too_large() {
        return Some("head");
    }
    if http.is_parse() {
        return Some("malformed");
    }
    if http.is_timeout() {
        return Some("slow");
    }
    let frames: &h2::Error = http.source()?.downcast_ref()?;
    match frames.reason() {
        _ if !frames.is_library() => None,
        Some(h2::Reason::ENHANCE_YOUR_CALM) => Some("flood"),
        _ => Some("malformed"),
    }
}
