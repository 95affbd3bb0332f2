//! A model, a sandbox and a job, all in memory.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_agent::{Agent, AgentRun, CatalogueEntry, Disclosure, Job, Loop, LoopOptions, RunBudget};
use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, ScriptContext, Stop, ToolCall, Usage,
};
use assay_sandbox::{
    Captured, Enforcement, Exec, ExecOutcome, Exit, Mechanism, SandboxError, Session, Usage as Used,
};
use serde_json::{Value, json};

/// A turn with a text and no calls.
pub(crate) fn text_reply(text: &str) -> ChatReply {
    ChatReply {
        text: text.to_owned(),
        tool_calls: Vec::new(),
        reasoning: None,
        stop: Stop::End,
        usage: Some(Usage { input: 100, output: 10, cache_read: 5, cache_write: 1, ..Usage::default() }),
        raw_usage: Value::Null,
        raw: Value::Null,
        model: None,
        retries: Vec::new(),
    }
}

/// A turn that runs commands. Their calls are `call-0`, `call-1` and so on.
pub(crate) fn run(commands: &[&str]) -> ChatReply {
    let call = |(number, command): (usize, &&str)| ToolCall {
        id: format!("call-{number}"),
        name: "bash".to_owned(),
        arguments: json!({ "command": command }),
    };
    ChatReply {
        tool_calls: commands.iter().enumerate().map(call).collect(),
        stop: Stop::Tools,
        ..text_reply("")
    }
}

/// A turn that calls one tool.
pub(crate) fn call(name: &str, arguments: Value) -> ChatReply {
    let call = ToolCall { id: "call-0".to_owned(), name: name.to_owned(), arguments };
    ChatReply { tool_calls: vec![call], ..run(&[]) }
}

/// A model that returns its turns one after another, and then ends.
struct Model {
    turns: Mutex<VecDeque<Result<ChatReply, ModelError>>>,
    requests: Arc<Mutex<Vec<ChatRequest>>>,
}

impl ChatModel for Model {
    fn id(&self) -> &'static str {
        "memory:test"
    }

    fn chat(&self, request: &ChatRequest, _call: &Call<'_>) -> Result<ChatReply, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        self.turns.lock().unwrap().pop_front().unwrap_or_else(|| Ok(text_reply("done")))
    }
}

/// How a command ends, by its text.
type Shell = dyn Fn(&str, &Exec) -> Result<Exit, SandboxError> + Send;

struct Memory {
    shell: Box<Shell>,
    ran: Arc<Mutex<Vec<String>>>,
    cancel_after: Option<usize>,
}

impl Session for Memory {
    fn exec(&mut self, exec: &Exec, cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        let command = exec.argv.last().unwrap().clone();
        let exit = (self.shell)(&command, exec);
        let mut ran = self.ran.lock().unwrap();
        ran.push(command.clone());
        if self.cancel_after.is_some_and(|after| ran.len() >= after) {
            cancel.store(true, Ordering::Relaxed);
        }
        let text = format!("output of {command}").into_bytes();
        let stdout = Captured { total: text.len() as u64, head: text, tail: Vec::new() };
        Ok(ExecOutcome { exit: exit?, stdout, stderr: Captured::default(), wall: Duration::from_secs(7) })
    }

    fn path(&self, target: &Path) -> PathBuf {
        target.to_owned()
    }

    fn enforcement(&self) -> &Enforcement {
        const NOTHING: Enforcement = Enforcement {
            cpus: Mechanism::Nothing,
            memory: Mechanism::Nothing,
            pids: Mechanism::Nothing,
            storage: Mechanism::Nothing,
        };
        &NOTHING
    }

    fn stop(self: Box<Self>) -> Result<Used, SandboxError> {
        Ok(Used::default())
    }
}

/// The parameters of a conversation.
pub(crate) struct LoopFixture {
    pub(crate) turns: Vec<Result<ChatReply, ModelError>>,
    pub(crate) options: LoopOptions,
    pub(crate) shell: Box<Shell>,
    pub(crate) skills: Vec<CatalogueEntry>,
    pub(crate) disclosure: Disclosure,
    pub(crate) preface: &'static str,
    /// Seconds until the agent's deadline; negative for the past.
    pub(crate) seconds: f64,
    pub(crate) cancelled: bool,
    /// Cancels after this number of commands.
    pub(crate) cancel_after: Option<usize>,
    /// The run's budget.
    pub(crate) budget: Option<Arc<Budget>>,
}

/// A budget of a run in tokens, with its charges.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    pub(crate) most: u64,
    /// Tokens of each reply, and the estimated part of them.
    pub(crate) charged: Mutex<Vec<(u64, u64)>>,
}

