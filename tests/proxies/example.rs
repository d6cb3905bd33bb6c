//! The example files themselves: each passes its own program's check, unedited, and what their comments promise is there.

use std::fs;
use std::process::Command;

use crate::client::Ask;
use crate::program::{find, repository};
use crate::site::{Front, Site, on};

on! { [filter_only = FilterOnly, http_service = HttpService, istio = Istio, with_route = WithRoute]: envoy_accepts_the_example }
on! { [filter_only = FilterOnly, with_route = WithRoute]: the_access_log_tells_the_verdict }

fn envoy_accepts_the_example(front: Front) {
    let (Some(envoy), Some(config)) = (find("envoy"), front.example()) else { return };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join("envoy.yaml");
    fs::write(&file, config).expect("the folder is writable");
    let check =
        Command::new(envoy).args(["--mode", "validate", "--use-dynamic-base-id", "-c"]).arg(file).output();
    let check = check.expect("envoy can be started");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn nginx_accepts_the_example() {
    let Some(nginx) = find("nginx") else { return };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let mut command = Command::new(nginx);
    command
        .arg("-t")
        .arg("-p")
        .arg(folder.path())
        .arg("-c")
        .arg(repository().join("examples/nginx/nginx.conf"));
    let check = command.args(["-e", "stderr"]).output().expect("nginx can be started");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn tollgate_accepts_the_examples_policy() {
    let mut command = Command::new(crate::program::tollgate());
    command.arg("check").arg("--policy").arg(repository().join("examples/policy.yaml"));
    let check = command.arg("--config").arg(repository().join("examples/envoy/tollgate.yaml")).output();
    let check = check.expect("tollgate can be started");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
}

fn the_access_log_tells_the_verdict(front: Front) {
    let Some(mut site) = Site::start(front) else { return };
    let id = site.ask(&Ask::get("/ok")).seen().all("x-tollgate-id")[0].to_owned();
    site.ask(&Ask::get("/deny"));
    site.ask(&Ask::get("/chal"));
    let lines = [
        format!("200 GET /ok verdict=allow rule=bot/everything-else id={id}"),
        "403 GET /deny verdict=deny rule=bot/deny-path id=".to_owned(),
        "403 GET /chal verdict=challenge rule=bot/challenge-path id=".to_owned(),
    ];
    // Envoy writes its log every few seconds.
    site.proxy.wait_until("the access log", |proxy| lines.iter().all(|line| proxy.said().contains(line)));
}
