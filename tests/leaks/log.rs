//! Whatever a visitor sends, a line of the log is one line, of printable characters, and short.

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

/// Whether a character turns text round or takes no room.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
