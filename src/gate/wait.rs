//! The no-script lane: a signed link that counts once its time has come.

use super::{Gate, Moment, Response};
use crate::challenge::page::Notice;
use crate::challenge::{Token, way_back};
use crate::crypto::{Refusal, decode, encode};
use crate::request::{MAX_TARGET, Request};

impl Gate {
    /// The link of a wait: relative, with the way back signed together with its token.
    pub(super) fn wait_url(&self, token: &Token, target: &[u8]) -> String {
        // A redirect is a header, so what is signed is ASCII: a browser would have escaped these bytes itself.
        let escaped: String = target
            .iter()
            .map(|b| if b.is_ascii() { char::from(*b).to_string() } else { format!("%{b:02X}") })
            .collect();
        let path = if way_back::is_safe(escaped.as_bytes()) { &escaped } else { "/" };
        let tag = way_back::sign(&self.ring, token, path.as_bytes());
        format!(
            "{}wait?t={}&r={}&s={}",
            self.settings.prefix,
            token.text(),
            encode(path.as_bytes()),
            encode(&tag)
        )
    }

    /// Answers such a link: once its time has come the visitor gets a clearance, and is sent on to see whether it comes back. The way
    /// there has a path of its own, because w3m takes two redirects that differ in their query alone for a loop.
    pub(super) fn wait(&self, request: &Request<'_>, moment: &Moment) -> Response {
        let query = request.target.query.unwrap_or_default();
        let mut buffer = [0; MAX_TARGET];
        let (token, path) = match self.signed_link(query, &mut buffer) {
            Ok(link) => link,
            Err(refusal) => return self.refuse_wait(request, refusal, moment),
        };
        match self.check(request, moment, |check| check.wait(token.text().as_bytes())).and_then(|paid| {
            // An identity that was waited for counts against its network as one that was worked for does.
            let mode = self.mode_of_host(request, moment);
            self.state.answer(mode, request.client, moment.now).map_err(|_| Refusal::Many)?;
            self.seal(&paid)
        }) {
            Ok(sealed) => {
                self.state.metrics.answer("wait", "accepted");
                let again = format!("{}waited?{}", self.settings.prefix, String::from_utf8_lossy(query));
                self.cleared(303, request, &sealed, moment).header("location", again)
            }
            Err(Refusal::Early) => {
                let left = u64::from(token.issued())
                    .saturating_add(token.seconds().into())
                    .saturating_sub(moment.now.seconds());
                let seconds = u32::try_from(left).unwrap_or(u32::MAX);
                self.early(
                    request,
                    seconds,
                    &String::from_utf8_lossy(request.target.raw),
                    Refusal::Early,
                    moment,
                )
            }
            // A wait that took too long starts anew, for the same path.
            Err(Refusal::Expired) => {
                let fresh = self.wait_token(request, token.policy(), token.level(), token.seconds(), moment);
                self.early(request, token.seconds(), &self.wait_url(&fresh, path), Refusal::Expired, moment)
            }
            Err(refusal) => self.refuse_wait(request, refusal, moment),
        }
    }

    /// Sends a visitor whose clearance came back to where the wait began. The only redirect but `wait`'s own, and only to a path of
    /// this site that we signed ourselves.
    pub(super) fn waited(&self, request: &Request<'_>, moment: &Moment) -> Response {
        let mut buffer = [0; MAX_TARGET];
        let path = match self.signed_link(request.target.query.unwrap_or_default(), &mut buffer) {
            // Signed by us, so ASCII and safe.
            Ok((_, path)) => String::from_utf8_lossy(path),
            Err(refusal) => return self.refuse_wait(request, refusal, moment),
        };
        match self.clearance(request, moment.now, |_| true, 0, |_| true) {
            Ok(_) => self.redirect(&path),
            Err(_) => {
                self.log_outcome("wait", "no-cookie", request, moment);
                self.notice(403, request, Notice::CookiesBlocked { url: Some(&path) }, moment)
            }
        }
    }

    fn early(
        &self,
        request: &Request<'_>,
        seconds: u32,
        url: &str,
        refusal: Refusal,
        moment: &Moment,
    ) -> Response {
        self.state.metrics.answer("wait", refusal.code());
        self.log_outcome("wait", refusal.code(), request, moment);
        self.notice(403, request, Notice::Early { seconds, url }, moment)
    }

    fn refuse_wait(&self, request: &Request<'_>, refusal: Refusal, moment: &Moment) -> Response {
        self.state.metrics.answer("wait", refusal.code());
        self.log_outcome("wait", refusal.code(), request, moment);
        self.notice(403, request, Notice::WaitRefused { reason: refusal.code() }, moment)
    }

    fn redirect(&self, location: &str) -> Response {
        Response::empty(303)
            .header("location", location.to_owned())
            .header("cache-control", "no-store")
            .header("vary", "Cookie")
    }

    /// What a link that we signed says: its token, and the path that it leads to.
    fn signed_link<'b>(&self, query: &[u8], buffer: &'b mut [u8]) -> Result<(Token, &'b [u8]), Refusal> {
        let (token, path, tag) = read(query, buffer).ok_or(Refusal::Forged)?;
        way_back::verify(&self.ring, &token, path, &tag)?;
        Ok((token, path))
    }
}

/// The parts of a link, as far as they can be read.
fn read<'b>(query: &[u8], buffer: &'b mut [u8]) -> Option<(Token, &'b [u8], Vec<u8>)> {
    let token = Token::parse(parameter(query, b"t")?).ok()?;
    let path = decode(parameter(query, b"r")?, buffer)?;
    let mut tag = [0; 16];
    let tag = decode(parameter(query, b"s")?, &mut tag)?.to_vec();
    Some((token, path, tag))
}

/// The value of a parameter that stands exactly once. Values are base64url, so nothing needs decoding.
fn parameter<'q>(query: &'q [u8], name: &[u8]) -> Option<&'q [u8]> {
    let mut values =
        query.split(|b| *b == b'&').filter_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="));
    values.next().filter(|_| values.next().is_none())
}
