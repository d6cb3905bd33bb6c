//! Keys are rotated while two replicas serve, with the file that `tollgate keygen` writes and every order in which it can arrive.

use std::fs;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tollgate::challenge::{Token, answer_text, solve};
use tollgate::clock::{Clock, Timestamp};
use tollgate::gate::Verdict;

use crate::ask::{Ask, every_face};
use crate::http::ask;
use crate::served::Served;

const POLICY: &str = "version: tollgate/v1
bots: [{name: all, action: CHALLENGE, path_regex: ^/, challenge: {level: 12}}]
";
const START: u64 = 1_800_000_000;
const DAY: u64 = 86_400;

/// Two replicas that get their keys from one operator.
struct Fleet {
    operator: TempDir,
    replicas: [Served; 2],
    clock: Clock,
    /// The `Cookie` headers of visitors who paid, and until when each is good.
    visitors: Vec<(String, u64)>,
}

impl Fleet {
    async fn new() -> Self {
        let clock = Clock::manual(Timestamp::from_seconds(START));
        let files = [("policy.yaml", POLICY.as_bytes())];
        let settings = "status: {challenge: 401}\nchallenge: {size: 10}\nreplicas: 2\nkeys: {file: KEYS}\n";
        let operator = tempfile::tempdir().unwrap();
        let mut fleet = {
            let keys = operator.path().join("keys.yaml");
            keygen(&operator, &[]).unwrap();
            let settings = settings.replace("KEYS", &keys.display().to_string());
            let start = || Served::start_at(&files, &settings, clock.clone());
            Self { replicas: [start().await, start().await], operator, clock, visitors: Vec::new() }
        };
        // From now on each replica has a copy of its own.
        for replica in &fleet.replicas {
            let own = fs::read_to_string(replica.path("tollgate.yaml")).unwrap();
            let keys = fleet.operator.path().join("keys.yaml").display().to_string();
            replica.put("tollgate.yaml", own.replace(&keys, "keys.yaml"));
            fleet.deliver(replica).await;
        }
        fleet.visit().await;
        fleet
    }

    fn file(&self) -> std::path::PathBuf {
        self.operator.path().join("keys.yaml")
    }

    async fn deliver(&self, replica: &Served) {
        replica.put_private("keys.yaml", fs::read(self.file()).unwrap());
        replica.reload().await.unwrap();
    }

    /// Takes a step and delivers its file to one replica after the other, in either order; visitors come at every point.
    async fn step(&mut self, flag: &str, first: usize) {
        keygen(&self.operator, &[flag]).unwrap();
        for replica in [first, 1 - first] {
            self.visit().await;
            self.deliver(&self.replicas[replica]).await;
            self.visit().await;
        }
    }

    /// Visitors pay for challenges of each replica at the other; they, and all before them, are let in by both.
    async fn visit(&mut self) {
        for (issuer, checker) in [(0, 1), (1, 0)] {
            let cookie = pay(&self.replicas[issuer], &self.replicas[checker]).await;
            self.visitors.push((cookie, self.clock.now().seconds() + 7 * DAY));
        }
        let now = self.clock.now().seconds();
        for (cookie, _) in self.visitors.iter().filter(|(_, until)| now < *until) {
            for replica in &self.replicas {
                every_face(&replica.stage, &Ask::get("/").with("cookie", cookie), Verdict::Allow).await;
            }
        }
    }

    async fn keys(&self, want: &[(&str, &str)]) {
        for replica in &self.replicas {
            for (id, state) in want {
                let name = format!(r#"tollgate_key{{id="{id}",state="{state}"}}"#);
                assert_eq!(replica.metric(&name).await, Some(1), "{name}");
            }
        }
    }
}

/// What `tollgate keygen` says of the operator's file.
fn keygen(operator: &TempDir, flags: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["keygen", "--file", "keys.yaml"]).args(flags).current_dir(operator.path()).env_clear();
    let done = command.output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    if done.status.success() { Ok(said) } else { Err(said) }
}

async fn pay(issuer: &Served, checker: &Served) -> String {
    let page = ask(issuer.stage.http, Ask::get("/").forward()).await;
    let token = Token::parse(page.header("tollgate-challenge").unwrap()).unwrap();
    let answer = Ask { method: "POST", ..Ask::get("/.tollgate/answer") }
        .with("tollgate-answer", &answer_text(&token, &solve(&token)));
    let paid = ask(checker.stage.http, answer.public()).await;
    assert_eq!(paid.status, 204, "{paid:?}");
    paid.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn three_steps_challenge_nobody_who_was_cleared_and_a_drop_challenges_everybody_once() {
    let mut fleet = Fleet::new().await;
    fleet.keys(&[("0", "sign")]).await;
    fleet.step("--add", 0).await;
    fleet.keys(&[("0", "sign"), ("1", "verify")]).await;
    fleet.step("--promote", 1).await;
    fleet.keys(&[("1", "sign"), ("0", "verify")]).await;

    let too_early = keygen(&fleet.operator, &["--retire"]).unwrap_err();
    assert!(
        too_early.contains("key 0 cannot retire before") && too_early.contains("`cookie.ttl.work`, default"),
        "{too_early}"
    );
    fleet.clock.set(Timestamp::from_seconds(START).after(Duration::from_secs(4 * DAY)));
    fleet.visit().await;
    fleet.clock.set(Timestamp::from_seconds(START).after(Duration::from_secs(8 * DAY)));
    // The operator's clock is the machine's, so the file says that eight days have passed.
    let text = fs::read_to_string(fleet.file()).unwrap();
    let (before, _) = text.split_once(", signed_until: ").unwrap();
    fs::write(fleet.file(), format!("{before}, signed_until: 2020-01-01T00:00:00Z }}\n")).unwrap();
    fleet.step("--retire", 0).await;
    fleet.keys(&[("1", "sign")]).await;
    assert_eq!(fleet.replicas[0].metric(r#"tollgate_key{id="0",state="verify"}"#).await, None);
    for replica in &fleet.replicas {
        let refused = r#"tollgate_clearances_refused_total{reason="key"}"#;
        assert_eq!(replica.metric(refused).await, None, "no clearance was refused for its key");
    }

    keygen(&fleet.operator, &["--drop", "1"]).unwrap();
    for replica in &fleet.replicas {
        fleet.deliver(replica).await;
    }
    let former = std::mem::take(&mut fleet.visitors);
    let (cookie, _) = former.last().unwrap();
    for replica in &fleet.replicas {
        every_face(&replica.stage, &Ask::get("/").with("cookie", cookie), Verdict::Challenge).await;
        let refused = replica.metric(r#"tollgate_clearances_refused_total{reason="key"}"#).await;
        assert!(refused.is_some_and(|refused| refused > 0), "the rate is published");
    }
    fleet.visit().await;
}
