//! Gates of others: a URL, and a file that says what to ask there in each scenario.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::face::Face;
use crate::frozen::{CLIENT, SERIAL};
use crate::process::Process;
use crate::scenario::Scenario;
use crate::script::{Script, live};
use crate::solver::Solver;
use crate::visitor::{self, Expect, Step, Via};
use crate::wire::{Address, Protocol, lanes};

/// `NAME=URL[,file=FILE][,pid=PID][,rules=stock|minimal]`.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    name: String,
    address: Address,
    grpc: bool,
    file: Option<PathBuf>,
    pid: Option<u32>,
    rules: String,
}

impl FromStr for Flag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, rest) = text.split_once('=').context("write NAME=URL")?;
        let mut parts = rest.split(',');
        let url = parts.next().unwrap_or_default();
        let grpc = url.strip_prefix("grpc://");
        let address = grpc.unwrap_or(url).parse()?;
        let mut flag = Self {
            name: name.to_owned(),
            address,
            grpc: grpc.is_some(),
            file: None,
            pid: None,
            rules: "stock".to_owned(),
        };
        for part in parts {
            match part.split_once('=') {
                Some(("file", file)) => flag.file = Some(file.into()),
                Some(("pid", pid)) => flag.pid = Some(pid.parse().context("a pid is a number")?),
                Some(("rules", rules @ ("stock" | "minimal"))) => flag.rules = rules.to_owned(),
                _ => bail!("{part}: write file=FILE, pid=PID, or rules=stock|minimal"),
            }
        }
        Ok(flag)
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sheet {
    /// Who solves its challenges.
    solver: Option<String>,
    /// What else stands there is the name of a scenario, or an error.
    #[serde(flatten)]
    scenarios: BTreeMap<Scenario, Vec<Line>>,
}

/// One request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Whose headers are sent: `browser`, `reader` or `robot`; else only those below.
    like: Option<String>,
    #[serde(default = "get")]
    method: String,
    path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The status that is right.
    expect: u16,
}

fn get() -> String {
    "GET".to_owned()
}

/// A peer, ready to be asked.
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) rules: String,
    pub(crate) address: Address,
    pub(crate) face: Face,
    pub(crate) process: Option<Process>,
    solver: Option<Solver>,
    scenarios: BTreeMap<Scenario, Vec<Step>>,
}

impl Peer {
    /// Reads a peer's file: the one that is named, or `NAME.toml` in `folder`.
    pub(crate) fn load(flag: &Flag, folder: &Path) -> anyhow::Result<Self> {
        let file = flag.file.clone().unwrap_or_else(|| folder.join(format!("{}.toml", flag.name)));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let sheet: Sheet = toml::from_str(&text).with_context(|| format!("{} is wrong", file.display()))?;
        let solver = sheet.solver.as_deref().map(Solver::from_str).transpose()?;
        let steps = |lines: Vec<Line>| lines.into_iter().map(Line::step).collect::<anyhow::Result<_>>();
        let scenarios = sheet.scenarios.into_iter().map(|(scenario, lines)| Ok((scenario, steps(lines)?)));
        Ok(Self {
            name: flag.name.clone(),
            rules: flag.rules.clone(),
            address: flag.address.clone(),
            face: if flag.grpc { Face::Grpc } else { Face::Plain },
            process: flag.pid.map(|pid| Process::known(&flag.name, pid)),
            solver,
            scenarios: scenarios.collect::<anyhow::Result<_>>()?,
        })
    }

    /// What is asked in a scenario; `None` where the file says nothing of it. Visitors who return have been cleared by
    /// now: by the visit of `solved`, each once, and its last request is theirs.
    pub(crate) async fn script(
        &self,
        scenario: Scenario,
        clients: u64,
        visitors: usize,
    ) -> anyhow::Result<Option<Rc<Script>>> {
        if let Some(steps) = self.scenarios.get(&scenario) {
            return Ok(Some(Rc::new(match scenario {
                Scenario::Solved => {
                    Script::Live { face: self.face, steps: steps.clone(), solver: self.solver }
                }
                _ => {
                    let visit = steps.iter().map(|step| self.face.freeze(step)).collect();
                    Script::Known { visits: vec![visit], clients }
                }
            })));
        }
        match self.scenarios.get(&Scenario::Solved).map(|steps| (steps, steps.last())) {
            Some((steps, Some(last))) if scenario == Scenario::Returning => {
                let protocol = Protocol::Http1 { connections: 1, many_addresses: false };
                let mut lane = lanes(&self.address, protocol).remove(0);
                let mut visits = Vec::with_capacity(visitors);
                for number in 0..visitors as u64 {
                    let (jar, _) = live(&mut lane, self.face, steps, self.solver, number)
                        .await
                        .map_err(anyhow::Error::msg)
                        .with_context(|| format!("a visitor of {} cannot pay", self.name))?;
                    visits.push(vec![self.face.freeze(&last.clone().with("cookie", &jar.join("; ")))]);
                }
                Ok(Some(Rc::new(Script::Known { visits, clients })))
            }
            _ => Ok(None),
        }
    }
}

