//! An HTTP server whose replies are the values of a function.
//!
//! Behind a Unix socket, a sandbox reaches it through the socket, or through a forwarder from a port of its loopback
//! interface.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::conn::{Conn, Ended, Stream};
use crate::connections::{ConnectionServer, ConnectionService, ServerStatus};
use crate::error::GatewayError;
use crate::head::Head;
use crate::listen::{Listener, unix_listener};
use crate::sync::lock;

/// Maximum number of concurrent connections at a socket; further ones are closed.
const CONNECTIONS: usize = 64;
/// The same at a port, of connections that have shown a token.
const PORT_CONNECTIONS: usize = 4096;
/// Maximum number of connections at a port that have not shown a token. Each further one closes another,
/// so that clients with a token always get in.
const STRANGERS: usize = 256;
/// Timeout of a connection without a token: until its first byte, and then until the end of its head.
const HELLO: Duration = Duration::from_secs(5);
/// Connections that wait to be accepted at a port.
const BACKLOG: i32 = 4096;
/// Maximum bytes of a request's head, and of its body.
const HEAD: usize = 32 << 10;
const BODY: usize = 4 << 20;
/// Timeout for a request to arrive.
const ARRIVAL: Duration = Duration::from_mins(1);
/// Timeout of an idle connection. A sandbox may be frozen meanwhile.
const IDLE: Duration = Duration::from_mins(20);
/// Stack size of a connection's thread: patterns are searched in it.
const STACK: usize = 512 << 10;

/// A request to a [`LocalServer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalRequest {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without its question mark.
    pub query: String,
    /// The token of its authorization.
    pub token: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// A reply of a [`LocalServer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalReply {
    /// The status.
    pub status: u16,
    /// Headers, without those of length and connection.
    pub headers: Vec<(String, String)>,
    /// The body. The reply to a HEAD request contains only its length.
    pub body: Vec<u8>,
}

impl LocalReply {
    /// A JSON document.
    pub fn json(status: u16, document: &serde_json::Value) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: document.to_string().into_bytes() }
    }

    /// A plain text.
    pub fn text(status: u16, text: &str) -> Self {
        let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
        Self { status, headers, body: text.as_bytes().to_vec() }
    }
}

/// What answers requests. Requests of several connections arrive at once.
pub type LocalHandler = Arc<dyn Fn(&LocalRequest) -> LocalReply + Send + Sync>;

/// Whether a token admits a request. It is asked before a body is read.
pub type LocalGate = Arc<dyn Fn(Option<&str>) -> bool + Send + Sync>;

/// A running server. Closing or dropping it ends every connection and removes the socket.
pub struct LocalServer {
    server: ConnectionServer<Shared>,
}

impl std::fmt::Debug for LocalServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalServer").field("socket", &self.server.socket()).finish_non_exhaustive()
    }
}

struct Shared {
    handler: LocalHandler,
    gate: Option<LocalGate>,
    open: Mutex<Open>,
    status: ServerStatus,
    connections: usize,
}

/// The connections of a server, by their numbers.
#[derive(Default)]
struct Open {
    /// Those that have been admitted; without a gate, all.
    known: BTreeMap<u64, Stream>,
    /// Those that have not shown a token.
    strangers: BTreeMap<u64, (Stream, Option<IpAddr>)>,
}

impl Open {
    fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.known.values().chain(self.strangers.values().map(|(stream, _)| stream))
    }

    fn remove(&mut self, number: u64) {
        self.known.remove(&number);
        self.strangers.remove(&number);
    }

    /// Closes a connection without a token: the oldest from the address that has most of them.
    fn close_stranger(&mut self) {
        let mut counts: BTreeMap<Option<IpAddr>, usize> = BTreeMap::new();
        for (_, peer) in self.strangers.values() {
            *counts.entry(*peer).or_default() += 1;
        }
        let Some((most, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { return };
        let oldest = self.strangers.iter().find(|(_, (_, peer))| *peer == most).map(|(number, _)| *number);
        if let Some((stream, _)) = oldest.and_then(|number| self.strangers.remove(&number)) {
            stream.shutdown();
        }
    }
}

impl LocalServer {
    /// Opens a server at a socket that does not exist yet. Every user who reaches the socket's
    /// folder may connect: users of a sandbox have other numbers.
    pub fn open(socket: &Path, handler: LocalHandler) -> Result<Self, GatewayError> {
        let listener = unix_listener(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))
            .map_err(|source| GatewayError::Listen { address: socket.display().to_string(), source })?;
        Self::start(Listener::Unix(listener), Some(socket.to_path_buf()), CONNECTIONS, None, handler)
    }

    /// Opens a server at a port, and returns the address with the port's number. Whoever reaches the
    /// port may connect, but only requests whose token passes the gate are read and answered.
    pub fn open_port(
        address: SocketAddr,
        gate: LocalGate,
        handler: LocalHandler,
    ) -> Result<(Self, SocketAddr), GatewayError> {
        let wrong = |source| GatewayError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        // The standard library's backlog is short for hundreds of workers that connect at once.
        rustix::net::listen(&listener, BACKLOG).map_err(|error| wrong(error.into()))?;
        let address = listener.local_addr().map_err(wrong)?;
        let server = Self::start(Listener::Tcp(listener), None, PORT_CONNECTIONS, Some(gate), handler)?;
        Ok((server, address))
    }

    fn start(
        listener: Listener,
        socket: Option<PathBuf>,
        connections: usize,
        gate: Option<LocalGate>,
        handler: LocalHandler,
    ) -> Result<Self, GatewayError> {
        let shared = Arc::new(Shared {
            handler,
            gate,
            open: Mutex::default(),
            status: ServerStatus::default(),
            connections,
        });
        let mut server = ConnectionServer::new(shared, socket);
        server.start(listener)?;
        Ok(Self { server })
    }

    /// Ends every connection, and removes the socket. No request is answered after it returns.
    pub fn close(mut self) {
        self.server.stop();
    }
}

