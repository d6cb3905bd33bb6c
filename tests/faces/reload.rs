//! Reloads under load: every answer is of exactly one of the policies that were in force, on every face.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;

use crate::ask::{Ask, outcome, word};
use crate::http::{Connection, Reply};
use crate::name_server;
use crate::served::Served;

/// How often everything is read again.
const RELOADS: usize = 1000;

/// Two policies that agree in nothing: not in rule, not in weight, not in status, and on two of three paths not in the verdict.
/// Both look a name up, so that a request is between two steps while policies change; it never earns anybody anything.
fn policy(name: &str, weight: i64, status: u16, denied: &str) -> String {
    format!(
        "version: tollgate/v1
default: DENY
status_codes: {{DENY: {status}}}
bots:
  - {{name: {name}-heavy, action: WEIGH, path_regex: ^/, weight: {{adjust: {weight}}}}}
  - {{name: {name}-known, action: ALLOW, expression: 'verifyFCrDNS(remoteAddress, \"nobody\")'}}
  - {{name: {name}-denied, action: DENY, paths: [{denied}]}}
  - {{name: {name}-open, action: ALLOW, path_regex: ^/}}
"
    )
}

/// What an answer says: the status, and the rule and the weight where that face tells them.
type Said = (i32, Option<String>, Option<String>);

fn said(allowed: bool, tells: bool, refused: i32, name: &str, weight: &str) -> Said {
    let rule = format!("bot/{name}-{}", if allowed { "open" } else { "denied" });
    let told = |text: String| Some(text).filter(|_| tells);
    (if allowed { 200 } else { refused }, told(rule), told(weight.to_owned()))
}

/// What the two policies say about a target on a face: `tells` is whether a refusal names its rule there.
fn both(face: &str, target: &str) -> [Said; 2] {
    let tells = |allowed: bool| allowed || matches!(face, "grpc" | "nginx");
    let status = |own: i32| if face == "nginx" { 403 } else { own };
    let (a, b) = (target != "/flop", target != "/flip");
    [said(a, tells(a), status(410), "a", "3"), said(b, tells(b), status(451), "b", "5")]
}

/// Asks one face until told to stop; returns how often each policy spoke. An answer of neither, or of a mixture, ends the test.
async fn ask_until(stop: Arc<AtomicBool>, face: &'static str, at: SocketAddr) -> BTreeMap<usize, usize> {
    let mut seen = BTreeMap::new();
    let mut grpc = match face {
        "grpc" => Some(AuthorizationClient::connect(format!("http://{at}")).await.unwrap()),
        _ => None,
    };
    let mut http = Connection::open(at).await;
    for target in ["/open", "/flip", "/flop"].into_iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let ask = Ask::get(target);
        let told = |reply: Reply| {
            let header = |name| reply.header(name).map(str::to_owned);
            (i32::from(reply.status), header("x-tollgate-rule"), header("x-tollgate-weight"))
        };
        let got = match &mut grpc {
            Some(client) => {
                let response = client.check(ask.grpc(true)).await.unwrap().into_inner();
                let weight = response.dynamic_metadata.as_ref().unwrap().fields["weight"].clone();
                let weight = format!("{:?}", weight.kind.unwrap());
                let weight: String = weight.chars().filter(|c| c.is_ascii_digit()).take(1).collect();
                (outcome(&response).2, word(&response, "rule"), Some(weight))
            }
            None => told(
                http.ask(match face {
                    "check" => ask.check(),
                    "nginx" => ask.nginx(),
                    _ => ask.forward(),
                })
                .await,
            ),
        };
        let of = both(face, target).iter().position(|said| *said == got);
        let of = of.unwrap_or_else(|| panic!("{face} {target}: {got:?} is of neither policy"));
        *seen.entry(of).or_default() += 1;
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_thousand_reloads_under_load_mix_no_verdict_and_fail_no_request() {
    let policies = [policy("a", 3, 410, "/flop"), policy("b", 5, 451, "/flip")];
    let server = name_server::start(&[("7.100.51.198.in-addr.arpa.", "a.example.")]);
    let settings = format!("dns: {{servers: ['{server}']}}\n");
    let served = Served::start(&[("policy.yaml", policies[0].as_bytes())], &settings).await;
    let stop = Arc::new(AtomicBool::new(false));
    let askers: Vec<_> = [
        ("grpc", served.stage.grpc),
        ("check", served.stage.http),
        ("nginx", served.stage.http),
        ("forward", served.stage.http),
    ]
    .map(|(face, at)| (face, tokio::spawn(ask_until(stop.clone(), face, at))))
    .into();
    for round in 1..=RELOADS {
        served.put("policy.yaml", &policies[round % 2]);
        served.reload().await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for (face, asker) in askers {
        let seen = asker.await.unwrap();
        assert_eq!(seen.len(), 2, "{face} met both policies: {seen:?}");
        eprintln!("{face}: {} answers of the one, {} of the other", seen[&0], seen[&1]);
    }
    assert_eq!(served.metric(r#"tollgate_reloads_total{outcome="ok"}"#).await, Some(RELOADS as u64));
    assert_eq!(served.metric("tollgate_panics_total").await, Some(0));
    assert!(name_server::asked(server) > 0, "names were looked up");
}
