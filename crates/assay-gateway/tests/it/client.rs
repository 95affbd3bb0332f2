//! A client that shows what was received.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use assay_gateway::Proxy;
use serde_json::Value;

/// A reply as received.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The pieces of a chunked body; a whole body is one.
    pub(crate) pieces: Vec<String>,
    /// Whether the body reached its end.
    pub(crate) whole: bool,
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        self.pieces.concat()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The data of its events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Sends a request with the proxy's token, and reads to the end of the connection.
pub(crate) fn post(proxy: &Proxy, path: &str, body: &Value) -> Reply {
    post_with(proxy, path, body, &[])
}

pub(crate) fn post_with(proxy: &Proxy, path: &str, body: &Value, headers: &[(&str, &str)]) -> Reply {
    let token = format!("x-api-key: {}\r\n", proxy.token());
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    raw(proxy, &request("POST", path, &format!("{token}{more}"), body.to_string().as_bytes()))
}

pub(crate) fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Sends bytes, and reads to the end of the connection.
pub(crate) fn raw(proxy: &Proxy, bytes: &[u8]) -> Reply {
    let mut stream = connect(proxy);
    // A server that answers before it has read everything closes the connection; only its answer
    // matters.
    let _ = stream.write_all(bytes);
    read(&mut *stream)
}

pub(crate) trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

pub(crate) fn connect(proxy: &Proxy) -> Box<dyn Connection> {
    let patience = Some(Duration::from_mins(1));
    if let Some(path) = proxy.socket() {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(patience).unwrap();
        return Box::new(stream);
    }
    let stream = TcpStream::connect(proxy.address().unwrap()).unwrap();
    stream.set_read_timeout(patience).unwrap();
    Box::new(stream)
}

pub(crate) fn read(stream: &mut dyn Connection) -> Reply {
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    assert!(ended.is_ok() || !bytes.is_empty(), "nothing received: {ended:?}");
    parse(&bytes)
}

pub(crate) fn parse(bytes: &[u8]) -> Reply {
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
    if head.starts_with("HTTP/1.1 100") {
        return parse(&bytes[split + 4..]);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut rest = &bytes[split + 4..];
    let lower = head.to_ascii_lowercase();
    if !lower.contains("transfer-encoding: chunked") {
        let length: usize =
            lower.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        let whole = rest.len() >= length;
        return Reply { status, head, pieces: vec![String::from_utf8_lossy(rest).into_owned()], whole };
    }
    let (mut pieces, mut whole) = (Vec::new(), false);
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            whole = true;
            break;
        }
        let Some(piece) = rest.get(end + 2..end + 2 + size) else { break };
        pieces.push(String::from_utf8_lossy(piece).into_owned());
        rest = &rest[end + 4 + size..];
    }
    Reply { status, head, pieces, whole }
}