impl ConnectionService for Shared {
    const ACCEPTOR: &'static str = "local";
    const WORKER: &'static str = "local-connection";
    const STACK: usize = STACK;

    fn status(&self) -> &ServerStatus {
        &self.status
    }

    fn register_connection(&self, number: u64, stream: &Stream) -> bool {
        if stream.set_write_timeout(IDLE).is_err() {
            return false;
        }
        let mut open = lock(&self.open);
        if self.gate.is_some() {
            if open.strangers.len() >= STRANGERS {
                open.close_stranger();
            }
            open.strangers.insert(number, (stream.clone(), stream.peer()));
            return true;
        }
        if open.known.len() >= self.connections {
            return false;
        }
        open.known.insert(number, stream.clone());
        true
    }

    /// Answers the requests of a connection.
    fn serve_connection(&self, number: u64, stream: Stream) {
        let mut conn = Conn::new(stream);
        let mut is_known = self.gate.is_none();
        loop {
            match self.answer(number, &mut is_known, &mut conn) {
                Ok(true) => {}
                Ok(false) => return conn.close(),
                Err(ended) => {
                    let (status, message) = ended.status();
                    let _ = conn.reply(status, &[], message.as_bytes(), false);
                    return conn.close();
                }
            }
        }
    }

    fn forget_connection(&self, number: u64) {
        lock(&self.open).remove(number);
    }

    fn shut_down_connections(&self) {
        lock(&self.open).streams().for_each(Stream::shutdown);
    }

    /// A connection without a token gives its descriptor up.
    fn relinquish_connection(&self) {
        lock(&self.open).close_stranger();
    }
}

impl Shared {
    /// Marks a connection as one that has shown a token. False if it was closed, or there are too many.
    fn admit(&self, number: u64) -> bool {
        let mut open = lock(&self.open);
        if open.known.contains_key(&number) {
            return true;
        }
        let Some((stream, _)) = open.strangers.remove(&number) else { return false };
        if open.known.len() >= self.connections {
            return false;
        }
        open.known.insert(number, stream);
        true
    }

    /// Answers one request; returns whether another may follow.
    fn answer(&self, number: u64, is_known: &mut bool, conn: &mut Conn) -> Result<bool, Ended> {
        let (idle, arrival) = if *is_known { (IDLE, ARRIVAL) } else { (HELLO, HELLO) };
        let Some(head) = Head::read(conn, HEAD, Instant::now() + idle, arrival)? else { return Ok(false) };
        if let Some(gate) = &self.gate {
            // Before the body: nobody without a token fills the memory.
            let refused = if !gate(head.token.as_deref()) {
                Some((401, "invalid token"))
            } else if self.admit(number) {
                None
            } else {
                Some((503, "too many connections at once"))
            };
            if let Some((status, message)) = refused {
                let _ = conn.reply(status, &[], message.as_bytes(), false);
                return Ok(false);
            }
            *is_known = true;
        }
        let body = head.body(conn, BODY, Instant::now() + ARRIVAL)?;
        let keep = head.keep && !self.status.is_closed();
        let is_head = head.method == "HEAD";
        let Head { method, path, query, token, .. } = head;
        let reply = (self.handler)(&LocalRequest { method, path, query, token, body });
        let headers: Vec<(&str, &str)> =
            reply.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let sent = if is_head || matches!(reply.status, 204 | 304) {
            conn.reply_without_body(reply.status, &headers, reply.body.len(), keep)
        } else {
            conn.reply(reply.status, &headers, &reply.body, keep)
        };
        Ok(sent.is_ok() && keep)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn exchange(socket: &Path, sent: &str) -> String {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        let mut read = String::new();
        stream.read_to_string(&mut read).unwrap();
        read
    }

    #[test]
    fn requests_are_answered_until_it_closes() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let echo: LocalHandler = Arc::new(|request| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            LocalReply::text(201, &format!("{} {}?{} {body}", request.method, request.path, request.query))
        });
        let server = LocalServer::open(&socket, echo).unwrap();
        let check = |sent: &str, expected: &[&str]| {
            let read = exchange(&socket, sent);
            for part in expected {
                assert!(read.contains(part), "{sent:?}: {read:?}");
            }
        };
        let close = "Host: x\r\nConnection: close\r\n";
        check(&format!("GET /a?b=c HTTP/1.1\r\n{close}\r\n"), &["HTTP/1.1 201", "GET /a?b=c "]);
        check(
            &format!(
                "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\n{close}Content-Length: 2\r\n\r\nhi"
            ),
            &["GET /1?", "POST /2? hi"],
        );
        check(
            &format!("POST / HTTP/1.1\r\n{close}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
            &["POST /? hi"],
        );
        check(&format!("HEAD / HTTP/1.1\r\n{close}\r\n"), &["content-length: 8\r\n\r\n"]);
        check("what\r\n\r\n", &["HTTP/1.1 400"]);
        check(&format!("POST / HTTP/1.1\r\n{close}Content-Length: 99999999\r\n\r\n"), &["HTTP/1.1 413"]);
        server.close();
        assert!(UnixStream::connect(&socket).is_err());
    }
}
