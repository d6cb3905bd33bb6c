//! Runs the policy over a folder of Anubis files and vectors, where `TOLLGATE_CORPUS` names one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Write as _, stderr};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::request::{Headers, Parts};

#[expect(
    clippy::disallowed_methods,
    reason = "tests only: where the corpus lies is no setting of the program"
)]
pub(super) fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("TOLLGATE_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        // Written past the test runner, which keeps what a passing test prints to itself.
        drop(writeln!(stderr(), "not compared: TOLLGATE_CORPUS names no folder of policies"));
    }
    folder
}

/// Anubis's own embedded names, as far as this version has them.
fn foreign(text: &str) -> bool {
    let names: Vec<&str> =
        text.split("(data)/").skip(1).map(|r| r.split(['"', '\n', '\'', ' ']).next().unwrap_or("")).collect();
    names.iter().any(|n| embedded::text(n).is_none() && !n.contains(['*', '[']) && !n.contains("fake"))
}

pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_fixtures_of_anubis_load_or_are_refused_as_they_should() {
    let Some(corpus) = corpus() else { return };
    let anubis = corpus.join("anubis");
    let mut left_out: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut good, mut bad) = (0, 0);
    for folder in ["good", "lib-testdata", "bad"] {
        for path in files(&anubis.join(folder)) {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
            let text = fs::read_to_string(&path).unwrap();
            let reason = foreign(&text).then_some("(data)");
            if name.contains("lib-testdata/hack-test") {
                continue;
            }
            let loader = Loader { root: anubis.clone(), ..Loader::default() };
            let loaded = loader.load(&Source::File(path.clone()));
            if let Some(reason) = reason {
                let error = loaded.expect_err(&name).to_string();
                assert!(error.contains(reason) || error.contains("import"), "{name} names {reason}\n{error}");
                left_out.entry(reason).or_default().push(name);
                continue;
            }
            let refused = folder == "bad" || name.ends_with("invalid-challenge-method.yaml");
            match loaded {
                Ok(_) if refused => panic!("{name} loads"),
                Ok(_) => good += 1,
                Err(error) if !refused => panic!("{name}\n{error}"),
                Err(error) => {
                    bad += 1;
                    assert!(
                        error.problems.iter().all(|p| !p.file.is_empty() && p.line > 0),
                        "{name}\n{error}"
                    );
                    println!("--- {name}\n{error}\n");
                }
            }
        }
    }
    println!("{good} load, {bad} are refused");
    for (reason, names) in left_out {
        println!("left out, {reason}: {} {names:?}", names.len());
    }
}

#[test]
fn the_snippets_of_anubis_can_be_imported() {
    let Some(corpus) = corpus() else { return };
    let anubis = corpus.join("anubis");
    let mut folders = vec![anubis.join("data"), anubis.join("multi-document")];
    let (mut imported, mut left_out) = (0, BTreeMap::<&str, usize>::new());
    while let Some(folder) = folders.pop() {
        for path in files(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let whole = text.contains("\nbots:");
            let reason = foreign(&text).then_some("(data)");
            if let Some(reason) = reason.or_else(|| whole.then_some("a whole policy")) {
                *left_out.entry(reason).or_default() += 1;
                continue;
            }
            let text = format!("bots:\n- import: {}\n", path.display());
            let loaded = Loader::default().load(&Source::Text { name: "main.yaml".to_owned(), text });
            loaded.unwrap_or_else(|e| panic!("{e}"));
            imported += 1;
        }
    }
    println!("{imported} snippets load; left out: {left_out:?}");
    let text = format!("bots:\n- import: {}\n", anubis.join("multifile/object.yaml").display());
    let error = Loader::default().load(&Source::Text { name: "main.yaml".to_owned(), text }).unwrap_err();
    assert!(error.to_string().contains("must be a list"), "{error}");
}

