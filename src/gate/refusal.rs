//! What a visitor gets instead of the app: a page for a person, a short answer for a program.

use std::time::Duration;

use super::{Decision, DecisionId, Face, Gate, Moment, Response, Verdict};
use crate::challenge::page::{ChallengeView, Notice, NoticeView, Page, WaitLink, Work};
use crate::challenge::{Stamp, Token, issue_wait, issue_work};
use crate::clearance;
use crate::crypto::{Kind, Refusal, encode};
use crate::policy::Toll;
use crate::request::{Request, Unfit, Wants, cookie_values, name};

const HTML: &str = "text/html; charset=utf-8";
const PROBLEM: &str = "application/problem+json";
const TEXT: &str = "text/plain; charset=utf-8";

/// A clearance that was refused for who shows it, though it is younger than this, would be refused again at once: the
/// page then waits for a click instead of going in circles.
const FRESH_SECONDS: u64 = 60;

/// How long a wait may be redeemed at the least, in seconds.
const REDEEM_SECONDS: u64 = 60;

impl Gate {
    /// The answer to a challenged, denied or limited request.
    pub(super) fn refusal(
        &self,
        face: Face,
        request: &Result<Request<'_>, Unfit>,
        decision: &Decision<'_>,
        moment: &Moment,
    ) -> Response {
        #[cfg(test)]
        super::fault::strike("page");
        let status = self.status(face, decision);
        let response = match request {
            Ok(request) => match (decision.verdict, decision.toll) {
                (Verdict::Challenge, Some(toll)) => self.challenge(status, request, &toll, decision, moment),
                _ => self.denial(status, request, decision, moment),
            },
            Err(_) => {
                self.plain(status, format!("This request cannot be answered. Request {}\n", decision.id))
            }
        };
        match decision.retry_after {
            0 => response,
            seconds => response.header("retry-after", seconds.to_string()),
        }
    }

    /// A challenge: the page with its puzzle, or the token for a program that can pay.
    fn challenge(
        &self,
        status: u16,
        request: &Request<'_>,
        toll: &Toll,
        decision: &Decision<'_>,
        moment: &Moment,
    ) -> Response {
        let wants = Wants::of(request);
        if wants != Wants::Page {
            // A rule that asks for a wait takes work as well, and work is what a program can do.
            self.state.metrics.challenge(Kind::Work.as_str());
            let token = self.work_token(request, self.of(decision).id, toll, moment);
            return self
                .short(status, wants, "challenge", decision.id)
                .header("tollgate-challenge", token.text());
        }
        let work =
            (toll.kind == Kind::Work).then(|| self.work_token(request, self.of(decision).id, toll, moment));
        let seconds = self.wait_seconds(toll);
        let link = seconds.map(|seconds| {
            // What was raised keeps the lane of its rule: who has no scripts cannot pay more, and is not thrown out.
            let level = toll.level.min(self.settings.wait.max_level);
            let token = self.wait_token(request, self.of(decision).id, level, seconds, moment);
            (seconds, self.wait_url(&token, request.target.raw))
        });
        let text = work.as_ref().map(Token::text);
        let work = work.zip(text.as_deref()).map(|(token, text)| Work {
            token: text,
            k: token.k(),
            size: token.size(),
            target: token.target(),
            ttl: token.ttl(),
        });
        self.state.metrics.challenge(toll.kind.as_str());
        let nonce = encode(&moment.seed.nonce);
        let trap = self.trap_url(request, moment);
        let page = self.pages.challenge(&ChallengeView {
            accept_language: &request.header(name::ACCEPT_LANGUAGE).unwrap_or_default(),
            host: &request.host,
            request_id: &decision.id.to_string(),
            nonce: &nonce,
            method: request.method,
            work,
            wait: link.as_ref().map(|(seconds, url)| WaitLink { seconds: *seconds, url }),
            prior: decision.prior.map(Refusal::code),
            prior_is_fresh: decision.prior.is_some() && self.holds_fresh_clearance(request, moment),
            trap: trap.as_deref(),
            original: &shown(request.target.raw),
        });
        self.page(status, page, &nonce)
    }

