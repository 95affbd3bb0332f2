//! `assay lab bench gateway`: the latency that the gateway adds, and its memory with many streams.
//!
//! A server on loopback replaces the provider and answers immediately. The gateway is a separate
//! process, so that its memory can be measured. Direct requests and requests through it alternate,
//! so that other load affects both equally.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::process::assay_program;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// Timeout of every wait.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    requests: usize,
    request_bytes: usize,
    /// Milliseconds from the request's first byte to the reply's first.
    direct_ms: Quantiles,
    through_ms: Quantiles,
    /// The difference of the quantiles.
    added_ms: Quantiles,
    streams: usize,
    /// The gateway's resident memory with every stream open, in MB (10^6 bytes).
    memory_mb: f64,
    /// The same before the first stream.
    idle_memory_mb: f64,
}

#[derive(Serialize, Clone, Copy)]
struct Quantiles {
    p50: f64,
    p99: f64,
}

pub(super) fn run(requests: usize, streams: usize, kilobytes: usize, ui: &Ui) -> Result<Status, Failure> {
    let (requests, streams) = (requests.max(1), streams.max(1));
    let gate = Arc::new(Barrier::new(streams + 1));
    let upstream = serve(Arc::clone(&gate))?;
    let mut gateway = Gateway::start(&upstream, streams)?;
    let idle_memory_mb = gateway.resident();
    let body = request(kilobytes, false);

    ui.note(&format!(
        "{requests} requests of {} kB, alternating direct and through the gateway",
        body.len() / 1000
    ));
    let mut direct = Client::connect(&upstream, "")?;
    let mut through = Client::connect(&gateway.address, &gateway.token)?;
    let (mut direct_ms, mut through_ms) = (Vec::new(), Vec::new());
    for round in 0..requests + requests.div_ceil(10) {
        let first = direct.first_byte(&body)?;
        let second = through.first_byte(&body)?;
        // The first requests are a warm-up.
        if round >= requests.div_ceil(10) {
            direct_ms.push(first);
            through_ms.push(second);
        }
    }

    ui.note(&format!("{streams} concurrent streams"));
    let open = request(4, true);
    let mut clients = Vec::new();
    for _ in 0..streams {
        let mut client = Client::connect(&gateway.address, &gateway.token)?;
        client.first_byte_only(&open)?;
        clients.push(client);
    }
    let memory_mb = gateway.resident();
    gate.wait();
    for client in &mut clients {
        client.rest()?;
    }
    drop(clients);

    let (direct_ms, through_ms) = (Quantiles::of(direct_ms), Quantiles::of(through_ms));
    let added_ms = Quantiles { p50: through_ms.p50 - direct_ms.p50, p99: through_ms.p99 - direct_ms.p99 };
    let figures = Figures {
        schema: "assay.bench-gateway/1",
        requests,
        request_bytes: body.len(),
        direct_ms,
        through_ms,
        added_ms,
        streams,
        memory_mb,
        idle_memory_mb,
    };
    if ui.json() {
        ui.document(&figures)?;
    } else {
        let row = |name: &str, of: Quantiles| format!("| {name} | {:.2} | {:.2} |\n", of.p50, of.p99);
        ui.out(&format!(
            "first byte of {requests} requests of {} kB, milliseconds\n\n| | p50 | p99 |\n|---|---:|---:|\n{}{}{}\n\
             {streams} concurrent streams: {memory_mb:.0} MB, {idle_memory_mb:.0} MB before\n",
            figures.request_bytes / 1000,
            row("direct", direct_ms),
            row("through the gateway", through_ms),
            row("added", added_ms),
        ))?;
    }
    Ok(Status::Done)
}

impl Quantiles {
    /// By nearest rank.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let rank = |share: usize| values.get((values.len() * share).div_ceil(100).max(1) - 1).copied();
        Self { p50: rank(50).unwrap_or_default(), p99: rank(99).unwrap_or_default() }
    }
}

