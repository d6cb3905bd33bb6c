//! One row of the attack table: what is asked, through which face, and what must come of it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;

/// A row, as it stands in the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) face: Face,
    #[serde(default)]
    pub(crate) request: Asked,
    pub(crate) policy: String,
    pub(crate) expect: Expect,
    /// What else satisfies the row.
    #[serde(default, rename = "or")]
    pub(crate) or_else: Option<Or>,
    #[serde(default, rename = "note")]
    _note: Option<String>,
    /// How the headers of a grpc row travel.
    #[serde(default)]
    pub(crate) via: Option<Via>,
    /// The whole message of a grpc row, in place of `request`.
    #[serde(default)]
    pub(crate) check_request: Option<Value>,
    #[serde(default)]
    pub(crate) context_extensions: BTreeMap<String, String>,
    /// Nothing of ours reads it; it travels as one opaque key, so that a deep or odd one is seen to do nothing.
    #[serde(default)]
    pub(crate) metadata_context: Option<Value>,
    /// Where a grpc row's `source.address` is no plain address.
    #[serde(default)]
    pub(crate) source_address: Option<Value>,
}

/// The way in.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Face {
    Check,
    Forward,
    Grpc,
    Nginx,
    Public,
}

/// What must come of it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Expect {
    Allow,
    Challenge,
    Deny,
    Limit,
    NotAllow,
    Refuse,
}

/// What else may come of it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Or {
    /// The clearance that the plain spelling of the answer buys.
    Same,
}

/// How headers travel over grpc.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Via {
    HeaderMap,
}

/// The visitor's request. Texts are bytes, written as Latin-1; what is absent or null is not sent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Asked {
    pub(crate) method: Option<String>,
    target: Option<String>,
    target_parts: Option<Vec<(String, usize)>>,
    pub(crate) host: Option<String>,
    pub(crate) scheme: Option<String>,
    pub(crate) client: Option<String>,
    pub(crate) peer: Option<IpAddr>,
    headers: Vec<Header>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Header {
    Once(String, String),
    Times(String, String, usize),
}

impl Header {
    fn line(&self) -> (&str, String) {
        match self {
            Self::Once(name, value) => (name, value.clone()),
            Self::Times(name, value, times) => (name, value.repeat(*times)),
        }
    }
}

impl Asked {
    /// The target, before placeholders are filled in.
    pub(crate) fn target(&self) -> Option<String> {
        let parts = self.target_parts.as_ref();
        parts
            .map(|parts| parts.iter().map(|(text, times)| text.repeat(*times)).collect())
            .or_else(|| self.target.clone())
    }

    /// The headers, before placeholders are filled in.
    pub(crate) fn headers(&self) -> Vec<(&str, String)> {
        self.headers.iter().map(Header::line).collect()
    }
}

/// The bytes that a text stands for.
pub(crate) fn latin1(text: &str) -> Vec<u8> {
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap_or_else(|_| panic!("{c:?} is no byte in {text}")))
        .collect()
}
