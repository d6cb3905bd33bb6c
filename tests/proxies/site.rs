//! A whole site: the app, Tollgate and a proxy in front, the latter two from the files in `examples/`.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, id};
use std::sync::atomic::{AtomicU8, Ordering};

use tempfile::TempDir;

use crate::app::App;
use crate::client::{Ask, Reply};
use crate::program::{Program, end, find, kill, repository, skip, tollgate};

/// In place of a flag: the gate gives notice before it ends, as it does unless it is told otherwise.
pub(crate) const NOTICE: &str = "notice";

/// The ways to put Tollgate behind a proxy that `examples/` shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Front {
    /// Envoy with nothing but the filter.
    FilterOnly,
    /// Envoy over HTTP.
    HttpService,
    /// Istio's EnvoyFilter, in a plain Envoy.
    Istio,
    Nginx,
    /// Envoy with a route for Tollgate's own pages.
    WithRoute,
}

impl Front {
    /// The port for visitors that its example names.
    fn port(self) -> u16 {
        match self {
            Self::FilterOnly => 8081,
            Self::WithRoute => 8082,
            Self::HttpService => 8083,
            Self::Nginx => 8084,
            Self::Istio => 8085,
        }
    }

    /// Its configuration as shipped; nothing, said aloud, if a program that makes it is missing.
    pub(crate) fn example(self) -> Option<String> {
        let file = match self {
            Self::FilterOnly => "envoy/filter-only.yaml",
            Self::HttpService => "envoy/http-service.yaml",
            Self::Istio => return istio(),
            Self::Nginx => "nginx/nginx.conf",
            Self::WithRoute => "envoy/with-route.yaml",
        };
        Some(
            fs::read_to_string(repository().join("examples").join(file))
                .expect("the examples are in the repository"),
        )
    }
}

/// The example's EnvoyFilter as a configuration of a plain Envoy.
fn istio() -> Option<String> {
    let made = Command::new(find("python3")?).arg(repository().join("examples/istio/bootstrap.py")).output();
    let made = made.expect("python3 can be started");
    if !made.status.success() {
        skip(&format!("examples/istio/bootstrap.py: {}", String::from_utf8_lossy(&made.stderr)));
        return None;
    }
    Some(String::from_utf8(made.stdout).expect("it prints text"))
}

/// A running site. Dropping it stops everything.
pub(crate) struct Site {
    // In this order they are dropped: the proxy first, so that it does not complain about the others.
    pub(crate) proxy: Program,
    gates: Vec<Gate>,
    pub(crate) app: App,
    address: Ipv4Addr,
    pub(crate) front: Front,
    folder: TempDir,
}

/// One Tollgate, which may be down.
struct Gate {
    program: Option<Program>,
    address: Ipv4Addr,
    flags: Vec<String>,
}

impl Site {
    /// Starts it as the example is. Nothing, said aloud, if a program is missing.
    pub(crate) fn start(front: Front) -> Option<Self> {
        Self::start_with(front, &[], &[])
    }

    /// Starts it with some text of the example replaced, as an operator who follows its comments would, and more flags for Tollgate.
    pub(crate) fn start_with(front: Front, edits: &[(&str, &str)], flags: &[&str]) -> Option<Self> {
        Self::start_several(front, 1, edits, flags)
    }

    /// The same with several Tollgates, each on an address of its own.
    pub(crate) fn start_several(
        front: Front,
        gates: usize,
        edits: &[(&str, &str)],
        flags: &[&str],
    ) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            skip("other systems have a single loopback address, and each test needs one of its own");
            return None;
        }
        let program = find(if front == Front::Nginx { "nginx" } else { "envoy" })?;
        let mut config = front.example()?;
        for (old, new) in edits {
            assert!(config.contains(old), "the example of {front:?} no longer says {old:?}");
            config = config.replace(old, new);
        }
        let address = address();
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        // An nginx that root starts lets an unprivileged user keep large bodies in there.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("the folder is ours");
        let app = App::start((address, 8000).into());
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>();
        let addresses = std::iter::once(address).chain(std::iter::repeat_with(self::address).take(gates - 1));
        let gates: Vec<_> = addresses.map(|at| Gate::start(front, at, &flags, folder.path())).collect();
        let config = with_others(front, localised(&config, address), address, &gates[1..]);
        let proxy = start_proxy(front, &program, &config, address, folder.path());
        Some(Self { proxy, gates, app, address, front, folder })
    }

    /// Where visitors go.
    pub(crate) fn door(&self) -> SocketAddr {
        (self.address, self.front.port()).into()
    }

    /// Tollgate's own `http` listener, which only the proxy should ask.
    pub(crate) fn behind_the_door(&self) -> SocketAddr {
        (self.address, 9002).into()
    }

    /// Tollgate's own `grpc` listener.
    pub(crate) fn grpc(&self) -> SocketAddr {
        (self.address, 9001).into()
    }

    /// Where Envoy's own counters are.
    pub(crate) fn envoy_admin(&self) -> SocketAddr {
        (self.address, 9901).into()
    }

    pub(crate) fn ask(&self, ask: &Ask) -> Reply {
        ask.send(self.door())
    }

    pub(crate) fn kill_the_gate(&mut self) {
        self.kill_gate(0);
    }

    pub(crate) fn start_the_gate_again(&mut self) {
        self.start_gate(0);
    }

    pub(crate) fn signal_the_gate(&self, name: &str) {
        self.gates[0].program.as_ref().expect("it is running").signal(name);
    }

    pub(crate) fn kill_gate(&mut self, number: usize) {
        kill(self.gates[number].running());
    }

    pub(crate) fn start_gate(&mut self, number: usize) {
        let gate = &self.gates[number];
        self.gates[number] = Gate::start(self.front, gate.address, &gate.flags, self.folder.path());
    }

    /// Asks a gate to end, as an orchestrator does; returns its exit code.
    pub(crate) fn end_gate(&mut self, number: usize) -> Option<i32> {
        end(self.gates[number].running())
    }
}

