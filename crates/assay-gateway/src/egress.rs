//! An egress proxy: an HTTP proxy behind a Unix socket, through which a sandbox without network
//! reaches listed hosts only.
//!
//! It opens tunnels (`CONNECT host:port`) and forwards plain requests (`GET http://host/…`). Only
//! listed names are resolved, and it connects to the addresses that were checked. The client
//! follows redirects, through this proxy again. Traffic in a tunnel is not inspected: a listed
//! server may serve other names at the same address.

mod hosts;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::wire::excerpt;
use serde::{Deserialize, Serialize};

use self::hosts::HostFault;
pub use self::hosts::{Hosts, HostsError};
use crate::conn::{Conn, Ended, Stream};
use crate::connections::{ConnectionServer, ConnectionService, ServerStatus};
use crate::error::GatewayError;
use crate::listen::{Listener, unix_listener};
use crate::sync::lock;

/// Maximum number of concurrent connections.
const CONNECTIONS: usize = 64;
/// Maximum bytes of a request's head.
const HEAD: usize = 32 << 10;
/// Maximum number of headers of a request.
const HEADERS: usize = 100;
/// Timeout for a head to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
/// Timeout for connecting to a host.
const CONNECT: Duration = Duration::from_secs(30);
/// Timeout of an idle connection. A sandbox may be frozen meanwhile.
const IDLE: Duration = Duration::from_mins(20);
/// Maximum number of connections that are recorded; further ones are only counted.
const MAX_RECORDED: usize = 1_000;
/// Maximum bytes relayed, in both directions together.
const BYTES: u64 = 8 << 30;
/// Stack size of a thread.
const STACK: usize = 256 << 10;

/// An open egress proxy. Closing or dropping it ends every connection and removes the socket.
#[derive(Debug)]
pub struct EgressListener {
    server: ConnectionServer<EgressShared>,
}

/// What went through an egress proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressLedger {
    /// The allowed hosts.
    pub hosts: Vec<String>,
    /// The connections, at most 1,000.
    pub connections: Vec<EgressConnection>,
    /// The number of all connections.
    pub count: u64,
}

/// A requested connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EgressConnection {
    /// `host:port`, as requested.
    pub to: String,
    /// The address that was connected to.
    pub address: Option<SocketAddr>,
    /// Why it was refused.
    pub refused: Option<String>,
    /// Bytes sent to the host.
    pub sent: u64,
    /// Bytes received from the host.
    pub received: u64,
}

#[derive(Debug)]
struct EgressShared {
    hosts: Hosts,
    ledger: Mutex<EgressLedger>,
    /// Both sides of each connection.
    open: Mutex<BTreeMap<u64, Vec<Stream>>>,
    status: ServerStatus,
    bytes: Mutex<u64>,
}

impl EgressListener {
    /// Opens an egress proxy at a socket that does not exist yet.
    pub fn open(socket: &Path, hosts: Hosts) -> Result<Self, GatewayError> {
        let listener = unix_listener(socket)?;
        let ledger = EgressLedger { hosts: hosts.list(), ..EgressLedger::default() };
        let shared = Arc::new(EgressShared {
            hosts,
            ledger: Mutex::new(ledger),
            open: Mutex::default(),
            status: ServerStatus::default(),
            bytes: Mutex::new(0),
        });
        let mut server = ConnectionServer::new(shared, Some(socket.to_path_buf()));
        server.start(Listener::Unix(listener))?;
        Ok(Self { server })
    }

    /// Ends every connection, removes the socket, and returns the ledger.
    pub fn close(mut self) -> EgressLedger {
        self.server.stop();
        lock(&self.server.service().ledger).clone()
    }
}

impl ConnectionService for EgressShared {
    const ACCEPTOR: &'static str = "egress";
    const WORKER: &'static str = "egress-way";
    const STACK: usize = STACK;

    fn status(&self) -> &ServerStatus {
        &self.status
    }

    fn register_connection(&self, number: u64, stream: &Stream) -> bool {
        let mut open = lock(&self.open);
        if open.len() >= CONNECTIONS || stream.set_write_timeout(IDLE).is_err() {
            return false;
        }
        open.insert(number, vec![stream.clone()]);
        true
    }

    fn serve_connection(&self, number: u64, stream: Stream) {
        self.serve(number, &stream);
    }

    fn forget_connection(&self, number: u64) {
        lock(&self.open).remove(&number);
    }

    fn shut_down_connections(&self) {
        lock(&self.open).values().flatten().for_each(Stream::shutdown);
    }
}