impl Line {
    fn step(self) -> anyhow::Result<Step> {
        let mut step = match self.like.as_deref() {
            Some("browser") => visitor::browser(&self.path),
            Some("reader") => visitor::reader(&self.path),
            Some("robot") => visitor::robot(&self.path),
            None => Step { headers: Vec::new(), ..visitor::browser(&self.path) },
            Some(other) => bail!("nobody is like {other}; there are browser, reader and robot"),
        };
        step.method = self.method;
        step.via = Via::Question;
        step.expect = Expect::Status(self.expect);
        for (name, value) in self.headers {
            let value = value.replace("{client}", CLIENT).replace("{serial}", SERIAL);
            step = step.without(&name).with(&name, &value);
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn a_flag_is_a_name_a_url_and_what_else_is_known() {
        let flag: Flag = "peer=http://127.0.0.1:8923,pid=7,rules=minimal".parse().unwrap();
        assert_eq!((flag.name.as_str(), flag.pid, flag.rules.as_str()), ("peer", Some(7), "minimal"));
        assert!("peer=grpc://127.0.0.1:1".parse::<Flag>().unwrap().grpc);
        for wrong in ["peer", "peer=https://127.0.0.1:1", "peer=127.0.0.1:1,x=y", "peer=127.0.0.1:1,pid=x"] {
            assert!(wrong.parse::<Flag>().is_err(), "{wrong}");
        }
    }

    /// A stand-in that asks what Anubis asks: the hash of a challenge and a nonce must begin with two zeros. It knows its
    /// challenges by id, takes an answer once, and lets nobody pass without its cookie.
    async fn stand_in() -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut input, mut issued) = (Vec::new(), 0u32);
            let mut spent = std::collections::HashSet::new();
            loop {
                while !input.ends_with(b"\r\n\r\n") {
                    if stream.read_buf(&mut input).await.unwrap() == 0 {
                        return;
                    }
                }
                let head = String::from_utf8(std::mem::take(&mut input)).unwrap();
                let target = head.split(' ').nth(1).unwrap();
                let field = |name: &str| {
                    let (_, rest) = target.split_once(&format!("{name}=")).unwrap_or_default();
                    rest.split('&').next().unwrap_or_default().to_owned()
                };
                let hash = |text: String| {
                    Sha256::digest(text).iter().map(|b| format!("{b:02x}")).collect::<String>()
                };
                let (status, more, body) = if target.contains("/api/check") {
                    (if head.contains("cookie: paid=yes") { 200 } else { 401 }, "", String::new())
                } else if target.contains("/pass-challenge") {
                    let right = hash(format!("data-{}{}", field("id"), field("nonce"))) == field("response");
                    let paid = right && field("response").starts_with("00") && spent.insert(field("id"));
                    if paid {
                        (302, "set-cookie: paid=yes; Path=/\r\n", String::new())
                    } else {
                        (403, "", String::new())
                    }
                } else {
                    issued += 1;
                    let page = format!(
                        "<script id=\"anubis_challenge\" type=\"application/json\">{{\"rules\":{{\"difficulty\":2}},\"challenge\":{{\"id\":\"{issued}\",\"randomData\":\"data-{issued}\"}}}}</script>"
                    );
                    (200, "", page)
                };
                let answer =
                    format!("HTTP/1.1 {status} x\r\n{more}content-length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        at
    }

    #[tokio::test]
    async fn a_challenge_of_anubis_is_answered_and_its_cookie_is_kept() {
        let at = stand_in().await;
        let flag: Flag = format!("anubis=http://{at}").parse().unwrap();
        let peer = Peer::load(&flag, &Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")).unwrap();
        let mut lane =
            lanes(&peer.address, Protocol::Http1 { connections: 1, many_addresses: false }).remove(0);
        let solved = &peer.scenarios[&Scenario::Solved];
        for number in 0..3 {
            let (jar, _) = live(&mut lane, peer.face, solved, peer.solver, number).await.unwrap();
            assert_eq!(jar, ["paid=yes"]);
        }
        let failed = live(&mut lane, peer.face, solved, None, 3).await.unwrap_err();
        assert_eq!(failed, "status 403 instead of 302");
    }

    #[test]
    fn the_files_of_this_folder_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let flag: Flag = format!("{name}=127.0.0.1:1").parse().unwrap();
            assert!(!Peer::load(&flag, &folder).unwrap().scenarios.is_empty(), "{name}");
        }
    }
}
