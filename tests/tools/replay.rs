//! `tollgate replay`: what a policy would have done with a log.

use serde_json::Value;

use crate::program::Folder;

const LOG: &str = include_str!("../data/access.log");

#[test]
fn the_totals_of_a_log_are_told_by_verdict_and_by_rule() {
    let folder = Folder::new(&[("access.log", LOG)]);
    let browser = [
        "-H",
        "Accept: text/html",
        "-H",
        "Accept-Language: en",
        "-H",
        "Accept-Encoding: gzip",
        "-H",
        "Sec-Fetch-Mode: navigate",
    ];
    let arguments: Vec<&str> = ["replay", "access.log"].into_iter().chain(browser).collect();
    let done = folder.run(&arguments);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.starts_with("requests: 10, rules: "), "{}", done.out);
    for row in [
        "        4  40.0%  allow\n",
        "        2  20.0%  challenge\n",
        "        4  40.0%  deny\n",
        "        2  20.0%  allow      threshold/ordinary\n",
        "        1  10.0%  allow      bot/googlebot\n",
        "        1  10.0%  allow      bot/feeds\n",
        "        1  10.0%  challenge  bot/impostor-search\n",
        "        1  10.0%  challenge  bot/http-library\n",
        "        1  10.0%  deny       bot/ai-training-makers\n",
        "        1  10.0%  deny       bot/probe-hidden-files\n",
        "        1  10.0%  deny       malformed/target\n",
    ] {
        assert!(done.out.contains(row), "{row} in\n{}", done.out);
    }
    assert_eq!(done.err, "warning: lines that tell no request: 2, the first is access.log:8\n");
    // Without what browsers send, Firefox is taken for a liar.
    assert!(folder.feed(&["replay"], LOG).out.contains("        4  40.0%  challenge\n"));
}

#[test]
fn every_request_of_a_log_is_a_line_of_json() {
    let folder = Folder::new(&[]);
    let done = folder.feed(&["replay", "--json", "--policy", "(data)/observe.yaml", "-"], LOG);
    let rows: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((done.code, rows.len()), (0, 10), "{}", done.err);
    let want = serde_json::json!({
        "line": 5, "client": "192.0.2.7", "method": "GET", "target": "/page", "agent": "GPTBot/1.2 \"quoted\"",
        "verdict": "allow", "rule": "default/allow", "weight": 0, "shadow": "deny",
    });
    assert_eq!(rows[4], want);
    assert_eq!(
        (&rows[9]["line"], &rows[9]["agent"], &rows[9]["shadow"]),
        (&11.into(), &"CCBot/2.0".into(), &"deny".into())
    );
    let shadows = folder.feed(&["replay", "--policy", "(data)/observe.yaml"], LOG).out;
    assert!(
        shadows.contains("in shadow:") && shadows.contains("deny       bot/ai-training-makers"),
        "{shadows}"
    );
}

#[test]
fn what_is_no_log_fails() {
    let folder = Folder::new(&[("a.log", "nothing\nof a log\n"), ("empty.log", "")]);
    let done = folder.run(&["replay", "a.log"]);
    assert!(done.code == 1 && done.err.contains("no line is a request"), "{}", done.err);
    assert_eq!(folder.run(&["replay", "empty.log"]).code, 0);
    assert_eq!(folder.run(&["replay", "--policy", "gone.yaml", "empty.log"]).code, 64);
}
