//! What visitors ask for: the requests that scenarios are made of, before any proxy has put them into its words.

use bytes::Bytes;

/// The site that everybody visits.
pub(crate) const HOST: &str = "www.example.org";
/// The agent of a browser.
pub(crate) const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";
/// The agent of a program that says what it is.
const READER: &str = "Reader/2.1 (+https://reader.example/about)";
/// The agent of a robot that the stock policy denies.
const ROBOT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
/// A large body.
pub(crate) const MIB: usize = 1 << 20;

/// What Chrome sends beside its agent when it opens a page.
const BROWSER: [(&str, &str); 14] = [
    ("cache-control", "max-age=0"),
    ("sec-ch-ua", "\"Chromium\";v=\"153\", \"Not)A;Brand\";v=\"99\", \"Google Chrome\";v=\"153\""),
    ("sec-ch-ua-mobile", "?0"),
    ("sec-ch-ua-platform", "\"Linux\""),
    ("upgrade-insecure-requests", "1"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
    ("sec-fetch-site", "none"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-user", "?1"),
    ("sec-fetch-dest", "document"),
    ("accept-encoding", "gzip, deflate, br, zstd"),
    ("accept-language", "en-GB,en;q=0.9,de;q=0.8"),
    ("priority", "u=0, i"),
    ("x-request-id", "2a6e1c0e-6f1c-4a50-9c56-0f5a7f6b7e0d"),
];

/// What a program sends beside its agent.
const PROGRAM: [(&str, &str); 6] = [
    ("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"),
    ("accept-encoding", "gzip, br"),
    ("accept-language", "en"),
    ("if-none-match", "\"5f2c1b0e-1a2b\""),
    ("if-modified-since", "Sat, 28 Nov 2026 09:12:44 GMT"),
    ("x-request-id", "2a6e1c0e-6f1c-4a50-9c56-0f5a7f6b7e0d"),
];

/// By which way of a proxy a request reaches the gate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Via {
    /// It asks whether the request may pass.
    Question,
    /// It fetches the page for a visitor who was refused: nginx alone does.
    Page,
    /// The visitor's request is for the gate itself: asked in line, or routed.
    Public,
}

/// What is to come of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Expect {
    Allow,
    Challenge,
    Deny,
    Page,
    Accepted,
    /// This very status.
    Status(u16),
    /// Whatever it is, as long as it is an answer.
    Any,
}

/// One request of a visit.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case, in their order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) via: Via,
    pub(crate) expect: Expect,
}

impl Step {
    pub(crate) fn get(target: &str, agent: &str, headers: &[(&str, &str)], expect: Expect) -> Self {
        let own = [("user-agent", agent)];
        let headers = own.iter().chain(headers).map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Self {
            method: "GET".to_owned(),
            target: target.to_owned(),
            headers,
            body: Bytes::new(),
            via: Via::Question,
            expect,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn expecting(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    pub(crate) fn via(mut self, via: Via) -> Self {
        self.via = via;
        self
    }
}

/// A page that a browser opens and is challenged for.
pub(crate) fn browser(target: &str) -> Step {
    Step::get(target, CHROME, &BROWSER, Expect::Challenge)
}

/// A page that an honest program fetches.
pub(crate) fn reader(target: &str) -> Step {
    Step::get(target, READER, &PROGRAM, Expect::Allow)
}

/// A page that an unwanted robot fetches.
pub(crate) fn robot(target: &str) -> Step {
    Step::get(target, ROBOT, &PROGRAM, Expect::Deny)
}

/// A browser that has paid. `cookie` is `name=value`.
pub(crate) fn returning(target: &str, cookie: &str) -> Step {
    browser(target)
        .with("cookie", &format!("theme=dark; {cookie}; session=5f2c1b0e"))
        .expecting(Expect::Allow)
}

/// The answer to a challenge, as the page sends it.
pub(crate) fn answer(text: &str, origin: &str) -> Step {
    let mut step = Step::get("/.tollgate/answer", CHROME, &BROWSER, Expect::Accepted)
        .without("upgrade-insecure-requests")
        .without("sec-fetch-user")
        .with("origin", origin)
        .with("tollgate-answer", text)
        .via(Via::Public);
    step.method = "POST".to_owned();
    for (name, value) in &mut step.headers {
        match name.as_str() {
            "accept" => *value = "*/*".to_owned(),
            "sec-fetch-dest" => *value = "empty".to_owned(),
            "sec-fetch-mode" => *value = "cors".to_owned(),
            "sec-fetch-site" => *value = "same-origin".to_owned(),
            _ => {}
        }
    }
    step
}

/// A large page, or a large upload.
pub(crate) fn large(upload: bool) -> Step {
    if !upload {
        return reader("/large");
    }
    let mut step = reader("/upload").without("if-none-match").without("if-modified-since");
    (step.method, step.body) = ("POST".to_owned(), vec![b'x'; MIB].into());
    step.with("content-type", "application/octet-stream")
}
