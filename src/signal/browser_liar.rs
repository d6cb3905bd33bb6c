//! `browser_liar`: the headers contradict the browser that the agent names.
//!
//! Over https Chromium sends `Sec-Fetch-Mode` since 76 and Firefox since 90 (W3C Fetch Metadata), Chromium its brands
//! since 89 (UA Client Hints), and both tell one story of system and version. Safari sends `Sec-Fetch-Mode` since 16.4, but
//! not from every frame, so it is asked only not to send hints. Over plain http none of this is sent, nor missed.
//!
//! May wrong: privacy tools that forge one header and forget another, and old web views, of which only plain browsers'
//! agents are judged.

use super::Shown;
use super::agent::{Browser, Engine, System, find, leading};
use super::seen::Seen;
use crate::behaviour::Signal;
use crate::request::Scheme;

pub(super) const DETECTOR: Shown = Shown {
    signal: Signal::BrowserLiar,
    why: |seen| {
        let browser = seen.browser.filter(|browser| browser.plain)?;
        missing(seen, browser).or_else(|| contradiction(seen, browser))
    },
};

fn missing(seen: &Seen<'_>, browser: Browser) -> Option<&'static str> {
    match (browser.engine, browser.version) {
        (Engine::Chromium, 76..) | (Engine::Firefox, 90..)
            if seen.scheme == Scheme::Https && seen.fetch_mode.is_none() =>
        {
            Some("a browser of this version sends Sec-Fetch-Mode, and this one does not")
        }
        _ => None,
    }
}

fn contradiction(seen: &Seen<'_>, browser: Browser) -> Option<&'static str> {
    let brands = seen.brands.filter(|brands| !brands.is_empty());
    if brands.is_some() && browser.engine != Engine::Chromium {
        return Some("only Chromium sends Sec-CH-UA, and the agent names another");
    }
    if let Some(version) = brands.and_then(chromium)
        && version != browser.version
    {
        return Some("the agent and Sec-CH-UA name different versions");
    }
    let told = match seen.platform? {
        b"\"Android\"" => System::Android,
        b"\"Chrome OS\"" | b"\"Chromium OS\"" => System::ChromeOs,
        b"\"iOS\"" => System::Ios,
        b"\"Linux\"" => System::Linux,
        b"\"macOS\"" => System::MacOs,
        b"\"Windows\"" => System::Windows,
        _ => return None,
    };
    // A phone that asks for the desktop's site says Linux in its agent and Android in the hint.
    let desktop_site = (told, browser.system) == (System::Android, System::Linux);
    (told != browser.system && !desktop_site && browser.system != System::Other)
        .then_some("the agent and Sec-CH-UA-Platform name different systems")
}

/// The version of Chromium among the brands: `"Chromium";v="153"`.
fn chromium(brands: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"\"Chromium\";v=\"";
    leading(&brands[find(brands, NAME)? + NAME.len()..])
}
