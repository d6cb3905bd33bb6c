//! Files that go wrong while the server runs: what was in force stays in force, and the operator hears why.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face, grpc, word};
use crate::mmdb;
use crate::served::Served;

const POLICY: &str = "version: tollgate/v1
bots:
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: open, action: ALLOW, paths: [/open]}
  - import: more.yaml
  - {name: all, action: DENY, path_regex: ^/}
";
const MORE: &str = "- {name: more, action: ALLOW, paths: [/more]}\n";
const KEYS: &str = "keys: [{id: 0, secret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, state: sign}]\n";

/// What the policy above decides, on every face.
async fn stands(served: &Served) {
    for (target, verdict) in [
        ("/closed", Verdict::Deny),
        ("/open", Verdict::Allow),
        ("/more", Verdict::Allow),
        ("/x", Verdict::Deny),
    ] {
        every_face(&served.stage, &Ask::get(target), verdict).await;
    }
}

/// Everything that can happen to a file, and what the operator hears of it.
type Fault = (&'static str, fn(&Served, &str), &'static str);
const FAULTS: [Fault; 6] = [
    ("missing", |_, _| {}, "No such file"),
    ("empty", |served, name| served.put(name, ""), ""),
    ("a folder", |served, name| fs::create_dir(served.path(name)).unwrap(), "directory"),
    // Whoever runs this, root included, cannot read a link that leads to itself.
    ("unreadable", |served, name| symlink(served.path(name), served.path(name)).unwrap(), "symbolic links"),
    ("no text", |served, name| served.put(name, [0xff, 0xfe, 0x00, 0xd8]), "UTF-8"),
    ("no YAML", |served, name| served.put(name, "a: [b\nc: {"), ""),
];

