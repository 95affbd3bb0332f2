//! A provider's server that replies as a test defines, byte by byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use assay_gateway::{Provider, ProviderOptions};

/// Answers one request: its head and body, its number from 0, and the connection to write to.
type Handler = dyn Fn(&str, &str, usize, &mut TcpStream) + Send + Sync;

pub(crate) struct Upstream {
    pub(crate) address: String,
    /// Heads and bodies as received.
    pub(crate) requests: Arc<Mutex<Vec<(String, String)>>>,
}

pub(crate) const KEY: &str = "sk-canary-0123456789abcdefghij";

impl Upstream {
    pub(crate) fn start(handler: impl Fn(&str, &str, usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
        let (handler, kept): (Arc<Handler>, _) = (Arc::new(handler), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handler, kept) = (Arc::clone(&handler), Arc::clone(&kept));
                thread::spawn(move || serve(&stream, &*handler, &kept));
            }
        });
        Self { address, requests }
    }

    /// A provider with this server's address, and a key.
    pub(crate) fn provider(&self) -> Provider {
        let options =
            ProviderOptions { api_key_env: Some("CANARY".to_owned()), ..ProviderOptions::default() };
        Provider::open(&self.address, &options, &|name| (name == "CANARY").then(|| KEY.to_owned())).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, handler: &Handler, kept: &Mutex<Vec<(String, String)>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = String::from_utf8(body).unwrap();
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push((head.clone(), body.clone()));
            kept.len() - 1
        };
        handler(&head, &body, number, &mut stream.try_clone().unwrap());
    }
}

/// Writes a complete reply.
pub(crate) fn answer(out: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let _ = write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    );
}

/// Begins a stream of events.
pub(crate) fn begin(out: &mut TcpStream) {
    let _ = write!(
        out,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    );
}

pub(crate) fn piece(out: &mut TcpStream, text: &str) {
    let _ = write!(out, "{:x}\r\n{text}\r\n", text.len());
}

pub(crate) fn end(out: &mut TcpStream) {
    let _ = write!(out, "0\r\n\r\n");
}
