//! What is measured: Tollgate, the baselines, and proxies with Tollgate behind them.

use std::ffi::OsStr;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::process::{Process, Start};
use crate::wire::Address;

/// Where programs and files are, and on which core the measured ones stay.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// This repository.
    pub(crate) root: PathBuf,
    pub(crate) tollgate: PathBuf,
    pub(crate) baseline: PathBuf,
    pub(crate) core: usize,
    pub(crate) logs: Option<PathBuf>,
    /// A folder that is gone when the measurement is.
    pub(crate) work: PathBuf,
    /// The key of every Tollgate of this measurement, so that a clearance outlives its seller.
    pub(crate) secret: String,
}

/// A gate, or a stand-in for one.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) grpc: Address,
    pub(crate) http: Address,
    /// Where its metrics are, if it has any.
    pub(crate) admin: Option<Address>,
    /// How long it took from being started to listening everywhere: what comes from then on is served.
    pub(crate) started: Duration,
}

/// What is set where speed is measured: a few visitors stand for many, so limits of one visitor are out of reach, and answers that
/// were worked out beforehand stay good for as long as they may.
pub(crate) const FOR_SPEED: [(&str, &str); 3] = [
    ("TOLLGATE_LIMITS__WORK", "1000000000/1s"),
    ("TOLLGATE_LIMITS__ANSWERS", "1000000000/1s"),
    ("TOLLGATE_CHALLENGE__TTL", "600s"),
];

impl Place {
    fn start<'a>(&'a self, name: &'a str, program: &'a OsStr, args: Vec<String>) -> Start<'a> {
        Start { name, program, args, environment: Vec::new(), core: self.core, log: self.logs.as_deref() }
    }

    /// Tollgate with a policy: a file, or `(data)/...`. Settings are names and values of its environment.
    pub(crate) fn tollgate(
        &self,
        policy: &str,
        workers: usize,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Server> {
        let mut args: Vec<_> = ["serve", "--policy", policy, "--workers"].map(str::to_owned).into();
        args.push(workers.to_string());
        let mut start = self.start("tollgate", self.tollgate.as_os_str(), args);
        let own = [("TOLLGATE_KEYS__SECRET", self.secret.as_str())];
        let nowhere_else = ["GRPC", "HTTP", "ADMIN"].map(|name| format!("TOLLGATE_LISTEN__{name}"));
        let listen = nowhere_else.iter().map(|name| (name.as_str(), "127.0.0.1:0"));
        let all = listen.chain(own).chain(settings.iter().copied());
        start.environment = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self::server(&start)
    }

    /// The always-OK gRPC server and the always-200 HTTP server.
    pub(crate) fn baseline(&self) -> anyhow::Result<Server> {
        Self::server(&self.start("baseline", self.baseline.as_os_str(), Vec::new()))
    }

    fn server(start: &Start<'_>) -> anyhow::Result<Server> {
        let began = Instant::now();
        let (process, line) = start.run_until_it_speaks()?;
        let started = began.elapsed();
        let addresses: Value = serde_json::from_str(&line).context("no line of addresses")?;
        let address = |name: &str| -> anyhow::Result<Address> {
            addresses[name].as_str().with_context(|| format!("no address of {name}"))?.parse()
        };
        let admin = address("admin").ok();
        Ok(Server { process, grpc: address("grpc")?, http: address("http")?, admin, started })
    }

    /// nginx as in the example, with or without the question in front of every request.
    pub(crate) fn nginx(
        &self,
        gate: &Server,
        app: SocketAddr,
        gated: bool,
    ) -> anyhow::Result<(Process, Address)> {
        let example = self.root.join("examples/nginx");
        let edge = free_port()?;
        let mut config = read(&example.join("nginx.conf"))?;
        replace(&mut config, "listen 127.0.0.1:8084", &format!("listen {edge}"))?;
        replace(&mut config, "server 127.0.0.1:9002", &format!("server {}", gate.http))?;
        replace(&mut config, "server 127.0.0.1:8000", &format!("server {app}"))?;
        if !gated {
            replace(&mut config, "auth_request /.tollgate-auth;", "")?;
        }
        let folder = self.work.join(format!("nginx-{}", edge.port()));
        fs::create_dir_all(&folder)?;
        fs::copy(example.join("tollgate-facts.conf"), folder.join("tollgate-facts.conf"))?;
        let file = folder.join("nginx.conf");
        fs::write(&file, config)?;
        let program = self.program("nginx")?;
        let prefix = format!("{}/", folder.display());
        let args = ["-p", &prefix, "-c", &file.display().to_string(), "-e", "stderr", "-g", "daemon off;"]
            .map(str::to_owned);
        let process = self.start("nginx", program.as_os_str(), args.into()).run()?;
        ready(process, edge)
    }

    /// Envoy with one worker as in the example that asks over gRPC, with or without that filter.
    pub(crate) fn envoy(
        &self,
        gate: &Server,
        app: SocketAddr,
        gated: bool,
    ) -> anyhow::Result<(Process, Address)> {
        let (edge, admin) = (free_port()?, free_port()?);
        let Address::Tcp(grpc) = gate.grpc else { bail!("the gate listens on no port") };
        let mut config = read(&self.root.join("examples/envoy/filter-only.yaml"))?;
        for (port, at) in [(8081, edge), (9901, admin), (9001, grpc), (8000, app)] {
            let line = |at: SocketAddr| format!("address: {}, port_value: {}", at.ip(), at.port());
            replace(&mut config, &line(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)), &line(at))?;
        }
        if !gated {
            let filter = "          - name: envoy.filters.http.ext_authz";
            let (start, rest) = config.split_once(filter).context("no filter in the example")?;
            let (_, rest) = rest.split_once("          - name: ").context("no filter behind it")?;
            config = format!("{start}          - name: {rest}");
        }
        let file = self.work.join(format!("envoy-{}.yaml", edge.port()));
        fs::write(&file, config)?;
        let program = self.program("envoy")?;
        let args = [
            "-c",
            &file.display().to_string(),
            "--use-dynamic-base-id",
            "--concurrency",
            "1",
            "--log-level",
            "warning",
        ]
        .map(str::to_owned);
        let process = self.start("envoy", program.as_os_str(), args.into()).run()?;
        ready(process, edge)
    }

    /// A program of the system, or of `.tools`, where `scripts/tools` puts what it installs.
    pub(crate) fn program(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tools = [".tools/bin", ".tools/venv/bin"].map(|folder| self.root.join(folder));
        let folders = tools.into_iter().chain(std::env::split_paths(&path)).chain(["/usr/sbin".into()]);
        let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
        found.with_context(|| format!("{name} was not found; scripts/tools installs it"))
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Puts a text in place of another, which must be there: examples change, and what no longer fits must not pass for measured.
fn replace(config: &mut String, text: &str, by: &str) -> anyhow::Result<()> {
    if !config.contains(text) {
        bail!("the example no longer holds `{text}`");
    }
    *config = config.replace(text, by);
    Ok(())
}

/// A port that nobody listens on just now.
fn free_port() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Waits until a proxy accepts connections.
fn ready(mut process: Process, at: SocketAddr) -> anyhow::Result<(Process, Address)> {
    let deadline = Instant::now() + Duration::from_secs(15);
    while TcpStream::connect(at).is_err() {
        if !process.lives() || Instant::now() > deadline {
            bail!("{} is not ready on {at}; with --logs FOLDER its messages are kept", process.name);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok((process, Address::Tcp(at)))
}
