//! A proxy: the endpoint that one trial's agent connects to.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::Timespec;

use crate::account::price;
use crate::cassette::{self, Cassette, Recorder};
use crate::conn::{Conn, Ended, JSON, Stream};
use crate::connections::{ConnectionServer, ConnectionService, ServerStatus};
use crate::error::GatewayError;
use crate::exchange;
use crate::head::Head;
use crate::ledger::{Capped, Ledger};
use crate::listen::listen;
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
    server: ConnectionServer<Connections>,
    address: Option<SocketAddr>,
    token: String,
}

/// A proxy's connections.
#[derive(Debug)]
struct Connections {
    shared: Arc<Shared>,
    open: Mutex<BTreeMap<u64, Open>>,
    status: ServerStatus,
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
            status: ServerStatus::default(),
        });
        let mut server = ConnectionServer::new(connections, socket);
        if let Cassette::Record(path) = &shared.session.cassette {
            let recorder = Recorder::create(path, &shared.session.trial, shared.session.attempt)?;
            lock(&shared.state).recorder = Some(recorder);
        }
        server.start(listener)?;
        Ok(Self { server, address, token })
    }

    /// The socket, if it listens on one.
    pub fn socket(&self) -> Option<&Path> {
        self.server.socket()
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
        PauseSignal(Arc::clone(self.shared()))
    }

    /// How long requests have waited for the provider's limits so far. Overlapping waits count
    /// once.
    pub fn waited(&self) -> Duration {
        self.shared().waited()
    }

    /// Whether a request is waiting now.
    pub fn is_waiting(&self) -> bool {
        self.shared().is_waiting()
    }

    /// The cap that has stopped the trial, if any.
    pub fn capped(&self) -> Option<Capped> {
        self.shared().capped()
    }

    /// The ledger so far.
    pub fn ledger(&self) -> Ledger {
        self.shared().ledger()
    }

    /// Ends every connection, removes the socket, and returns the ledger.
    pub fn close(mut self) -> Ledger {
        self.server.stop();
        self.shared().ledger()
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.server.service().shared
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

fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|half| char::from_digit(u32::from(half), 16).unwrap_or('0'))
}

impl ConnectionService for Connections {
    const ACCEPTOR: &'static str = "gateway-proxy";
    const WORKER: &'static str = "gateway-agent";
    const STACK: usize = STACK;
    const INSPECTION: Option<Timespec> = Some(POLL_INTERVAL);

    fn status(&self) -> &ServerStatus {
        &self.status
    }

    fn register_connection(&self, number: u64, stream: &Stream) -> bool {
        let limits = &self.shared.options.limits;
        // A sandbox can be frozen while another of its requests waits.
        if stream.set_write_timeout(limits.client_idle + limits.patience).is_err() {
            return false;
        }
        let mut open = lock(&self.open);
        if open.len() >= limits.connections {
            drop(open);
            self.shared.refuse("a connection", 503, "too many connections at once");
            return false;
        }
        open.insert(number, Open { client: stream.clone(), stop: None });
        true
    }

    /// Answers the requests of a connection one after another.
    fn serve_connection(&self, number: u64, stream: Stream) {
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
            if !keep || self.status.is_closed() {
                return conn.close();
            }
        }
    }

    fn forget_connection(&self, number: u64) {
        lock(&self.open).remove(&number);
    }

    fn shut_down_connections(&self) {
        for connection in lock(&self.open).values() {
            connection.client.shutdown();
            if let Some(stop) = &connection.stop {
                stop.stop();
            }
        }
    }

    /// Stops the requests of agents that disconnected.
    fn inspect_connections(&self) {
        for connection in lock(&self.open).values() {
            if let Some(stop) = &connection.stop
                && connection.client.is_gone()
            {
                stop.stop();
            }
        }
    }
}

impl Connections {
    fn set_stop(&self, number: u64, stop: Option<Arc<Stop>>) {
        if let Some(open) = lock(&self.open).get_mut(&number) {
            // A proxy that closed a moment ago has stopped only the requests that it saw.
            if self.status.is_closed()
                && let Some(stop) = &stop
            {
                stop.stop();
            }
            open.stop = stop;
        }
    }
}
