//! A finished HTTP answer for the visitor. Only shapes that every face can carry can be built.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

/// The answer that a visitor gets from us rather than from the app.
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
        let status = if (200..600).contains(&status) { status } else { 500 };
        Self { status, headers: Vec::new(), body: Bytes::new(), gzip: None }
    }

    /// An answer with a text body. 204 and 304 carry none (Envoy would write it all the same and break the connection's framing),
    /// so for them the body is dropped.
    pub fn text(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        let mut response = Self::empty(status).header("content-type", content_type);
        if !matches!(response.status, 204 | 304) {
            response.body = Bytes::from(body.into());
        }
        response
    }

    /// An answer from bytes that are shared between answers: valid UTF-8, and the same bytes gzipped for faces that can send them.
    pub fn asset(content_type: &'static str, body: Bytes, gzip: Option<Bytes>) -> Self {
        Self { body, gzip, ..Self::empty(200).header("content-type", content_type) }
    }

    /// Adds a header. Control bytes in a value cannot leave here: they become blanks.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        let value = value.into();
        let clean = if value.bytes().any(|b| b.is_ascii_control()) {
            Cow::Owned(value.replace(|c: char| c.is_ascii_control(), " "))
        } else {
            value
        };
        self.headers.push((name, clean));
        self
    }

    /// The status, 200 to 599.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers, names in lower case.
    pub fn headers(&self) -> &[(&'static str, Cow<'static, str>)] {
        &self.headers
    }

    /// The body: valid UTF-8, empty for 204 and 304.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body gzipped, where that was prepared.
    pub fn gzip(&self) -> Option<&Bytes> {
        self.gzip.as_ref()
    }
}
