//! Servers with canned replies that record their requests.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ModelOptions, ScriptContext, Tool, open,
};
use assay_test::{HttpReply, serve_http};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "sk-0123456789abcdefghijklmnop";

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A reply.
#[derive(Debug, Clone)]
pub(crate) struct Canned {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

pub(crate) fn canned(status: u16, body: impl ToString) -> Canned {
    Canned { status, headers: Vec::new(), body: body.to_string() }
}

impl Canned {
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }
}

/// A real HTTP server. It sends the replies in order, and then repeats the last one.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    pub(crate) fn start(answers: Vec<Canned>) -> Self {
        let asked = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let log = Arc::clone(&asked);
        let address = serve_http(move |request| {
            let mut log = log.lock().unwrap();
            log.push(ReceivedRequest {
                path: request.path.clone(),
                headers: request.headers.clone(),
                body: serde_json::from_slice(&request.body).unwrap(),
                at: Instant::now(),
            });
            let answer = &answers[(log.len() - 1).min(answers.len() - 1)];
            let headers = answer.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            HttpReply { status: answer.status, headers: headers.collect(), body: answer.body.clone() }
        });
        Self { url: format!("http://{address}"), asked }
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Its request, if there was exactly one.
    pub(crate) fn only(&self) -> ReceivedRequest {
        let asked = self.requests();
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked[0].clone()
    }
}

/// What a broken server does with a connection, after reading a request unless stated otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trick {
    /// Sends this and closes.
    Close(&'static str),
    /// Sends this, and then nothing more.
    Hang(&'static str),
    /// Sends this to every request.
    Serve(&'static str),
    /// Sends this before the request, and closes.
    Rude(&'static str),
    /// Sends this repeatedly, without end.
    Flood(&'static str, &'static str),
}

/// A broken server. It uses the tricks in order, and then repeats the last one. The second value
/// counts the connections that the other side has closed.
pub(crate) fn broken(tricks: &'static [Trick]) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let closed = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&closed);
    thread::spawn(move || {
        for (index, stream) in listener.incoming().enumerate() {
            let trick = tricks[index.min(tricks.len() - 1)];
            let counter = Arc::clone(&counter);
            thread::spawn(move || play(stream.unwrap(), trick, &counter));
        }
    });
    (url, closed)
}

fn play(mut stream: TcpStream, trick: Trick, closed: &Mutex<usize>) {
    if !matches!(trick, Trick::Rude(_)) {
        read_request(&mut stream);
    }
    match trick {
        Trick::Close(text) | Trick::Rude(text) => {
            let _ = stream.write_all(text.as_bytes());
            let _ = stream.shutdown(Shutdown::Both);
        }
        Trick::Serve(text) => {
            while stream.write_all(text.as_bytes()).is_ok() && read_request(&mut stream) {}
            *closed.lock().unwrap() += 1;
        }
        Trick::Hang(text) => {
            let _ = stream.write_all(text.as_bytes());
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            *closed.lock().unwrap() += 1;
        }
        Trick::Flood(head, text) => {
            let _ = stream.write_all(head.as_bytes());
            let chunk = text.repeat((1 << 20) / text.len());
            while stream.write_all(chunk.as_bytes()).is_ok() {}
            *closed.lock().unwrap() += 1;
        }
    }
}

/// Reads a request. Returns whether there was one.
fn read_request(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return true;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

pub(crate) fn options(url: &str) -> ModelOptions {
    ModelOptions {
        base_url: Some(url.to_owned()),
        request_timeout: Duration::from_secs(20),
        ..ModelOptions::default()
    }
}

/// The key is in the provider's own variable.
pub(crate) fn with_key(name: &str) -> Option<String> {
    name.ends_with("_API_KEY").then(|| KEY.to_owned())
}

pub(crate) fn model(spec: &str, options: &ModelOptions) -> Arc<dyn ChatModel> {
    open(spec, options, &with_key).unwrap()
}

/// Never cancelled.
pub(crate) static NOT_CANCELLED: AtomicBool = AtomicBool::new(false);
static SCRIPT_CONTEXT: LazyLock<ScriptContext> = LazyLock::new(ScriptContext::default);

pub(crate) fn call() -> Call<'static> {
    Call { deadline: None, cancel: &NOT_CANCELLED, script_context: &SCRIPT_CONTEXT }
}

pub(crate) fn within(time: Duration) -> Call<'static> {
    Call { deadline: Some(Instant::now() + time), ..call() }
}

/// One turn with a model of `provider` at `url`.
pub(crate) fn turn(provider: &str, url: &str, request: &ChatRequest) -> Result<ChatReply, ModelError> {
    model(&format!("{provider}:m-1"), &options(url)).chat(request, &call())
}

pub(crate) fn bash() -> Tool {
    Tool {
        name: "bash".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        }),
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub(crate) fn tool(call_id: &str, text: &str, is_error: bool) -> Message {
    Message::Tool { call_id: call_id.to_owned(), text: text.to_owned(), is_error }
}

/// A reply as the model's message.
pub(crate) fn said(reply: &ChatReply) -> Message {
    Message::Assistant {
        text: reply.text.clone(),
        tool_calls: reply.tool_calls.clone(),
        raw: reply.raw.clone(),
    }
}
