//! What `explain` says is what the faces do.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face};
use crate::stage::{POLICY, Stage};

/// So many requests are explained ...
const LINES: usize = 10_000;
/// ... and so many of them, evenly spread, are put to every face.
const SAMPLES: usize = 200;

/// A mixture of everything that the policy tells apart, and of what no face can judge. Strides without a common
/// divisor make every combination come up.
fn mixture(at: usize) -> Ask {
    let pick = |from: &[&'static str], stride: usize| from[at / stride % from.len()];
    let targets = [
        "/",
        "/robots.txt",
        "/robots.txt?x=1",
        "/admin",
        "/admin/",
        "/public/../admin",
        "/%61dmin",
        "/page?next=/admin",
        "/.well-known/x",
        "/.well-known/..;/admin",
        "//robots.txt",
        "/%zz",
        "/a%00b",
        "/.tollgatex",
        "/robots.txt;v=1",
        "/ROBOTS.TXT",
        "/%2561dmin",
    ];
    let agents = [
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "curl/8.5.0",
        "GPTBot/1.2",
        "",
    ];
    let mut ask = Ask {
        method: pick(&["GET", "GET", "HEAD", "POST", "TRACE", "get"], 7),
        host: pick(&["example.com", "EXAMPLE.com:443", "user@h"], 31),
        scheme: pick(&["https", "https", "http"], 3),
        client: pick(&["198.51.100.7", "203.0.113.66", "198.51.100.99", "2001:db8::1"], 5),
        headers: vec![
            ("user-agent".into(), pick(&agents, 11).into()),
            ("accept".into(), pick(&["text/html", "*/*"], 2).into()),
        ],
        ..Ask::get(targets[at % targets.len()])
    };
    if at.is_multiple_of(13) {
        ask = ask.with("cookie", "__Host-tollgate=x; tollgate=y");
    }
    ask
}

fn explained(lines: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("policy.yaml", POLICY);
    write("requests.jsonl", lines);
    let arguments = ["explain", "--policy", "policy.yaml", "--json", "--requests", "requests.jsonl"];
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn explain_over_ten_thousand_lines_agrees_with_every_face() {
    let asks: Vec<_> = (0..LINES).map(mixture).collect();
    let lines: String = asks
        .iter()
        .map(|ask| {
            let Ask { method, target, host, scheme, client, headers, .. } = ask;
            let line = json!({"method": method, "target": target, "host": host, "scheme": scheme, "client": client, "headers": headers});
            format!("{line}\n")
        })
        .collect();
    let verdicts = explained(&lines);
    assert_eq!(verdicts.len(), LINES);
    let stage = Stage::new().await;
    let mut seen = Vec::new();
    for at in (0..LINES).step_by(LINES / SAMPLES) {
        let word = verdicts[at]["verdict"].as_str().unwrap();
        let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word).unwrap();
        every_face(&stage, &asks[at], verdict).await;
        seen.push(verdict);
    }
    assert_eq!(seen.len(), SAMPLES);
    for verdict in [Verdict::Allow, Verdict::Challenge, Verdict::Deny] {
        let times = seen.iter().filter(|seen| **seen == verdict).count();
        assert!(times >= 10, "{verdict:?} came up only {times} times");
    }
}
