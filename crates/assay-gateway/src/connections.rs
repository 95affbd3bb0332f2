//! The connections of a server: accepted by one thread, each served by a thread of its own, and ended together.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::conn::Stream;
use crate::error::GatewayError;
use crate::listen::Listener;
use crate::sync::lock;

/// Until connections are accepted again, after none could be.
const PAUSE: Duration = Duration::from_millis(20);
/// How long connections that were shut down may take to end. Most end at once; one may be resolving a name.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// What a server does with its connections.
pub(crate) trait ConnectionService: Send + Sync + 'static {
    /// The name of the thread that accepts connections.
    const ACCEPTOR: &'static str;
    /// The name of the threads that serve them.
    const WORKER: &'static str;
    /// The stack size of the threads that serve them; only the part in use takes memory.
    const STACK: usize;
    /// How often [`ConnectionService::inspect_connections`] is called, beside each time that somebody connects.
    const INSPECTION: Option<Timespec> = None;

    /// Whether the server is closing, and how many connections it still has.
    fn status(&self) -> &ServerStatus;

    /// Registers a connection, so that it can be shut down. False refuses it.
    fn register_connection(&self, number: u64, stream: &Stream) -> bool;

    /// Serves a registered connection until it ends.
    fn serve_connection(&self, number: u64, stream: Stream);

    /// Forgets a connection that has ended, or that no thread could be started for.
    fn forget_connection(&self, number: u64);

    /// Shuts down every registered connection.
    fn shut_down_connections(&self);

    /// Looks at the open connections.
    fn inspect_connections(&self) {}

    /// Gives up a connection, because no further one can be accepted: the process has no descriptor left.
    fn relinquish_connection(&self) {}
}

/// Whether a server is closing, and how many connections it still has.
#[derive(Debug, Default)]
pub(crate) struct ServerStatus {
    closed: AtomicBool,
    open: Mutex<usize>,
    emptied: Condvar,
}

impl ServerStatus {
    /// Whether the server is closing: no connection should go on.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn wait_until_empty(&self) {
        let until = Instant::now() + LAST_WAIT;
        let mut open = lock(&self.open);
        while *open > 0 && Instant::now() < until {
            let waited = self.emptied.wait_timeout(open, Duration::from_millis(100));
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A server. Stopping or dropping it ends every connection and removes its socket.
#[derive(Debug)]
pub(crate) struct ConnectionServer<S: ConnectionService> {
    service: Arc<S>,
    socket: Option<PathBuf>,
    acceptor: Option<(JoinHandle<()>, PipeWriter)>,
}

impl<S: ConnectionService> ConnectionServer<S> {
    /// A server that accepts nothing yet. From here on, its socket is removed when it is dropped.
    pub(crate) fn new(service: Arc<S>, socket: Option<PathBuf>) -> Self {
        Self { service, socket, acceptor: None }
    }

    /// Accepts connections from now on.
    pub(crate) fn start(&mut self, listener: Listener) -> Result<(), GatewayError> {
        let (woken, wake) = io::pipe().map_err(|_| GatewayError::System("a pipe"))?;
        let service = Arc::clone(&self.service);
        let acceptor = thread::Builder::new()
            .name(S::ACCEPTOR.to_owned())
            .spawn(move || accept_connections(&service, &listener, &woken))
            .map_err(|_| GatewayError::System("a thread"))?;
        self.acceptor = Some((acceptor, wake));
        Ok(())
    }

    /// What serves the connections.
    pub(crate) fn service(&self) -> &Arc<S> {
        &self.service
    }

    /// The socket, if it listens on one.
    pub(crate) fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Ends every connection and removes the socket. Nothing is served after it returns.
    pub(crate) fn stop(&mut self) {
        let status = self.service.status();
        status.closed.store(true, Ordering::SeqCst);
        let acceptor = self.acceptor.take().map(|(acceptor, wake)| {
            drop(wake);
            acceptor.join()
        });
        if let Some(socket) = self.socket.take() {
            let _ = std::fs::remove_file(socket);
        }
        if acceptor.is_some() {
            self.service.shut_down_connections();
            status.wait_until_empty();
        }
    }
}

impl<S: ConnectionService> Drop for ConnectionServer<S> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Accepts connections until the server closes.
fn accept_connections<S: ConnectionService>(service: &Arc<S>, listener: &Listener, woken: &PipeReader) {
    let mut next = 0;
    while !service.status().is_closed() {
        let mut ready =
            [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        let _ = poll(&mut ready, S::INSPECTION.as_ref());
        service.inspect_connections();
        loop {
            match listener.accept() {
                Ok(stream) if !service.status().is_closed() => {
                    serve_in_thread(service, next, stream);
                    next += 1;
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(_) => {
                    service.relinquish_connection();
                    thread::sleep(PAUSE);
                    break;
                }
            }
        }
    }
}

fn serve_in_thread<S: ConnectionService>(service: &Arc<S>, number: u64, stream: Stream) {
    if !service.register_connection(number, &stream) {
        return;
    }
    *lock(&service.status().open) += 1;
    // Dropped with the closure, too, if no thread can be started.
    let registered = RegisteredConnection { service: Arc::clone(service), number };
    let spawned = thread::Builder::new().name(S::WORKER.to_owned()).stack_size(S::STACK).spawn(move || {
        registered.service.serve_connection(number, stream);
    });
    drop(spawned);
}

/// A registered connection. It is forgotten when its thread ends, even by a panic.
struct RegisteredConnection<S: ConnectionService> {
    service: Arc<S>,
    number: u64,
}

impl<S: ConnectionService> Drop for RegisteredConnection<S> {
    fn drop(&mut self) {
        self.service.forget_connection(self.number);
        let status = self.service.status();
        *lock(&status.open) -= 1;
        status.emptied.notify_all();
    }
}
