//! A server for replicas to meet on: Redis or Valkey, whichever is installed.

use std::env;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use redis::{Client, ConnectionLike as _, FromRedisValue, cmd};

use crate::program::{Program, kill, repository};

/// A running server on a unix socket. Dropping it stops it.
pub(crate) struct Server {
    program: Option<Program>,
    socket: PathBuf,
    folder: PathBuf,
    name: &'static str,
}

/// Where the server's program is. Without one nothing here is tested, so that is a failure.
#[expect(clippy::disallowed_methods, reason = "where a program lies is not a setting of the product")]
pub(crate) fn find() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [repository().join(".tools/bin")].into_iter().chain(env::split_paths(&path));
    let names = ["valkey-server", "redis-server"];
    let files = folders.flat_map(|folder| names.map(|name| folder.join(name)));
    files.into_iter().find(|file| file.is_file()).unwrap_or_else(|| {
        panic!("neither valkey-server nor redis-server is installed: apt-get install redis-server, or valkey-server")
    })
}

impl Server {
    /// Starts one on `NAME.sock` in a folder, with more settings.
    pub(crate) fn start(folder: &Path, name: &'static str, settings: &[&str]) -> Self {
        let socket = folder.join(format!("{name}.sock"));
        let mut server = Self { program: None, socket, folder: folder.to_owned(), name };
        server.start_again(settings);
        server
    }

    /// Starts it in the place of one that has ended.
    pub(crate) fn start_again(&mut self, settings: &[&str]) {
        let mut command = Command::new(find());
        command.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]).arg(&self.socket);
        command.arg("--dir").arg(&self.folder).args(settings);
        let mut program = Program::start(self.name, &mut command, &self.folder);
        // One that wants a password says so, and runs.
        program.wait_until("an open door", |_| UnixStream::connect(&self.socket).is_ok());
        self.program = Some(program);
    }

    /// Its address, as a setting.
    pub(crate) fn address(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Kills it, as a machine that goes down does.
    pub(crate) fn kill(&mut self) {
        kill(self.program.take().unwrap());
        // A new one would take its place in the file system.
        drop(std::fs::remove_file(&self.socket));
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: &str) {
        self.program.as_ref().unwrap().signal(signal);
    }

    /// Asks it something, if it can be asked.
    pub(crate) fn may_ask<T: FromRedisValue>(&self, words: &[&str]) -> Option<T> {
        let client = Client::open(self.address()).unwrap();
        let mut connection = client.get_connection().ok()?;
        let mut command = cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        let value = connection.req_command(&command).ok()?;
        T::from_redis_value(value).ok()
    }

    /// Asks it something.
    pub(crate) fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.may_ask(words).unwrap_or_else(|| panic!("{words:?} was refused"))
    }

    /// The names of all that it holds.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.ask(&["KEYS", "*"])
    }
}
