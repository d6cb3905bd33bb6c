//! The one file that a page loads: its script and the solver, with the WASM inside as text, because a body in line over gRPC must be
//! UTF-8. The same file is the page's script and its workers', so that a visit costs one request and a cached file none.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::squeeze;

/// A file under `static/`: its name is its content's hash, so it may be cached for ever.
#[derive(Clone, Debug)]
pub struct Asset {
    /// The content type.
    pub content_type: &'static str,
    /// The strong etag, quoted.
    pub etag: String,
    /// The body: UTF-8 text.
    pub body: Bytes,
    /// The same body, gzipped.
    pub gzip: Bytes,
    /// The file's own `Content-Security-Policy`. A worker obeys it instead of the page's, so the page needs no eval.
    pub security_policy: &'static str,
}

impl Asset {
    pub(super) fn script() -> Self {
        let solver = squeeze::js(SOLVER).replace("@wasm@", &URL_SAFE_NO_PAD.encode(WASM));
        let body = format!("{solver}\n{}", squeeze::js(PAGE));
        let mut hash = String::with_capacity(32);
        for byte in &Sha256::digest(&body)[..16] {
            write!(hash, "{byte:02x}").expect("writing to a string cannot fail");
        }
        Self {
            content_type: "text/javascript; charset=utf-8",
            etag: format!("\"{hash}\""),
            gzip: gzip(body.as_bytes()),
            body: body.into(),
            security_policy: "default-src 'none'; script-src 'wasm-unsafe-eval'",
        }
    }
}

pub(super) fn gzip(body: &[u8]) -> Bytes {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(body).and_then(|()| out.finish()).expect("writing to memory cannot fail").into()
}

const PAGE: &str = include_str!("assets/page.js");
const SOLVER: &str = include_str!("assets/solver.js");
const WASM: &[u8] = include_bytes!("assets/wide.wasm");
