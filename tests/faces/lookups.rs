//! What a name server does wrong never helps a visitor: whatever it says, or does not say, every rule takes its strict side.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face, grpc, word};
use crate::name_server::{self, Row};
use crate::served::Served;

/// One path for each kind of rule that depends on a lookup. What no rule decides is allowed, so that a denial that is lost shows.
const POLICY: &str = r#"
version: tollgate/v1
default: ALLOW
status_codes: {CHALLENGE: 401}
bots:
  - {name: known, action: ALLOW, paths: [/allow], expression: 'verifyFCrDNS(remoteAddress, "[.]good[.]example$")'}
  - {name: unknown, action: DENY, paths: [/allow]}
  - {name: denied, action: DENY, paths: [/deny], expression: '!verifyFCrDNS(remoteAddress, "[.]good[.]example$")'}
  - {name: paying, action: CHALLENGE, paths: [/challenge], expression: '!verifyFCrDNS(remoteAddress, "[.]good[.]example$")'}
  - {name: heavier, action: WEIGH, weight: {adjust: 10}, paths: [/heavier], expression: '!verifyFCrDNS(remoteAddress, "[.]good[.]example$")'}
  - {name: heavy, action: WEIGH, weight: {adjust: 5}, paths: [/lighter]}
  - {name: lighter, action: WEIGH, weight: {adjust: -5}, paths: [/lighter], expression: 'verifyFCrDNS(remoteAddress, "[.]good[.]example$")'}
thresholds:
  - {name: too-heavy, expression: weight > 0, action: DENY}
"#;

/// What each of them comes to where nothing is known for certain.
const STRICT: [(&str, Verdict); 5] = [
    ("/allow", Verdict::Deny),
    ("/deny", Verdict::Deny),
    ("/challenge", Verdict::Challenge),
    ("/heavier", Verdict::Deny),
    ("/lighter", Verdict::Deny),
];

/// The visitors: one whose name is good, then one for each fault, first of the name server that knows the address, then of the one
/// that knows the name.
const ROWS: [Row; 18] = [
    ("1.2.0.192.in-addr.arpa.", "a.good.example."),
    ("a.good.example.", "192.0.2.1"),
    ("11.2.0.192.in-addr.arpa.", "broken"),
    ("12.2.0.192.in-addr.arpa.", "garbage"),
    ("13.2.0.192.in-addr.arpa.", "foreign"),
    ("14.2.0.192.in-addr.arpa.", "dead"),
    ("15.2.0.192.in-addr.arpa.", "late a.good.example."),
    ("20.2.0.192.in-addr.arpa.", "gone.good.example."),
    ("21.2.0.192.in-addr.arpa.", "broken.good.example."),
    ("broken.good.example.", "broken"),
    ("22.2.0.192.in-addr.arpa.", "garbage.good.example."),
    ("garbage.good.example.", "garbage"),
    ("23.2.0.192.in-addr.arpa.", "foreign.good.example."),
    ("foreign.good.example.", "foreign"),
    ("24.2.0.192.in-addr.arpa.", "dead.good.example."),
    ("dead.good.example.", "dead"),
    ("25.2.0.192.in-addr.arpa.", "late.good.example."),
    ("late.good.example.", "late 192.0.2.25"),
];

/// Beside them one whose address has no name, and one whose name has no address.
const FAULTY: [&str; 12] = [
    "192.0.2.10",
    "192.0.2.11",
    "192.0.2.12",
    "192.0.2.13",
    "192.0.2.14",
    "192.0.2.15",
    "192.0.2.20",
    "192.0.2.21",
    "192.0.2.22",
    "192.0.2.23",
    "192.0.2.24",
    "192.0.2.25",
];

async fn served(server: SocketAddr) -> Served {
    Served::start(&[("policy.yaml", POLICY.as_bytes())], &format!("dns: {{servers: ['{server}']}}\n")).await
}

/// Whether a visitor is let through in the end: an answer that misses the deadline is there for a later request.
async fn is_allowed_at_last(served: &Served, client: &'static str, target: &str) -> bool {
    let allowed = async {
        loop {
            let response = grpc(&served.stage, Ask { client, ..Ask::get(target) }.grpc(true)).await;
            if word(&response, "verdict").as_deref() == Some("allow") {
                return;
            }
        }
    };
    // Longer than a failure is kept, however busy this machine is.
    tokio::time::timeout(Duration::from_secs(60), allowed).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_fault_of_a_name_server_takes_the_strict_side_on_every_face() {
    let server = name_server::start(&ROWS);
    let served = Arc::new(served(server).await);
    let mut asked = JoinSet::new();
    for client in FAULTY {
        let served = served.clone();
        asked.spawn(async move {
            for (target, verdict) in STRICT {
                every_face(&served.stage, &Ask { client, ..Ask::get(target) }, verdict).await;
            }
        });
    }
    asked.join_all().await;
    // The server works: who has a good name is let through by every one of these rules.
    for (target, _) in STRICT {
        assert!(is_allowed_at_last(&served, "192.0.2.1", target).await, "{target}");
    }
    name_server::release(server);
    for (target, _) in STRICT {
        assert!(is_allowed_at_last(&served, "192.0.2.25", target).await, "{target}, its name found at last");
    }
    // One whose name is another's stays out, however often it asks.
    for (target, verdict) in STRICT {
        every_face(&served.stage, &Ask { client: "192.0.2.15", ..Ask::get(target) }, verdict).await;
    }
    assert_eq!(served.metric("tollgate_panics_total").await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_name_server_that_is_not_there_takes_the_strict_side_on_every_face() {
    // A port that was free a moment ago: whatever is sent there is refused by this machine.
    let nowhere = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let served = served(nowhere).await;
    for (target, verdict) in STRICT {
        every_face(&served.stage, &Ask { client: "192.0.2.1", ..Ask::get(target) }, verdict).await;
    }
}
