//! Binds the listeners, all of them before anything is served, so that an address in use is one clear line.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;

use super::caps::UNREAD;
use crate::config::{Address, Listen};

/// Where the listeners stand, as the line on stdout says it; `None` is off.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Addresses {
    /// Envoy's gRPC.
    pub grpc: Option<String>,
    /// The HTTP faces and the public prefix.
    pub http: Option<String>,
    /// Metrics, health and the admin API.
    pub admin: Option<String>,
}

/// A listening socket that no runtime owns yet.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(std::net::TcpListener),
    Unix(UnixListener),
}

/// The sockets of one worker.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) grpc: Option<Listener>,
    pub(super) http: Option<Listener>,
}

/// Every socket, bound and listening.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) doors: Vec<Doors>,
    pub(super) admin: Option<Listener>,
    pub(super) addresses: Addresses,
    pub(super) files: Vec<SocketFile>,
}

/// An address that could not be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {address} (`{setting}`): {reason}")]
pub struct BindError {
    setting: &'static str,
    address: String,
    reason: String,
}

/// How many connections wait to be accepted: what Linux allows by default (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Binds what the settings name; each worker gets sockets of its own.
pub(super) fn bind(listen: &Listen, workers: usize) -> Result<Bound, BindError> {
    let mut files = Vec::new();
    let mut open = |setting: &'static str, address: &Address, copies: usize| {
        let opened = match address {
            Address::Off => Ok((None, Vec::new())),
            Address::Tcp(wanted) => bind_tcp(*wanted, copies).map(|(at, all)| (Some(at.to_string()), all)),
            Address::Unix(path) => bind_unix(path, listen.mode, copies).map(|(file, all)| {
                files.push(file);
                (Some(address.to_string()), all)
            }),
        };
        opened.map_err(|error| BindError { setting, address: address.to_string(), reason: reason(&error) })
    };
    let (grpc, grpc_doors) = open("listen.grpc", &listen.grpc, workers)?;
    let (http, http_doors) = open("listen.http", &listen.http, workers)?;
    let (admin, mut admin_door) = open("listen.admin", &listen.admin, 1)?;
    let (mut grpc_doors, mut http_doors) = (grpc_doors.into_iter(), http_doors.into_iter());
    let doors = (0..workers).map(|_| Doors { grpc: grpc_doors.next(), http: http_doors.next() }).collect();
    Ok(Bound { doors, admin: admin_door.pop(), addresses: Addresses { grpc, http, admin }, files })
}

/// Binds one address for several workers. The first socket is bound alone, so that another process there, even another
/// gate, is noticed; only then is the port opened to the others, which the kernel spreads connections over.
fn bind_tcp(wanted: SocketAddr, copies: usize) -> io::Result<(SocketAddr, Vec<Listener>)> {
    let socket = |shared: bool, at: SocketAddr| {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(shared)?;
        socket.set_nonblocking(true)?;
        end_unread(&socket);
        socket.bind(&at.into())?;
        Ok::<_, io::Error>(socket)
    };
    let first = socket(false, wanted)?;
    first.set_reuse_port(true)?;
    let at = first.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut sockets = vec![first];
    for _ in 1..copies {
        sockets.push(socket(true, at)?);
    }
    // Listening comes last: a connection that arrived at one of some sockets would wait on it while the others are bound.
    sockets.iter().try_for_each(|socket| socket.listen(BACKLOG))?;
    Ok((at, sockets.into_iter().map(|socket| Listener::Tcp(socket.into())).collect()))
}

/// Has the system end connections whose peer does not take what it was sent (tcp(7), `TCP_USER_TIMEOUT`). Those that are accepted
/// inherit it. A system that has no such thing keeps them until their peer is gone.
fn end_unread(socket: &Socket) {
    #[cfg(target_os = "linux")]
    drop(socket.set_tcp_user_timeout(Some(UNREAD)));
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, UNREAD);
}

/// Binds a unix socket under a name of its own and moves it into place, mode set: it is never open wider than it should be,
/// and a stale file of a process that died is replaced in the same step.
fn bind_unix(path: &Path, mode: u32, copies: usize) -> io::Result<(SocketFile, Vec<Listener>)> {
    if let Ok(found) = fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is no socket stands there",
            ));
        }
        if UnixStream::connect(path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    // One left behind by a process that was killed; in a container every process has the same id.
    drop(fs::remove_file(&fresh));
    let placed = || {
        let listener = UnixListener::bind(&fresh)?;
        listener.set_nonblocking(true)?;
        fs::set_permissions(&fresh, fs::Permissions::from_mode(mode))?;
        fs::rename(&fresh, path)?;
        Ok::<_, io::Error>(listener)
    };
    let listener = placed().inspect_err(|_| drop(fs::remove_file(&fresh)))?;
    let file = SocketFile::new(path)?;
    let mut all = Vec::with_capacity(copies);
    for _ in 1..copies {
        all.push(Listener::Unix(listener.try_clone()?));
    }
    all.push(Listener::Unix(listener));
    Ok((file, all))
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there; stop it or choose another address".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not; choose another address, or a folder that this user may write to".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The file of a unix socket, removed when the process ends, unless a successor has put its own in its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), inode: inode(path)? })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|now| now == self.inode) {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(grpc: Address) -> Listen {
        Listen { grpc, http: Address::Off, admin: Address::Off, mode: 0o600 }
    }

    #[test]
    fn every_worker_gets_a_socket_on_one_port_and_no_second_process_does() {
        let bound = bind(&listen(Address::Tcp(([127, 0, 0, 1], 0).into())), 3).unwrap();
        let at: SocketAddr = bound.addresses.grpc.unwrap().parse().unwrap();
        assert_eq!(bound.doors.iter().filter(|d| d.grpc.is_some()).count(), 3);
        for _ in 0..20 {
            std::net::TcpStream::connect(at).unwrap();
        }
        let error = bind(&listen(Address::Tcp(at)), 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "cannot listen on {at} (`listen.grpc`): another process listens there; stop it or choose another address"
            )
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whoever_does_not_read_is_left_by_the_system() {
        let bound = bind(&listen(Address::Tcp(([127, 0, 0, 1], 0).into())), 1).unwrap();
        let _client = std::net::TcpStream::connect(bound.addresses.grpc.unwrap()).unwrap();
        let Some(Listener::Tcp(listener)) = &bound.doors[0].grpc else { panic!("it is on TCP") };
        listener.set_nonblocking(false).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(socket2::SockRef::from(&accepted).tcp_user_timeout().unwrap(), Some(UNREAD));
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.sock");
        drop(UnixListener::bind(&path).unwrap());
        let bound = bind(&listen(Address::Unix(path.clone())), 2).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        UnixStream::connect(&path).unwrap();
        assert!(bind(&listen(Address::Unix(path.clone())), 1).is_err());
        drop(bound);
        assert!(!path.exists());
        fs::write(&path, "a text").unwrap();
        assert!(bind(&listen(Address::Unix(path.clone())), 1).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a text");
    }
}
