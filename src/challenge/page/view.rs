//! From what the gate knows to what the template shows: texts chosen, places filled, nothing escaped yet.

use minijinja::Value;
use serde::Serialize;

use super::Pages;
use super::language::{Language, ScriptTexts, fill};

/// What a challenge page is made of.
#[derive(Clone, Copy, Debug)]
pub struct ChallengeView<'a> {
    /// The visitor's `Accept-Language`, raw; empty when missing.
    pub accept_language: &'a [u8],
    /// The host as in facts: lower case, no port.
    pub host: &'a str,
    /// The decision's id, which the visitor may quote.
    pub request_id: &'a str,
    /// The nonce of this response's content security policy.
    pub nonce: &'a str,
    /// The method of the challenged request.
    pub method: &'a str,
    /// The puzzles. `None` where the rule asks for a wait: then the wait is for everybody.
    pub work: Option<Work<'a>>,
    /// The no-script lane. `None` where it is off: then the page says that JavaScript is needed.
    pub wait: Option<WaitLink<'a>>,
    /// The reason code of a refused clearance that came with the request.
    pub prior: Option<&'a str>,
    /// Whether that clearance is younger than 60 s: another one would be refused as well, so the page asks before it works.
    pub prior_is_fresh: bool,
    /// Path and query of the challenged request, shown as text.
    pub original: &'a str,
}

/// A work token and what its solver must know.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The token's text.
    pub token: &'a str,
    /// How many puzzles.
    pub k: u8,
    /// The binary logarithm of a message's bytes.
    pub size: u8,
    /// What a digest's first four bytes must be below.
    pub target: u32,
    /// The token's life in seconds.
    pub ttl: u16,
}

/// A link that opens after a wait.
#[derive(Clone, Copy, Debug)]
pub struct WaitLink<'a> {
    /// The wait in seconds.
    pub seconds: u32,
    /// Its address: a path of ours with token, return path and signature.
    pub url: &'a str,
}

/// What a notice is made of.
#[derive(Clone, Copy, Debug)]
pub struct NoticeView<'a> {
    /// The visitor's `Accept-Language`, raw; empty when missing.
    pub accept_language: &'a [u8],
    /// The host as in facts: lower case, no port.
    pub host: &'a str,
    /// The decision's id, which the visitor may quote.
    pub request_id: &'a str,
    /// The nonce of this response's content security policy.
    pub nonce: &'a str,
    /// What happened.
    pub notice: Notice<'a>,
}

/// What happened to a request that gets neither the app nor a challenge.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// The verdict flipped to allow between nginx's question and its page.
    Allowed,
    /// The wait is over, but the cookie it bought did not come back. The link, if any, leads to the page that was asked for.
    CookiesBlocked {
        /// The path to try again.
        url: Option<&'a str>,
    },
    /// The request is refused.
    Deny,
    /// The wait lane was asked too soon: it goes on by itself.
    Early {
        /// The seconds that are left.
        seconds: u32,
        /// The lane's address again.
        url: &'a str,
    },
    /// Too many requests.
    Limit,
    /// No verdict could be reached.
    Undecided,
    /// The wait lane's link is no good.
    WaitRefused {
        /// The reason code.
        reason: &'a str,
    },
}

/// What the template reads.
#[derive(Serialize)]
pub(super) struct Sheet<'a> {
    lang: &'a str,
    dir: &'a str,
    nonce: &'a str,
    title: String,
    heading: &'a str,
    intro: String,
    progress: &'a str,
    lane: Vec<String>,
    link: Option<Link<'a>>,
    /// The data block, as JSON that no HTML parser can take for an end of it.
    job: Option<Value>,
    k: u8,
    script: String,
    why: Option<Why<'a>>,
    contact: Option<Contact<'a>>,
    request_label: &'a str,
    request_id: &'a str,
}

#[derive(Serialize)]
struct Link<'a> {
    url: &'a str,
    label: &'a str,
    /// Seconds until the page follows the link by itself.
    refresh: Option<u32>,
}

/// What the script reads.
#[derive(Serialize)]
struct Job<'a> {
    token: &'a str,
    k: u8,
    size: u8,
    target: u32,
    ttl: u16,
    method: &'a str,
    prefix: &'a str,
    script: String,
    /// The no-script lane, offered where the script fails.
    wait: Option<&'a str>,
    /// Whether the person is asked before the work begins.
    ask: bool,
    texts: &'a ScriptTexts,
}

impl Job<'_> {
    /// `<` is the only character that can end a data block.
    fn block(&self) -> Value {
        let json = serde_json::to_string(self).expect("strings and numbers always make JSON");
        Value::from_safe_string(json.replace('<', "\\u003c"))
    }
}

#[derive(Serialize)]
struct Why<'a> {
    question: &'a str,
    answer: &'a str,
    address_label: &'a str,
    address: &'a str,
}

#[derive(Serialize)]
struct Contact<'a> {
    label: &'a str,
    text: &'a str,
    url: Option<String>,
}

