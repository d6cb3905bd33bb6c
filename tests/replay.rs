//! A stream of requests with times: memory runs on their clock. And what the README says about it.

#![expect(clippy::unwrap_used, reason = "a test that cannot start what it tests has failed")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tollgate::behaviour::{Figure, Signal};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The answers to lines of requests under a policy.
fn explain(policy: &str, lines: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    fs::write(folder.path().join("requests.jsonl"), lines).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["explain", "--policy", "policy.yaml", "--json", "--requests", "requests.jsonl"])
        .args(more)
        .current_dir(folder.path())
        .env_clear()
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verdicts(answers: &[Value]) -> Vec<&str> {
    answers.iter().map(|answer| answer["verdict"].as_str().unwrap_or("error")).collect()
}

const LIMITED: &str = "version: tollgate/v1\ndefault: ALLOW\nbots:\n- {name: few, action: LIMIT, rate: {limit: 60/1m, burst: 2}}\n";

#[test]
fn lines_with_a_time_count_for_those_behind_them_and_lines_without_do_not() {
    let line = |at: Option<f64>| {
        let mut request = json!({"target": "/", "client": "192.0.2.1"});
        if let Some(at) = at {
            request["at"] = json!(at);
        }
        format!("{request}\n")
    };
    let stream = |times: &[Option<f64>]| times.iter().map(|at| line(*at)).collect::<String>();
    let start = 1_431_857_103.25;
    let timed = stream(&[0.0, 0.1, 0.2, 1.3, 3600.0].map(|after| Some(start + after)));
    assert_eq!(verdicts(&explain(LIMITED, &timed, &[])), ["allow", "allow", "limit", "allow", "allow"]);
    assert_eq!(verdicts(&explain(LIMITED, &stream(&[None; 5]), &[])), ["allow"; 5]);
}

#[test]
fn a_time_that_is_none_is_an_error_in_its_place() {
    let lines = r#"{"target":"/","at":-1}
{"target":"/","at":1e300}
{"target":"/","at":"noon"}
{"target":"/","at":0}
"#;
    assert_eq!(verdicts(&explain(LIMITED, lines, &[])), ["error", "error", "error", "allow"]);
}

#[test]
fn a_crawl_shows_with_its_figures() {
    let policy = "bots:\n- {name: crawl, action: DENY, signals: {any: [crawl]}}\n";
    let mut lines = String::new();
    for page in 0..60 {
        let request = json!({"target": format!("/page/{}", page * 7919 % 1000), "client": "192.0.2.1", "at": 1_800_000_000 + page});
        writeln!(lines, "{request}").unwrap();
    }
    let answers = explain(policy, &lines, &["--every-step"]);
    assert_eq!(verdicts(&answers).iter().position(|verdict| *verdict == "deny"), Some(40));
    assert_eq!(answers[59]["signals"], json!(["crawl", "regular_timing", "reputation"]));
    assert_eq!(answers[59]["figures"]["client.documents_5m"], 59);
    assert!(explain(policy, &lines, &[])[59]["figures"].is_null());
}

/// What scripts/log2requests makes of a log.
fn requests(log: &str, flags: &[&str]) -> Option<Vec<Value>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    fs::write(&path, log).unwrap();
    let script = Path::new(ROOT).join("scripts/log2requests");
    let mut command = Command::new("python3");
    let Ok(done) = command.arg(script).args(flags).arg(path).stdin(Stdio::null()).output() else {
        println!("skipped: reading access logs (python3 not found)");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn logs_in_three_formats_become_the_same_request() {
    let log = r#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a?b=%20 HTTP/1.1" 200 203023 "https://example.org/" "Agent \"X\" \\1"
192.0.2.1 - bob smith [17/May/2015:12:05:04 +0200] "GET /a?b=%20 HTTP/1.1" 200 -
{"request_method":"GET","request_uri":"/a?b=%20","http_host":"h","remote_addr":"192.0.2.1","http_user_agent":"Agent","time_iso8601":"2015-05-17T10:05:05+00:00"}
{"ts":1431857106.5,"request":{"method":"GET","uri":"/a?b=%20","host":"h","remote_ip":"192.0.2.1","headers":{"User-Agent":["Agent"]}}}
garbage
{"time": "never"}
"#;
    let Some(found) = requests(log, &["--host", "h"]) else { return };
    assert_eq!(found.len(), 4);
    for (second, request) in found.iter().enumerate() {
        assert_eq!((&request["target"], &request["host"]), (&json!("/a?b=%20"), &json!("h")));
        assert_eq!((&request["method"], &request["client"]), (&json!("GET"), &json!("192.0.2.1")));
        let at = request["at"].as_f64().unwrap();
        assert!((at - 1_431_857_103.0 - second as f64).abs() < 0.6, "{at}");
    }
    assert_eq!(found[0]["headers"][0][1], "Agent \"X\" \\1");
    assert_eq!(found[0]["headers"][1], json!(["Referer", "https://example.org/"]));
    let answers =
        explain(LIMITED, &found.iter().map(|request| format!("{request}\n")).collect::<String>(), &[]);
    assert_eq!(verdicts(&answers), ["allow"; 4]);
}

#[test]
fn lines_come_out_in_the_order_of_their_times() {
    let line = |second: u32| {
        format!("192.0.2.1 - - [17/May/2015:10:05:{second:02} +0000] \"GET /{second} HTTP/1.1\" 200 1\n")
    };
    let Some(found) = requests(&[9, 3, 5, 3].map(line).concat(), &[]) else { return };
    let targets: Vec<_> = found.iter().map(|request| request["target"].as_str().unwrap()).collect();
    assert_eq!(targets, ["/3", "/3", "/5", "/9"]);
}

#[test]
fn every_signal_and_figure_is_in_the_readme() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let names = Signal::all().map(Signal::name).chain(Figure::all().map(Figure::name));
    let missing: Vec<_> = names.filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in README.md: {}", missing.join(", "));
}
