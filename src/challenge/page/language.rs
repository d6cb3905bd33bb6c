//! The words of the pages: one file a language, chosen by what the browser prefers. A new language is a file and a line of [`FILES`].

use serde::{Deserialize, Serialize};

use super::PageError;

/// Every language: its tag, and its file. The first is the one for everybody whose languages are not here.
const FILES: &[(&str, &str)] = &[
    ("en", include_str!("assets/languages/en.json")),
    ("ar", include_str!("assets/languages/ar.json")),
    ("bg", include_str!("assets/languages/bg.json")),
    ("cs", include_str!("assets/languages/cs.json")),
    ("de", include_str!("assets/languages/de.json")),
    ("es", include_str!("assets/languages/es.json")),
    ("et", include_str!("assets/languages/et.json")),
    ("fi", include_str!("assets/languages/fi.json")),
    ("fil", include_str!("assets/languages/fil.json")),
    ("fr", include_str!("assets/languages/fr.json")),
    ("he", include_str!("assets/languages/he.json")),
    ("hr", include_str!("assets/languages/hr.json")),
    ("is", include_str!("assets/languages/is.json")),
    ("it", include_str!("assets/languages/it.json")),
    ("ja", include_str!("assets/languages/ja.json")),
    ("lt", include_str!("assets/languages/lt.json")),
    ("nb", include_str!("assets/languages/nb.json")),
    ("nl", include_str!("assets/languages/nl.json")),
    ("nn", include_str!("assets/languages/nn.json")),
    ("pl", include_str!("assets/languages/pl.json")),
    ("pt-BR", include_str!("assets/languages/pt-BR.json")),
    ("ru", include_str!("assets/languages/ru.json")),
    ("sv", include_str!("assets/languages/sv.json")),
    ("tr", include_str!("assets/languages/tr.json")),
    ("uk", include_str!("assets/languages/uk.json")),
    ("vi", include_str!("assets/languages/vi.json")),
    ("zh-CN", include_str!("assets/languages/zh-CN.json")),
    ("zh-TW", include_str!("assets/languages/zh-TW.json")),
];

/// Ranges that stand for a language of ours under another name: older tags, scripts, regions, and what its readers read as well.
const ALIASES: &[(&str, &str)] = &[
    ("bs", "hr"),
    ("cmn", "zh-CN"),
    ("cmn-hant", "zh-TW"),
    ("iw", "he"),
    ("no", "nb"),
    ("pt", "pt-BR"),
    ("sh", "hr"),
    ("tl", "fil"),
    ("yue", "zh-TW"),
    ("zh", "zh-CN"),
    ("zh-hant", "zh-TW"),
    ("zh-hk", "zh-TW"),
    ("zh-mo", "zh-TW"),
];

/// How many entries of `Accept-Language` are read; browsers send up to about ten.
const MAX_RANGES: usize = 20;

/// The words of one language. Texts may hold `{site}`, `{host}`, `{seconds}` and `{code}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Language {
    /// The tag, as in the `lang` attribute.
    pub lang: String,
    /// What the language calls itself.
    pub name: String,
    /// The direction of writing: `ltr` or `rtl`.
    pub dir: String,
    pub challenge: ChallengeTexts,
    pub script: ScriptTexts,
    pub notice: NoticeTexts,
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
    offline: String,
    pub cookies: Said,
    form: Said,
    prior: Said,
    refused: String,
    expired: Said,
    failed: String,
    blocked: String,
    worker: String,
    engine: String,
    timeout: String,
    help: String,
    silent: Said,
    pub go_on: String,
    send: String,
    again: String,
    lane: String,
}

/// A heading, and what stands below it.
type Said = [String; 2];

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

/// The tag of ours that a tag means, as `page.language` may name it.
pub(super) fn tag(wanted: &str) -> Option<&'static str> {
    find(wanted).map(|place| FILES[place].0)
}

/// Every tag of ours.
pub(super) fn tags() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(tag, _)| *tag)
}

/// The language that the browser likes best among ours; the first of ours when it likes none.
/// Its place and its tag.
pub(super) fn choose(accept_language: &[u8]) -> (usize, &'static str) {
    let place = preferred(accept_language);
    (place, FILES[place].0)
}

/// The place of the best match. Among equal weights the earlier range wins. Whatever cannot be read is passed over, and so is `*`:
/// whoever takes any language gets the first of ours anyway.
fn preferred(accept_language: &[u8]) -> usize {
    let mut best = (0, 0);
    for entry in accept_language.split(|&b| b == b',').take(MAX_RANGES) {
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        let mut parts = entry.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let weight = parts.next().map_or(Some(1000), weight).unwrap_or(0);
        if weight > best.0
            && let Some(place) = find(range)
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

/// The language that a range names, itself or in a wider form (RFC 4647, 3.4): `de-AT` finds `de`, `zh-Hant-HK` what `zh-Hant` stands for.
fn find(range: &str) -> Option<usize> {
    if range.len() > MAX_RANGE {
        return None;
    }
    let mut wanted = range;
    loop {
        let alias = ALIASES.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let ours = alias.map_or(wanted, |(_, tag)| tag);
        if let Some(place) = FILES.iter().position(|(tag, _)| tag.eq_ignore_ascii_case(ours)) {
            return Some(place);
        }
        wanted = wanted.rsplit_once('-')?.0;
    }
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
mod tests;
