//! A proxy: the endpoint that one trial's agent connects to.

use std::collections::BTreeMap;
use std::io::{PipeReader, PipeWriter};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::account::price;
use crate::cassette::{self, Cassette, Recorder};
use crate::conn::{Conn, Ended, JSON, Stream};
use crate::error::GatewayError;
use crate::exchange;
use crate::head::Head;
use crate::ledger::{Capped, Ledger};
use crate::listen::{Listener, listen};
use crate::protocol::Protocol;
use crate::session::SessionConfig;
use crate::shared::{Options, Shared};
use crate::sync::lock;
use crate::upstream::Stop;

/// How often disconnected agents are detected.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// Stack size of a connection's thread; only the part in use takes memory.
const STACK: usize = 1 << 20;

/// The endpoint that one trial's agent connects to. Closing or dropping it ends every connection
/// and removes the socket.
#[derive(Debug)]
pub struct Proxy {
    connections: Arc<Connections>,
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
    token: String,
    acceptor: Option<(JoinHandle<()>, PipeWriter)>,
}

/// A proxy's connections.
#[derive(Debug)]
struct Connections {
    shared: Arc<Shared>,
    open: Mutex<BTreeMap<u64, Open>>,
    emptied: Condvar,
    closed: AtomicBool,
}

/// A connection.
#[derive(Debug)]
struct Open {
    client: Stream,
    /// Stops the current request.
    stop: Option<Arc<Stop>>,
}

/// A token that nobody can guess.
///
/// # Errors
/// The operating system has no randomness.
pub fn new_token() -> Result<String, GatewayError> {
    let mut random = [0; 24];
    SystemRandom::new().fill(&mut random).map_err(|_| GatewayError::System("random bytes"))?;
    Ok("assay-".chars().chain(random.iter().flat_map(|b| hex(*b))).collect())
}

impl Proxy {
    pub(crate) fn open(options: Arc<Options>, mut session: SessionConfig) -> Result<Self, GatewayError> {
        if session.caps.usd.is_some()
            && let Some(model) = &session.model
            && price(&options, &session, model).is_none()
        {
            return Err(GatewayError::Unpriced(model.clone()));
        }
        session.concurrency = session.concurrency.max(1);
        let recordings = match &session.cassette {
            Cassette::Replay(path) => Some(cassette::read(path, &session.trial, session.attempt)?),
            _ => None,
        };
        let token = new_token()?;
        let (listener, socket, address) = listen(&session.listen)?;
        let shared = Arc::new(Shared::new(options, session, &token, recordings));
        let connections = Arc::new(Connections {
            shared: Arc::clone(&shared),
            open: Mutex::default(),
            emptied: Condvar::new(),
            closed: AtomicBool::new(false),
        });
        // From here on, dropping the proxy cleans up.
        let mut proxy = Self { connections, socket, address, token, acceptor: None };
        if let Cassette::Record(path) = &shared.session.cassette {
            let recorder = Recorder::create(path, &shared.session.trial, shared.session.attempt)?;
            lock(&shared.state).recorder = Some(recorder);
        }
        let (woken, wake) = std::io::pipe().map_err(|_| GatewayError::System("a pipe"))?;
        let connections = Arc::clone(&proxy.connections);
        let acceptor = thread::Builder::new()
            .name("gateway-proxy".to_owned())
            .spawn(move || connections.accept(&listener, &woken))
            .map_err(|_| GatewayError::System("a thread"))?;
        proxy.acceptor = Some((acceptor, wake));
        Ok(proxy)
    }

    /// The socket, if it listens on one.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The address on loopback, if it listens on one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The token that the agent gets instead of a key. Requests without it are refused.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The base URL for an agent, with the port on loopback or, for a socket, the port of a
    /// forwarder to it.
    pub fn base_url(&self, protocol: Protocol, port: u16) -> String {
        let port = self.address.map_or(port, |address| address.port());
        format!("http://127.0.0.1:{port}{}", protocol.base_path())
    }

    /// Whether requests wait for the provider's limits; the sandbox is paused meanwhile.
    pub fn pause_signal(&self) -> PauseSignal {
        PauseSignal(Arc::clone(&self.connections.shared))
    }

    /// How long requests have waited for the provider's limits so far. Overlapping waits count
    /// once.
    pub fn waited(&self) -> Duration {
        self.connections.shared.waited()
    }

    /// Whether a request is waiting now.
    pub fn is_waiting(&self) -> bool {
        self.connections.shared.is_waiting()
    }

    /// The cap that has stopped the trial, if any.
    pub fn capped(&self) -> Option<Capped> {
        self.connections.shared.capped()
    }

    /// The ledger so far.
    pub fn ledger(&self) -> Ledger {
        self.connections.shared.ledger()
    }

    /// Ends every connection, removes the socket, and returns the ledger.
    pub fn close(mut self) -> Ledger {
        self.stop_accepting();
        self.connections.shared.ledger()
    }

