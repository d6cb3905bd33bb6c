//! `Accept-Language`: it chooses one of our languages, one that it names, and does nothing else to a page.

use std::sync::LazyLock;

use tollgate::gate::{Answer, Face, Live};
use tollgate::request::{Headers, Parts, Request};

use super::fixture::{AGENT, HOST, gate, moment};

/// Every page is the first that somebody unknown gets.
static GATE: LazyLock<Live> =
    LazyLock::new(|| gate("all.yaml", "bots: [{name: all, action: CHALLENGE, path_regex: .*}]"));

/// Other names of languages of ours, and what their readers get.
const FAMILIES: &[(&str, &[&str])] = &[
    ("fil", &["fil", "tl"]),
    ("he", &["he", "iw"]),
    ("hr", &["hr", "bs", "sh"]),
    ("nb", &["nb", "no"]),
    ("zh", &["zh", "cmn", "yue"]),
];

pub(crate) fn run(bytes: &[u8]) {
    let page = page(bytes);
    let language = page.split("<html lang=\"").nth(1).and_then(|rest| rest.split('"').next());
    let language = language.expect("a page says its language").to_owned();
    assert!(language == "en" || is_named(&language, bytes), "{language} for {}", bytes.escape_ascii());
    assert!(page == self::page(language.as_bytes()), "more came of it than {language}");
}

/// Whether some entry names the language, or a wider one, and does not refuse it.
fn is_named(language: &str, accepted: &[u8]) -> bool {
    let root = language.split('-').next().unwrap_or_default();
    let itself = [root];
    let family = FAMILIES.iter().find(|(name, _)| *name == root).map_or(&itself[..], |(_, family)| *family);
    accepted.split(|b| *b == b',').any(|entry| {
        let entry = String::from_utf8_lossy(entry).to_ascii_lowercase();
        let mut parts = entry.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let refused =
            parts.next().is_some_and(|weight| weight.strip_prefix("q=").is_none_or(|q| q.parse() == Ok(0.0)));
        family.contains(&range.split('-').next().unwrap_or_default()) && !refused
    })
}

/// The page of a challenge.
fn page(accepted: &[u8]) -> String {
    let mut headers = Headers::default();
    headers.push(b"user-agent", AGENT.as_bytes());
    headers.push(b"accept", b"text/html");
    headers.push(b"accept-language", accepted);
    let parts = Parts {
        method: b"GET",
        target: b"/page",
        host: HOST.as_bytes(),
        scheme: b"https",
        client: None,
        headers,
    };
    let gate = GATE.load();
    let answer = gate.answer(Face::Check, None, &Request::new(parts), &moment());
    let Answer::Refuse(_, response) = answer else { panic!("a browser is challenged, not {answer:?}") };
    String::from_utf8(response.body().to_vec()).expect("a page is UTF-8")
}