impl RunBudget for Budget {
    fn exhausted(&self) -> Option<String> {
        let reported: u64 = self.charged.lock().unwrap().iter().map(|(all, guess)| all - guess).sum();
        (reported >= self.most).then(|| format!("{reported} of {}", self.most))
    }

    fn charge(&self, usage: &Usage, estimated: &Usage) {
        let total = |usage: &Usage| usage.input + usage.output + usage.cache_read + usage.cache_write;
        self.charged.lock().unwrap().push((total(usage), total(estimated)));
    }
}

/// The result of a conversation.
pub(crate) struct LoopOutcome {
    pub(crate) run: AgentRun,
    /// The requests to the model, turn by turn.
    pub(crate) requests: Vec<ChatRequest>,
    /// The commands that ran.
    pub(crate) ran: Vec<String>,
}

impl LoopFixture {
    pub(crate) fn new(turns: Vec<ChatReply>) -> Self {
        Self {
            turns: turns.into_iter().map(Ok).collect(),
            options: LoopOptions::default(),
            shell: Box::new(|_, _| Ok(Exit::Code(0))),
            skills: Vec::new(),
            disclosure: Disclosure::Offered,
            preface: "",
            seconds: 600.0,
            cancelled: false,
            cancel_after: None,
            budget: None,
        }
    }

    /// Runs the conversation, and checks the invariants of every trajectory.
    pub(crate) fn run(self) -> LoopOutcome {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let ran = Arc::new(Mutex::new(Vec::new()));
        let model = Model { turns: Mutex::new(self.turns.into()), requests: requests.clone() };
        let mut session = Memory { shell: self.shell, ran: ran.clone(), cancel_after: self.cancel_after };
        let logs = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let deadline =
            if self.seconds < 0.0 { now } else { now + assay_diagnostic::duration_of_seconds(self.seconds) };
        let job = Job {
            instruction: "Export the ledger.",
            skills: &self.skills,
            disclosure: self.disclosure,
            preface: self.preface,
            workdir: "/app".into(),
            deadline,
            time: assay_diagnostic::duration_of_seconds(self.seconds.max(0.0)),
            cancel: &AtomicBool::new(self.cancelled),
            script_context: &ScriptContext::default(),
            logs: logs.path().to_owned(),
            env: &[("TOKEN".to_owned(), "value".to_owned())],
            mcp_servers: &[],
            endpoint: None,
            budget: self.budget.as_deref().map(|budget| budget as &dyn RunBudget),
        };
        let run = Loop::new(Arc::new(model), self.options).run(&job, &mut session);
        let outcome =
            LoopOutcome { run, requests: requests.lock().unwrap().clone(), ran: ran.lock().unwrap().clone() };
        outcome.check();
        outcome
    }
}

impl LoopOutcome {
    /// Checks the rules of ATIF, and that every call is answered before the next request.
    fn check(&self) {
        let trajectory = &self.run.trajectory;
        let numbers: Vec<usize> = trajectory.steps.iter().map(|step| step.step_id).collect();
        assert_eq!(numbers, (1..=trajectory.steps.len()).collect::<Vec<_>>());
        assert_eq!(trajectory.final_metrics.as_ref().unwrap().total_steps, trajectory.steps.len());
        for step in &trajectory.steps {
            assert!(step.timestamp.as_deref().is_some_and(|time| time.ends_with('Z')), "{step:?}");
            assert!(step.tool_calls.iter().all(|call| call.arguments.is_object()), "{step:?}");
            let calls: Vec<&str> = step.tool_calls.iter().map(|call| call.tool_call_id.as_str()).collect();
            let results = step.observation.iter().flat_map(|observation| &observation.results);
            let answered: Vec<&str> = results.filter_map(|result| result.source_call_id.as_deref()).collect();
            assert_eq!(calls, answered, "{step:?}");
        }
        for request in &self.requests {
            let mut open: Vec<&str> = Vec::new();
            for message in &request.messages {
                match message {
                    Message::Tool { call_id, .. } => assert_eq!(open.remove(0), call_id),
                    _ if !open.is_empty() => panic!("{open:?} not answered before {message:?}"),
                    Message::Assistant { tool_calls, .. } => {
                        open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                    }
                    Message::User { .. } => {}
                }
            }
            assert!(open.is_empty(), "{open:?}");
        }
    }

    /// The results of calls, as the model saw them.
    pub(crate) fn results(&self) -> Vec<&str> {
        let steps = self.run.trajectory.steps.iter();
        let results = steps.filter_map(|step| step.observation.as_ref()).flat_map(|it| &it.results);
        results.filter_map(|result| result.content.as_deref()).collect()
    }
}