#[test]
fn the_vectors_are_judged_as_anubis_judges_them() {
    let Some(corpus) = corpus() else { return };
    let text = fs::read_to_string(corpus.join("anubis_vectors.jsonl")).unwrap();
    let mut wrong = Vec::new();
    let (mut compared, mut requests, mut left_out) = (0, 0, BTreeMap::<&str, usize>::new());
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let policy = row["policy"].as_str().unwrap();
        let expected = &row["expected"];
        let reason = foreign(policy).then_some("(data)");
        if let Some(reason) = reason {
            *left_out.entry(reason).or_default() += 1;
            continue;
        }
        compared += 1;
        requests += usize::from(expected["load"] == "ok");
        if let Err(message) = compare(&row, policy, expected) {
            wrong.push(format!("{} {}: {message}", row["id"], row["about"]));
        }
    }
    println!("{compared} rows compared, {requests} of them with a request; left out: {left_out:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn compare(row: &Value, policy: &str, expected: &Value) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in row["files"].as_object().into_iter().flatten() {
        fs::write(folder.path().join(name), text.as_str().unwrap()).unwrap();
    }
    let there = |fact: &str| !row["facts"][fact].is_null();
    let databases = Databases { asn: there("asn"), country: there("country") };
    let loader = Loader { root: folder.path().to_path_buf(), databases, ..Loader::default() };
    let source = Source::Text { name: "policy.yaml".to_owned(), text: policy.to_owned() };
    let loaded = match (loader.load(&source), expected["load"] == "ok") {
        (Ok(loaded), true) => loaded,
        (Err(_), false) => return Ok(()),
        (Ok(_), false) => return Err("loads".to_owned()),
        (Err(error), true) => return Err(format!("is refused\n{error}")),
    };
    for code in expected["lints"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !loaded.lints.iter().any(|p| p.code == Some(code)) {
            let codes: Vec<_> = loaded.lints.iter().filter_map(|p| p.code).collect();
            return Err(format!("no {code} among {codes:?}"));
        }
    }
    judge(&loaded.policy, row, expected)
}

/// The facts of a row, but for its names.
fn facts(row: &Value) -> Facts<'static> {
    let row = &row["facts"];
    let load = std::array::from_fn(|at| row["load"][at].as_f64().unwrap_or_default());
    let asn = row["asn"].as_u64().map(|n| u32::try_from(n).unwrap());
    let country = row["country"].as_str().map(|c| c.as_bytes().try_into().unwrap());
    Facts { load, asn, country, ..Facts::default() }
}

/// What a resolver with the names of a row answers. A row without any has one that never answers.
fn answer(row: &Value, lookup: &Lookup) -> Answer {
    let dns = &row["facts"]["dns"];
    let list = |of: &str, name: &str| -> Vec<String> {
        let names = dns[of][name].as_array().into_iter().flatten();
        names.map(|n| n.as_str().unwrap().to_owned()).collect()
    };
    match lookup {
        _ if dns.is_null() => Answer::Failed,
        Lookup::Forward(name) => {
            Answer::Addresses(list("host", name).iter().map(|a| a.parse().unwrap()).collect())
        }
        Lookup::Listed(_) => Answer::Listed(false),
        Lookup::Reverse(address) => Answer::Names(list("ptr", &address.to_string())),
    }
}

fn judge(policy: &Policy, row: &Value, expected: &Value) -> Result<(), String> {
    let request = &row["request"];
    let text = |key: &str| request[key].as_str().unwrap_or("");
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        match value {
            Value::Array(values) => {
                lines.extend(values.iter().map(|v| (name.clone(), v.as_str().unwrap().to_owned())))
            }
            value => lines.push((name.clone(), value.as_str().unwrap().to_owned())),
        }
    }
    let target = match text("query") {
        "" => text("path").to_owned(),
        query => format!("{}?{query}", text("path")),
    };
    let headers: Headers<'_> = lines.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let request = Request::new(Parts {
        method: text("method").as_bytes(),
        target: target.as_bytes(),
        host: text("host").as_bytes(),
        scheme: b"https",
        client: request["client"].as_str().map(|c| c.parse::<IpAddr>().unwrap().to_canonical()),
        headers,
    })
    .map_err(|unfit| format!("{unfit:?}"))?;
    let mut facts = facts(row);
    let judged = loop {
        match policy.evaluate(&request, &facts, &mut ()) {
            Judged::Need(lookups) => {
                assert!(!lookups.is_empty(), "a need names what it needs");
                lookups.into_iter().for_each(|l| facts.learn(l.clone(), answer(row, &l)));
            }
            judged => break judged,
        }
    };
    let mut trace = Trace::default();
    assert_eq!(policy.evaluate(&request, &facts, &mut trace), judged, "watching changes nothing");
    let outcome = match judged {
        Judged::Decided(outcome) => outcome,
        _ if expected["action"] == "ERROR" => return Ok(()),
        judged => return Err(format!("{judged:?}")),
    };
    let same = |what: &str, got: &str, want: &Value| match want {
        Value::Null => Ok(()),
        want if want.as_str().map_or_else(|| want.to_string(), str::to_owned) == got => Ok(()),
        want => Err(format!("{what} is {got} and not {want}")),
    };
    same("action", &outcome.action.as_str().to_uppercase(), &expected["action"])?;
    same("rule", outcome.rule, &expected["rule"])?;
    same("weight", &outcome.weight.to_string(), &expected["weight"])?;
    let challenge = &expected["challenge"];
    match outcome.toll {
        None if challenge.is_null() => Ok(()),
        Some(toll) if !challenge.is_null() => {
            same("kind", toll.kind.as_str(), &challenge["kind"])?;
            same("level", &toll.level.to_string(), &challenge["level"])?;
            same("difficulty", &toll.difficulty.unwrap_or(u32::MAX).to_string(), &challenge["difficulty"])?;
            same("attempts", &toll.attempts().to_string(), &challenge["attempts"])?;
            same("seconds", &toll.seconds.to_string(), &challenge["seconds"])
        }
        toll => Err(format!("the toll is {toll:?} and not {challenge}")),
    }
}

