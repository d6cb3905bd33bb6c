//! The public prefix: what a visitor's browser may ask of us, without a clearance and without a rule.

use subtle::ConstantTimeEq;
use tracing::warn;

use super::behaviour::{HANDED_ON, went_there};
use super::decide::Mode;
use super::{DecisionId, Face, Gate, Moment, Response, Verdict};
use crate::challenge::page::Notice;
use crate::challenge::{Check, canary};
use crate::clearance::{self, Sealed};
use crate::crypto::{Claims, Refusal};
use crate::memory::Counted;
use crate::request::{Request, Scheme, Single, Unfit, cookie_values, name};

/// Where the links lead that no person sees: a name that a robot has no reason to leave out.
const TRAP: &str = "list/";

impl Gate {
    /// Whether a target belongs to the public prefix: by its raw bytes *and* by every reading, so that no `..` makes it an exemption.
    pub fn is_public(&self, request: &Request<'_>) -> bool {
        let prefix = self.settings.prefix.as_bytes();
        request.target.raw.starts_with(prefix)
            && request.target.readings.all(|reading| reading.starts_with(prefix))
    }

    /// The policy that a target names if it is nginx's error page, which judges another request than the one for itself:
    /// `page`, or `page/NAME` where the question named one.
    pub fn error_page_for<'t>(&self, target: &'t [u8]) -> Option<Option<&'t str>> {
        let path = target.split(|b| *b == b'?').next().unwrap_or_default();
        page(path.strip_prefix(self.settings.prefix.as_bytes())?)
    }

    /// Answers a request that a proxy routed to the public prefix. `form` is the body of a form post. `asked` is the
    /// request that nginx's error page describes in `X-Forwarded-*`; only `page` looks at it.
    pub fn public<'r>(
        &self,
        request: &Result<Request<'_>, Unfit>,
        form: Option<&[u8]>,
        asked: impl FnOnce() -> Result<Request<'r>, Unfit>,
        moment: &Moment,
    ) -> Response {
        let id = DecisionId::new(moment.seed.decision);
        match request {
            Err(Unfit::Incomplete(fact)) => {
                if self.state.log_due(moment.now) {
                    warn!(%id, missing = fact, "cannot answer a visitor: the proxy must say each fact once; see the example for your proxy");
                }
                self.unavailable(id)
            }
            Err(Unfit::Malformed(part)) => self.plain(400, format!("malformed {part}\n")),
            Ok(request) if !self.is_public(request) => self.not_found(),
            Ok(request) => match page(self.endpoint(request)) {
                Some(policy) => self.error_page(policy, request, &asked(), moment),
                None => self.public_endpoint(request, form, moment),
            },
        }
    }

    /// The name behind the prefix: raw bytes, so that no other spelling is an endpoint.
    fn endpoint<'a>(&self, request: &Request<'a>) -> &'a [u8] {
        &request.target.path()[self.settings.prefix.len()..]
    }

    /// Every endpoint that is answered in line as well as on the http listener.
    pub(super) fn public_endpoint(
        &self,
        request: &Request<'_>,
        form: Option<&[u8]>,
        moment: &Moment,
    ) -> Response {
        #[cfg(test)]
        super::fault::strike("public");
        match (self.endpoint(request), request.method) {
            (b"answer", "POST") => self.accept_answer(request, form, moment),
            (b"answer", _) => self.wrong_method("POST"),
            (b"check", "GET" | "HEAD") => self.probe(request, moment),
            (b"check", _) => self.wrong_method("GET, HEAD"),
            (b"wait", "GET") => self.wait(request, moment),
            (b"waited", "GET") => self.waited(request, moment),
            (b"wait" | b"waited", _) => self.wrong_method("GET"),
            (name, method) => match (name.strip_prefix(b"static/"), name.strip_prefix(TRAP.as_bytes())) {
                (Some(file), _) => self.file(file, method, request),
                (None, Some(text)) => self.trap(text, request, moment),
                (None, None) => self.not_found(),
            },
        }
    }

    fn not_found(&self) -> Response {
        self.plain(404, "not found\n")
    }

    fn wrong_method(&self, allowed: &'static str) -> Response {
        self.plain(405, "wrong method\n").header("allow", allowed)
    }

    /// An immutable asset, named by its hash.
    fn file(&self, name: &[u8], method: &str, request: &Request<'_>) -> Response {
        let Some(asset) = std::str::from_utf8(name).ok().and_then(|name| self.pages.asset(name)) else {
            return self.not_found();
        };
        if !matches!(method, "GET" | "HEAD") {
            return self.wrong_method("GET, HEAD");
        }
        let known = request.header(name::IF_NONE_MATCH).is_some_and(|tags| {
            tags.split(|b| *b == b',')
                .map(<[u8]>::trim_ascii)
                .any(|tag| tag.strip_prefix(b"W/").unwrap_or(tag) == asset.etag.as_bytes())
        });
        let response = if known {
            Response::empty(304)
        } else {
            Response::asset(asset.content_type, asset.body.clone(), Some(asset.gzip.clone()))
                .header("content-security-policy", asset.security_policy)
                .header("cross-origin-resource-policy", "same-origin")
                .header("x-content-type-options", "nosniff")
        };
        response
            .header("cache-control", "public, max-age=31536000, immutable")
            .header("etag", asset.etag.clone())
    }

    /// The link of a challenge page that no person sees. Whoever takes it finds nothing there.
    fn trap(&self, text: &[u8], request: &Request<'_>, moment: &Moment) -> Response {
        if let Ok((reader, tag)) = canary::open(&self.ring, &request.host, text, moment.now)
            && request.method == "GET"
            && went_there(request)
            && self.mode_of_host(request, moment) == Mode::Record
        {
            self.log_outcome("trap", "taken", request, moment);
            let sight = self.state.memory.sight(request, self.asn(request));
            // Whose page the link was on hears of it once: a page that got about must not be held against its reader again and again.
            let handed_on = self.state.within(
                Mode::Record,
                &self.state.canary,
                HANDED_ON,
                Counted::Clearance(&tag),
                moment.now,
            );
            self.state.memory.trapped(&sight, handed_on.ok().map(|()| reader), moment.now);
        }
        self.not_found()
    }

    /// The address of such a link, on a page for this visitor. Robots seldom send forms, and the page for one is long enough.
    pub(super) fn trap_url(&self, request: &Request<'_>, moment: &Moment) -> Option<String> {
        let client = request.client.filter(|_| self.settings.trap && request.method == "GET")?;
        let text = canary::sign(&self.ring, &request.host, self.state.memory.reader(client), moment.now);
        Some([&self.settings.prefix, TRAP, &text].concat())
    }

    /// The page's cookie probe: whether the clearance came back.
    fn probe(&self, request: &Request<'_>, moment: &Moment) -> Response {
        let came_back = self.clearance(request, moment.now, |_| true, 0, |_| true).is_ok();
        Response::empty(if came_back { 204 } else { 403 })
            .header("cache-control", "no-store")
            .header("vary", "Cookie")
    }

    /// nginx's error page: decides again about the request that was refused, without recording it a second time.
    fn error_page(
        &self,
        policy: Option<&str>,
        request: &Request<'_>,
        asked: &Result<Request<'_>, Unfit>,
        moment: &Moment,
    ) -> Response {
        if !matches!(request.method, "GET" | "HEAD") {
            return self.wrong_method("GET, HEAD");
        }
        // Asked by a visitor, the request described is the one for this very page: then there is nothing to tell.
        if asked.as_ref().is_ok_and(|asked| self.is_public(asked)) {
            return self.not_found();
        }
        // A limit that this very request used up must not refuse it. The proxy says what became of the question; one that does not
        // is told of the limits as they stand now. Whoever forges it gets another page, and no other verdict.
        let told = request.header(name::X_TOLLGATE_VERDICT);
        let within = told.is_some_and(|verdict| matches!(&*verdict, b"challenge" | b"deny"));
        let mode = if within { Mode::Within } else { Mode::Peek };
        let decision = self.judge(policy, asked, moment, mode, &mut ());
        self.log(Face::Nginx, asked, &decision, moment.now);
        // Counted it was when nginx asked; the visitor is told this number.
        self.state.remember(Face::Nginx, &decision);
        match (decision.verdict, asked) {
            // The first question was refused, this one is not: a limit ran out or a policy was loaded in between.
            (Verdict::Allow, Ok(asked)) => self.notice(403, asked, Notice::Allowed, moment),
            (Verdict::Allow, Err(_)) | (Verdict::Undecided, _) => self.unavailable(decision.id),
            _ => self.refusal(Face::Nginx, asked, &decision, moment),
        }
    }

    /// An answer to a challenge of kind work.
    fn accept_answer(&self, request: &Request<'_>, form: Option<&[u8]>, moment: &Moment) -> Response {
        let (outcome, response) = match self.verify_answer(request, form, moment) {
            Ok(sealed) => ("accepted", self.cleared(204, request, &sealed, moment)),
            Err((refusal, retry_after)) => {
                let status = match refusal {
                    Refusal::Malformed => 400,
                    Refusal::Many => 429,
                    _ => 403,
                };
                let response = self.plain(status, refusal.code());
                (
                    refusal.code(),
                    if retry_after > 0 {
                        response.header("retry-after", retry_after.to_string())
                    } else {
                        response
                    },
                )
            }
        };
        self.state.metrics.answer("work", outcome);
        if outcome != "accepted" {
            self.log_outcome("work", outcome, request, moment);
        }
        response
    }

    /// The checks of an answer, cheapest first. Minting is reached through this one `Ok`.
    fn verify_answer(
        &self,
        request: &Request<'_>,
        form: Option<&[u8]>,
        moment: &Moment,
    ) -> Result<Sealed, (Refusal, u64)> {
        let refused = |refusal| (refusal, 0);
        if !same_origin(request, self.visitors_scheme(request)) {
            return Err(refused(Refusal::Origin));
        }
        let text = answer_text(request, form).ok_or((Refusal::Malformed, 0))?;
        let answer = self.check(request, moment, |check| check.answer(&text)).map_err(refused)?;
        let sealed = self.seal(answer.paid()).map_err(refused)?;
        // A visitor who already holds what this answer buys gets it again without a hash.
        let name = self.cookie_name(request);
        if cookie_values(&request.headers, name).any(|held| bool::from(held.ct_eq(sealed.text.as_bytes()))) {
            return Ok(sealed);
        }
        let mode = self.mode_of_host(request, moment);
        self.state
            .answer(mode, request.client, moment.now)
            .map_err(|wait| (Refusal::Many, wait.as_secs() + 1))?;
        answer.verify().map_err(refused)?;
        if mode == Mode::Record {
            self.solved(request, &answer.paid().id, moment.now);
        }
        Ok(sealed)
    }

    /// Whether what is asked of us leaves a trace: the policy of the host says so, since no proxy names one for it.
    pub(super) fn mode_of_host(&self, request: &Request<'_>, moment: &Moment) -> Mode {
        if self.learns(self.of_host(request), request, moment) { Mode::Record } else { Mode::Peek }
    }

    /// The scheme of the address that the visitor's browser shows, as far as it is known.
    fn visitors_scheme(&self, request: &Request<'_>) -> Scheme {
        if self.settings.cookie.always_secure { Scheme::Https } else { request.scheme }
    }

    /// Runs a check of a token against this visitor and this policy.
    pub(super) fn check<T>(
        &self,
        request: &Request<'_>,
        moment: &Moment,
        run: impl FnOnce(&Check<'_>) -> T,
    ) -> T {
        self.with_visitor(request, |visitor| {
            run(&Check { ring: &self.ring, limits: &self.challenge_limits, visitor, now: moment.now })
        })
    }

    /// The clearance that was paid for.
    pub(super) fn seal(&self, claims: &Claims) -> Result<Sealed, Refusal> {
        clearance::seal(&self.ring, claims, &self.settings.lives).ok_or(Refusal::Key)
    }

    /// An answer that hands out a clearance.
    pub(super) fn cleared(
        &self,
        status: u16,
        request: &Request<'_>,
        sealed: &Sealed,
        moment: &Moment,
    ) -> Response {
        let age = sealed.expires.saturating_sub(moment.now.seconds());
        if self.visitors_scheme(request) == Scheme::Http && self.state.first_over_http() {
            warn!(
                "a clearance went out over plain http, where others can read it or plant one of theirs; if visitors come over https, have the proxy say so in x-forwarded-proto, or set `cookie.secure: always`"
            );
        }
        Response::empty(status)
            .header("set-cookie", self.cookie.header(self.slot(request), &sealed.text, age))
            .header("cache-control", "no-store")
            .header("vary", "Cookie")
    }
}

