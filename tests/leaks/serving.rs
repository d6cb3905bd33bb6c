//! A gate that serves, and questions to it that hold secrets and whatever bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest};

use crate::canary::{ADMIN, TRUST, assert_kept};
use crate::commands::{Folder, SETTINGS, folder};

/// The way of a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    Check,
    Grpc,
    Nginx,
}

/// A running gate, ended by its pid.
pub(crate) struct Gate {
    child: Child,
    log: Option<JoinHandle<String>>,
    said: String,
    addresses: serde_json::Value,
    _folder: Folder,
    runtime: tokio::runtime::Runtime,
}

impl Gate {
    pub(crate) fn start(arguments: &[&str], settings: &str) -> Self {
        Self::start_in(Folder::new(&[("tollgate.yaml", settings)]), arguments)
    }

    pub(crate) fn start_in(folder: Folder, arguments: &[&str]) -> Self {
        let free =
            ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--workers", "1"];
        let mut child = folder
            .command(&[&free[..], arguments].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Read all the while: at the level of traces a pipe is soon full.
        let mut stderr = child.stderr.take().expect("it is piped");
        let log = thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).expect("it can be read");
            String::from_utf8(bytes).expect("a log is text")
        });
        let mut said = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut said).expect("a line");
        let addresses = serde_json::from_str(&said).unwrap_or_else(|_| panic!("no addresses: {said:?}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it builds");
        Self { child, log: Some(log), said, addresses, _folder: folder, runtime }
    }

    pub(crate) fn at(&self, listener: &str) -> SocketAddr {
        self.addresses[listener].as_str().and_then(|a| a.parse().ok()).expect("it listens")
    }

    /// Sends bytes to a listener, and reads what comes back until the end.
    pub(crate) fn send(&self, listener: &str, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.at(listener)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("not zero");
        // A server that has seen enough closes early.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks about a request of which one part is this text.
    pub(crate) fn ask(&mut self, way: Way, part: &str, text: &[u8]) {
        let path = [b"/x", text].concat();
        let facts: [(&str, &[u8]); 7] = [
            ("method", b"GET"),
            ("target", b"/x"),
            ("host", b"a.example"),
            ("user-agent", b"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"),
            ("x-forwarded-for", b"198.51.100.7"),
            ("accept-language", b"de"),
            ("cookie", b"a=1"),
        ];
        let of = |name: &str| match facts.iter().find(|(n, _)| *n == name) {
            _ if name == part && name == "target" => &path[..],
            _ if name == part => text,
            Some((_, value)) => value,
            None => b"",
        };
        match way {
            Way::Grpc => {
                let text = |name: &str| String::from_utf8_lossy(of(name)).into_owned();
                let headers = ["user-agent", "x-forwarded-for", "accept-language", "cookie"].map(|name| {
                    HeaderValue { key: name.into(), value: String::new(), raw_value: of(name).to_vec() }
                });
                let http = HttpRequest {
                    method: text("method"),
                    path: text("target"),
                    host: text("host"),
                    scheme: "https".into(),
                    header_map: Some(HeaderMap { headers: headers.to_vec() }),
                    ..HttpRequest::default()
                };
                let request = Request { http: Some(http), ..Request::default() };
                let attributes = AttributeContext { request: Some(request), ..AttributeContext::default() };
                let check = CheckRequest { attributes: Some(attributes) };
                let url = format!("http://{}", self.at("grpc"));
                self.runtime.block_on(async {
                    let mut client = AuthorizationClient::connect(url).await.expect("it listens");
                    drop(client.check(check).await);
                });
            }
            Way::Check => {
                let mut request =
                    [of("method"), b" /check", of("target"), b" HTTP/1.1\r\nConnection: close\r\n"].concat();
                for name in ["host", "user-agent", "x-forwarded-for", "accept-language", "cookie"] {
                    request.extend([name.as_bytes(), b": ", of(name), b"\r\n"].concat());
                }
                self.send("http", &[&request[..], b"\r\n"].concat());
            }
            Way::Nginx => {
                let mut request = b"GET /auth/nginx HTTP/1.1\r\nConnection: close\r\nHost: gate\r\n".to_vec();
                for (name, fact) in [
                    ("X-Original-URI", "target"),
                    ("X-Original-Method", "method"),
                    ("X-Forwarded-Host", "host"),
                    ("X-Forwarded-For", "x-forwarded-for"),
                    ("User-Agent", "user-agent"),
                    ("Accept-Language", "accept-language"),
                    ("Cookie", "cookie"),
                ] {
                    request.extend([name.as_bytes(), b": ", of(fact), b"\r\n"].concat());
                }
                self.send("http", &[&request[..], b"\r\n"].concat());
            }
        }
    }

    /// Ends it; its line on stdout, and its log.
    pub(crate) fn end(mut self) -> (String, String) {
        let ended = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(ended.expect("kill is there").success());
        assert!(self.child.wait().expect("it is ours").success());
        let log = self.log.take().expect("it is read once").join().expect("it was read");
        (std::mem::take(&mut self.said), log)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn at_the_level_of_traces_no_secret_of_ours_or_of_a_visitor_is_logged() {
    const CLEARANCE: &str = "EQECAAAAclearance-of-a-visitor-that-nobody-else-may-see-AAAAAAAAAAAAAA";
    const ANSWER: &str = "EQEQCanswer-of-a-visitor-that-nobody-else-may-see-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const SESSION: &str = "session-of-the-app-1f2e3d";
    const QUERY: &str = "reset-token-in-a-query-9a8b";
    for format in ["text", "json"] {
        let folder = folder();
        folder.write(
            "tollgate.yaml",
            &SETTINGS.replace("level: trace", &format!("level: trace, format: {format}")),
        );
        let mut gate = Gate::start_in(folder, &["--policy", "(data)/strict.yaml"]);
        let cookie = format!("__Host-tollgate={CLEARANCE}; tollgate={CLEARANCE}; sid={SESSION}");
        for way in [Way::Check, Way::Grpc, Way::Nginx] {
            gate.ask(way, "cookie", cookie.as_bytes());
            gate.ask(way, "target", format!("?t={QUERY}").as_bytes());
        }
        let host = "Host: a.example\r\nConnection: close\r\n";
        for (listener, request) in [
            ("http", format!("POST /.tollgate/answer HTTP/1.1\r\n{host}tollgate-answer: {ANSWER}\r\n\r\n")),
            ("http", format!("GET /.tollgate/wait?t={CLEARANCE}&r=L3g&s={QUERY} HTTP/1.1\r\n{host}\r\n")),
            ("http", format!("GET /check/.tollgate/check HTTP/1.1\r\n{host}Cookie: {cookie}\r\n\r\n")),
            (
                "http",
                format!(
                    "GET /auth/nginx HTTP/1.1\r\n{host}X-Tollgate-Token: {TRUST}\r\nX-Original-URI: /x?{QUERY}\r\n\r\n"
                ),
            ),
            ("admin", format!("GET /metrics HTTP/1.1\r\n{host}Authorization: Bearer {ADMIN}\r\n\r\n")),
            ("admin", format!("GET /metrics HTTP/1.1\r\n{host}Authorization: Bearer {ADMIN}x\r\n\r\n")),
        ] {
            let answer = gate.send(listener, request.as_bytes());
            assert_kept(&request, &answer, &[CLEARANCE, ANSWER, SESSION]);
        }
        gate.child_signal("-HUP");
        let (said, log) = gate.end();
        assert!(log.lines().filter(|line| line.contains("TRACE")).count() > 5, "nothing is traced:\n{log}");
        let more = [&CLEARANCE[..30], &ANSWER[..30], SESSION, QUERY];
        assert_kept("stdout", &said, &more);
        assert_kept("the log", &log, &more);
    }
}

impl Gate {
    fn child_signal(&self, name: &str) {
        let done = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(done.expect("kill is there").success());
    }
}
