//! How long a request waits for name servers, by a clock that jumps: never longer than the deadline, whatever they do.

use std::net::SocketAddr;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::*;
use crate::lookup::{Lives, Resolver};
use crate::policy::NameLives;

/// Everything that can wait: the block list, a rule that decides, and rules that only weigh.
const WAITING: &str = r#"
version: tollgate/v1
default: DENY
dnsbl: true
bots:
  - {name: allow, action: ALLOW, paths: [/allow], expression: 'verifyFCrDNS(remoteAddress, "good")'}
  - {name: heavier, action: WEIGH, weight: {adjust: 5}, expression: '!verifyFCrDNS(remoteAddress, "good")'}
  - {name: lighter, action: WEIGH, weight: {adjust: -9}, expression: 'verifyFCrDNS(remoteAddress, "good")'}
thresholds:
  - {name: heavy, expression: weight > 0, action: DENY}
"#;

fn waiting(server: SocketAddr) -> Gate {
    gate_under(WAITING, |settings| {
        let lives = NameLives::default();
        let ours = Lives { forward: lives.forward, reverse: lives.reverse };
        let resolver = Resolver::new(Handle::current(), &[server], ours).unwrap();
        settings.resolvers = vec![(lives, Arc::new(resolver))];
    })
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_the_deadline_and_no_longer() {
    // It takes questions and never answers.
    let server = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let gate = waiting(server.local_addr().unwrap());
    assert!(gate.looks_up());
    for target in ["/allow", "/other"] {
        let request = Request::new(Parts {
            method: b"GET",
            target: target.as_bytes(),
            host: b"example.com",
            scheme: b"https",
            // A public address, or the block list would not be asked.
            client: Some(IpAddr::from([8, 8, 8, 8])),
            headers: [(&b"user-agent"[..], &b"x"[..])].into_iter().collect(),
        });
        let (mut moment, start) = (at(0, 1), Instant::now());
        gate.look_up(None, &request, &mut moment).await;
        assert_eq!(start.elapsed().as_millis(), 50, "{target}");
        assert!(moment.known.is_empty(), "nothing was answered");
        let decision = gate.decide(Face::Grpc, None, &request, &moment);
        assert_eq!((decision.verdict, decision.rule), (Verdict::Deny, "threshold/heavy"), "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_policy_that_looks_nothing_up_does_not_wait() {
    let gate = gate();
    assert!(!gate.looks_up());
    let (mut moment, start) = (at(0, 1), Instant::now());
    gate.look_up(None, &asking("GET", "/pay", BROWSER), &mut moment).await;
    assert_eq!(start.elapsed().as_millis(), 0);
}