impl EgressShared {
    /// Serves one request, and the tunnel or reply that follows.
    fn serve(&self, number: u64, stream: &Stream) {
        let mut conn = Conn::new(stream.clone());
        let destination = match Destination::read(&mut conn) {
            Ok(destination) => destination,
            Err(why) => {
                let why = why.map(|why| why.to_string());
                self.record_connection(EgressConnection {
                    to: "?".to_owned(),
                    refused: why.clone(),
                    ..EgressConnection::default()
                });
                return refuse(conn, why.as_deref().unwrap_or("no request"));
            }
        };
        let mut connection = EgressConnection { to: destination.shown(), ..EgressConnection::default() };
        let far = match self.connect_to(&destination.host, destination.port) {
            Ok(far) => far,
            Err(why) => {
                let why = why.to_string();
                connection.refused = Some(why.clone());
                self.record_connection(connection);
                return refuse(conn, &why);
            }
        };
        connection.address = far.peer_addr().ok();
        (connection.sent, connection.received) =
            self.relay(number, conn, stream, far, &destination).unwrap_or_default();
        self.record_connection(connection);
    }

    /// Connects to a host if it is listed.
    fn connect_to(&self, host: &str, port: u16) -> Result<TcpStream, NotReached> {
        let addresses: Vec<SocketAddr> = if let Ok(address) = host.parse::<IpAddr>() {
            if !self.hosts.has_address(address, port) {
                return Err(NotReached::Address);
            }
            vec![SocketAddr::new(address, port)]
        } else {
            if !self.hosts.has_name(host, port) {
                return Err(NotReached::Host);
            }
            let found: Vec<SocketAddr> =
                (host, port).to_socket_addrs().map_err(|_| NotReached::Unknown)?.collect();
            // A listed name may resolve to an internal address.
            let may = |address: &SocketAddr| {
                hosts::is_public(address.ip()) || self.hosts.has_address(address.ip(), port)
            };
            if !found.iter().any(may) {
                return Err(NotReached::Private);
            }
            found.into_iter().filter(may).take(4).collect()
        };
        let mut last = NotReached::Unknown;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = NotReached::Broken(error),
            }
        }
        Err(last)
    }

    /// Relays in both directions until both are done. Returns the bytes sent and received.
    fn relay(
        &self,
        number: u64,
        mut conn: Conn,
        mut near: &Stream,
        mut far: TcpStream,
        destination: &Destination,
    ) -> io::Result<(u64, u64)> {
        far.set_nodelay(true)?;
        far.set_read_timeout(Some(IDLE))?;
        far.set_write_timeout(Some(IDLE))?;
        near.set_read_timeout(IDLE)?;
        {
            let mut open = lock(&self.open);
            if let Some(streams) = open.get_mut(&number) {
                streams.push(far.try_clone()?.into());
            }
            // A proxy that closed a moment ago has shut down only the streams that it saw.
            if self.status.is_closed() {
                return Ok((0, 0));
            }
        }
        match &destination.head {
            None => near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
            Some(head) => far.write_all(head)?,
        }
        let ahead = conn.take_bytes(usize::MAX);
        far.write_all(&ahead)?;
        let (mut near_in, mut far_out) = (near, far.try_clone()?);
        thread::scope(|scope| {
            let sent = thread::Builder::new().name("egress-out".to_owned()).stack_size(STACK).spawn_scoped(
                scope,
                || {
                    let sent = self.copy(&mut near_in, &mut far_out);
                    let _ = far_out.shutdown(Shutdown::Write);
                    sent
                },
            )?;
            let received = self.copy(&mut far, &mut near);
            near.shutdown();
            let _ = far.shutdown(Shutdown::Both);
            let head = destination.head.as_ref().map_or(0, Vec::len) + ahead.len();
            Ok((sent.join().unwrap_or_default() + head as u64, received))
        })
    }

    /// Copies bytes until there are no more, or the limit is exceeded.
    fn copy(&self, from: &mut dyn Read, to: &mut dyn Write) -> u64 {
        let (mut buffer, mut passed) = (vec![0; 64 << 10], 0);
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => return passed,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return passed,
            };
            let all = {
                let mut bytes = lock(&self.bytes);
                *bytes = bytes.saturating_add(count as u64);
                *bytes
            };
            if all > BYTES || to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
                return passed;
            }
            passed += count as u64;
        }
    }

    fn record_connection(&self, connection: EgressConnection) {
        let mut ledger = lock(&self.ledger);
        ledger.count += 1;
        if ledger.connections.len() < MAX_RECORDED {
            ledger.connections.push(connection);
        }
    }
}

/// Where a request leads.
#[derive(Debug, PartialEq, Eq)]
struct Destination {
    host: String,
    port: u16,
    /// What is sent there first; `None` for a tunnel.
    head: Option<Vec<u8>>,
}

