//! `no_language`: every browser tells its languages, to pages and to all else.
//!
//! May wrong: privacy tools that take the header away, and some apps that borrow a browser's agent.

use super::Shown;
use crate::behaviour::Signal;

pub(super) const DETECTOR: Shown = Shown {
    signal: Signal::NoLanguage,
    why: |seen| {
        let mute = seen.accept_language.is_none_or(<[u8]>::is_empty);
        seen.browser.filter(|browser| browser.plain && mute)?;
        Some("the agent is that of a browser, and Accept-Language is missing")
    },
};
