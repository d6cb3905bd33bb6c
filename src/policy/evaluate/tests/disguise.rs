//! However a path is written: what is denied stays denied, and what is allowed is so only where its plain form is.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Rules of every kind that look at paths, denying and allowing.
const RULES: &str = r#"bots:
- {name: exact, action: DENY, paths: [/admin, /admin/**]}
- {name: glob, action: DENY, paths: ['/open/*.bak']}
- {name: regex, action: DENY, path_regex: '^/private(/|$)'}
- {name: expression, action: DENY, expression: 'path.startsWith("/secret/") || path == "/secret"'}
- {name: calm, action: WEIGH, path_regex: ^/x, weight: {adjust: -50}}
- {name: suspect, action: WEIGH, paths: [/y/**], weight: {adjust: 50}}
- {name: open, action: ALLOW, paths: [/open/**, /robots.txt]}
- {name: free, action: ALLOW, path_regex: '^/free/'}
- {name: told, action: ALLOW, expression: 'path.startsWith("/told/")'}
thresholds:
- {name: high, expression: weight >= 40, action: DENY}
- {name: middle, expression: weight >= -10, action: CHALLENGE, challenge: {algorithm: fast, difficulty: 3}}
- {name: low, expression: weight < -10, action: ALLOW}
"#;

const SEGMENTS: [&str; 13] = [
    "admin",
    "private",
    "secret",
    "open",
    "free",
    "told",
    "x",
    "y",
    "old.bak",
    "robots.txt",
    "ADMIN",
    "a.b",
    "z",
];

/// What an attacker writes for a slash.
const SLASHES: [&str; 16] = [
    "/",
    "/",
    "/",
    "//",
    "/./",
    "/.//",
    "\\",
    "%2f",
    "%5C",
    ";x/",
    ";a=b;c/",
    "/.;x/",
    "/z/../",
    "/z;/..;x/",
    "%252f",
    "/%2e/",
];

/// A path and a disguise of it.
fn disguised() -> impl Strategy<Value = (String, String)> {
    let slash = || select(&SLASHES[..]);
    let segment = (slash(), select(&SEGMENTS[..]), vec(0u8..10, 10));
    (vec(segment, 1..5), select(vec!["", ";x", "?a=/open/x", "?/../admin", ";x=y?"])).prop_map(
        |(segments, tail)| {
            let (mut plain, mut shown) = (String::new(), String::new());
            for (at, (slash, segment, hows)) in segments.into_iter().enumerate() {
                plain.push('/');
                plain.push_str(segment);
                // Only a slash can begin a target.
                shown.push_str(if at > 0 || slash.starts_with('/') { slash } else { "/" });
                for (letter, how) in segment.bytes().zip(hows) {
                    match how {
                        0 => shown.push_str(&format!("%{letter:02x}")),
                        1 => shown.push_str(&format!("%{letter:02X}")),
                        2 => shown.push_str(&format!("%25{letter:02x}")),
                        _ => shown.push(char::from(letter)),
                    }
                }
            }
            (plain, shown + tail)
        },
    )
}

#[test]
fn inputs_are_values_and_never_text_of_a_policy() {
    let rules = r#"bots:
- {name: a, action: ALLOW, expression: 'path == "/open" && userAgent == "good"'}
- {name: b, action: ALLOW, expression: '"X-A" in headers && headers["X-A"].matches("^yes$") || "q" in query'}
- {name: c, action: ALLOW, path_regex: ^/free$}
- {name: z, action: DENY, path_regex: .*}
"#;
    let policy = policy(rules);
    for text in [
        r#"/open" || true || ""#,
        r#"/open"&&true||path!=""#,
        "/free|.*",
        "/free$)|(",
        "/(?i)FREE",
        "/free\n",
        "/${path}",
        "/{{true}}",
        "/*yaml",
        "/' , action: ALLOW, x: '",
    ] {
        let target = text.replace(' ', "%20").replace('"', "%22").replace('\n', "%0A");
        for target in [target.as_str(), "/x"] {
            let headers: &[(&str, &[u8])] = &[("User-Agent", text.as_bytes()), ("X-A", text.as_bytes())];
            let visit = Visit { target, headers, ..VISIT };
            visit.to(&policy, &mut (), |outcome| assert_eq!(outcome.rule, "bot/z", "{text}"));
        }
    }
    let control = Visit { target: "/free", ..VISIT };
    control.to(&policy, &mut (), |outcome| assert_eq!(outcome.rule, "bot/c"));
}

fn action(policy: &Policy, target: &str) -> Action {
    Visit { target, ..VISIT }.to(policy, &mut (), |outcome| outcome.action)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_disguise_neither_escapes_a_denial_nor_earns_an_allow((plain, shown) in disguised()) {
        let policy = policy(RULES);
        let (want, got) = (action(&policy, &plain), action(&policy, &shown));
        prop_assert!(want != Action::Deny || got == Action::Deny, "{shown} for {plain}: {got:?}");
        prop_assert!(got != Action::Allow || want == Action::Allow, "{shown} for {plain}: {want:?}");
    }

    #[test]
    fn a_target_is_judged_no_more_leniently_than_any_of_its_readings(
        parts in vec(select([&SEGMENTS[..], &SLASHES[..], &["..", ".", "%2e%2e", "%252e.", "..;", "%61dmin", "%"]].concat()), 0..12),
    ) {
        let target = format!("/{}", parts.concat());
        let Ok(read) = crate::request::Target::parse(target.as_bytes(), false) else { return Ok(()) };
        let policy = policy(RULES);
        let got = action(&policy, &target);
        for reading in read.readings.iter() {
            let Ok(reading) = std::str::from_utf8(reading) else { continue };
            // A reading that has readings of its own stands for something else once it is a target.
            let itself = crate::request::Target::parse(reading.as_bytes(), false);
            if itself.is_ok_and(|target| target.query.is_none() && target.readings.iter().count() == 1) {
                let want = action(&policy, reading);
                prop_assert!(want != Action::Deny || got == Action::Deny, "{target} as {reading}: {got:?}");
                prop_assert!(got != Action::Allow || want == Action::Allow, "{target} as {reading}: {want:?}");
            }
        }
    }
}
