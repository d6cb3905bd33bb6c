//! `no_language`: every browser tells its languages, to pages and to all else.
//!
//! May wrong: privacy tools that take the header away, and some apps that borrow a browser's agent.

use super::Shown;
use crate::behaviour::Signal;

pub(super) const DETECTOR: Shown = Shown {
    signal: Signal::NoLanguage,
    why: |request, browser| {
        let language = request.headers.all("accept-language").any(|line| !line.is_empty());
        browser.filter(|browser| browser.plain && !language)?;
        Some("the agent is that of a browser, and Accept-Language is missing")
    },
};