    fn denial(
        &self,
        status: u16,
        request: &Request<'_>,
        decision: &Decision<'_>,
        moment: &Moment,
    ) -> Response {
        match (Wants::of(request), decision.verdict) {
            (Wants::Page, Verdict::Limit) => self.notice(status, request, Notice::Limit, moment),
            (Wants::Page, _) => self.notice(status, request, Notice::Deny, moment),
            (wants, verdict) => self.short(status, wants, verdict.as_str(), decision.id),
        }
    }

    /// A page that only says something.
    pub(super) fn notice(
        &self,
        status: u16,
        request: &Request<'_>,
        notice: Notice<'_>,
        moment: &Moment,
    ) -> Response {
        let nonce = encode(&moment.seed.nonce);
        let page = self.pages.notice(&NoticeView {
            accept_language: &request.header(name::ACCEPT_LANGUAGE).unwrap_or_default(),
            host: &request.host,
            request_id: &DecisionId::new(moment.seed.decision).to_string(),
            nonce: &nonce,
            notice,
        });
        self.page(status, page, &nonce)
    }

    fn page(&self, status: u16, page: Page, nonce: &str) -> Response {
        let vary = if self.pages.varies_by_language() { VARY_WITH_LANGUAGE } else { VARY };
        uncached(Response::text(status, HTML, page.html), vary)
            .header("content-language", page.language)
            .header("content-security-policy", self.pages.security_policy(nonce))
            .header("referrer-policy", "same-origin")
            .header("cross-origin-resource-policy", "same-origin")
    }

    /// An answer for a program.
    fn short(&self, status: u16, wants: Wants, verdict: &'static str, id: DecisionId) -> Response {
        let response = match wants {
            Wants::Empty => Response::empty(status),
            Wants::Text => Response::text(status, TEXT, format!("tollgate: {verdict}, request {id}")),
            Wants::Page | Wants::Problem => {
                let problem = serde_json::json!({
                    "type": format!("urn:tollgate:{verdict}"),
                    "title": match verdict {
                        "challenge" => "A small proof of work is asked first",
                        "limit" => "Too many requests",
                        _ => "This request is refused",
                    },
                    "status": status,
                    "request": id.to_string(),
                });
                Response::text(status, PROBLEM, problem.to_string())
            }
        };
        uncached(response, VARY)
    }

    /// One line of plain text.
    pub(super) fn plain(&self, status: u16, text: impl Into<String>) -> Response {
        uncached(Response::text(status, TEXT, text), VARY)
    }

    /// The answer where the gate cannot decide. Closed: the app is not asked.
    pub(super) fn undecided(&self, decision: &Decision<'_>) -> Response {
        self.unavailable(decision.id)
    }

    pub(super) fn unavailable(&self, id: DecisionId) -> Response {
        self.plain(
            503,
            format!("The gate of this site cannot decide about this request right now. Request {id}\n"),
        )
        .header("retry-after", "5")
    }

