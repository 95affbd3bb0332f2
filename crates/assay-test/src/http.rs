//! An HTTP server for tests: one thread per connection, which stays open between requests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A request.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names and values, as they were sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A reply.
#[derive(Debug, Clone, Default)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Serves on a free port of the loopback interface until the test ends, and returns the address.
///
/// # Panics
/// There is no free port.
pub fn serve_http(answer: impl Fn(&HttpRequest) -> HttpReply + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                while let Ok(true) = exchange(&mut reader, &stream, &*answer) {}
            });
        }
    });
    address
}

/// One request and its reply; `false` if the client is done.
fn exchange(
    reader: &mut BufReader<&TcpStream>,
    mut stream: &TcpStream,
    answer: &dyn Fn(&HttpRequest) -> HttpReply,
) -> io::Result<bool> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(false);
    }
    let mut first = line.split_whitespace().map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let request = HttpRequest { method, path, headers, body };
    let reply = answer(&request);
    // A reply to HEAD has no body.
    let body = if request.method == "HEAD" { "" } else { reply.body.as_str() };
    let headers: String = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("HTTP/1.1 {} status\r\n{headers}content-length: {}\r\n\r\n", reply.status, body.len());
    stream.write_all(format!("{head}{body}").as_bytes())?;
    Ok(true)
}
