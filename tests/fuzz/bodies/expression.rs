//! Expressions: what a lenient rule takes for true, a strict one does too; what has no value decides nothing.

use tollgate::policy::{Action, Facts, Judged, Policy};
use tollgate::request::{Headers, Parts, Request};

use super::fixture::policy;

/// The first line is the target that is asked for, the rest the expression.
pub(crate) fn run(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |b| *b == b'\n');
    let (Some(target), Some(expression)) = (lines.next(), lines.next()) else { return };
    let Ok(expression) = std::str::from_utf8(expression) else { return };
    let load = |action: &str| {
        let text = serde_json::json!({
            "bots": [{ "name": "it", "action": action, "expression": expression }],
            "thresholds": [],
        });
        policy("expression.yaml", &text.to_string())
    };
    let (Some(lenient), Some(strict)) = (load("ALLOW"), load("DENY")) else { return };
    let headers: [(&[u8], &[u8]); 4] =
        [(b"Accept", b"*/*"), (b"User-Agent", b"caf\xc3\xa9"), (b"X-A", b"1"), (b"X-A", b"2")];
    let headers: Headers<'_> = headers.into_iter().collect();
    let parts = Parts {
        method: b"GET",
        target,
        host: b"a.example",
        scheme: b"http",
        client: Some([198, 51, 100, 7].into()),
        headers,
    };
    let Ok(request) = Request::new(parts) else { return };
    let by_rule = |policy: &Policy| match policy.evaluate(&request, &Facts::default(), &mut ()) {
        Judged::Decided(outcome) => {
            Some(outcome.rule == "bot/it").filter(|by| *by || outcome.action == Action::Allow)
        }
        Judged::Need(_) | Judged::Undecided { .. } => None,
    };
    let (allowed, denied) = (by_rule(&lenient), by_rule(&strict));
    assert!(allowed != Some(true) || denied == Some(true), "{expression}: {allowed:?}, but {denied:?}");
}