    /// Work and wait of one page carry one id: whichever is taken, it buys one identity. `policy` is the id of the one that asks.
    fn stamp<T>(
        &self,
        request: &Request<'_>,
        policy: u16,
        moment: &Moment,
        ttl: Duration,
        issue: impl FnOnce(&Stamp<'_>) -> T,
    ) -> T {
        let (ring, id) = (&self.ring, moment.seed.challenge);
        self.with_visitor(request, |visitor| {
            issue(&Stamp { ring, visitor, policy, id, now: moment.now, ttl })
        })
    }

    fn work_token(&self, request: &Request<'_>, policy: u16, toll: &Toll, moment: &Moment) -> Token {
        let challenge = &self.settings.challenge;
        self.stamp(request, policy, moment, challenge.ttl, |stamp| {
            issue_work(stamp, toll.level, challenge.size)
        })
    }

    /// A wait can be redeemed for a while after it is over, however short the life of challenges is set.
    pub(super) fn wait_token(
        &self,
        request: &Request<'_>,
        policy: u16,
        level: u8,
        seconds: u32,
        moment: &Moment,
    ) -> Token {
        let ttl = self.settings.challenge.ttl.max(Duration::from_secs(u64::from(seconds) + REDEEM_SECONDS));
        self.stamp(request, policy, moment, ttl, |stamp| issue_wait(stamp, level, seconds))
    }

    /// How long a visitor without scripts waits; `None` where the lane is off for this toll.
    fn wait_seconds(&self, toll: &Toll) -> Option<u32> {
        let wait = &self.settings.wait;
        let seconds: u32 = match (toll.kind, toll.level) {
            (Kind::Wait, _) => toll.seconds.into(),
            (Kind::Work, _) if !(wait.enabled && toll.wait_lane) => return None,
            (Kind::Work, ..=12) => 3,
            (Kind::Work, 13..=14) => 5,
            (Kind::Work, _) => 15,
        };
        Some(seconds.clamp(self.challenge_limits.min_wait, self.challenge_limits.max_wait))
    }

    /// Whether the visitor came with a clearance that we issued a moment ago.
    fn holds_fresh_clearance(&self, request: &Request<'_>, moment: &Moment) -> bool {
        cookie_values(&request.headers, self.cookie_name(request))
            .filter_map(|text| clearance::issued(&self.ring, text).ok())
            .any(|issued| moment.now.seconds() < issued + FRESH_SECONDS)
    }

    /// The visitor's status: what the policy says, where the face can express it, else what the settings say.
    /// A 200 asks the app on every face but grpc, a 5xx counts as our own failure on `check`, and a redirect has nowhere to go.
    pub(super) fn status(&self, face: Face, decision: &Decision<'_>) -> u16 {
        let asked = self.of(decision).policy.status();
        let (wanted, fallback) = match decision.verdict {
            Verdict::Allow => return 200,
            Verdict::Challenge => (asked.challenge, self.settings.status.challenge),
            Verdict::Deny => (asked.deny, self.settings.status.deny),
            Verdict::Limit => return 429,
            Verdict::Undecided => return 503,
        };
        let expressible = |status: &u16| match face {
            Face::Check => (400..500).contains(status),
            Face::Forward | Face::Nginx => (400..600).contains(status),
            Face::Grpc => *status == 200 || (400..600).contains(status),
        };
        wanted.into_iter().chain([fallback]).find(expressible).unwrap_or(403)
    }
}

/// The longest address that a page repeats, in bytes: enough to recognise it, too little to make a small request a large answer.
const MAX_SHOWN: usize = 300;

/// An address as text, cut where it is long.
fn shown(target: &[u8]) -> String {
    match target.get(..MAX_SHOWN) {
        Some(start) if target.len() > MAX_SHOWN => format!("{}…", String::from_utf8_lossy(start)),
        _ => String::from_utf8_lossy(target).into_owned(),
    }
}

/// What an answer of ours depends on.
const VARY: &str = "Cookie, Accept, Sec-Fetch-Mode, Sec-Fetch-Dest, User-Agent";
/// What a page depends on where each visitor gets a language of their own.
const VARY_WITH_LANGUAGE: &str =
    "Cookie, Accept, Accept-Language, Sec-Fetch-Mode, Sec-Fetch-Dest, User-Agent";

/// Marks an answer as one for this visitor, now, and for nobody's index.
fn uncached(response: Response, vary: &'static str) -> Response {
    response
        .header("cache-control", "no-store")
        .header("vary", vary)
        .header("x-robots-tag", "noindex")
        .header("x-content-type-options", "nosniff")
}
