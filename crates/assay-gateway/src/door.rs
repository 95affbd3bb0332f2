//! A door: where one trial's agent connects.

mod account;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{PipeReader, PipeWriter};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use assay_trace::Watch;
use ring::rand::{SecureRandom, SystemRandom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::cassette::{self, Recorder, Take};
use crate::conn::{Conn, Ended, Stream};
use crate::exchange;
use crate::head::Head;
use crate::ledger::{Capped, Exchange, Ledger, Mismatch, Refused, Totals};
use crate::protocol::Protocol;
use crate::provider::Stop;
use crate::silence::Silence;
use crate::{Cassette, GatewayError, Listen, Run, TrialPass, lock};

/// How often it is looked whether agents have gone.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// What a connection's thread has for a stack; only what is used takes memory.
const STACK: usize = 1 << 20;
/// Most requests that were turned away and are told of.
const REFUSED: usize = 100;
/// Where one trial's agent connects. Closing it, or dropping it, ends every connection and removes the socket.
#[derive(Debug)]
pub struct Door {
    inside: Arc<Inside>,
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
    token: String,
    acceptor: Option<(JoinHandle<()>, PipeWriter)>,
}

/// What the threads of a door share.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) run: Arc<Run>,
    pub(crate) pass: TrialPass,
    /// The token's digest: comparing digests tells nothing by its time.
    token: blake3::Hash,
    pub(crate) takes: Option<BTreeMap<usize, Take>>,
    pub(crate) records: bool,
    pub(crate) state: Mutex<State>,
    waiting: Mutex<Waiting>,
    silence: Mutex<Silence>,
    slots: Mutex<usize>,
    freed: Condvar,
    open: Mutex<BTreeMap<u64, Open>>,
    emptied: Condvar,
    closed: AtomicBool,
}

/// A connection.
#[derive(Debug)]
struct Open {
    client: Stream,
    /// Of the request at hand.
    stop: Option<Arc<Stop>>,
}

/// What is known so far.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) totals: Totals,
    refused: Vec<Refused>,
    watches: Vec<Watched>,
    /// Texts that were read already: agents send their whole conversation each time.
    texts: BTreeSet<[u8; 16]>,
    capped: Option<Capped>,
    pub(crate) mismatch: Option<Mismatch>,
    /// Which replies of the cassette were played.
    pub(crate) played_takes: BTreeSet<usize>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) cassette_error: Option<String>,
    /// How often the rule of a script's line has answered.
    pub(crate) played: BTreeMap<usize, u32>,
}

#[derive(Debug)]
struct Watched {
    watch: Watch,
    advertised: Option<usize>,
    opened: Option<usize>,
}

/// The time in which at least one request waited.
#[derive(Debug, Default)]
struct Waiting {
    now: usize,
    since: Option<Instant>,
    total: Duration,
}

