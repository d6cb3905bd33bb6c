//! A finished HTTP answer. Only shapes that every face can carry can be built, but for gzipped ones, whose bytes are no text.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

/// As many headers as most answers have.
const USUAL: usize = 8;

/// An answer of ours: to a visitor, in place of the app's, or to a proxy alone.
#[derive(Clone)]
pub struct Response {
    status: u16,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    body: Bytes,
    gzip: Option<Bytes>,
}

/// Shows no header's value and no body: they may hold a clearance.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        write!(f, "Response({}, {names:?}, {} bytes)", self.status, self.body.len())
    }
}

impl Response {
    /// An answer without a body. Statuses below 200 are no final answers; they become 500.
    pub fn empty(status: u16) -> Self {
        Self { status: 500, headers: Vec::with_capacity(USUAL), body: Bytes::new(), gzip: None }
            .with_status(status)
    }

    /// An answer with a text body.
    pub fn text(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        let body = Bytes::from(body.into());
        Self { body, ..Self::empty(status).header("content-type", content_type) }.with_status(status)
    }

    /// An answer from bytes that are shared between answers: valid UTF-8, and the same bytes gzipped for faces that can send them.
    pub fn asset(content_type: &'static str, body: Bytes, gzip: Option<Bytes>) -> Self {
        Self { body, gzip, ..Self::empty(200).header("content-type", content_type) }
    }

    /// The same under another status. 204 and 304 carry no body, so for them it is dropped: Envoy would write it all the same and
    /// break the connection's framing.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = if (200..600).contains(&status) { status } else { 500 };
        if matches!(self.status, 204 | 304) {
            self.body = Bytes::new();
        }
        self
    }

    /// The same gzipped, where that was prepared: other bytes than those that a strong tag names (RFC 9110, 8.8.3.3).
    #[must_use]
    pub fn gzipped(mut self) -> Self {
        if let Some(gzip) = self.gzip.take() {
            self.body = gzip;
            if let Some((_, tag)) = self.headers.iter_mut().find(|(name, _)| *name == "etag") {
                *tag = format!("W/{tag}").into();
            }
            self = self.header("content-encoding", "gzip");
        }
        self
    }

    /// The same as an answer to HEAD, which says all the same how long the body would be (RFC 9110, 9.3.2).
    #[must_use]
    pub fn without_body(mut self) -> Self {
        let length = std::mem::take(&mut self.body).len();
        let says = self.get("content-length").is_some() || matches!(self.status, 204 | 304);
        if says { self } else { self.header("content-length", length.to_string()) }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.add(name, value);
        self
    }

    /// Adds a header. Control bytes in a value cannot leave here: they become blanks.
    pub fn add(&mut self, name: &'static str, value: impl Into<Cow<'static, str>>) {
        let value = value.into();
        // Without an early end, for which the bytes would have to be looked at one by one.
        let clean = if value.bytes().fold(false, |found, b| found | b.is_ascii_control()) {
            Cow::Owned(value.replace(|c: char| c.is_ascii_control(), " "))
        } else {
            value
        };
        self.headers.push((name, clean));
    }

    /// The status, 200 to 599.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers, names in lower case.
    pub fn headers(&self) -> &[(&'static str, Cow<'static, str>)] {
        &self.headers
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(named, _)| *named == name).map(|(_, value)| &**value)
    }

    /// The body: valid UTF-8 but where it is gzipped, empty for 204 and 304.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body gzipped, where that was prepared.
    pub fn gzip(&self) -> Option<&Bytes> {
        self.gzip.as_ref()
    }
}