impl Destination {
    /// Reads a head. `Err` contains the reason for refusing it, or `None` if nothing was received.
    fn read(conn: &mut Conn) -> Result<Self, Option<BadRequest>> {
        let until = Instant::now() + ARRIVAL;
        loop {
            if let Some((destination, count)) = Self::parse(conn.ahead()).map_err(Some)? {
                drop(conn.take_bytes(count));
                return Ok(destination);
            }
            if conn.ahead().len() >= HEAD {
                return Err(Some(BadRequest::TooLarge));
            }
            match conn.more(until) {
                Ok(()) => {}
                Err(Ended::Gone) if conn.ahead().is_empty() => return Err(None),
                Err(_) => return Err(Some(BadRequest::Late)),
            }
        }
    }

    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, BadRequest> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let count = match request.parse(bytes) {
            Ok(httparse::Status::Complete(count)) => count,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(BadRequest::NotHttp),
        };
        let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        if method.eq_ignore_ascii_case("CONNECT") {
            let (host, port) = authority(target, None)?;
            return Ok(Some((Self { host, port, head: None }, count)));
        }
        let rest = target
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
            .and_then(|_| target.get(7..))
            .ok_or(BadRequest::NoUrl)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (place, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (host, port) = authority(place, Some(80))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n").into_bytes();
        // Headers that apply to this hop only (RFC 9110, 7.6.1).
        let near =
            ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"];
        for header in request.headers.iter() {
            if !near.iter().any(|near| header.name.eq_ignore_ascii_case(near)) {
                head.extend_from_slice(format!("{}: ", header.name).as_bytes());
                head.extend_from_slice(header.value);
                head.extend_from_slice(b"\r\n");
            }
        }
        head.extend_from_slice(b"\r\n");
        Ok(Some((Self { host, port, head: Some(head) }, count)))
    }

    fn shown(&self) -> String {
        excerpt(format!("{}:{}", self.host, self.port).as_bytes())
    }
}

/// Why a request cannot be read.
#[derive(Debug, thiserror::Error)]
enum BadRequest {
    #[error("request head too large")]
    TooLarge,
    #[error("the request was not received")]
    Late,
    #[error("not an HTTP/1.1 request")]
    NotHttp,
    #[error("expected CONNECT or an absolute http:// URL")]
    NoUrl,
    #[error("missing port")]
    NoPort,
    #[error(transparent)]
    Host(#[from] HostFault),
}

/// Why a host was not connected to.
#[derive(Debug, thiserror::Error)]
enum NotReached {
    #[error("this address is not in the list of allowed hosts")]
    Address,
    #[error("this host is not in the list of allowed hosts")]
    Host,
    #[error("cannot resolve the host name")]
    Unknown,
    #[error("the host name resolves to a private address that is not in the list")]
    Private,
    #[error("cannot connect: {0}")]
    Broken(io::Error),
}

/// `host`, `host:port`, `[address]:port`; in lower case, without the trailing dot.
fn authority(text: &str, port: Option<u16>) -> Result<(String, u16), BadRequest> {
    let (host, given) = hosts::split(text)?;
    let port = given.or(port).ok_or(BadRequest::NoPort)?;
    Ok((host, port))
}

fn refuse(mut conn: Conn, why: &str) {
    let body = format!("assay: {why}\n");
    let _ = conn.reply(403, &[("content-type", "text/plain")], body.as_bytes(), false);
    conn.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let check = |text: &str, expected: Result<(&str, u16, Option<&str>), &str>| {
            let found = Destination::parse(text.as_bytes()).map(|found| {
                let (destination, _) = found.expect("a whole head");
                (
                    destination.host,
                    destination.port,
                    destination.head.map(|head| String::from_utf8(head).unwrap()),
                )
            });
            match (found, expected) {
                (Ok((host, port, head)), Ok(expected)) => {
                    assert_eq!((host.as_str(), port, head.as_deref()), expected, "{text}");
                }
                (Err(why), Err(expected)) => assert!(why.to_string().contains(expected), "{text}: {why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        check("CONNECT Example.ORG.:443 HTTP/1.1\r\n\r\n", Ok(("example.org", 443, None)));
        check("CONNECT [::1]:443 HTTP/1.1\r\nx: y\r\n\r\n", Ok(("::1", 443, None)));
        check("CONNECT example.org HTTP/1.1\r\n\r\n", Err("missing port"));
        check("CONNECT a@b:1 HTTP/1.1\r\n\r\n", Err("missing host"));
        check("CONNECT :1 HTTP/1.1\r\n\r\n", Err("missing host"));
        check("GET / HTTP/1.1\r\nhost: example.org\r\n\r\n", Err("absolute http://"));
        check("GET https://example.org/ HTTP/1.1\r\n\r\n", Err("absolute http://"));
        check("GET http://user:pw@example.org/ HTTP/1.1\r\n\r\n", Err("invalid port"));
        check("nonsense\r\n\r\n", Err("not an HTTP/1.1"));
        check(
            "GET HTTP://example.org:8080?q=1 HTTP/1.1\r\nHost: other\r\nProxy-Authorization: x\r\nA: b\r\n\r\n",
            Ok((
                "example.org",
                8080,
                Some("GET /?q=1 HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\nA: b\r\n\r\n"),
            )),
        );
    }
}