/// Takes connections.
#[derive(Debug)]
enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Door {
    pub(crate) fn open(run: Arc<Run>, mut pass: TrialPass) -> Result<Self, GatewayError> {
        if pass.caps.usd.is_some()
            && let Some(model) = &pass.model
            && run.price(&pass, model).is_none()
        {
            return Err(GatewayError::Unpriced(model.clone()));
        }
        pass.concurrency = pass.concurrency.max(1);
        let takes = match &pass.cassette {
            Cassette::Replay(path) => Some(cassette::read(path, &pass)?),
            _ => None,
        };
        let mut random = [0; 24];
        SystemRandom::new().fill(&mut random).map_err(|_| GatewayError::Machine("randomness"))?;
        let token: String = "assay-".chars().chain(random.iter().flat_map(|b| hex(*b))).collect();
        let (listener, socket, address) = listen(&pass.listen)?;
        let watched = |skill: &crate::WatchedSkill| Watched {
            watch: Watch::new(&skill.name, &skill.description, &skill.body),
            advertised: None,
            opened: None,
        };
        let watches = pass.skills.iter().map(watched).collect();
        let inside = Arc::new(Inside {
            token: blake3::hash(token.as_bytes()),
            takes,
            records: matches!(pass.cassette, Cassette::Record(_)),
            state: Mutex::new(State { watches, ..State::default() }),
            waiting: Mutex::default(),
            silence: Mutex::default(),
            slots: Mutex::new(pass.concurrency),
            freed: Condvar::new(),
            open: Mutex::default(),
            emptied: Condvar::new(),
            closed: AtomicBool::new(false),
            run,
            pass,
        });
        // From here on, dropping the door cleans up.
        let mut door = Self { inside, socket, address, token, acceptor: None };
        if let Cassette::Record(path) = &door.inside.pass.cassette {
            lock(&door.inside.state).recorder = Some(Recorder::create(path, &door.inside.pass)?);
        }
        let (woken, wake) = std::io::pipe().map_err(|_| GatewayError::Machine("pipe"))?;
        let shared = Arc::clone(&door.inside);
        let acceptor = thread::Builder::new()
            .name("gateway-door".to_owned())
            .spawn(move || shared.accept(&listener, &woken))
            .map_err(|_| GatewayError::Machine("thread"))?;
        door.acceptor = Some((acceptor, wake));
        Ok(door)
    }

    /// The socket, where there is one.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// The address on loopback, where there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What the agent is given in a key's place. Everything else is turned away.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The base URL that an agent is given, with the address on loopback or, for a socket, the port of a forwarder to it.
    pub fn base_url(&self, protocol: Protocol, port: u16) -> String {
        let port = self.address.map_or(port, |address| address.port());
        format!("http://127.0.0.1:{port}{}", protocol.base_path())
    }

    /// What goes on at the door, for whoever is to look from elsewhere.
    pub fn gauge(&self) -> Gauge {
        Gauge(Arc::clone(&self.inside))
    }

    /// How long requests have waited for the provider's limits so far. Time in which several did counts once.
    pub fn waited(&self) -> Duration {
        self.inside.waited()
    }

    /// Whether a request waits now.
    pub fn is_waiting(&self) -> bool {
        lock(&self.inside.waiting).now > 0
    }

    /// Which cap has stopped the trial, if one has.
    pub fn capped(&self) -> Option<Capped> {
        lock(&self.inside.state).capped.clone()
    }

    /// What went through so far.
    pub fn ledger(&self) -> Ledger {
        self.inside.ledger()
    }

    /// Ends every connection, removes the socket, and says what went through.
    pub fn close(mut self) -> Ledger {
        self.shut();
        self.inside.ledger()
    }

    fn shut(&mut self) {
        if let Some((acceptor, wake)) = self.acceptor.take() {
            self.inside.closed.store(true, Ordering::SeqCst);
            drop(wake);
            let _ = acceptor.join();
            let mut open = lock(&self.inside.open);
            for connection in open.values() {
                connection.client.shut();
                if let Some(stop) = &connection.stop {
                    stop.stop();
                }
            }
            // What is stopped ends at once. The bound is for what nobody thought of.
            let until = Instant::now() + Duration::from_secs(10);
            while !open.is_empty() && Instant::now() < until {
                let waited = self.inside.emptied.wait_timeout(open, Duration::from_millis(100));
                open = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            }
        }
        if let Some(socket) = self.socket.take() {
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Tells what goes on at a door; what it holds of the door keeps nothing open.
#[derive(Debug, Clone)]
pub struct Gauge(Arc<Inside>);

impl Gauge {
    /// As [`Door::waited`].
    pub fn waited(&self) -> Duration {
        self.0.waited()
    }

    /// As [`Door::is_waiting`].
    pub fn is_waiting(&self) -> bool {
        lock(&self.0.waiting).now > 0
    }

    /// As [`Door::capped`].
    pub fn capped(&self) -> Option<Capped> {
        lock(&self.0.state).capped.clone()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shut();
    }
}

fn hex(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 15].map(|half| char::from_digit(u32::from(half), 16).unwrap_or('0'))
}

/// Listens at a socket that only its owner can use. The folder's path may have any length: a socket address holds 107 bytes
/// (unix(7)), so longer paths are bound through `/proc/self/fd`. The file's name is limited to about 90 bytes.
pub(crate) fn unix_listener(path: &Path) -> Result<UnixListener, GatewayError> {
    let bound = || -> rustix::io::Result<UnixListener> {
        let (folder, named);
        let near = if SocketAddrUnix::new(path).is_ok() {
            path
        } else {
            let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::NAMETOOLONG);
            };
            folder =
                rustix::fs::open(above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            named = Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
            &named
        };
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // The file is made with the socket's own mode (Linux, net/unix/af_unix.c: unix_bind_bsd).
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(near)?)?;
        rustix::net::listen(&socket, 64)?;
        Ok(UnixListener::from(socket))
    };
    let address = || path.display().to_string();
    bound().map_err(|error| GatewayError::Listen { address: address(), source: error.into() })
}