impl Gate {
    fn start(front: Front, address: Ipv4Addr, flags: &[String], folder: &Path) -> Self {
        let program = Some(start_gate(front, address, flags, folder));
        Self { program, address, flags: flags.to_vec() }
    }

    fn running(&mut self) -> Program {
        self.program.take().expect("it is running")
    }
}

/// A loopback address that no other test uses, in this process or another: so every port can be the one that the example names.
fn address() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = id().to_be_bytes();
    Ipv4Addr::new(127, high.clamp(1, 254), low, NEXT.fetch_add(1, Ordering::SeqCst).clamp(1, 254))
}

/// The example at another address, and with more patience than is good in service: the machine that runs tests may be busy.
fn localised(config: &str, address: Ipv4Addr) -> String {
    let short = ["timeout: 0.25s", "timeout: 0.5s", "timeout: 1s", "timeout 250ms", "timeout 1s"];
    short.iter().fold(config.replace("127.0.0.1", &address.to_string()), |config, text| {
        let setting = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
        config.replace(text, &format!("{setting}20s"))
    })
}

/// The same with more Tollgates beside the first.
fn with_others(front: Front, config: String, first: Ipv4Addr, others: &[Gate]) -> String {
    others.iter().fold(config, |config, other| {
        let beside = |line: &str, between: &str| {
            let line = line.replace("FIRST", &first.to_string());
            assert!(config.contains(&line), "the example of {front:?} no longer says {line:?}");
            config.replace(
                &line,
                &format!("{line}{between}{}", line.replace(&first.to_string(), &other.address.to_string())),
            )
        };
        match front {
            Front::Nginx => beside("server FIRST:9002 max_fails=0;", " "),
            Front::HttpService => beside(
                "{endpoint: {health_check_config: {port_value: 9003}, address: {socket_address: {address: FIRST, port_value: 9002}}}}",
                ", ",
            ),
            _ => beside("{endpoint: {address: {socket_address: {address: FIRST, port_value: 9001}}}}", ", "),
        }
    })
}

fn start_gate(front: Front, address: Ipv4Addr, flags: &[String], folder: &Path) -> Program {
    let mut command = Command::new(tollgate());
    command.arg("serve").args(["--workers", "1"]);
    for (flag, port) in [("--grpc", 9001), ("--http", 9002), ("--admin", 9003)] {
        command.arg(flag).arg(format!("{address}:{port}"));
    }
    if !flags.iter().any(|flag| flag == "--policy") {
        command.arg("--policy").arg(repository().join("tests/proxies/policy.yaml"));
    }
    if front != Front::Nginx {
        command.arg("--config").arg(repository().join("examples/envoy/tollgate.yaml"));
    }
    // One key for every start: what was paid before a crash stays paid.
    command.env("TOLLGATE_KEYS__SECRET", "07".repeat(32)).current_dir(folder);
    if !flags.iter().any(|flag| flag == NOTICE) {
        // Nobody goes elsewhere in most tests, and each ends a gate.
        command.env("TOLLGATE_DRAIN__DELAY", "0s");
    }
    command.args(flags.iter().filter(|flag| *flag != NOTICE));
    let (program, addresses) = Program::start_until_it_speaks("tollgate", &mut command, folder);
    assert!(addresses.contains(&format!("{address}:9001")), "tollgate listens elsewhere: {addresses}");
    program
}

fn start_proxy(front: Front, program: &Path, config: &str, address: Ipv4Addr, folder: &Path) -> Program {
    let mut command = Command::new(program);
    let name = if front == Front::Nginx {
        let file = folder.join("nginx.conf");
        fs::write(&file, config).expect("the test's own folder is writable");
        fs::copy(repository().join("examples/nginx/tollgate-facts.conf"), folder.join("tollgate-facts.conf"))
            .expect("the examples are in the repository");
        command.arg("-p").arg(folder).arg("-c").arg(file).args(["-e", "stderr", "-g", "daemon off;"]);
        "nginx"
    } else {
        let file = folder.join("envoy.yaml");
        fs::write(&file, config).expect("the test's own folder is writable");
        command.arg("-c").arg(file).args([
            "--use-dynamic-base-id",
            "--concurrency",
            "1",
            "--log-level",
            "warning",
        ]);
        "envoy"
    };
    let mut proxy = Program::start(name, &mut command, folder);
    proxy.wait_until("a connection for visitors", |_| TcpStream::connect((address, front.port())).is_ok());
    proxy
}

/// Makes a test of each given function for each given front.
macro_rules! on {
    ($fronts:tt: $($test:ident)*) => { $( mod $test { $crate::site::on!(@ $test $fronts); } )* };
    (@ $test:ident [$($name:ident = $front:ident),*]) => { $(
        #[test]
        fn $name() {
            super::$test($crate::site::Front::$front);
        }
    )* };
}
pub(crate) use on;

/// The same for every front.
macro_rules! on_every_front {
    ($($test:ident)*) => {
        $crate::site::on! { [
            envoy_filter_only = FilterOnly, envoy_http_service = HttpService, envoy_with_route = WithRoute, istio = Istio, nginx = Nginx
        ]: $($test)* }
    };
}
pub(crate) use on_every_front;
