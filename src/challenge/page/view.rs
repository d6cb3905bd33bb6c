//! What the gate hands in to have a page made of it: plain values, nothing escaped.

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
    /// The address of a link that no person sees: a path of ours with a canary.
    pub trap: Option<&'a str>,
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
    /// The wait lane's link is no good.
    WaitRefused {
        /// The reason code.
        reason: &'a str,
    },
}
