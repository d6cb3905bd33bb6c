//! The whole server in this process, run from files in a folder of its own, with an operator at its admin listener.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use tempfile::TempDir;
use tokio::sync::oneshot;
use tollgate::admin::proto::admin_client::AdminClient;
use tollgate::admin::proto::{ReloadRequest, StatsRequest};
use tollgate::clock::Clock;
use tollgate::config::{self, Sources};
use tollgate::server::Server;
use tonic::transport::Channel;

use crate::http::{Reply, ask};
use crate::stage::Stage;

/// A server that runs until this is dropped: on a runtime of several threads, since clients must hear the end while it is waited for.
pub(crate) struct Served {
    pub(crate) stage: Stage,
    at: SocketAddr,
    admin: AdminClient<Channel>,
    folder: TempDir,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Listeners on free ports, an address of the visitor in a header, and no look at the files but when asked: the tests say when.
const SETTINGS: &str = "
policy: policy.yaml
workers: 2
listen: {grpc: '127.0.0.1:0', http: '127.0.0.1:0', admin: '127.0.0.1:0'}
client: {trusted: [127.0.0.0/8]}
reload: {watch: off}
";

impl Served {
    /// Starts one from these files and settings that the usual ones lack.
    pub(crate) async fn start(files: &[(&str, &[u8])], settings: &str) -> Self {
        Self::start_at(files, settings, Clock::System).await
    }

    /// The same by a clock of the test's.
    pub(crate) async fn start_at(files: &[(&str, &[u8])], settings: &str, clock: Clock) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tollgate.yaml"), format!("{SETTINGS}{settings}")).unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
        let sources = Sources { folder: Some(folder.path().to_owned()), ..Sources::default() };
        let loaded = config::load(&sources).unwrap_or_else(|problems| panic!("{problems}"));
        let server = Server::bind(loaded, sources, clock).unwrap();
        let at = server.addresses().clone();
        let address = |text: &Option<String>| text.as_ref().unwrap().parse().unwrap();
        let stage = Stage { grpc: address(&at.grpc), http: address(&at.http) };
        let (end, ended) = oneshot::channel::<()>();
        let run = move || server.run(async { ended.await.unwrap_or_default() }).unwrap();
        let thread = Some(thread::spawn(run));
        let at = address(&at.admin);
        let admin = AdminClient::connect(format!("http://{at}")).await.unwrap();
        Self { stage, at, admin, folder, end: Some(end), thread }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a file in place in one step, as one should.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path("fresh"), bytes).unwrap();
        fs::rename(self.path("fresh"), self.path(name)).unwrap();
    }

    /// The same with a file that nobody else may read.
    pub(crate) fn put_private(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path("fresh"), bytes).unwrap();
        fs::set_permissions(self.path("fresh"), Permissions::from_mode(0o600)).unwrap();
        fs::rename(self.path("fresh"), self.path(name)).unwrap();
    }

    /// Has everything read again; what is wrong comes back.
    pub(crate) async fn reload(&self) -> Result<(), String> {
        let done = self.admin.clone().reload(ReloadRequest {}).await;
        done.map(drop).map_err(|status| status.message().to_owned())
    }

    /// Asks the admin listener for a page.
    pub(crate) async fn look(&self, path: &str) -> Reply {
        ask(self.at, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await
    }

    /// The value of a metric, by the beginning of its line.
    pub(crate) async fn metric(&self, name: &str) -> Option<u64> {
        let text = self.admin.clone().stats(StatsRequest {}).await.unwrap().into_inner().metrics;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.parse().ok()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server panicked");
        }
    }
}
