//! `wildcard_accept_navigation`: says that it opens a page, and accepts anything for it, as programs do.
//!
//! Browsers ask for a page with a list that begins with `text/html`; `*/*` is what scripts send, and scripts do not navigate.
//! May wrong: nobody that we know of. Without `Sec-Fetch-Mode` nothing says that it is a navigation.

use super::Shown;
use crate::behaviour::Signal;

pub(super) const DETECTOR: Shown = Shown {
    signal: Signal::WildcardAcceptNavigation,
    why: |seen| {
        let navigates = seen.fetch_mode == Some(b"navigate") && seen.fetch_dest == Some(b"document");
        (navigates && seen.accept == Some(b"*/*")).then_some("a navigation that accepts */*")
    },
};
