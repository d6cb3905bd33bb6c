//! How the server is reached: over TCP with a name and a password that may do little, and over TLS.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use crate::program::tollgate;
use crate::replica::{Replica, folder, get, until};
use crate::server::Server;

/// A port that nobody has now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The line of README that a user of the server needs.
fn permissions() -> Vec<String> {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let line = text.lines().find(|line| line.starts_with("ACL SETUSER ")).expect("README has the line");
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn as_the_user_that_the_readme_makes() {
    let folder = folder();
    let port = free_port();
    let server = Server::start(folder.path(), "server", &["--port", &port.to_string()]);
    let permissions = permissions();
    server.ask::<()>(&permissions.iter().map(String::as_str).collect::<Vec<_>>());
    let password = permissions.iter().find_map(|word| word.strip_prefix('>')).unwrap();
    let settings = format!("memory: {{shared: 'redis://tollgate:{password}@127.0.0.1:{port}'}}");
    let replica = Replica::start(folder.path(), "a", &settings);
    replica.wait_until_degraded_is(0);
    (0..11).for_each(|_| assert_eq!(replica.ask(&get("/closed", "198.51.100.7")).status, 403));
    (0..9).for_each(|_| assert_eq!(replica.ask(&get("/dear", "198.51.100.7")).status, 200));
    until("both kinds of keys", || {
        ["tollgate:c:", "tollgate:m:"]
            .iter()
            .all(|kind| server.keys().iter().any(|key| key.starts_with(kind)))
    });
    assert_eq!(replica.metric("tollgate_shared_degraded"), 0);
    assert!(!replica.said().contains(password), "a password is logged");
    // A database of its own takes one more command.
    let numbered = settings.replace("'}", "/3'}");
    let third = Replica::start(folder.path(), "c", &numbered);
    third.says("cannot share memory", 1);
    server.ask::<()>(&["ACL", "SETUSER", "tollgate", "+select"]);
    third.wait_until_degraded_is(0);
    // Another prefix is none of this user's business.
    let settings = settings.replace("memory: {", "memory: {prefix: 'other:', ");
    let other = Replica::start(folder.path(), "b", &settings);
    other.says("it says NOPERM", 1);
    assert_eq!(other.metric("tollgate_shared_degraded"), 1);
}

#[test]
fn over_tls_by_an_authority_that_the_system_trusts() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let subject = ["-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"];
    let authority = ["req", "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"];
    run(&[&authority[..], &subject].concat());
    let of = ["req", "-x509", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1"];
    let signed = ["-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca.key"];
    run(&[&of[..], &signed, &["-keyout", "server.key", "-out", "server.pem"], &subject].concat());
    let port = free_port().to_string();
    let (certificate, key, authority) = (path("server.pem"), path("server.key"), path("ca.pem"));
    let tls = [
        "--tls-port",
        &port,
        "--tls-auth-clients",
        "no",
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
    ];
    let _server =
        Server::start(folder.path(), "server", &[&tls[..], &["--tls-ca-cert-file", &authority]].concat());
    let settings = |host: &str| format!("memory: {{shared: 'rediss://{host}:{port}'}}");
    let trusting = [("SSL_CERT_FILE", authority.as_str())];
    let replica = Replica::start_with(folder.path(), "a", &settings("127.0.0.1"), &trusting);
    replica.wait_until_degraded_is(0);
    replica.stands(1);
    // Another name than the certificate's, and an authority that nobody trusts.
    let misnamed = Replica::start_with(folder.path(), "b", &settings("localhost"), &trusting);
    let distrusting =
        Replica::start_with(folder.path(), "c", &settings("127.0.0.1"), &[("SSL_CERT_FILE", &certificate)]);
    for replica in [misnamed, distrusting] {
        replica.says("invalid peer certificate", 1);
        assert_eq!(replica.metric("tollgate_shared_degraded"), 1);
        replica.stands(1);
    }
}

#[test]
fn what_is_wrong_with_an_address_is_said_before_anything_starts_and_no_password_with_it() {
    let folder = folder();
    let run = |command: &str, settings: &str| {
        fs::write(folder.path().join("tollgate.yaml"), settings).unwrap();
        let mut program = Command::new(tollgate());
        program.args([command, "--policy", "(data)/quiet.yaml"]).current_dir(folder.path());
        let done = program.env("TOLLGATE_KEYS__SECRET", "07".repeat(32)).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    };
    let good = "memory: {shared: 'rediss://me:hunter2@valkey.example', file: kept}\n";
    let bad = "memory: {shared: 'rediss://me:hunter2@valkey.example:port', file: missing/kept}\n";
    let (code, said) = run("check", good);
    assert_eq!(code, Some(0), "{said}");
    assert!(!folder.path().join("kept").exists(), "nothing is begun");
    let (code, said) = run("check", bad);
    assert_eq!(code, Some(64), "{said}");
    assert!(
        said.contains("redis://USER:PASSWORD@HOST:PORT") && said.contains("there is no folder"),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");
    let (_, said) = run("config", good);
    assert!(
        said.contains("rediss://me:(redacted)@valkey.example:6379") && !said.contains("hunter2"),
        "{said}"
    );
}
