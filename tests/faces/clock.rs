//! The system's clock is set: back and ahead by ten minutes, while visitors come and others are cleared.

use std::time::Duration;

use tollgate::challenge::{Token, answer_text, solve};
use tollgate::clock::{Clock, Timestamp};
use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face};
use crate::http::{Reply, ask};
use crate::served::Served;

const POLICY: &str = "version: tollgate/v1
bots:
  - {name: closed, action: DENY, paths: [/closed]}
  - {name: all, action: CHALLENGE, path_regex: ^/, challenge: {level: 12}}
";
const START: u64 = 1_800_000_000;

async fn challenge(served: &Served) -> String {
    let page = ask(served.stage.http, Ask::get("/").forward()).await;
    let token = Token::parse(page.header("tollgate-challenge").unwrap()).unwrap();
    answer_text(&token, &solve(&token))
}

async fn answer(served: &Served, answer: &str) -> Reply {
    let post = Ask { method: "POST", ..Ask::get("/.tollgate/answer") }.with("tollgate-answer", answer);
    ask(served.stage.http, post.public()).await
}

async fn pay(served: &Served) -> String {
    let paid = answer(served, &challenge(served).await).await;
    assert_eq!(paid.status, 204, "{paid:?}");
    paid.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// Whatever the clock does: rules deny, strangers are challenged, and who pays now is let in.
async fn stands(served: &Served) {
    every_face(&served.stage, &Ask::get("/closed"), Verdict::Deny).await;
    every_face(&served.stage, &Ask::get("/"), Verdict::Challenge).await;
    let cookie = pay(served).await;
    for _ in 0..5 {
        every_face(&served.stage, &Ask::get("/").with("cookie", &cookie), Verdict::Allow).await;
        every_face(&served.stage, &Ask::get("/closed").with("cookie", &cookie), Verdict::Deny).await;
    }
}

async fn health(served: &Served) -> String {
    let ready = served.look("/readyz").await;
    let alive = served.look("/healthz").await;
    assert_eq!((ready.status, alive.status), (200, 200), "a clock is no reason to be restarted or left");
    assert_eq!(ready.body.strip_prefix(b"ready\n"), alive.body.strip_prefix(b"alive\n"));
    String::from_utf8(alive.body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_that_is_set_locks_nobody_out_and_lets_nobody_in() {
    let clock = Clock::manual(Timestamp::from_seconds(START));
    let set = |seconds: u64| clock.set(Timestamp::from_seconds(START).after(Duration::from_secs(seconds)));
    let files = [("policy.yaml", POLICY.as_bytes())];
    let settings = "status: {challenge: 401}\nchallenge: {size: 10}\n";
    set(3600);
    let served = Served::start_at(&files, settings, clock.clone()).await;
    stands(&served).await;
    assert_eq!(health(&served).await, "alive\n");
    let (old, cleared) = (challenge(&served).await, pay(&served).await);

    // Back by ten minutes: what is signed ahead of the clock is refused, as a replica's whose clock is wrong would be.
    set(3000);
    assert!(health(&served).await.contains("degraded: the clock was set back by 600 s"));
    assert_eq!(served.metric("tollgate_clock_step_seconds").await, None, "a negative number is no count");
    assert_eq!(served.metric("tollgate_clock_steps_total").await, Some(1));
    let refused = answer(&served, &old).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{refused:?}");
    every_face(&served.stage, &Ask::get("/").with("cookie", &cleared), Verdict::Challenge).await;
    stands(&served).await;

    // It has come there again: everything counts as before.
    set(3601);
    assert_eq!(health(&served).await, "alive\n");
    every_face(&served.stage, &Ask::get("/").with("cookie", &cleared), Verdict::Allow).await;
    assert_eq!(answer(&served, &old).await.status, 204);
    stands(&served).await;

    // Ahead by ten minutes: challenges have expired, clearances have not.
    let old = challenge(&served).await;
    set(4201);
    assert!(health(&served).await.contains("degraded: the clock was set ahead by 600 s"));
    assert_eq!(served.metric("tollgate_clock_step_seconds").await, Some(600));
    let refused = answer(&served, &old).await;
    assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{refused:?}");
    every_face(&served.stage, &Ask::get("/").with("cookie", &cleared), Verdict::Allow).await;
    stands(&served).await;
    assert_eq!(served.metric("tollgate_panics_total").await, Some(0));
}