fn remove(served: &Served, name: &str) {
    let path = served.path(name);
    if path.is_dir() { fs::remove_dir(path).unwrap() } else { fs::remove_file(path).unwrap_or_default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn whatever_happens_to_a_file_the_former_state_holds_and_the_repaired_file_is_taken() {
    let served = Served::start(
        &[("policy.yaml", POLICY.as_bytes()), ("more.yaml", MORE.as_bytes())],
        "status: {challenge: 401}\n",
    )
    .await;
    let settings = fs::read_to_string(served.path("tollgate.yaml")).unwrap();
    let mut failed = 0;
    for (name, text) in [("policy.yaml", POLICY), ("more.yaml", MORE), ("tollgate.yaml", &settings)] {
        for (fault, happens, heard) in FAULTS {
            // An import may be empty, and so may the settings: these say nothing.
            if fault == "empty" && name != "policy.yaml" {
                continue;
            }
            remove(&served, name);
            happens(&served, name);
            let problems = served.reload().await.expect_err(&format!("{name} {fault}"));
            let file = name.trim_end_matches(".yaml");
            let told = problems.contains(heard) || problems.contains(&format!("no file `{name}`"));
            assert!(told && problems.contains(file), "{name} {fault}: {problems}");
            failed += 1;
            stands(&served).await;
            remove(&served, name);
            served.put(name, text);
            served.reload().await.unwrap();
            stands(&served).await;
        }
    }
    assert_eq!(served.metric(r#"tollgate_reloads_total{outcome="failed"}"#).await, Some(failed));
    assert_eq!(served.metric("tollgate_reload_failed").await, Some(0));
    remove(&served, "policy.yaml");
    served.reload().await.unwrap_err();
    assert_eq!(served.metric("tollgate_reload_failed").await, Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_policy_that_is_cut_off_after_any_line_is_refused() {
    let served =
        Served::start(&[("policy.yaml", POLICY.as_bytes()), ("more.yaml", MORE.as_bytes())], "").await;
    let cuts: Vec<_> =
        POLICY.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < POLICY.len()).collect();
    assert!(cuts.len() > 4);
    for cut in cuts.into_iter().chain([POLICY.len() - 10, POLICY.len() / 2]) {
        served.put("policy.yaml", &POLICY[..cut]);
        served.reload().await.expect_err(&POLICY[..cut]);
        every_face(&served.stage, &Ask::get("/x"), Verdict::Deny).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn keys_that_cannot_be_read_change_nothing() {
    let files =
        [("policy.yaml", POLICY.as_bytes()), ("more.yaml", MORE.as_bytes()), ("keys.yaml", KEYS.as_bytes())];
    let private = |served: &Served| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(served.path("keys.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
    };
    let served = Served::start(&files, "").await;
    let settings = fs::read_to_string(served.path("tollgate.yaml")).unwrap();
    served.put("tollgate.yaml", format!("{settings}keys: {{file: keys.yaml}}\n"));
    let problems = served.reload().await.unwrap_err();
    assert!(problems.contains("others can read"), "{problems}");
    private(&served);
    served.reload().await.unwrap();
    for broken in ["", "keys: []", "keys: [{id: 0, secret: AAAA, state: sign}]"] {
        served.put("keys.yaml", broken);
        private(&served);
        let problems = served.reload().await.unwrap_err();
        assert!(!problems.contains("AAAA"), "{problems}");
        stands(&served).await;
    }
}

/// Denies what the database says of network 1, and what it says of network 2 in a site only.
const NETWORKS: &str = "version: tollgate/v1
default: ALLOW
bots: [{name: one, action: DENY, asns: {match: [1]}}]
sites: {two: {hosts: two.example, policy: two.yaml}}
";
const TWO: &str =
    "version: tollgate/v1\ndefault: ALLOW\nbots: [{name: two, action: DENY, asns: {match: [2]}}]\n";

fn database(number: u32) -> Vec<u8> {
    mmdb::database("ASN", &[("198.51.100.0/24", mmdb::asn(number)), ("203.0.113.0/24", mmdb::asn(7))])
}

async fn with_database() -> Served {
    let files =
        [("policy.yaml", NETWORKS.as_bytes()), ("two.yaml", TWO.as_bytes()), ("asn.mmdb", &database(1))];
    Served::start(&files, "geo: {asn: asn.mmdb}\n").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_database_that_breaks_is_refused_and_the_last_good_one_holds() {
    let served = with_database().await;
    // A public address, or no database would be asked.
    let one = Ask { client: "198.51.100.7", ..Ask::get("/") };
    let two = Ask { host: "two.example", ..one.clone() };
    every_face(&served.stage, &one, Verdict::Deny).await;
    every_face(&served.stage, &two, Verdict::Allow).await;
    let good = database(2);
    for (broken, what) in [
        (&b""[..], "empty"),
        (&b"garbage, and a lot of it"[..], "garbage"),
        (&good[..good.len() / 2], "the first half"),
        (&good[good.len() / 2..], "the second half"),
        (&good[..good.len() - 1], "all but a byte"),
    ] {
        served.put("asn.mmdb", broken);
        let problems = served.reload().await.expect_err(what);
        assert!(problems.contains("asn.mmdb") && problems.contains("geo.asn"), "{what}: {problems}");
        every_face(&served.stage, &one, Verdict::Deny).await;
    }
    fs::remove_file(served.path("asn.mmdb")).unwrap();
    assert!(served.reload().await.unwrap_err().contains("No such file"));
    every_face(&served.stage, &one, Verdict::Deny).await;
    served.put("asn.mmdb", &good);
    served.reload().await.unwrap();
    every_face(&served.stage, &one, Verdict::Allow).await;
    every_face(&served.stage, &two, Verdict::Deny).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn databases_are_swapped_under_load() {
    let served = Arc::new(with_database().await);
    let stop = Arc::new(AtomicBool::new(false));
    let asker = {
        let (served, stop) = (served.clone(), stop.clone());
        tokio::spawn(async move {
            let mut seen = [0u32; 2];
            while !stop.load(Ordering::Relaxed) {
                let ask = Ask { client: "198.51.100.7", ..Ask::get("/") };
                let response = grpc(&served.stage, ask.grpc(true)).await;
                match (word(&response, "verdict").as_deref(), word(&response, "rule").as_deref()) {
                    (Some("deny"), Some("bot/one")) => seen[0] += 1,
                    (Some("allow"), Some("default/allow")) => seen[1] += 1,
                    other => panic!("{other:?}"),
                }
            }
            seen
        })
    };
    for round in 0..100 {
        served.put("asn.mmdb", if round % 3 == 2 { b"garbage".to_vec() } else { database(1 + round % 3) });
        assert_eq!(served.reload().await.is_ok(), round % 3 != 2);
    }
    stop.store(true, Ordering::Relaxed);
    let seen = asker.await.unwrap();
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}