fn listen(listen: &Listen) -> Result<(Listener, Option<PathBuf>, Option<SocketAddr>), GatewayError> {
    match listen {
        Listen::Socket(path) => Ok((Listener::Unix(unix_listener(path)?), Some(path.clone()), None)),
        Listen::Loopback(port) => {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let wrong = |source| GatewayError::Listen { address: address.to_string(), source };
            let listener = TcpListener::bind(address).map_err(wrong)?;
            listener.set_nonblocking(true).map_err(wrong)?;
            let address = listener.local_addr().map_err(wrong)?;
            Ok((Listener::Tcp(listener), None, Some(address)))
        }
    }
}

impl Listener {
    fn accept(&self) -> std::io::Result<Stream> {
        match self {
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Inside {
    /// Takes connections until the door is closed, and looks whether agents have gone.
    fn accept(self: &Arc<Self>, listener: &Listener, woken: &PipeReader) {
        let mut next = 0;
        while !self.closed.load(Ordering::SeqCst) {
            let fd = match listener {
                Listener::Unix(listener) => listener.as_fd(),
                Listener::Tcp(listener) => listener.as_fd(),
            };
            let mut ready = [PollFd::from_borrowed_fd(fd, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
            let _ = poll(&mut ready, Some(&LOOK));
            for connection in lock(&self.open).values() {
                if let Some(stop) = &connection.stop
                    && connection.client.is_gone()
                {
                    stop.stop();
                }
            }
            while let Ok(stream) = listener.accept() {
                if !self.closed.load(Ordering::SeqCst) {
                    self.admit(next, stream);
                    next += 1;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, number: u64, stream: Stream) {
        let limits = &self.run.options.limits;
        let Ok(client) = stream.try_clone() else { return };
        // A sandbox can be frozen while another of its requests waits.
        if stream.set_write_timeout(limits.client_idle + limits.patience).is_err() {
            return;
        }
        {
            let mut open = lock(&self.open);
            if open.len() >= limits.connections {
                drop(open);
                self.refuse("a connection", 503, "too many connections at once");
                return;
            }
            open.insert(number, Open { client, stop: None });
        }
        let inside = Arc::clone(self);
        let spawned =
            thread::Builder::new().name("gateway-agent".to_owned()).stack_size(STACK).spawn(move || {
                // Taken off whatever happens.
                let _guard = Guard { inside: &inside, number };
                inside.serve(number, stream);
            });
        if spawned.is_err() {
            lock(&self.open).remove(&number);
        }
    }

    /// Answers one request of a connection after the other.
    fn serve(&self, number: u64, stream: Stream) {
        let limits = &self.run.options.limits;
        let mut conn = Conn::new(stream);
        loop {
            let idle = Instant::now() + limits.client_idle;
            let head = match Head::read(&mut conn, limits.head_bytes, idle, limits.arrival) {
                Ok(Some(head)) => head,
                Ok(None) | Err(Ended::Gone) => return,
                Err(ended) => {
                    let (status, reason) = told(&ended);
                    self.refuse("a head", status, reason);
                    let body = Protocol::OpenaiCompletions.dialect().error(status, reason).to_string();
                    let _ = conn.reply(status, &JSON, body.as_bytes(), false);
                    return conn.close();
                }
            };
            let stop = Arc::new(Stop::default());
            self.set_stop(number, Some(Arc::clone(&stop)));
            let keep = exchange::serve(self, &mut conn, &head, &stop);
            self.set_stop(number, None);
            if !keep || self.closed.load(Ordering::SeqCst) {
                return conn.close();
            }
        }
    }

    fn set_stop(&self, number: u64, stop: Option<Arc<Stop>>) {
        if let Some(open) = lock(&self.open).get_mut(&number) {
            // A door that closed a moment ago has told only those that it saw.
            if self.closed.load(Ordering::SeqCst)
                && let Some(stop) = &stop
            {
                stop.stop();
            }
            open.stop = stop;
        }
    }

    pub(crate) fn admits(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| blake3::hash(token.as_bytes()) == self.token)
    }

    pub(crate) fn refuse(&self, request: &str, status: u16, reason: &str) {
        let mut state = lock(&self.state);
        if state.refused.len() < REFUSED {
            let request = assay_model::wire::excerpt(request.as_bytes());
            state.refused.push(Refused { request, status, reason: reason.to_owned() });
        }
    }

    /// How long at least one request waited.
    pub(crate) fn waited(&self) -> Duration {
        let waiting = lock(&self.waiting);
        waiting.total + waiting.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Records that part of a reply was received.
    pub(crate) fn heard(&self) {
        lock(&self.silence).heard(Instant::now());
    }

    /// The longest time in which a reply was awaited and nothing of it came.
    fn silent(&self) -> Duration {
        lock(&self.silence).longest(Instant::now())
    }

    /// Waits for a provider, on nobody's time, while a place at it is taken. `false` where the request was ended meanwhile.
    pub(crate) fn wait(&self, stop: &Stop, time: Duration) -> bool {
        {
            let mut waiting = lock(&self.waiting);
            waiting.now += 1;
            waiting.since.get_or_insert_with(Instant::now);
        }
        lock(&self.silence).end(Instant::now());
        let went_on = stop.pause(time);
        lock(&self.silence).begin(Instant::now());
        let mut waiting = lock(&self.waiting);
        waiting.now -= 1;
        if waiting.now == 0
            && let Some(since) = waiting.since.take()
        {
            waiting.total += since.elapsed();
        }
        went_on
    }

    /// Takes one of the places at the provider. `None` where the request was ended meanwhile.
    pub(crate) fn slot(&self, stop: &Stop) -> Option<Slot<'_>> {
        let mut slots = lock(&self.slots);
        while *slots == 0 {
            if stop.is_stopped() {
                return None;
            }
            let waited = self.freed.wait_timeout(slots, Duration::from_millis(100));
            slots = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        *slots -= 1;
        lock(&self.silence).begin(Instant::now());
        Some(Slot { inside: self })
    }
}

/// The headers of a reply in JSON.
pub(crate) const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// What is answered to what cannot be read.
pub(crate) fn told(ended: &Ended) -> (u16, &'static str) {
    match ended {
        Ended::Gone => (400, "the request broke off"),
        Ended::Late => (408, "the request took too long to arrive"),
        Ended::TooMuch => (413, "the request is too large"),
        Ended::Malformed(what) => (400, what),
    }
}

/// A place at the provider.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    inside: &'a Inside,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        lock(&self.inside.silence).end(Instant::now());
        *lock(&self.inside.slots) += 1;
        self.inside.freed.notify_one();
    }
}

/// Takes a connection off the list when its thread ends, also by a panic.
struct Guard<'a> {
    inside: &'a Inside,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        lock(&self.inside.open).remove(&self.number);
        self.inside.emptied.notify_all();
    }
}
