//! What stands in a server's place and is none: it reads whatever comes and sends what it likes.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// It, on a thread of its own. Dropping it stops it, and takes its socket away.
pub(crate) struct Fake {
    socket: std::path::PathBuf,
    stop: Arc<AtomicBool>,
    /// How many connections the other side has ended, and how many bytes were sent in all.
    pub(crate) dropped: Arc<AtomicU64>,
    pub(crate) sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// What it sends on each connection, once something was asked: first one text, then another for as long as anybody listens.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    pub(crate) first: &'static [u8],
    pub(crate) then: &'static [u8],
}

impl Fake {
    pub(crate) fn start(socket: &Path, script: Script) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (dropped, sent) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let thread = thread::spawn({
            let (stop, dropped, sent) = (stop.clone(), dropped.clone(), sent.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => {
                            converse(stream, script, &sent, &stop);
                            dropped.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(_) => thread::sleep(Duration::from_millis(5)),
                    }
                }
            }
        });
        Self { socket: socket.to_owned(), stop, dropped, sent, thread: Some(thread) }
    }
}

/// Until the other side has had enough.
fn converse(mut stream: UnixStream, script: Script, sent: &AtomicU64, stop: &AtomicBool) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut heard = vec![0; 1 << 16];
    let (mut asked, mut greeted) = (false, false);
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut heard) {
            Ok(0) => return,
            Ok(_) => asked = true,
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
        if !asked {
            continue;
        }
        let text = if std::mem::replace(&mut greeted, true) { script.then } else { script.first };
        match stream.write(text) {
            Ok(bytes) => drop(sent.fetch_add(bytes as u64, Ordering::Relaxed)),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the fake panicked");
        }
        drop(std::fs::remove_file(&self.socket));
    }
}
