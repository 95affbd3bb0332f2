//! One connection of an agent: bytes in under deadlines, replies out.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::RecvFlags;

/// A socket of either kind.
/// Copies share one descriptor.
#[derive(Debug, Clone)]
pub(crate) enum Stream {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(Arc::new(stream))
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(Arc::new(stream))
    }
}

impl Stream {
    /// The address of the other side, if it has one.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
        }
    }

    /// Closes it in both directions, even during a read or a write.
    pub(crate) fn shutdown(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Whether the other side has closed it. Consumes nothing.
    pub(crate) fn is_gone(&self) -> bool {
        let mut byte = [0_u8; 1];
        match rustix::net::recv(self, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((_, count)) => count == 0,
            Err(error) => !matches!(error, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR),
        }
    }

    pub(crate) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    pub(crate) fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Self::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.as_ref().read(buffer),
            Stream::Tcp(stream) => stream.as_ref().read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.as_ref().write(bytes),
            Stream::Tcp(stream) => stream.as_ref().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// A connection, with the bytes that were read ahead.
#[derive(Debug)]
pub(crate) struct Conn {
    stream: Stream,
    ahead: Vec<u8>,
}

/// Why nothing more can be read.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The other side closed it, or it broke.
    Gone,
    /// The deadline passed.
    Late,
    /// It is larger than allowed.
    TooMuch,
    /// It is not HTTP.
    Malformed(&'static str),
}

impl Ended {
    /// The status and the message for a request that cannot be read.
    pub(crate) fn status(&self) -> (u16, &'static str) {
        match self {
            Self::Gone => (400, "the request was interrupted"),
            Self::Late => (408, "the request took too long to arrive"),
            Self::TooMuch => (413, "the request is too large"),
            Self::Malformed(what) => (400, what),
        }
    }
}

/// The headers of a JSON reply.
pub(crate) const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

impl Conn {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, ahead: Vec::new() }
    }

    /// Bytes that were read but not consumed.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Consumes bytes that were read.
    pub(crate) fn take_bytes(&mut self, count: usize) -> Vec<u8> {
        let count = count.min(self.ahead.len());
        let rest = self.ahead.split_off(count);
        std::mem::replace(&mut self.ahead, rest)
    }

    /// Reads more, until a deadline that a slow sender does not extend.
    pub(crate) fn more(&mut self, until: Instant) -> Result<(), Ended> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.stream.set_read_timeout(left).is_err() {
            return Err(Ended::Late);
        }
        let mut buffer = [0; 16 << 10];
        loop {
            match (&self.stream).read(&mut buffer) {
                Ok(0) => return Err(Ended::Gone),
                Ok(count) => {
                    self.ahead.extend_from_slice(buffer.get(..count).unwrap_or_default());
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(Ended::Late);
                }
                Err(_) => return Err(Ended::Gone),
            }
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(bytes)
    }

    /// Sends a complete reply.
    pub(crate) fn reply(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &[u8],
        keep: bool,
    ) -> io::Result<()> {
        let mut out = head(status, headers, keep);
        out.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut bytes = out.into_bytes();
        bytes.extend_from_slice(body);
        self.write(&bytes)
    }

    /// Sends a reply that has no body, such as one to a HEAD request.
    pub(crate) fn reply_without_body(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        length: usize,
        keep: bool,
    ) -> io::Result<()> {
        let mut out = head(status, headers, keep);
        // RFC 9110, 8.6: not with these.
        if !matches!(status, 204 | 304) {
            out.push_str(&format!("content-length: {length}\r\n"));
        }
        out.push_str("\r\n");
        self.write(out.as_bytes())
    }

    /// Sends the head of a chunked reply.
    pub(crate) fn begin(&mut self, status: u16, headers: &[(&str, &str)], keep: bool) -> io::Result<()> {
        let out = head(status, headers, keep) + "transfer-encoding: chunked\r\n\r\n";
        self.write(out.as_bytes())
    }

    /// Sends a chunk at once. An empty one is skipped, because it would end the reply.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
        out.extend_from_slice(bytes);
        out.extend_from_slice(b"\r\n");
        self.write(&out)
    }

    /// Ends a chunked reply.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.write(b"0\r\n\r\n")
    }

    /// Closes the connection. Whatever the other side still sends is read for a moment, so that it
    /// sees the reply instead of a reset.
    pub(crate) fn close(mut self) {
        let _ = match &self.stream {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
        let until = Instant::now() + Duration::from_millis(500);
        for _ in 0..64 {
            self.ahead.clear();
            if self.more(until).is_err() {
                break;
            }
        }
    }
}

fn head(status: u16, headers: &[(&str, &str)], keep: bool) -> String {
    let mut out = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        // Values come from providers.
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep {
        out.push_str("connection: close\r\n");
    }
    out
}

fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
