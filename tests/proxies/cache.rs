//! A cache above the gate, set up as carelessly as can be: it must not hand one visitor's page, or refusal, to another.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use tempfile::TempDir;

use crate::client::Ask;
use crate::program::{Program, find};
use crate::site::{Front, Site, on};
use crate::toll::pay;

on! { [envoy = FilterOnly, http = HttpService, nginx = Nginx]: a_cache_above_the_gate_keeps_only_files_of_ours }

/// nginx with `proxy_cache` for whatever has a status, in front of a site.
fn cache(site: &Site, folder: &TempDir) -> Option<(Program, SocketAddr)> {
    let nginx = find("nginx")?;
    let (door, at) = (site.door(), SocketAddr::new(site.door().ip(), 8099));
    let config = format!(
        "pid nginx.pid; worker_processes 1; events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  proxy_cache_path cache keys_zone=all:1m;
  server {{
    listen {at};
    location / {{
      proxy_pass http://{door}; proxy_set_header Host $http_host; proxy_http_version 1.1;
      proxy_cache all; proxy_cache_valid any 1h; proxy_cache_methods GET HEAD POST;
      add_header x-cache $upstream_cache_status always;
    }}
  }}
}}
"
    );
    // An nginx that root starts caches as an unprivileged user.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("the folder is ours");
    let file = folder.path().join("cache.conf");
    fs::write(&file, config).expect("the folder is ours");
    let mut command = Command::new(nginx);
    command.arg("-p").arg(folder.path()).arg("-c").arg(file).args(["-e", "stderr", "-g", "daemon off;"]);
    let mut cache = Program::start("nginx", &mut command, folder.path());
    cache.wait_until("a connection for visitors", |_| TcpStream::connect(at).is_ok());
    Some((cache, at))
}

fn a_cache_above_the_gate_keeps_only_files_of_ours(front: Front) {
    let Some(site) = Site::start(front) else { return };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let Some((_cache, at)) = cache(&site, &folder) else { return };
    for target in ["/chal/page", "/deny", "/.tollgate/check", "/.tollgate/nothing", "/.tollgate/wait?t=x"] {
        for ask in [Ask::get(target), Ask::fetch(target), Ask::new("HEAD", target)] {
            let replies = [ask.send(at), ask.send(at), ask.send(at)];
            for reply in &replies {
                assert_ne!(reply.header("x-cache"), Some("HIT"), "{target}: {reply:?}");
                assert!(
                    reply.header("cache-control").is_some_and(|c| c.contains("no-store")),
                    "{target}: {reply:?}"
                );
            }
        }
    }
    let tokens = [(); 2].map(|()| {
        let reply = Ask::fetch("/chal/page").send(at);
        reply.header("tollgate-challenge").expect("a challenge").to_owned()
    });
    assert_ne!(tokens[0], tokens[1], "two visitors, two challenges");
    // What is bought through it is not kept for the next.
    let paid = pay(&site, "/chal/page");
    let probe = |cookie: &str| Ask::fetch("/.tollgate/check").add("cookie", cookie).send(at).status;
    assert_eq!((probe(&paid), probe("a=1"), probe(&paid)), (204, 403, 204));
    // The script is named by its content, so it may be kept for ever.
    let page = Ask::get("/chal/page").send(at);
    let script =
        page.text().split('"').find(|text| text.starts_with("/.tollgate/static/")).expect("a script");
    let first = Ask::get(script).send(at);
    assert!(first.header("cache-control").is_some_and(|c| c.contains("immutable")), "{first:?}");
    let second = Ask::get(script).send(at);
    assert_eq!((second.header("x-cache"), second.body == first.body), (Some("HIT"), true));
}
