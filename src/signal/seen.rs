//! What header detectors look at, found in one pass over a request's headers.

use super::agent::Browser;
use crate::request::{Request, Scheme, name};

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
        for (known, value) in request.headers.known() {
            let place = match known {
                name::ACCEPT => &mut seen.accept,
                name::ACCEPT_LANGUAGE => &mut seen.accept_language,
                name::SEC_CH_UA => &mut seen.brands,
                name::SEC_CH_UA_PLATFORM => &mut seen.platform,
                name::SEC_FETCH_DEST => &mut seen.fetch_dest,
                name::SEC_FETCH_MODE => &mut seen.fetch_mode,
                _ => continue,
            };
            *place = place.or(Some(value.trim_ascii()));
        }
        seen
    }
}
