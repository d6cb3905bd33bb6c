//! What the log says: whatever a visitor sends, one line, of printable characters, and short; and once, what weakens a site.

use std::time::Duration;

use tollgate::challenge::{Stamp, answer_text, issue_work, policy_id, solve};
use tollgate::clock::Clock;
use tollgate::crypto::{Entry, Ring, Secret, State as KeyState, Visitor};

use crate::canary::KEY;
use crate::commands::folder;
use crate::serving::{Gate, Way};

/// Bytes with which others have forged lines, hidden text, or set a terminal off.
fn hostile() -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = [
        "a\\n{\"level\":\"error\"}",
        "a%0a%7b%22level%22:%22error%22%7d",
        "\u{202e}gnp.exe\u{2066}x\u{2069}",
        "\u{2028}x\u{2029}\u{85}",
        "\u{feff}\u{200b}\u{9b}31m",
        "verdict=allow rule=\"bot/x\"",
        "\"}{\"verdict\":\"allow",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    texts.push(b"\x1b[31mred\x1b]0;title\x07".to_vec());
    texts.push(b"a\nverdict=allow\r\nb\0c\x7f\x9b".to_vec());
    texts.push(vec![b'x'; 20_000]);
    texts.push(b"\xff\xfe\xc0\xae".repeat(40));
    texts
}

#[test]
fn no_visitor_forges_a_line() {
    for format in ["text", "json"] {
        let mut gate = Gate::start(
            &["--policy", "(data)/strict.yaml"],
            &format!("log: {{format: {format}, level: debug}}\n"),
        );
        let mut asked = 0;
        for text in hostile() {
            for way in [Way::Nginx, Way::Check, Way::Grpc] {
                for part in
                    ["target", "host", "user-agent", "x-forwarded-for", "accept-language", "cookie", "method"]
                {
                    asked += 1;
                    gate.ask(way, part, &text);
                }
            }
        }
        let (_, log) = gate.end();
        // What HTTP/1.1 or HTTP/2 cannot carry got no decision, and no line of ours.
        let decisions = log.lines().filter(|line| line.contains("verdict")).count();
        assert!((asked / 2..=asked).contains(&decisions), "{decisions} of {asked}");
        for line in log.lines() {
            assert!(line.len() < 1200, "{} bytes: {}...", line.len(), &line[..300]);
            let odd = line.chars().find(|c| c.is_control() || is_invisible(*c));
            assert_eq!(odd, None, "{line:?}");
            if format == "json" {
                let fields: serde_json::Value =
                    serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
                assert!(fields["level"] != "ERROR", "{line}");
                assert!(fields["fields"]["verdict"] != "allow", "{line}");
            } else {
                let level = line.split_whitespace().nth(1);
                assert!(matches!(level, Some("INFO" | "WARN" | "DEBUG")), "{line}");
                assert!(!line.contains("verdict=\"allow\" "), "{line}");
            }
        }
    }
}

#[test]
fn what_weakens_a_site_is_said_once() {
    let ring =
        Ring::new(&[Entry { id: 3, state: KeyState::Sign, secret: Secret::new(KEY) }]).expect("a ring");
    let visitor = Visitor { host: "a.example", agent: b"x", net: b"", ja4: b"" };
    let stamp = |id| Stamp {
        ring: &ring,
        visitor: &visitor,
        policy: policy_id("default"),
        id: [id; 16],
        now: Clock::System.now(),
        ttl: Duration::from_secs(300),
    };
    let answer = |id, scheme: &str| {
        let token = issue_work(&stamp(id), 14, 12);
        let text = answer_text(&token, &solve(&token));
        format!(
            "POST /.tollgate/answer HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\nConnection: close\r\nX-Forwarded-Proto: {scheme}\r\nTollgate-Answer: {text}\r\n\r\n"
        )
    };
    let gate = Gate::start_in(folder(), &[]);
    for (id, scheme, name) in
        [(1, "https", "__Host-tollgate"), (2, "http", "tollgate"), (3, "http", "tollgate")]
    {
        let reply = gate.send("http", answer(id, scheme).as_bytes());
        assert!(reply.contains(&format!("set-cookie: {name}=")), "{reply}");
        assert_eq!(reply.contains("; Secure"), scheme == "https", "{reply}");
    }
    let (_, log) = gate.end();
    assert_eq!(log.matches("over plain http").count(), 1, "{log}");

    let gate = Gate::start(&[], "trust: {peers: []}\n");
    for (way, status) in [("auth/nginx", "500"), ("auth/forward", "503"), ("check/robots.txt", "503")] {
        let facts = "X-Forwarded-Uri: /robots.txt\r\nX-Forwarded-Host: a.example\r\nConnection: close\r\n";
        let reply = gate.send("http", format!("GET /{way} HTTP/1.1\r\nHost: g\r\n{facts}\r\n").as_bytes());
        assert_eq!(&reply[9..12], status, "{way}");
    }
    let (_, log) = gate.end();
    assert_eq!(log.matches("no trusted peers").count(), 1, "{log}");
}

/// Whether a character turns text round or takes no room.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
