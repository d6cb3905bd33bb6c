//! Policies: whatever loads judges alike with and without its index, and alike when it is written out; the rest says where.

use std::path::PathBuf;

use tollgate::policy::{Facts, Judged, Loader, Policy, Severity, Source, Trace};
use tollgate::request::{Headers, Parts, Request};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A pattern of files would go through the folders of whoever runs this.
    if text.contains("import") && text.contains(['*', '?', '[']) {
        return;
    }
    let loader = Loader { root: PathBuf::from("tests/fuzz/nowhere"), ..Loader::default() };
    let source = |text: &str| Source::Text { name: "fuzz.yaml".into(), text: text.to_owned() };
    let loaded = match loader.load(&source(text)) {
        Ok(loaded) => loaded,
        Err(error) => {
            assert!(
                error.problems.iter().any(|problem| problem.level == Severity::Error),
                "refused for nothing"
            );
            let lines = text.split(['\n', '\r']).count();
            for problem in error.problems.iter().filter(|problem| problem.file == "fuzz.yaml") {
                assert!(problem.line <= lines, "{problem:?}");
            }
            let drawn = error.to_string();
            let moves = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            assert!(!drawn.contains(moves), "an escape goes to the terminal: {drawn:?}");
            return;
        }
    };
    requests(|request| {
        let trace = &mut Trace::default();
        let whole = loaded.policy.evaluate(request, &Facts::default(), trace);
        assert_eq!(
            loaded.policy.evaluate(request, &Facts::default(), &mut ()),
            whole,
            "the index left a rule out"
        );
    });
    written_out(&loaded.policy, &loader, &source, text);
}

/// The policy with all its imports in one file is the same policy.
fn written_out(policy: &Policy, loader: &Loader, source: &dyn Fn(&str) -> Source, text: &str) {
    let yaml = loader.expand(&source(text)).expect("it has just loaded").yaml();
    let again = loader.load(&source(&yaml)).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    assert_eq!(again.policy.rules(), policy.rules(), "{yaml}");
    requests(|request| {
        let judged = |policy: &Policy| match policy.evaluate(request, &Facts::default(), &mut ()) {
            Judged::Decided(outcome) => (Some((outcome.action, outcome.weight)), outcome.rule.to_owned()),
            Judged::Undecided { rule, .. } => (None, rule.to_owned()),
            Judged::Need(lookups) => (None, format!("{lookups:?}")),
        };
        assert_eq!(judged(&again.policy), judged(policy), "{yaml}");
    });
}

/// A few requests that rules tell apart.
fn requests(mut judge: impl FnMut(&Request<'_>)) {
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
    let bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    for (method, target, agent, client) in [
        ("GET", "/", browser, Some("198.51.100.7")),
        ("GET", "/admin/x?y=1", "curl/8.5", None),
        ("POST", "/public/%2e%2e/admin", bot, Some("66.249.64.10")),
        ("GET", "/robots.txt", "", Some("2001:db8::1")),
    ] {
        let mut headers: Headers<'_> = [("accept", "text/html"), ("cookie", "a=b")]
            .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
            .into_iter()
            .collect();
        if !agent.is_empty() {
            headers.push(b"user-agent", agent.as_bytes());
        }
        let parts = Parts {
            method: method.as_bytes(),
            target: target.as_bytes(),
            host: b"example.com",
            scheme: b"https",
            client: client.map(|a| a.parse().expect("an address")),
            headers,
        };
        judge(&Request::new(parts).expect("it is well formed"));
    }
}