#[test]
fn the_policy_of_the_attacks_loads() {
    let Some(corpus) = corpus() else { return };
    let loaded = Loader::default()
        .load(&Source::File(corpus.join("attack_fixture.yaml")))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(loaded.policy.rules(), 5);
    assert_eq!(loaded.policy.levels(), 12..=12);
}

fn shipped(name: &str) -> Policy {
    Loader::default().load(&Source::Embedded(name.to_owned())).unwrap_or_else(|e| panic!("{e}")).policy
}

fn browse<'h>(
    scheme: &'h str,
    lines: impl IntoIterator<Item = (&'h str, &'h str)>,
    policy: &Policy,
) -> Option<(Action, String)> {
    let headers: Headers<'h> = lines.into_iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
    let parts = Parts {
        method: b"GET",
        target: b"/",
        host: b"example.com",
        scheme: scheme.as_bytes(),
        client: None,
        headers,
    };
    let request = Request::new(parts).ok()?;
    let Judged::Decided(outcome) = policy.evaluate(&request, &Facts::default(), &mut ()) else { return None };
    Some((outcome.action, outcome.rule.to_owned()))
}

#[test]
fn the_default_policy_is_kind_to_people_and_not_to_scrapers() {
    let Some(corpus) = corpus() else { return };
    let policy = shipped("quiet.yaml");
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for line in fs::read_to_string(corpus.join("ua_dev.jsonl")).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let rest = [
            ("Accept", "*/*"),
            ("Accept-Language", "en"),
            ("Accept-Encoding", "gzip"),
            ("Sec-Fetch-Mode", "navigate"),
        ];
        let agent = row["ua"].as_str().unwrap();
        let brand = agent.contains("Chrome/").then_some(("Sec-CH-UA", "\"Chromium\""));
        let lines = rest.into_iter().chain(brand).chain([("User-Agent", agent)]);
        let Some((action, rule)) = browse("https", lines, &policy) else { continue };
        let label = row["label"].as_str().unwrap();
        assert!(label != "human" || action != Action::Deny, "{rule} {}", row["ua"]);
        *counts.entry((label.to_owned(), action.as_str())).or_default() += 1;
    }
    println!("{counts:?}");
    let count = |label: &str, action| counts.get(&(label.to_owned(), action)).copied().unwrap_or(0);
    assert!(count("human", "challenge") * 100 <= count("human", "allow"), "people rarely see a challenge");
}

#[test]
fn the_default_policy_lets_real_browsers_pass_with_and_without_tls() {
    let Some(corpus) = corpus() else { return };
    let policy = shipped("quiet.yaml");
    let (mut sets, mut challenged) = (0, 0);
    for line in fs::read_to_string(corpus.join("browser_headers_dev.jsonl")).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let lines: Vec<(&str, &str)> = row["headers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|h| (h[0].as_str().unwrap(), h[1].as_str().unwrap()))
            .collect();
        let plain = lines.iter().copied().filter(|(name, _)| !name.to_ascii_lowercase().starts_with("sec-"));
        for (action, rule) in
            [browse("https", lines.iter().copied(), &policy), browse("http", plain, &policy)]
                .into_iter()
                .flatten()
        {
            assert_ne!(action, Action::Deny, "{rule} {line}");
            sets += 1;
            challenged += usize::from(action == Action::Challenge);
        }
    }
    assert!(challenged * 50 <= sets, "{challenged} of {sets} sets of headers are challenged");
}
