//! `ancient_agent`: browsers from before 2018 cannot open most sites of today, and live on in scrapers' lists.
//!
//! May wrong: people with machines that get no updates, and lovers of old ones. Weigh it low.

use super::Shown;
use super::agent::Engine;
use crate::behaviour::Signal;

pub(super) const DETECTOR: Shown = Shown {
    signal: Signal::AncientAgent,
    why: |seen| {
        let browser = seen.browser?;
        let first = match browser.engine {
            Engine::Chromium => 64,
            Engine::Explorer => 11,
            Engine::Firefox => 58,
            Engine::Safari => 11,
        };
        (browser.version < first).then_some("the agent is that of a browser from before 2018")
    },
};
