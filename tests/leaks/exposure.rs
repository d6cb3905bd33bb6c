//! What is the operator's is on the admin listener alone, and that is for this machine or for who has a token.

use tonic::transport::Endpoint;
use tonic::{Code, Request};

use crate::canary::ADMIN;
use crate::commands::{Folder, folder};
use crate::serving::Gate;

const PATHS: [&str; 14] = [
    "/metrics",
    "/healthz",
    "/readyz",
    "/config",
    "/debug/pprof/",
    "/debug/vars",
    "/debug",
    "/dashboard",
    "/admin",
    "/tollgate.admin.v1.Admin/Stats",
    "/tollgate.admin.v1.Admin/Reload",
    "/.tollgate/metrics",
    "/.tollgate/config",
    "/.tollgate/static/../../metrics",
];

#[test]
fn nothing_of_the_operator_s_is_on_a_listener_for_proxies() {
    let gate = Gate::start_in(folder(), &[]);
    for path in PATHS {
        for method in ["GET", "POST"] {
            let reply = gate.send(
                "http",
                format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/grpc\r\n\r\n").as_bytes(),
            );
            assert_eq!(&reply[9..12], "404", "{method} {path}: {reply}");
            assert!(!reply.contains("tollgate_"), "{path}: {reply}");
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it builds");
    runtime.block_on(async {
        let url = format!("http://{}", gate.at("grpc"));
        let channel = Endpoint::from_shared(url).expect("a URI").connect().await.expect("it listens");
        for call in [
            "/tollgate.admin.v1.Admin/Stats",
            "/tollgate.admin.v1.Admin/Reload",
            "/tollgate.admin.v1.Admin/Explain",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/grpc.channelz.v1.Channelz/GetTopChannels",
        ] {
            let mut client = tonic::client::Grpc::new(channel.clone());
            client.ready().await.expect("it is connected");
            let codec = tonic_prost::ProstCodec::<(), ()>::default();
            let status = client.unary(Request::new(()), call.parse().expect("a path"), codec).await;
            assert_eq!(status.expect_err("nobody answers").code(), Code::Unimplemented, "{call}");
        }
    });
    let status = |host: &str, token: &str| {
        let ask = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}\r\n");
        gate.send("admin", ask.as_bytes())[9..12].to_owned()
    };
    assert_eq!(status("localhost", ""), "401");
    assert_eq!(status("localhost", &format!("Authorization: Bearer {ADMIN}\r\n")), "200");
    for token in ["", "x", &ADMIN[1..], &format!("{ADMIN}{ADMIN}"), &ADMIN.to_uppercase()] {
        assert_eq!(status("localhost", &format!("Authorization: Bearer {token}\r\n")), "401", "{token:?}");
    }
    drop(gate);
    // Without a token a foreign name is a page of another site that was rebound to this machine.
    let gate = Gate::start(&[], "");
    let status = |host: &str| {
        let ask = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        gate.send("admin", ask.as_bytes())[9..12].to_owned()
    };
    for (host, want) in [
        ("localhost", "200"),
        ("127.0.0.1", "200"),
        ("evil.example", "403"),
        ("localhost.evil.example", "403"),
    ] {
        assert_eq!(status(host), want, "{host}");
    }
}

#[test]
fn without_a_token_the_admin_listener_is_for_this_machine_alone() {
    let folder = Folder::new(&[("tollgate.yaml", "")]);
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9003", "[2001:db8::1]:9003", "gate.example:9003"] {
        for command in ["check", "serve"] {
            let (code, printed) =
                folder.run(&[command, "--admin", address, "--grpc", "off", "--http", "off"], &[]);
            assert_eq!(code, 64, "{command} {address}: {printed}");
            assert!(printed.contains("admin"), "{address}: {printed}");
        }
    }
    assert_eq!(folder.run(&["check", "--admin", "127.0.0.1:0"], &[]).0, 0);
}
