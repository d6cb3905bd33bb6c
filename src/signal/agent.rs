//! Which browser an agent says it is: engine, version, system. Reads what browsers write, and believes none of it.

use memchr::{memchr, memchr_iter};

/// A browser by its own word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Browser {
    pub(super) engine: Engine,
    /// The major version.
    pub(super) version: u32,
    /// What runs it.
    pub(super) system: System,
    /// Whether the agent is that of a plain browser, and not of an app, a web view or a robot that writes behind it.
    pub(super) plain: bool,
}

/// Whose engine a browser has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Engine {
    Chromium,
    Explorer,
    Firefox,
    Safari,
}

/// What a browser runs on, by the names of `Sec-CH-UA-Platform`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum System {
    Android,
    ChromeOs,
    Ios,
    Linux,
    MacOs,
    Other,
    Windows,
}

impl Browser {
    /// The browser that an agent names, if it is one of those that nearly everybody uses.
    pub(super) fn of(agent: &[u8]) -> Option<Self> {
        let rest = agent.strip_prefix(b"Mozilla/")?;
        let open = memchr(b'(', rest)?;
        let close = open + memchr(b')', &rest[open..])?;
        let (platform, products) = (&rest[open + 1..close], &rest[close + 1..]);
        let [mut chromium, mut firefox, mut version] = [None; 3];
        let mut plain = find(platform, b"compatible").is_none() && find(platform, b"; wv").is_none();
        for product in products.split(|b| *b == b' ').filter(|product| !product.is_empty()) {
            let slash = memchr(b'/', product);
            let (name, number) = product.split_at(slash.map_or(product.len(), |at| at + 1));
            match name {
                b"Chrome/" => chromium = leading(number),
                b"Firefox/" => firefox = leading(number),
                b"Version/" => version = leading(number),
                // Whoever writes anything else behind a browser's agent is not that browser alone.
                name => plain &= is_plain(name),
            }
        }
        let explorer = || find(platform, b"MSIE ").and_then(|at| leading(&platform[at + 5..]));
        let (engine, version) = chromium
            .map(|version| (Engine::Chromium, version))
            .or_else(|| firefox.map(|version| (Engine::Firefox, version)))
            .or_else(|| version.map(|version| (Engine::Safari, version)))
            .or_else(|| explorer().map(|version| (Engine::Explorer, version)))?;
        Some(Self { engine, version, system: system(platform), plain })
    }
}

/// Whether this is what plain browsers write besides their own name and version.
fn is_plain(name: &[u8]) -> bool {
    matches!(
        name,
        b"AppleWebKit/"
            | b"(KHTML,"
            | b"like"
            | b"Gecko)"
            | b"Gecko/"
            | b"Safari/"
            | b"Mobile/"
            | b"Mobile"
            | b"Edg/"
            | b"EdgA/"
            | b"OPR/"
            | b"Vivaldi/"
            | b"YaBrowser/"
            | b"Yowser/"
            | b"SamsungBrowser/"
    )
}

fn system(platform: &[u8]) -> System {
    let has = |word: &[u8]| find(platform, word).is_some();
    match () {
        () if has(b"Windows") => System::Windows,
        () if has(b"Android") => System::Android,
        () if has(b"iPhone") || has(b"iPad") || has(b"iPod") => System::Ios,
        () if has(b"CrOS") => System::ChromeOs,
        () if has(b"Macintosh") => System::MacOs,
        () if has(b"Linux") || has(b"X11") => System::Linux,
        () => System::Other,
    }
}

/// Where a word begins.
pub(super) fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    let first = *word.first()?;
    memchr_iter(first, text).find(|at| text[*at..].starts_with(word))
}

/// The number that a text begins with.
pub(super) fn leading(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take(6).take_while(|b| b.is_ascii_digit());
    digits.fold(None, |number, digit| Some(number.unwrap_or(0) * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_read_and_those_who_write_behind_them_are_told() {
        let of =
            |agent: &str| Browser::of(agent.as_bytes()).map(|b| (b.engine, b.version, b.system, b.plain));
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
        let rows = [
            (chrome.to_owned(), Some((Engine::Chromium, 153, System::Windows, true))),
            (format!("{chrome} Edg/153.0.0.0"), Some((Engine::Chromium, 153, System::Windows, true))),
            (format!("{chrome} (compatible; X/1.0)"), Some((Engine::Chromium, 153, System::Windows, false))),
            (format!("{chrome} MyApp/3"), Some((Engine::Chromium, 153, System::Windows, false))),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0".to_owned(),
                Some((Engine::Firefox, 150, System::Linux, true)),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1".to_owned(),
                Some((Engine::Safari, 18, System::Ios, true)),
            ),
            (
                "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1)".to_owned(),
                Some((Engine::Explorer, 9, System::Windows, false)),
            ),
            ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)".to_owned(), None),
            ("curl/8.0".to_owned(), None),
            ("Mozilla/5.0 (".to_owned(), None),
            (String::new(), None),
            ("Mozilla/5.0 () Chrome/x".to_owned(), None),
        ];
        for (agent, want) in rows {
            assert_eq!(of(&agent), want, "{agent}");
        }
    }
}
