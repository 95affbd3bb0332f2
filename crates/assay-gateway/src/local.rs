//! An HTTP server whose replies are the values of a function.
//!
//! Behind a Unix socket, a sandbox reaches it through the socket, or through a forwarder from a port of its loopback
//! interface.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::conn::{Conn, Ended, Stream};
use crate::error::GatewayError;
use crate::head::Head;
use crate::listen::{Listener, unix_listener};
use crate::sync::lock;

/// Maximum number of concurrent connections at a socket; further ones are closed.
const CONNECTIONS: usize = 64;
/// The same at a port.
const PORT_CONNECTIONS: usize = 4096;
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

/// A running server. Closing or dropping it ends every connection and removes the socket.
pub struct LocalServer {
    shared: Arc<Shared>,
    socket: Option<PathBuf>,
    acceptor: Option<(JoinHandle<()>, PipeWriter)>,
}

impl std::fmt::Debug for LocalServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalServer").field("socket", &self.socket).finish_non_exhaustive()
    }
}

struct Shared {
    handler: LocalHandler,
    open: Mutex<BTreeMap<u64, Stream>>,
    emptied: Condvar,
    closed: AtomicBool,
    connections: usize,
}

impl LocalServer {
    /// Opens a server at a socket that does not exist yet. Every user who reaches the socket's
    /// folder may connect: users of a sandbox have other numbers.
    pub fn open(socket: &Path, handler: LocalHandler) -> Result<Self, GatewayError> {
        let listener = unix_listener(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))
            .map_err(|source| GatewayError::Listen { address: socket.display().to_string(), source })?;
        Self::start(Listener::Unix(listener), Some(socket.to_path_buf()), CONNECTIONS, handler)
    }

    /// Opens a server at a port, and returns the address with the port's number. Whoever reaches the
    /// port may connect: the function looks at the request's token.
    pub fn open_port(address: SocketAddr, handler: LocalHandler) -> Result<(Self, SocketAddr), GatewayError> {
        let wrong = |source| GatewayError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        Ok((Self::start(Listener::Tcp(listener), None, PORT_CONNECTIONS, handler)?, address))
    }

    fn start(
        listener: Listener,
        socket: Option<PathBuf>,
        connections: usize,
        handler: LocalHandler,
    ) -> Result<Self, GatewayError> {
        let shared = Arc::new(Shared {
            handler,
            open: Mutex::default(),
            emptied: Condvar::new(),
            closed: AtomicBool::new(false),
            connections,
        });
        let mut server = Self { shared, socket, acceptor: None };
        let (woken, wake) = io::pipe().map_err(|_| GatewayError::System("a pipe"))?;
        let shared = Arc::clone(&server.shared);
        let acceptor = thread::Builder::new()
            .name("local".to_owned())
            .spawn(move || shared.accept(&listener, &woken))
            .map_err(|_| GatewayError::System("a thread"))?;
        server.acceptor = Some((acceptor, wake));
        Ok(server)
    }

    /// Ends every connection, and removes the socket. No request is answered after it returns.
    pub fn close(mut self) {
        self.stop_accepting();
    }

    fn stop_accepting(&mut self) {
        let Some((acceptor, wake)) = self.acceptor.take() else { return };
        self.shared.closed.store(true, Ordering::SeqCst);
        drop(wake);
        let _ = acceptor.join();
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
        let mut open = lock(&self.shared.open);
        open.values().for_each(Stream::shutdown);
        // Connections that are shut down end at once.
        let until = Instant::now() + Duration::from_secs(10);
        while !open.is_empty() && Instant::now() < until {
            let waited = self.shared.emptied.wait_timeout(open, Duration::from_millis(100));
            open = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.stop_accepting();
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &Listener, woken: &PipeReader) {
        let mut number = 0;
        while !self.closed.load(Ordering::SeqCst) {
            let mut ready = [
                PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                PollFd::new(woken, PollFlags::IN),
            ];
            let _ = poll(&mut ready, None);
            while let Ok(stream) = listener.accept() {
                if !self.closed.load(Ordering::SeqCst) {
                    self.accept_connection(number, stream);
                    number += 1;
                }
            }
        }
    }

    fn accept_connection(self: &Arc<Self>, number: u64, stream: Stream) {
        let Ok(near) = stream.try_clone() else { return };
        if stream.set_write_timeout(IDLE).is_err() {
            return;
        }
        {
            let mut open = lock(&self.open);
            if open.len() >= self.connections {
                return;
            }
            open.insert(number, near);
        }
        let shared = Arc::clone(self);
        let spawned =
            thread::Builder::new().name("local-connection".to_owned()).stack_size(STACK).spawn(move || {
                let _guard = Guard { shared: &shared, number };
                shared.serve(Conn::new(stream));
            });
        if spawned.is_err() {
            lock(&self.open).remove(&number);
        }
    }

    /// Answers the requests of a connection.
    fn serve(&self, mut conn: Conn) {
        loop {
            match self.answer(&mut conn) {
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

    /// Answers one request; returns whether another may follow.
    fn answer(&self, conn: &mut Conn) -> Result<bool, Ended> {
        let Some(head) = Head::read(conn, HEAD, Instant::now() + IDLE, ARRIVAL)? else { return Ok(false) };
        let body = head.body(conn, BODY, Instant::now() + ARRIVAL)?;
        let keep = head.keep && !self.closed.load(Ordering::SeqCst);
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

/// Marks a connection as closed when its thread ends.
struct Guard<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        lock(&self.shared.open).remove(&self.number);
        self.shared.emptied.notify_all();
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
