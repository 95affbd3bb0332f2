//! A server that speaks OpenAI's chat completions on the loopback interface. A thread per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// An answer.
pub(crate) struct Answer {
    status: u16,
    headers: String,
    body: Value,
}

impl Answer {
    pub(crate) fn of(status: u16, body: Value) -> Self {
        Self { status, headers: String::new(), body }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// The model calls `bash`.
    pub(crate) fn bash(command: &str) -> Self {
        let arguments = json!({ "command": command }).to_string();
        let call = json!({ "id": "call-1", "type": "function", "function": { "name": "bash", "arguments": arguments } });
        Self::message(&json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
    }

    /// The model has finished.
    pub(crate) fn done(text: &str) -> Self {
        Self::message(&json!({ "role": "assistant", "content": text }), "stop")
    }

    /// The same by a model of this name.
    pub(crate) fn by(mut self, model: &str) -> Self {
        self.body["model"] = json!(model);
        self
    }

    /// The same from a server that counts no tokens.
    pub(crate) fn without_usage(mut self) -> Self {
        self.body.as_object_mut().unwrap().remove("usage");
        self
    }

    /// 1,000 tokens read and 10 written.
    fn message(message: &Value, finish: &str) -> Self {
        let usage = json!({ "prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010 });
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        Self::of(200, json!({ "id": "x", "object": "chat.completion", "choices": [choice], "usage": usage }))
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// In lower case.
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

impl Request {
    /// Whether it is the one request before a run.
    pub(crate) fn is_preflight(&self) -> bool {
        self.body.to_string().contains("This checks the connection before a run.")
    }

    /// How many turns the model has had in this conversation.
    pub(crate) fn turn(&self) -> usize {
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().filter(|message| message["role"] == "assistant").count()
    }
}

/// Counts connections and keeps requests until the end of the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// `answer` is given the request's number, from 0, and the request. The request before a run is answered well, and not counted.
    pub(crate) fn start(answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_as(true, answer)
    }

    /// One whose `answer` is asked before a run, too.
    pub(crate) fn start_bare(answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_as(false, answer)
    }

    fn start_as(
        answers_preflights: bool,
        answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, connections) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::new(AtomicUsize::new(0)));
        let server = Self { port, requests: asked.clone(), connections: connections.clone() };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (answer, asked) = (answer.clone(), asked.clone());
                thread::spawn(move || serve(stream.unwrap(), answers_preflights, &*answer, &asked));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Requests on one connection, until the other side closes it.
fn serve(
    stream: TcpStream,
    answers_preflights: bool,
    answer: &dyn Fn(usize, &Request) -> Answer,
    log: &Mutex<Vec<Request>>,
) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim_end().is_empty() {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let header = |name: &str| {
            head.iter().find_map(|line| {
                let (given, value) = line.split_once(':')?;
                given.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        let mut body = vec![0; header("content-length")?.parse().ok()?];
        reader.read_exact(&mut body).ok()?;
        let request = Request {
            path: head[0].split(' ').nth(1)?.to_owned(),
            authorization: header("authorization"),
            body: serde_json::from_slice(&body).ok()?,
        };
        let answered = if answers_preflights && request.is_preflight() {
            Answer::done("OK")
        } else {
            let number = {
                let mut log = log.lock().unwrap();
                log.push(request.clone());
                log.len() - 1
            };
            answer(number, &request)
        };
        let Answer { status, headers, body } = answered;
        let body = body.to_string();
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\n{headers}content-type: application/json\r\n");
        out.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).ok()?;
    }
}
