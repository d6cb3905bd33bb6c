//! A challenge from one face, paid in line through another, is good for all.

use tollgate::challenge::{Token, answer_text, solve};
use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face, outcome};
use crate::http::ask;
use crate::stage::Stage;

#[tokio::test]
async fn a_clearance_bought_over_grpc_counts_on_every_face() {
    let stage = Stage::new().await;
    let [check, nginx, forward] = every_face(&stage, &Ask::get("/page"), Verdict::Challenge).await;
    assert_eq!(nginx.header("tollgate-challenge"), None);
    assert!(check.header("tollgate-challenge").is_some());
    let token = Token::parse(forward.header("tollgate-challenge").unwrap()).unwrap();
    let answer = answer_text(&token, &solve(&token));

    let post = Ask { method: "POST", ..Ask::get("/.tollgate/answer") }.with("tollgate-answer", &answer);
    let response = crate::ask::grpc(&stage, post.grpc(true)).await;
    assert_eq!(outcome(&response), (7, "denied", 204));
    let in_line = ask(stage.http, post.check()).await;
    let routed = ask(stage.http, post.public()).await;
    assert_eq!((in_line.status, routed.status), (204, 204));
    assert_eq!((routed.header("content-length"), routed.header("transfer-encoding")), (None, None));
    let cookie = routed.header("set-cookie").unwrap();
    assert_eq!(in_line.header("set-cookie"), Some(cookie), "one solve, one identity");

    let pair = cookie.split(';').next().unwrap();
    every_face(&stage, &Ask::get("/page").with("cookie", pair), Verdict::Allow).await;
    every_face(&stage, &Ask::get("/admin").with("cookie", pair), Verdict::Deny).await;
    let elsewhere = Ask { host: "other.example", ..Ask::get("/page") };
    every_face(&stage, &elsewhere.with("cookie", pair), Verdict::Challenge).await;
    let probe = ask(stage.http, Ask::get("/.tollgate/check").with("cookie", pair).public()).await;
    assert_eq!(probe.status, 204);
}
