//! An everyday visit, of which each attack changes what it needs.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use crate::ask::Outcome;
use crate::row::Row;

/// The proxy's address.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// An everyday browser.
pub(crate) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36";

/// A browser's request through a face; `changes` replaces fields of it, and its `headers` are added.
pub(crate) fn row(face: &str, changes: Value) -> Row {
    let mut request = json!({
        "method": "GET", "target": "/page", "host": "example.com", "scheme": "https", "client": "198.51.100.7",
        "headers": [["user-agent", BROWSER], ["accept", "text/html"]],
    });
    if let Value::Object(changes) = changes {
        for (name, value) in changes {
            match (name.as_str(), value) {
                ("headers", Value::Array(more)) => {
                    request["headers"].as_array_mut().expect("a list").extend(more)
                }
                (_, value) => request[name] = value,
            }
        }
    }
    let row = json!({ "id": "probe", "face": face, "policy": "fixture", "expect": "NOT_ALLOW", "request": request });
    serde_json::from_value(row).expect("it is a row")
}

/// An answer, as the page's script sends it.
pub(crate) fn answering(text: &str) -> Row {
    let headers = json!([
        ["tollgate-answer", text],
        ["origin", "https://example.com"],
        ["sec-fetch-site", "same-origin"]
    ]);
    row("public", json!({ "method": "POST", "target": "/.tollgate/answer", "headers": headers }))
}

/// The cookie that came of it.
pub(crate) fn cookie(outcome: &Outcome) -> &str {
    outcome.header("set-cookie").unwrap_or_else(|| panic!("no cookie in {outcome:?}"))
}