impl<'a> Contact<'a> {
    fn new(label: &'a str, text: &'a str) -> Self {
        let url = if text.starts_with("https://") || text.starts_with("http://") {
            Some(text.to_owned())
        } else if text.contains('@') && !text.contains([' ', ':', '/', '?']) {
            Some(format!("mailto:{text}"))
        } else {
            None
        };
        Self { label, text, url }
    }
}

/// Fills the challenge page.
pub(super) fn challenge<'a>(pages: &'a Pages, view: &ChallengeView<'a>) -> Sheet<'a> {
    let texts = pages.language(view.accept_language);
    let say = &texts.challenge;
    let plain = matches!(view.method, "GET" | "HEAD");
    let mut sheet = sheet(pages, texts, view.host, view.request_id, view.nonce);
    sheet.title = format!("{} – {}", say.title, view.host);
    sheet.heading = &say.heading;
    sheet.intro = place(pages, if view.work.is_some() { &say.intro } else { &say.intro_wait }, view.host, "");
    match view.wait {
        Some(wait) => {
            if view.work.is_some() {
                sheet.lane.push(say.script_off.clone());
            }
            (sheet.lane, sheet.link) = lane(texts, sheet.lane, wait);
            if !plain {
                sheet.lane.push(say.resend.clone());
            }
        }
        None => sheet.lane.push(say.script_needed.clone()),
    }
    if let Some(work) = view.work {
        let script = format!("{}static/{}", pages.prefix, pages.script_name);
        let job = Job {
            token: work.token,
            k: work.k,
            size: work.size,
            target: work.target,
            ttl: work.ttl,
            method: view.method,
            prefix: &pages.prefix,
            script: script.clone(),
            wait: view.wait.map(|wait| wait.url),
            // A level that was too low or a life that is over is cured by paying; anything else would end in a loop.
            ask: view.prior_is_fresh && view.prior.is_some_and(|code| !matches!(code, "level" | "expired")),
            texts: &texts.script,
        };
        sheet.k = work.k;
        sheet.script = script;
        sheet.job = Some(job.block());
    }
    sheet.why = Some(Why {
        question: &say.why,
        answer: &say.because,
        address_label: &say.address,
        address: view.original,
    });
    sheet
}

/// Fills a notice.
pub(super) fn notice<'a>(pages: &'a Pages, view: &NoticeView<'a>) -> Sheet<'a> {
    let texts = pages.language(view.accept_language);
    let say = &texts.notice;
    let mut sheet = sheet(pages, texts, view.host, view.request_id, view.nonce);
    let link = |url: &'a str, label: &'a str| Some(Link { url, label, refresh: None });
    // An empty address is the page's own, which is where the visitor wanted to go.
    let reload = || link("", &say.reload);
    let (heading, text, reason, link) = match view.notice {
        Notice::Allowed => (&say.allowed_heading, &say.allowed, "", reload()),
        Notice::CookiesBlocked { url } => {
            let onward = url.and_then(|url| link(url, &texts.go_on));
            (&texts.script.cookies_heading, &texts.script.cookies, "", onward)
        }
        Notice::Deny => (&say.deny_heading, &say.deny, "", None),
        Notice::Early { seconds, url } => {
            (sheet.lane, sheet.link) = lane(texts, Vec::new(), WaitLink { seconds, url });
            (&texts.challenge.heading, &say.early, "", sheet.link.take())
        }
        Notice::Limit => (&say.limit_heading, &say.limit, "", reload()),
        Notice::Undecided => (&say.undecided_heading, &say.undecided, "", reload()),
        Notice::WaitRefused { reason } => (&say.refused_heading, &say.refused, reason, link("/", &say.home)),
    };
    sheet.title = format!("{heading} – {}", view.host);
    sheet.heading = heading;
    sheet.intro = place(pages, text, view.host, reason);
    sheet.link = link;
    sheet
}

fn sheet<'a>(
    pages: &'a Pages,
    texts: &'a Language,
    host: &'a str,
    request_id: &'a str,
    nonce: &'a str,
) -> Sheet<'a> {
    Sheet {
        lang: &texts.lang,
        dir: &texts.dir,
        nonce,
        title: host.to_owned(),
        heading: "",
        intro: String::new(),
        progress: &texts.challenge.progress,
        lane: Vec::new(),
        link: None,
        job: None,
        k: 0,
        script: String::new(),
        why: None,
        contact: pages.settings.contact.as_deref().map(|contact| Contact::new(&texts.contact, contact)),
        request_label: &texts.request,
        request_id,
    }
}

/// A page that goes on by itself. The refresh comes a second after the wait is over, and never sooner than two seconds from now.
fn lane<'a>(
    texts: &'a Language,
    mut lines: Vec<String>,
    wait: WaitLink<'a>,
) -> (Vec<String>, Option<Link<'a>>) {
    let seconds = wait.seconds.clamp(1, 3600);
    lines.push(fill(&texts.challenge.wait, &[("{seconds}", &seconds.to_string())]));
    (lines, Some(Link { url: wait.url, label: &texts.go_on, refresh: Some(seconds + 1) }))
}

fn place(pages: &Pages, text: &str, host: &str, code: &str) -> String {
    let site = pages.settings.name.as_deref().unwrap_or(host);
    fill(text, &[("{site}", site), ("{host}", host), ("{code}", code)])
}
