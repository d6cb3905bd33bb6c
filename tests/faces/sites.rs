//! Several policies: every face picks the same one, by what the proxy names and else by the host.

use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face, grpc, word};
use crate::http::ask;
use crate::served::Served;

const MAIN: &str = "
version: tollgate/v1
default: DENY
status_codes: {CHALLENGE: 401}
bots:
  - {name: main, action: DENY, path_regex: ^/}
sites:
  shop: {hosts: [shop.example, '*.shop.example'], policy: shop.yaml}
  api: {policy: api.yaml}
";
const SHOP: &str = "
version: tollgate/v1
default: ALLOW
status_codes: {CHALLENGE: 401}
bots:
  - {name: pay, action: CHALLENGE, paths: [/pay]}
";
const API: &str = "bots: [{name: api, action: ALLOW, path_regex: ^/}]";

async fn served() -> Served {
    let files =
        [("policy.yaml", MAIN.as_bytes()), ("shop.yaml", SHOP.as_bytes()), ("api.yaml", API.as_bytes())];
    Served::start(&files, "").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_face_picks_the_policy_of_the_host() {
    let served = served().await;
    for (host, target, verdict) in [
        ("shop.example", "/", Verdict::Allow),
        ("shop.example", "/pay", Verdict::Challenge),
        ("SHOP.example.:443", "/pay", Verdict::Challenge),
        ("a.b.shop.example", "/pay", Verdict::Challenge),
        ("shop.example.evil", "/", Verdict::Deny),
        ("xshop.example", "/", Verdict::Deny),
        ("other.example", "/", Verdict::Deny),
        ("user@shop.example", "/", Verdict::Deny),
    ] {
        every_face(&served.stage, &Ask { host, ..Ask::get(target) }, verdict).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_the_proxy_names_comes_before_the_host_and_a_visitor_can_name_nothing() {
    let served = served().await;
    let ask_all = async |hint: &'static str, host: &'static str| {
        let asked = Ask { host, policy: Some(hint), ..Ask::get("/pay") };
        let grpc = word(&grpc(&served.stage, asked.grpc(true)).await, "verdict").unwrap();
        let nginx = ask(served.stage.http, asked.nginx()).await.status;
        (grpc, nginx, ask(served.stage.http, asked.forward()).await.status)
    };
    assert_eq!(ask_all("api", "shop.example").await, ("allow".into(), 200, 200));
    assert_eq!(ask_all("shop", "other.example").await, ("challenge".into(), 401, 401));
    assert_eq!(ask_all("default", "shop.example").await, ("deny".into(), 403, 403));
    assert_eq!(served.metric("tollgate_unknown_policy_total").await, Some(0));
    assert_eq!(ask_all("nothing", "shop.example").await, ("deny".into(), 403, 403));
    assert_eq!(served.metric("tollgate_unknown_policy_total").await, Some(3));
    for target in ["/?tollgate_policy=api", "/auth/nginx/api", "/.tollgate/page/api/x"] {
        let host = "other.example";
        let asked =
            Ask { host, ..Ask::get(target) }.with("tollgate_policy", "api").with("x-tollgate-policy", "api");
        let reply = ask(served.stage.http, asked.nginx()).await;
        assert_eq!((reply.status, reply.header("x-tollgate-rule")), (403, Some("bot/main")), "{target}");
    }
    assert_eq!(served.metric("tollgate_unknown_policy_total").await, Some(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn nginx_s_page_is_of_the_policy_that_its_question_named() {
    let served = served().await;
    let page = async |name: &str, host: &'static str| {
        let asked = Ask { host, ..Ask::get("/pay") }.with("accept", "text/html");
        let reply = ask(served.stage.http, asked.nginx().replace("/auth/nginx", name)).await;
        (reply.status, String::from_utf8(reply.body).unwrap().contains("data-token"))
    };
    let (challenge, deny) =
        (page("/.tollgate/page", "shop.example").await, page("/.tollgate/page", "other.example").await);
    assert_ne!(challenge, deny);
    assert_eq!(page("/.tollgate/page/shop", "other.example").await, challenge);
    assert_eq!(page("/.tollgate/page/default", "shop.example").await, deny);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_site_whose_policy_breaks_leaves_all_of_them_as_they_were() {
    let served = served().await;
    let shop = Ask { host: "shop.example", ..Ask::get("/") };
    let other = Ask { host: "other.example", ..Ask::get("/") };
    served.put("policy.yaml", MAIN.replace("action: DENY", "action: ALLOW"));
    served.put("shop.yaml", "bots: []");
    let problems = served.reload().await.unwrap_err();
    assert!(problems.contains("shop.yaml") && problems.contains("`bots` is empty"), "{problems}");
    every_face(&served.stage, &shop, Verdict::Allow).await;
    every_face(&served.stage, &other, Verdict::Deny).await;
    served.put("shop.yaml", SHOP.replace("default: ALLOW", "default: DENY"));
    served.reload().await.unwrap();
    every_face(&served.stage, &shop, Verdict::Deny).await;
    every_face(&served.stage, &other, Verdict::Allow).await;
}
