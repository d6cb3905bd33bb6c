//! From what the gate knows to what the template shows: texts chosen, places filled, nothing escaped but the data block.

use minijinja::Value;
use serde::Serialize;

use super::language::{Language, ScriptTexts, fill};
use super::{ChallengeView, Logo, Notice, NoticeView, Pages, WaitLink};

/// What the template reads.
#[derive(Serialize)]
pub(super) struct Sheet<'a> {
    lang: &'a str,
    dir: &'a str,
    nonce: &'a str,
    title: String,
    heading: &'a str,
    intro: String,
    /// The site's name.
    site: &'a str,
    /// The logo's address.
    logo: Option<&'a str>,
    progress: &'a str,
    lane: Vec<String>,
    link: Option<Link<'a>>,
    /// The data block, as JSON that no HTML parser can take for an end of it.
    job: Option<Value>,
    k: u8,
    script: String,
    why: Option<Why<'a>>,
    /// The address of a link that nobody sees.
    trap: Option<&'a str>,
    contact: Option<Contact<'a>>,
    footer: Option<&'a str>,
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
    /// A state to look at, in which nothing happens; previews alone have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    show: Option<&'a str>,
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

impl<'a> Sheet<'a> {
    /// The page, but it never goes on by itself.
    pub(super) fn staying(self) -> Self {
        Self { link: self.link.map(|link| Link { refresh: None, ..link }), ..self }
    }

    /// The page as a browser without scripts shows it.
    pub(super) fn without_script(self) -> Self {
        Self { job: None, ..self }
    }

    /// What a template must show of this sheet, each as it stands in the page.
    pub(super) fn essentials(&self) -> impl Iterator<Item = (&'static str, String)> {
        let ids = ["heading", "intro", "status", "bar", "more"];
        let ids = ids.into_iter().filter(|_| self.job.is_some()).map(|id| ("an id", format!("id=\"{id}\"")));
        let texts = [
            ("`lang`", format!("lang=\"{}\"", self.lang)),
            ("`dir`", format!("dir=\"{}\"", self.dir)),
            ("`heading`", self.heading.to_owned()),
            ("`intro`", self.intro.clone()),
            ("`request_id`", self.request_id.to_owned()),
        ];
        let lines = self.lane.iter().map(|line| ("a line of `lane`", line.clone()));
        let link = self.link.as_ref().map(|link| ("`link.url`", format!("href=\"{}\"", link.url)));
        texts.into_iter().chain(ids).chain(lines).chain(link)
    }
}

/// Fills the challenge page. `show` is the state of a preview.
pub(super) fn challenge<'a>(
    pages: &'a Pages,
    texts: &'a Language,
    view: &ChallengeView<'a>,
    script: String,
    show: Option<&'a str>,
) -> Sheet<'a> {
    let say = &texts.challenge;
    let plain = matches!(view.method, "GET" | "HEAD");
    let mut sheet = sheet(pages, texts, view.host, view.request_id, view.nonce);
    sheet.title = format!("{} – {}", say.title, view.host);
    sheet.heading = &say.heading;
    sheet.intro = place(pages, if view.work.is_some() { &say.intro } else { &say.intro_wait }, view.host, "");
    if let Some(wait) = view.wait {
        let (line, link) = lane(texts, wait);
        let off = view.work.map(|_| say.script_off.clone());
        let resend = (!plain).then(|| say.resend.clone());
        sheet.lane = off.into_iter().chain([line]).chain(resend).collect();
        sheet.link = Some(link);
    } else {
        sheet.lane = vec![say.script_needed.clone()];
    }
    if let Some(work) = view.work {
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
            show,
            texts: &texts.script,
        };
        sheet.k = work.k;
        sheet.script = script;
        sheet.job = Some(job.block());
    }
    sheet.trap = view.trap;
    sheet.why = Some(Why {
        question: &say.why,
        answer: &say.because,
        address_label: &say.address,
        address: view.original,
    });
    sheet
}

/// Fills a notice.
pub(super) fn notice<'a>(pages: &'a Pages, texts: &'a Language, view: &NoticeView<'a>) -> Sheet<'a> {
    let say = &texts.notice;
    let mut sheet = sheet(pages, texts, view.host, view.request_id, view.nonce);
    let link = |url: &'a str, label: &'a str| Some(Link { url, label, refresh: None });
    // An empty address is the page's own, which is where the visitor wanted to go.
    let reload = || link("", &say.reload);
    let (heading, text, reason, link) = match view.notice {
        Notice::Allowed => (&say.allowed_heading, &say.allowed, "", reload()),
        Notice::CookiesBlocked { url } => {
            let onward = url.and_then(|url| link(url, &texts.script.go_on));
            let [heading, text] = &texts.script.cookies;
            (heading, text, "", onward)
        }
        Notice::Deny => (&say.deny_heading, &say.deny, "", None),
        Notice::Early { seconds, url } => {
            let (line, onward) = lane(texts, WaitLink { seconds, url });
            sheet.lane = vec![line];
            (&texts.challenge.heading, &say.early, "", Some(onward))
        }
        Notice::Limit => (&say.limit_heading, &say.limit, "", reload()),
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
    let settings = &pages.settings;
    Sheet {
        lang: &texts.lang,
        dir: &texts.dir,
        nonce,
        title: host.to_owned(),
        heading: "",
        intro: String::new(),
        site: site(pages, host),
        logo: settings.logo.as_ref().map(Logo::url),
        progress: &texts.challenge.progress,
        lane: Vec::new(),
        link: None,
        job: None,
        k: 0,
        script: String::new(),
        why: None,
        trap: None,
        contact: settings.contact.as_deref().map(|contact| Contact::new(&texts.contact, contact)),
        footer: settings.footer.as_deref(),
        request_label: &texts.request,
        request_id,
    }
}

/// A page that goes on by itself. The refresh comes a second after the wait is over, and never sooner than two seconds from now.
fn lane<'a>(texts: &'a Language, wait: WaitLink<'a>) -> (String, Link<'a>) {
    let seconds = wait.seconds.clamp(1, 3600);
    let line = fill(&texts.challenge.wait, &[("{seconds}", &seconds.to_string())]);
    (line, Link { url: wait.url, label: &texts.script.go_on, refresh: Some(seconds + 1) })
}

fn site<'a>(pages: &'a Pages, host: &'a str) -> &'a str {
    pages.settings.name.as_deref().unwrap_or(host)
}

fn place(pages: &Pages, text: &str, host: &str, code: &str) -> String {
    fill(text, &[("{site}", site(pages, host)), ("{host}", host), ("{code}", code)])
}
