//! The words of the pages: one file a language, chosen by what the browser prefers. A new language is a file and a line of [`FILES`].

use serde::{Deserialize, Serialize};

use super::PageError;

/// Every language: its tag in lower case, and its file. The first is the one for everybody whose languages are not here.
const FILES: &[(&str, &str)] = &[("en", include_str!("assets/languages/en.json"))];

/// How many entries of `Accept-Language` are read; browsers send up to about ten.
const MAX_RANGES: usize = 20;

/// The words of one language. Texts may hold `{site}`, `{host}`, `{seconds}` and `{code}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Language {
    /// The tag, as in the `lang` attribute.
    pub lang: String,
    /// The direction of writing: `ltr` or `rtl`.
    pub dir: String,
    pub challenge: ChallengeTexts,
    pub script: ScriptTexts,
    pub notice: NoticeTexts,
    pub go_on: String,
    pub contact: String,
    pub request: String,
}

/// Words of the challenge page itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChallengeTexts {
    pub title: String,
    pub heading: String,
    pub intro: String,
    pub intro_wait: String,
    pub progress: String,
    pub script_off: String,
    pub script_needed: String,
    pub wait: String,
    pub resend: String,
    pub why: String,
    pub because: String,
    pub address: String,
}

/// Words that the page's script needs; they travel to it as they are.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptTexts {
    running: String,
    half: String,
    done: String,
    retrying: String,
    pub cookies_heading: String,
    pub cookies: String,
    form_heading: String,
    form: String,
    prior_heading: String,
    prior: String,
    refused_heading: String,
    refused: String,
    failed_heading: String,
    failed: String,
    silent_heading: String,
    silent: String,
    go_on: String,
    send: String,
    again: String,
    lane: String,
}

/// Words of the notices.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoticeTexts {
    pub deny_heading: String,
    pub deny: String,
    pub limit_heading: String,
    pub limit: String,
    pub early: String,
    pub refused_heading: String,
    pub refused: String,
    pub allowed_heading: String,
    pub allowed: String,
    pub reload: String,
    pub home: String,
}

/// Reads every language file. A missing or unknown key is an error.
pub(super) fn load() -> Result<Vec<Language>, PageError> {
    let read =
        |&(tag, file)| serde_json::from_str(file).map_err(|source| PageError::Language { tag, source });
    FILES.iter().map(read).collect()
}

/// The language that the browser likes best among ours; the first of ours when it likes none.
pub(super) fn choose<'l>(languages: &'l [Language], accept_language: &[u8]) -> &'l Language {
    let tags: Vec<&str> = languages.iter().map(|l| l.lang.as_str()).collect();
    &languages[preferred(&tags, accept_language)]
}

/// The place of the best match. A range matches the tag it names, else a tag that it is a narrower form of (`de-AT` finds `de`), else a
/// tag of the same language (`pt` finds `pt-BR`). Among equal weights the earlier range wins. Whatever cannot be read is passed over.
fn preferred(tags: &[&str], accept_language: &[u8]) -> usize {
    let mut best = (0, 0);
    for entry in accept_language.split(|&b| b == b',').take(MAX_RANGES) {
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        let mut parts = entry.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let weight = parts.next().map_or(Some(1000), weight).unwrap_or(0);
        if weight > best.0
            && let Some(place) = find(tags, range)
        {
            best = (weight, place);
        }
    }
    best.1
}

/// A weight in thousandths: `q=0.8` is 800.
fn weight(parameter: &str) -> Option<u16> {
    let number: f32 = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="))?.parse().ok()?;
    (0.0..=1.0).contains(&number).then_some((number * 1000.0) as u16)
}

/// The longest language range that is looked up, in bytes (RFC 5646, 4.4.1).
const MAX_RANGE: usize = 35;

fn find(tags: &[&str], range: &str) -> Option<usize> {
    if range.len() > MAX_RANGE {
        return None;
    }
    let is = |wanted: &str| tags.iter().position(|tag| tag.eq_ignore_ascii_case(wanted));
    let mut wanted = range;
    loop {
        if let Some(place) = is(wanted) {
            return Some(place);
        }
        let Some((shorter, _)) = wanted.rsplit_once('-') else { break };
        wanted = shorter;
    }
    let same = |tag: &&str| tag.split('-').next().is_some_and(|primary| primary.eq_ignore_ascii_case(wanted));
    tags.iter().position(same)
}

/// Puts values into a text's places, each once: what a value holds is never taken for a place.
pub(super) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    'text: while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        for (place, value) in values {
            if let Some(after) = rest.strip_prefix(place) {
                out.push_str(value);
                rest = after;
                continue 'text;
            }
        }
        out.push('{');
        rest = &rest[1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_wish_decides() {
        let tags = ["en", "de", "pt-BR", "zh-Hant"];
        let rows: [(&[u8], &str); 14] = [
            (b"", "en"),
            (b"de", "de"),
            (b"fr, de;q=0.5, en;q=0.4", "de"),
            (b"en;q=0.4,DE-at;q=0.9", "de"),
            (b"pt-PT", "pt-BR"),
            (b"pt", "pt-BR"),
            (b"zh-Hant-TW,en;q=0.1", "zh-Hant"),
            (b"de;q=0, en;q=0.1", "en"),
            (b"de;q=2", "en"),
            (b"de;q=x", "en"),
            (b"*", "en"),
            (b"\xff\xfe, de", "de"),
            (b"de;q=0.5, pt;q=0.5", "de"),
            (b";;;,,,--", "en"),
        ];
        for (accept, want) in rows {
            assert_eq!(tags[preferred(&tags, accept)], want, "{}", accept.escape_ascii());
        }
    }

    #[test]
    fn every_language_is_complete_and_named_after_itself() {
        let languages = load().unwrap();
        for ((tag, _), language) in FILES.iter().zip(&languages) {
            assert_eq!(*tag, language.lang.to_ascii_lowercase());
            assert!(["ltr", "rtl"].contains(&language.dir.as_str()), "{tag}");
        }
    }

    #[test]
    fn values_are_never_taken_for_places() {
        let values = [("{site}", "{host}"), ("{host}", "<b>")];
        assert_eq!(fill("{site} on {host}, {x} {", &values), "{host} on <b>, {x} {");
    }
}