    fn stop_accepting(&mut self) {
        if let Some((acceptor, wake)) = self.acceptor.take() {
            self.connections.closed.store(true, Ordering::SeqCst);
            drop(wake);
            let _ = acceptor.join();
            let mut open = lock(&self.connections.open);
            for connection in open.values() {
                connection.client.shutdown();
                if let Some(stop) = &connection.stop {
                    stop.stop();
                }
            }
            // Stopped requests end at once. The bound is for unforeseen cases.
            let until = Instant::now() + Duration::from_secs(10);
            while !open.is_empty() && Instant::now() < until {
                let waited = self.connections.emptied.wait_timeout(open, Duration::from_millis(100));
                open = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            }
        }
        if let Some(socket) = self.socket.take() {
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Reports how long requests have waited for the provider's limits. It does not keep the proxy
/// open.
#[derive(Debug, Clone)]
pub struct PauseSignal(Arc<Shared>);

impl PauseSignal {
    /// As [`Proxy::waited`].
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }

    /// As [`Proxy::is_waiting`].
    pub fn is_waiting(&self) -> bool {
        self.0.is_waiting()
    }

    /// As [`Proxy::capped`].
    pub fn capped(&self) -> Option<Capped> {
        self.0.capped()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}

fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|half| char::from_digit(u32::from(half), 16).unwrap_or('0'))
}

impl Connections {
    /// Accepts connections until the proxy is closed, and stops the requests of agents that
    /// disconnected.
    fn accept(self: &Arc<Self>, listener: &Listener, woken: &PipeReader) {
        let mut next = 0;
        while !self.closed.load(Ordering::SeqCst) {
            let mut ready = [
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                PollFd::new(woken, PollFlags::IN),
            ];
            let _ = poll(&mut ready, Some(&POLL_INTERVAL));
            for connection in lock(&self.open).values() {
                if let Some(stop) = &connection.stop
                    && connection.client.is_gone()
                {
                    stop.stop();
                }
            }
            while let Ok(stream) = listener.accept() {
                if !self.closed.load(Ordering::SeqCst) {
                    self.accept_connection(next, stream);
                    next += 1;
                }
            }
        }
    }

    fn accept_connection(self: &Arc<Self>, number: u64, stream: Stream) {
        let limits = &self.shared.options.limits;
        let client = stream.clone();
        // A sandbox can be frozen while another of its requests waits.
        if stream.set_write_timeout(limits.client_idle + limits.patience).is_err() {
            return;
        }
        {
            let mut open = lock(&self.open);
            if open.len() >= limits.connections {
                drop(open);
                self.shared.refuse("a connection", 503, "too many connections at once");
                return;
            }
            open.insert(number, Open { client, stop: None });
        }
        let connections = Arc::clone(self);
        let spawned =
            thread::Builder::new().name("gateway-agent".to_owned()).stack_size(STACK).spawn(move || {
                // Removed even after a panic.
                let _guard = Guard { connections: &connections, number };
                connections.serve(number, stream);
            });
        if spawned.is_err() {
            lock(&self.open).remove(&number);
        }
    }

    /// Answers the requests of a connection one after another.
    fn serve(&self, number: u64, stream: Stream) {
        let limits = &self.shared.options.limits;
        let mut conn = Conn::new(stream);
        loop {
            let idle = Instant::now() + limits.client_idle;
            let head = match Head::read(&mut conn, limits.head_bytes, idle, limits.arrival) {
                Ok(Some(head)) => head,
                Ok(None) | Err(Ended::Gone) => return,
                Err(ended) => {
                    let (status, reason) = ended.status();
                    self.shared.refuse("a head", status, reason);
                    let body = Protocol::OpenaiCompletions.dialect().error(status, reason).to_string();
                    let _ = conn.reply(status, &JSON, body.as_bytes(), false);
                    return conn.close();
                }
            };
            let stop = Arc::new(Stop::default());
            self.set_stop(number, Some(Arc::clone(&stop)));
            let keep = exchange::serve(&self.shared, &mut conn, &head, &stop);
            self.set_stop(number, None);
            if !keep || self.closed.load(Ordering::SeqCst) {
                return conn.close();
            }
        }
    }

    fn set_stop(&self, number: u64, stop: Option<Arc<Stop>>) {
        if let Some(open) = lock(&self.open).get_mut(&number) {
            // A proxy that closed a moment ago has stopped only the requests that it saw.
            if self.closed.load(Ordering::SeqCst)
                && let Some(stop) = &stop
            {
                stop.stop();
            }
            open.stop = stop;
        }
    }
}

/// Removes a connection from the list when its thread ends, even by a panic.
struct Guard<'a> {
    connections: &'a Connections,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        lock(&self.connections.open).remove(&self.number);
        self.connections.emptied.notify_all();
    }
}