/// The policy that the name of nginx's error page says, if it is that page: nothing, or one segment.
fn page(endpoint: &[u8]) -> Option<Option<&str>> {
    match endpoint.strip_prefix(b"page")? {
        [] => Some(None),
        [b'/', name @ ..] if name.iter().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b)) => {
            std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).map(Some)
        }
        _ => None,
    }
}

/// The text of an answer: one header, or one form field, or both with the same text.
fn answer_text(request: &Request<'_>, form: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut lines = request.headers.all(name::TOLLGATE_ANSWER);
    let header = lines.next();
    let mut fields = form_urlencoded::parse(form.unwrap_or_default()).filter(|(name, _)| name == "a");
    let field = fields.next().map(|(_, value)| value.into_owned().into_bytes());
    if lines.next().is_some() || fields.next().is_some() {
        return None;
    }
    match (header, field) {
        (Some(header), Some(field)) if header != field => None,
        (header, field) => header.map(<[u8]>::to_vec).or(field),
    }
}

/// Whether a browser that says where a post comes from says: from this very origin. Programs say nothing.
fn same_origin(request: &Request<'_>, scheme: Scheme) -> bool {
    let site = match request.headers.single(name::SEC_FETCH_SITE) {
        Single::Absent => true,
        Single::Conflict => false,
        Single::One(site) => site == b"same-origin",
    };
    let origin = match request.headers.single(name::ORIGIN) {
        Single::Absent => true,
        Single::Conflict => false,
        Single::One(origin) => origin
            .strip_prefix(scheme.as_str().as_bytes())
            .and_then(|rest| rest.strip_prefix(b"://"))
            .is_some_and(|host| host.eq_ignore_ascii_case(request.host.authority(scheme))),
    };
    site && origin
}
