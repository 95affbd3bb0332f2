//! The head of a request, and its body.

use std::time::Instant;

use crate::conn::{Conn, Ended};

/// Maximum number of headers of a request.
const HEADERS: usize = 100;
/// Headers that are forwarded to a provider; all others are dropped.
const PASSED: [&str; 2] = ["anthropic-version", "anthropic-beta"];

/// The relevant parts of a head.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    /// The credential that was presented. It is never recorded.
    pub(crate) token: Option<String>,
    pub(crate) passed: Vec<(&'static str, String)>,
    pub(crate) keep: bool,
    framing: Framing,
    expects: bool,
    /// Whether the body is compressed.
    pub(crate) encoded: bool,
}

/// How the end of a body is determined.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Framing {
    #[default]
    Unspecified,
    Length(usize),
    Chunked,
}

impl Head {
    /// Reads a head. `None` if the connection ended or was idle for too long before the first byte.
    pub(crate) fn read(
        conn: &mut Conn,
        most: usize,
        idle: Instant,
        arrival: std::time::Duration,
    ) -> Result<Option<Self>, Ended> {
        while conn.ahead().is_empty() {
            match conn.more(idle) {
                Ok(()) => {}
                Err(Ended::Gone | Ended::Late) => return Ok(None),
                Err(ended) => return Err(ended),
            }
        }
        let until = Instant::now() + arrival;
        loop {
            if let Some((head, count)) = Self::parse(conn.ahead())? {
                drop(conn.take_bytes(count));
                return Ok(Some(head));
            }
            if conn.ahead().len() >= most {
                return Err(Ended::TooMuch);
            }
            conn.more(until)?;
        }
    }

    fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Ended> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let count = match request.parse(bytes) {
            Ok(httparse::Status::Complete(count)) => count,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Ended::TooMuch),
            Err(_) => return Err(Ended::Malformed("not an HTTP/1.1 request")),
        };
        let target = request.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Self {
            method: request.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            keep: request.version == Some(1),
            ..Self::default()
        };
        for header in request.headers.iter() {
            let name = header.name.to_ascii_lowercase();
            let Ok(value) = std::str::from_utf8(header.value).map(str::trim) else { continue };
            match name.as_str() {
                "content-length" => {
                    let length = value.parse().ok().filter(|_| value.bytes().all(|b| b.is_ascii_digit()));
                    let length = length.ok_or(Ended::Malformed("invalid content-length"))?;
                    head.frame(Framing::Length(length))?;
                }
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => {
                    head.frame(Framing::Chunked)?;
                }
                "transfer-encoding" => {
                    return Err(Ended::Malformed("unsupported transfer encoding"));
                }
                "content-encoding" => head.encoded = !value.eq_ignore_ascii_case("identity"),
                "expect" => head.expects = value.eq_ignore_ascii_case("100-continue"),
                "connection" if value.eq_ignore_ascii_case("close") => head.keep = false,
                "authorization" => {
                    let bearer =
                        value.split_once(' ').filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
                    head.token = head.token.take().or(bearer.map(|(_, token)| token.trim().to_owned()));
                }
                "x-api-key" | "x-goog-api-key" | "api-key" => {
                    head.token = head.token.take().or_else(|| Some(value.to_owned()));
                }
                _ => {
                    if let Some(passed) = PASSED.into_iter().find(|passed| *passed == name) {
                        head.passed.push((passed, value.to_owned()));
                    }
                }
            }
        }
        if head.token.is_none() {
            let key = head.query.split('&').find_map(|pair| pair.strip_prefix("key="));
            head.token = key.map(str::to_owned);
        }
        Ok(Some((head, count)))
    }

    /// Sets the framing once: a body with two ends allows request smuggling (RFC 9112, 6.3).
    fn frame(&mut self, framing: Framing) -> Result<(), Ended> {
        if self.framing != Framing::Unspecified && self.framing != framing {
            return Err(Ended::Malformed("both content-length and transfer-encoding are set"));
        }
        self.framing = framing;
        Ok(())
    }

    /// Whether the query contains a pair.
    pub(crate) fn has_query(&self, pair: &str) -> bool {
        self.query.split('&').any(|given| given == pair)
    }

    /// Reads the body.
    pub(crate) fn body(&self, conn: &mut Conn, most: usize, until: Instant) -> Result<Vec<u8>, Ended> {
        if matches!(self.framing, Framing::Length(length) if length > most) {
            return Err(Ended::TooMuch);
        }
        if self.expects {
            conn.write(b"HTTP/1.1 100 Continue\r\n\r\n").map_err(|_| Ended::Gone)?;
        }
        let length = match self.framing {
            Framing::Chunked => return chunks(conn, most, until),
            Framing::Length(length) => length,
            Framing::Unspecified => 0,
        };
        while conn.ahead().len() < length {
            conn.more(until)?;
        }
        Ok(conn.take_bytes(length))
    }
}

/// A body in chunks (RFC 9112, 7.1).
fn chunks(conn: &mut Conn, most: usize, until: Instant) -> Result<Vec<u8>, Ended> {
    const LINE: usize = 4 << 10;
    let mut body = Vec::new();
    loop {
        let (start, size) = loop {
            match httparse::parse_chunk_size(conn.ahead()) {
                Ok(httparse::Status::Complete(found)) => break found,
                Ok(httparse::Status::Partial) if conn.ahead().len() > LINE => return Err(Ended::TooMuch),
                Ok(httparse::Status::Partial) => conn.more(until)?,
                Err(_) => return Err(Ended::Malformed("invalid chunk size")),
            }
        };
        drop(conn.take_bytes(start));
        if size == 0 {
            // Trailers, up to an empty line.
            loop {
                let line = conn.ahead().iter().position(|byte| *byte == b'\n');
                match line {
                    Some(end) => {
                        let line = conn.take_bytes(end + 1);
                        if matches!(line.as_slice(), b"\r\n" | b"\n") {
                            return Ok(body);
                        }
                    }
                    None if conn.ahead().len() > LINE => return Err(Ended::TooMuch),
                    None => conn.more(until)?,
                }
            }
        }
        let size = usize::try_from(size).ok().filter(|size| body.len().saturating_add(*size) <= most);
        let size = size.ok_or(Ended::TooMuch)?;
        while conn.ahead().len() < size + 2 {
            conn.more(until)?;
        }
        body.append(&mut conn.take_bytes(size));
        if conn.take_bytes(2) != b"\r\n" {
            return Err(Ended::Malformed("invalid end of chunk"));
        }
    }
}
