//! Every state of the pages, to be looked at: for operators before they go live, for tests of how pages look, and to try a template.
//!
//! The pages are the true ones, with the true script; a job that names a state makes that script show it and do nothing else.

use minijinja::context;

use super::language::Language;
use super::sheet::{self, Sheet};
use super::{ChallengeView, Logo, Notice, NoticeView, PageError, Pages, Settings, WaitLink, Work};

/// A file of the previews.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Its path below the folder of the previews, with `/`.
    pub path: String,
    /// What it holds.
    pub body: Vec<u8>,
}

/// Every state: its name, when visitors see it, and how it comes about.
const STATES: &[(&str, &str, Kind)] = &[
    ("running", "the check at work: what most visitors see, for half a second", Kind::Script(GET)),
    ("half", "half of a slow check", Kind::Script(GET)),
    ("worker", "half of a check that may not work in the background", Kind::Script(GET)),
    ("done", "the check is done, and the page loads", Kind::Script(GET)),
    ("retrying", "nobody, or a failing server, answers yet", Kind::Script(GET)),
    ("offline", "the device is offline", Kind::Script(GET)),
    ("silent", "nobody answered for long", Kind::Script(GET)),
    ("cookies", "the cookie did not come back", Kind::Script(GET)),
    ("form", "a form waits for the visitor to send it", Kind::Script("POST")),
    ("prior", "the site asks again right after it was answered", Kind::Script(GET)),
    ("refused", "the answer was refused", Kind::Script(GET)),
    ("expired", "the page was left open for too long", Kind::Script(GET)),
    ("blocked", "the script was not loaded", Kind::Script(GET)),
    ("engine", "nothing in the browser calculates right", Kind::Script(GET)),
    ("timeout", "the script neither works nor fails", Kind::Script(GET)),
    ("no-script", "scripts are off or blocked: the visitor waits", Kind::NoScript(GET, true)),
    ("no-script-form", "the same, for a form", Kind::NoScript("POST", true)),
    ("no-script-no-lane", "scripts are off, and so is the wait", Kind::NoScript(GET, false)),
    ("wait", "a rule that asks everybody to wait", Kind::Wait),
    ("early", "the wait is not over", Kind::Notice(Notice::Early { seconds: 4, url: "#" })),
    (
        "no-cookies",
        "the wait's cookie did not come back",
        Kind::Notice(Notice::CookiesBlocked { url: Some("#") }),
    ),
    (
        "wait-refused",
        "the wait's link is too old or edited",
        Kind::Notice(Notice::WaitRefused { reason: "forged" }),
    ),
    ("deny", "the request is denied", Kind::Notice(Notice::Deny)),
    ("limit", "too many requests", Kind::Notice(Notice::Limit)),
    ("allowed", "allowed in the meantime (nginx)", Kind::Notice(Notice::Allowed)),
];

/// How a state comes about.
#[derive(Clone, Copy)]
enum Kind {
    /// The script shows it, on the page for a request of this method.
    Script(&'static str),
    /// A browser without scripts shows it; with or without the lane.
    NoScript(&'static str, bool),
    Notice(Notice<'static>),
    Wait,
}

const GET: &str = "GET";

impl Pages {
    /// Every state in every language as `LANGUAGE/STATE.html`, the script that they load, and an `index.html` of it all.
    pub fn previews(&self) -> Result<Vec<Preview>, PageError> {
        let mut files = vec![
            Preview { path: "index.html".to_owned(), body: self.index()?.into() },
            Preview { path: "script.js".to_owned(), body: self.script.body.to_vec() },
        ];
        for texts in &self.languages {
            for (state, _, kind) in STATES {
                let html = self.render(&sheet(self, texts, state, *kind));
                files.push(Preview { path: format!("{}/{state}.html", texts.lang), body: html.into() });
            }
        }
        Ok(files)
    }

    /// One look at every state, in the language that all visitors get or in the first of ours.
    fn index(&self) -> Result<String, PageError> {
        let states: Vec<_> = STATES.iter().map(|&(name, about, _)| context! { name, about }).collect();
        let languages: Vec<_> = self
            .languages
            .iter()
            .map(|l| context! { lang => l.lang.as_str(), name => l.name.as_str() })
            .collect();
        let shown = self.settings.language.unwrap_or(&self.languages[0].lang);
        Ok(self.templates.render_str(INDEX, context! { states, languages, shown })?)
    }
}

const INDEX: &str = include_str!("assets/preview.html");

/// Settings with everything that a template may show.
pub(super) fn sample() -> Settings {
    Settings {
        name: Some("Example".to_owned()),
        contact: Some("help@example.org".to_owned()),
        footer: Some("A line at the foot".to_owned()),
        logo: Logo::parse("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>").ok(),
        ..Settings::default()
    }
}

/// Every state's name and sheet in one language.
pub(super) fn sheets<'a>(
    pages: &'a Pages,
    language: &'static str,
) -> impl Iterator<Item = (&'static str, Sheet<'a>)> {
    let texts =
        pages.languages.iter().find(move |texts| texts.lang == language).unwrap_or(&pages.languages[0]);
    STATES.iter().map(move |(state, _, kind)| (*state, sheet(pages, texts, state, *kind)))
}

fn sheet<'a>(pages: &'a Pages, texts: &'a Language, state: &'static str, kind: Kind) -> Sheet<'a> {
    let (accept_language, nonce, host, request_id) = (&b""[..], "preview", "www.example.org", REQUEST);
    let view = |method, work, lane: bool| ChallengeView {
        accept_language,
        host,
        request_id,
        nonce,
        method,
        work,
        wait: lane.then_some(WaitLink { seconds: 5, url: "#" }),
        prior: None,
        prior_is_fresh: false,
        trap: None,
        original: "/articles/2024/a-page?lang=en",
    };
    let work = Some(Work { token: "", k: 16, size: 12, target: 1, ttl: 300 });
    let challenge = |view| sheet::challenge(pages, texts, &view, "../script.js".to_owned(), Some(state));
    let sheet = match kind {
        Kind::Script(method) => challenge(view(method, work, true)),
        Kind::NoScript(method, lane) => challenge(view(method, work, lane)).without_script(),
        Kind::Wait => challenge(view(GET, None, true)),
        Kind::Notice(notice) => {
            sheet::notice(pages, texts, &NoticeView { accept_language, host, request_id, nonce, notice })
        }
    };
    sheet.staying()
}

const REQUEST: &str = "0123456789abcdef0123456789abcdef";