/// A request such as agents send: a long system text, tools, a conversation.
fn request(kilobytes: usize, holds: bool) -> Vec<u8> {
    let line = "The agent works in a folder, and calls tools to look and to change what is there. ";
    let text = line.repeat((kilobytes * 1000 / line.len()).max(1));
    let word = if holds { "hold" } else { "go" };
    let tools: Vec<_> = (0..12)
        .map(|n| serde_json::json!({"name": format!("tool{n}"), "description": line, "input_schema": {"type": "object"}}))
        .collect();
    let messages = serde_json::json!([{"role": "user", "content": word}]);
    let body = serde_json::json!({
        "model": "m", "max_tokens": 100, "stream": true, "system": text, "tools": tools, "messages": messages,
    });
    body.to_string().into_bytes()
}

const BEGINNING: &str =
    "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n";
const REST: &str = "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n";

/// A server that begins each reply immediately. A request with `hold` continues when all are open.
fn serve(gate: Arc<Barrier>) -> Result<String, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| io("listen", &error))?;
    let address = listener.local_addr().map_err(|error| io("listen", &error))?.to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let gate = Arc::clone(&gate);
            thread::spawn(move || answer(stream, &gate));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream, gate: &Barrier) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut out = stream;
    loop {
        let body = read_request(&mut reader)?;
        let piece = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        out.write_all(format!("{head}{}", piece(BEGINNING)).as_bytes()).ok()?;
        if body.windows(6).any(|window| window == b"\"hold\"") {
            gate.wait();
        }
        out.write_all(format!("{}0\r\n\r\n", piece(REST)).as_bytes()).ok()?;
    }
}

/// The body of the next request.
fn read_request(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            return Some(body);
        }
    }
}

/// The gateway in a separate process.
struct Gateway {
    child: Child,
    address: String,
    token: String,
}

impl Gateway {
    fn start(upstream: &str, streams: usize) -> Result<Self, Failure> {
        let program = assay_program()?;
        let mut child = Command::new(program)
            .args([
                "gateway",
                "--provider",
                &format!("http://{upstream}"),
                "--concurrency",
                &(streams + 1).to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| io("start the gateway", &error))?;
        let stderr = child.stderr.take();
        let mut gateway = Self { child, address: String::new(), token: String::new() };
        for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
        {
            if let Some(url) = line.strip_prefix("export ANTHROPIC_BASE_URL=http://") {
                url.clone_into(&mut gateway.address);
            }
            if let Some(token) = line.strip_prefix("export ANTHROPIC_API_KEY=") {
                token.clone_into(&mut gateway.token);
            }
            if line.starts_with("interrupt") {
                break;
            }
        }
        if gateway.token.is_empty() || gateway.address.is_empty() {
            return Err(Failure::infrastructure("the gateway did not start"));
        }
        Ok(gateway)
    }

    /// Its resident memory (proc(5), `VmRSS`), in MB.
    fn resident(&mut self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kibibytes.unwrap_or_default() * 1024.0 / 1e6
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A persistent connection, as agents use.
struct Client {
    stream: TcpStream,
    token: String,
    seen: Vec<u8>,
}

impl Client {
    fn connect(address: &str, token: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).map_err(|error| io("connect", &error))?;
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        set.map_err(|error| io("connect", &error))?;
        Ok(Self { stream, token: token.to_owned(), seen: Vec::new() })
    }

    /// A whole exchange. Milliseconds to the first byte of the reply's body.
    fn first_byte(&mut self, body: &[u8]) -> Result<f64, Failure> {
        let took = self.first_byte_only(body)?;
        self.rest()?;
        Ok(took)
    }

    fn first_byte_only(&mut self, body: &[u8]) -> Result<f64, Failure> {
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        self.seen.clear();
        let started = Instant::now();
        let sent = self.stream.write_all(&[head.as_bytes(), body].concat());
        sent.map_err(|error| io("send", &error))?;
        self.until(b"message_start")?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    }

    fn rest(&mut self) -> Result<(), Failure> {
        self.until(b"\r\n0\r\n\r\n")
    }

    fn until(&mut self, end: &[u8]) -> Result<(), Failure> {
        let mut buffer = [0; 4096];
        while !self.seen.windows(end.len()).any(|window| window == end) {
            let count = self.stream.read(&mut buffer).map_err(|error| io("receive", &error))?;
            if count == 0 {
                let seen = String::from_utf8_lossy(&self.seen).into_owned();
                return Err(Failure::infrastructure(format!("a reply ended early: {seen}")));
            }
            self.seen.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
        Ok(())
    }
}

fn io(action: &str, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot {action}: {error}"))
}
