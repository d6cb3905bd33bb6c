//! What header detectors look at, found in one pass over a request's headers.

use super::agent::Browser;
use crate::request::{Request, Scheme};

/// A request as header detectors see it. Of a header that stands several times the first line counts.
pub(super) struct Seen<'r> {
    pub(super) scheme: Scheme,
    /// The browser that the agent names, if it is one.
    pub(super) browser: Option<Browser>,
    pub(super) accept: Option<&'r [u8]>,
    pub(super) accept_language: Option<&'r [u8]>,
    pub(super) fetch_dest: Option<&'r [u8]>,
    pub(super) fetch_mode: Option<&'r [u8]>,
    pub(super) brands: Option<&'r [u8]>,
    pub(super) platform: Option<&'r [u8]>,
}

impl<'r> Seen<'r> {
    pub(super) fn of(request: &Request<'r>) -> Self {
        let mut seen = Self {
            scheme: request.scheme,
            browser: Browser::of(&request.agent()),
            accept: None,
            accept_language: None,
            fetch_dest: None,
            fetch_mode: None,
            brands: None,
            platform: None,
        };
        for header in request.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name.as_bytes());
            // By length first: most headers are none of these.
            let place = match header.name.len() {
                6 if is("accept") => &mut seen.accept,
                9 if is("sec-ch-ua") => &mut seen.brands,
                14 if is("sec-fetch-dest") => &mut seen.fetch_dest,
                14 if is("sec-fetch-mode") => &mut seen.fetch_mode,
                15 if is("accept-language") => &mut seen.accept_language,
                18 if is("sec-ch-ua-platform") => &mut seen.platform,
                _ => continue,
            };
            *place = place.or(Some(header.value.trim_ascii()));
        }
        seen
    }
}
