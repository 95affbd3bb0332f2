use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_model::{
    Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, Price, Stop, Tool, Usage, chars, estimate,
};
use assay_sandbox::{Exec, ExecOutcome, Exit, Session, Sink};
use assay_trace::{
    AgentInfo, Ended, FinalMetrics, Metrics, ObservationResult, Part, Source, Step, ToolCall, Trajectory,
};
use serde_json::{Map, Value, json};

use crate::agent::{Agent, AgentRun, Estimated, Job, RequestShare, RequestTurn, count_model, now};
use crate::catalogue::catalogue;
use crate::ending::{self, LastAnswer, ProviderSide};
use crate::oracle::{broken, resource};
use crate::window::drop_old_results;

/// Changes with everything here that can change what a model does: prompt, tool, limits, window.
const VERSION: &str = "2";

/// Maximum bytes of one command's output that the model sees: half from the beginning, half from
/// the end.
const MAX_SHOWN: usize = 10_000;

/// Maximum bytes of one command's output that are stored.
const MAX_STORED: u64 = 1 << 20;

/// Until a request that waits for a share of the run's budget asks again.
const TURN: Duration = Duration::from_millis(50);

/// How many replies in a row may be cut off before a call until the loop gives up.
const PATIENCE: usize = 3;

/// assay's own agent: a conversation with one tool, `bash`, and a catalogue of the offered skills.
///
/// The loop is that of mini-swe-agent, reduced: every call runs in a new shell of the same sandbox,
/// and a reply without a call ends the work. Skills are disclosed as in Codex: the system message
/// has name, description and path, and the model opens a skill by reading its SKILL.md.
pub struct Loop {
    model: Arc<dyn ChatModel>,
    options: LoopOptions,
}

/// Limits of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopOptions {
    /// Maximum number of model replies.
    pub max_turns: usize,
    /// Maximum tokens in total, input and output, as reported by the provider. Estimates do not
    /// count.
    pub max_tokens: u64,
    /// Maximum cost in total, likewise.
    pub cost_cap: Option<CostCap>,
    /// Timeout of one command, in seconds.
    pub command_timeout: f64,
    /// Maximum tokens of conversation per request; older tool results are dropped first.
    pub context_tokens: u64,
    /// Maximum tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; the provider's default if unset.
    pub temperature: Option<f64>,
}

/// A cap on the cost of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostCap {
    /// In USD.
    pub usd: f64,
    /// The prices of the model's tokens.
    pub price: Price,
}

impl Default for LoopOptions {
    fn default() -> Self {
        Self {
            max_turns: 30,
            max_tokens: 1_000_000,
            cost_cap: None,
            command_timeout: 120.0,
            context_tokens: 100_000,
            max_output_tokens: None,
            temperature: None,
        }
    }
}

impl Loop {
    /// Creates the loop for a model.
    pub fn new(model: Arc<dyn ChatModel>, options: LoopOptions) -> Self {
        Self { model, options }
    }
}

impl Agent for Loop {
    fn name(&self) -> &'static str {
        "loop"
    }

    fn version(&self) -> String {
        VERSION.to_owned()
    }

    fn model(&self) -> Option<&str> {
        Some(self.model.id())
    }

    fn identity(&self) -> Value {
        let LoopOptions {
            max_turns,
            max_tokens,
            cost_cap,
            command_timeout,
            context_tokens,
            max_output_tokens,
            temperature,
        } = self.options;
        let mut options = json!({
            "max_turns": max_turns,
            "max_tokens": max_tokens,
            "command_timeout": command_timeout,
            "context_tokens": context_tokens,
            "max_output_tokens": max_output_tokens,
            "temperature": temperature,
        });
        if let (Some(CostCap { usd, price }), Some(options)) = (cost_cap, options.as_object_mut()) {
            // Prices determine where the cost cap stops the agent.
            options.insert("max_usd".to_owned(), json!({ "usd": usd, "prices": price.list_rates() }));
        }
        json!({
            "name": "loop",
            "version": VERSION,
            // A script is identified by its content, not by its path.
            "model": if self.model.measures_a_model() { self.model.id() } else { "scripted" },
            "options": options,
            "script": self.model.identity(),
        })
    }

    fn reads_condition(&self) -> bool {
        self.model.reads_condition()
    }

    fn measures_a_model(&self) -> bool {
        self.model.measures_a_model()
    }

    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun {
        let info = AgentInfo {
            name: "loop".to_owned(),
            version: self.version(),
            model_name: Some(self.model.id().to_owned()),
            ..AgentInfo::default()
        };
        let time = job.deadline.saturating_duration_since(Instant::now());
        let mut conversation = Conversation::new(self, job, session, Trajectory::new(info));
        let ended = conversation.converse();
        let ended = ending::classify_ending(ended, &conversation.provider, time);
        conversation.finish(ended)
    }
}

/// A conversation in progress.
struct Conversation<'a> {
    agent: &'a Loop,
    job: &'a Job<'a>,
    session: &'a mut dyn Session,
    request: ChatRequest,
    trajectory: Trajectory,
    usage: Usage,
    /// The part of it that is an estimate, because the provider reported no usage.
    estimated: Estimated,
    /// Replies by model, if the provider reports it.
    replied_models: BTreeMap<String, u64>,
    /// Usage reported by the provider; only this counts towards caps.
    reported: Usage,
    throttled: Duration,
    commands: usize,
    /// Positions of results that read a skill; they stay in the window.
    skill_results: BTreeSet<usize>,
    /// How the provider behaved.
    provider: ProviderSide,
}

impl<'a> Conversation<'a> {
    fn new(
        agent: &'a Loop,
        job: &'a Job<'a>,
        session: &'a mut dyn Session,
        mut trajectory: Trajectory,
    ) -> Self {
        let system = system_prompt(job, &agent.options);
        let user = match job.preface {
            "" => job.instruction.to_owned(),
            preface => format!("{preface}\n\n{}", job.instruction),
        };
        trajectory.add_step(Source::System, &system).timestamp = Some(now());
        trajectory.add_step(Source::User, &user).timestamp = Some(now());
        let request = ChatRequest {
            system,
            messages: vec![Message::User { text: user }],
            tools: vec![bash_tool(agent.options.command_timeout)],
            max_output_tokens: agent.options.max_output_tokens,
            temperature: agent.options.temperature,
        };
        Self {
            agent,
            job,
            session,
            request,
            trajectory,
            usage: Usage::default(),
            estimated: Estimated::default(),
            replied_models: BTreeMap::new(),
            reported: Usage::default(),
            throttled: Duration::ZERO,
            commands: 0,
            skill_results: BTreeSet::new(),
            provider: ProviderSide::default(),
        }
    }

    fn converse(&mut self) -> Ended {
        let mut stumbles = 0;
        for _ in 0..self.agent.options.max_turns {
            if let Some(ended) = self.reached_limit() {
                return ended;
            }
            drop_old_results(
                &mut self.request.messages,
                self.agent.options.context_tokens,
                &self.skill_results,
            );
            let mut share = match self.await_turn() {
                Ok(share) => share,
                Err(ended) => return ended,
            };
            let call = Call {
                deadline: Some(self.job.deadline),
                cancel: self.job.cancel,
                script_context: self.job.script_context,
            };
            let requested_at = Instant::now();
            let reply = self.agent.model.chat(&self.request, &call);
            self.provider.requests += 1;
            // A call that failed does not report its waits: its whole duration counts as silence.
            let waited = reply.iter().flat_map(|reply| &reply.retries).map(|retry| retry.waited).sum();
            self.provider.silent = self.provider.silent.max(requested_at.elapsed().saturating_sub(waited));
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => return self.record_failure(&error),
            };
            let cut_off = reply.stop == Stop::Length;
            let (calls, usage) = self.record_reply(reply);
            if let Some(share) = &mut share {
                share.set_used(&usage);
            }
            drop(share);
            if calls.is_empty() {
                stumbles += 1;
                if !cut_off || stumbles >= PATIENCE {
                    return Ended::Finished;
                }
                self.add_user_message("Your reply was cut off at its limit. Go on, in smaller steps.");
                continue;
            }
            stumbles = 0;
            for (number, call) in calls.iter().enumerate() {
                if let Err(ended) = self.run_call(call) {
                    for skipped in &calls[number + 1..] {
                        self.add_result(skipped, "not run", true, Value::Null);
                    }
                    return ended;
                }
            }
        }
        Ended::TurnLimit
    }

    /// Waits until the next request fits into the run's budget beside those of other trials.
    fn await_turn(&mut self) -> Result<Option<Box<dyn RequestShare + 'a>>, Ended> {
        let Some(budget) = self.job.budget else { return Ok(None) };
        let input = estimate_request(&self.request);
        let output = self.request.max_output_tokens.map(u64::from);
        let begun = Instant::now();
        loop {
            match budget.reserve(input, output) {
                RequestTurn::Granted(share) => {
                    self.throttled += begun.elapsed();
                    return Ok(share);
                }
                RequestTurn::Exhausted(message) => {
                    return Err(Ended::Broken { part: Part::Budget, message });
                }
                RequestTurn::Deferred => std::thread::sleep(TURN),
            }
            if self.job.cancel.load(Ordering::Relaxed) {
                return Err(Ended::Cancelled);
            }
            if Instant::now() >= self.job.deadline {
                return Err(Ended::Deadline);
            }
        }
    }

    /// Whether a limit has been reached between two turns.
    fn reached_limit(&self) -> Option<Ended> {
        let LoopOptions { max_tokens, cost_cap, .. } = self.agent.options;
        if self.job.cancel.load(Ordering::Relaxed) {
            return Some(Ended::Cancelled);
        }
        if Instant::now() >= self.job.deadline {
            return Some(Ended::Deadline);
        }
        if let Some(message) = self.job.budget.and_then(super::RunBudget::exhausted) {
            return Some(Ended::Broken { part: Part::Budget, message });
        }
        if self.reported.total() >= max_tokens {
            return Some(Ended::TokenLimit);
        }
        cost_cap.filter(|cap| cap.price.cost(&self.usage) >= cap.usd).map(|_| Ended::CostLimit)
    }

    /// Records why there was no reply; [`ending::classify_ending`] decides how the trial ended.
    fn record_failure(&mut self, error: &ModelError) -> Ended {
        self.provider.last = LastAnswer::of(error).unwrap_or(LastAnswer::Awaited);
        match error {
            ModelError::Cancelled => Ended::Cancelled,
            ModelError::Deadline => Ended::Deadline,
            _ => Ended::Finished,
        }
    }

    /// Adds a reply to the conversation, the trajectory and the token counts. Returns its calls, and its usage.
    fn record_reply(&mut self, reply: ChatReply) -> (Vec<assay_model::ToolCall>, Usage) {
        let retried: Duration = reply.retries.iter().map(|retry| retry.waited).sum();
        self.throttled += retried;
        // A reply of no tokens at all is no usage.
        let reported = reply.usage.filter(|usage| usage.total() > 0);
        let usage = reported.unwrap_or_else(|| estimate_usage(&self.request, &reply));
        self.usage += usage;
        if reported.is_some() {
            self.reported += usage;
        } else {
            self.estimated.requests += 1;
            self.estimated.usage += usage;
        }
        if let Some(budget) = self.job.budget {
            let nothing = Usage::default();
            budget.charge(&usage, if reported.is_some() { &nothing } else { &usage });
        }
        if let Some(model) = &reply.model {
            count_model(&mut self.replied_models, model);
        }
        let step = self.trajectory.add_step(Source::Agent, &reply.text);
        step.timestamp = Some(now());
        step.reasoning_content = reply.reasoning;
        step.tool_calls = reply.tool_calls.iter().map(trajectory_call).collect();
        step.metrics = Some(metrics(usage, reported.is_none(), &reply.raw_usage));
        note_turn(step, &reply.retries, &reply.stop, reply.model.as_deref());
        self.request.messages.push(Message::Assistant {
            text: reply.text,
            tool_calls: reply.tool_calls.clone(),
            raw: reply.raw,
        });
        (reply.tool_calls, usage)
    }

    fn add_user_message(&mut self, text: &str) {
        self.trajectory.add_step(Source::User, text).timestamp = Some(now());
        self.request.messages.push(Message::User { text: text.to_owned() });
    }

    /// Runs a call and adds its result to the conversation, or ends the work.
    fn run_call(&mut self, call: &assay_model::ToolCall) -> Result<(), Ended> {
        let Some(command) =
            call.arguments.get("command").and_then(Value::as_str).filter(|_| call.name == "bash")
        else {
            self.add_result(
                call,
                "the only tool is `bash`, with one string argument, `command`",
                true,
                Value::Null,
            );
            return Ok(());
        };
        // An argument cannot contain one, and what a model writes is not an error of the sandbox.
        if command.contains('\0') {
            self.add_result(call, "the command holds a NUL character and was not run", true, Value::Null);
            return Ok(());
        }
        if command.contains(&*self.skills_root().to_string_lossy()) {
            self.skill_results.insert(self.request.messages.len());
        }
        self.commands += 1;
        let limit =
            Instant::now() + assay_diagnostic::duration_of_seconds(self.agent.options.command_timeout);
        let exec = Exec {
            argv: vec!["bash".to_owned(), "-c".to_owned(), command.to_owned()],
            env: self.job.env.to_vec(),
            cwd: Some(self.job.workdir.clone()),
            deadline: Some(limit.min(self.job.deadline)),
            stdout: Sink {
                file: Some(self.job.logs.join(format!("command-{}.txt", self.commands))),
                cap: MAX_STORED,
                keep: MAX_SHOWN / 2,
            },
            stderr: None,
        };
        let outcome = match self.session.exec(&exec, self.job.cancel) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.add_result(call, &error.to_string(), true, Value::Null);
                return Err(broken(&error));
            }
        };
        let late = outcome.exit == Exit::Deadline && limit >= self.job.deadline;
        self.add_result(call, &output_text(&outcome), outcome.exit != Exit::Code(0), json!(outcome.exit));
        match outcome.exit {
            Exit::Cancelled => Err(Ended::Cancelled),
            Exit::Limit(limit) => Err(resource(limit)),
            Exit::Deadline if late => Err(Ended::Deadline),
            Exit::Code(_) | Exit::Signal(_) | Exit::Deadline => Ok(()),
        }
    }

    fn skills_root(&self) -> PathBuf {
        self.session.path(std::path::Path::new(self.agent.skills_dir()))
    }

    fn add_result(&mut self, call: &assay_model::ToolCall, text: &str, is_error: bool, exit: Value) {
        let mut extra = Map::new();
        if !exit.is_null() {
            extra.insert("exit".to_owned(), exit);
        }
        let result = ObservationResult {
            source_call_id: Some(call.id.clone()),
            content: Some(text.to_owned()),
            extra,
            ..ObservationResult::default()
        };
        if let Some(step) = self.trajectory.steps.last_mut() {
            step.observation.get_or_insert_default().results.push(result);
        }
        self.request.messages.push(Message::Tool {
            call_id: call.id.clone(),
            text: text.to_owned(),
            is_error,
        });
    }

    fn finish(mut self, ended: Ended) -> AgentRun {
        let total = (self.trajectory.turns() > 0).then_some(self.usage);
        self.trajectory.final_metrics = Some(FinalMetrics {
            total_prompt_tokens: total.map(|total| total.prompt()),
            total_completion_tokens: total.map(|usage| usage.output),
            total_cached_tokens: total.map(|usage| usage.cache_read),
            total_cost_usd: None,
            total_steps: self.trajectory.steps.len(),
            ..FinalMetrics::default()
        });
        let Self { trajectory, estimated, throttled, replied_models, .. } = self;
        AgentRun { usage: total, estimated, throttled, replied_models, ..AgentRun::new(trajectory, ended) }
    }
}

/// The limits precede everything that depends on the condition, so that they read the same in every
/// arm.
fn system_prompt(job: &Job<'_>, options: &LoopOptions) -> String {
    let mut prompt = format!(
        "You solve a task in a Linux sandbox. Your one tool is `bash`; each call runs in a fresh shell that starts in {}, and \
         files and background processes stay. Look before you change anything, do the whole task, and check your work. When \
         it is done, answer with a short summary and call no tool.\n\n\
         Limits: {} turns (each of your replies is one), {} seconds and {} tokens (read and written) for the whole task; the \
         work ends when one of them is reached. Output of a command beyond {} bytes is truncated: you see the first {} and \
         the last {}.",
        job.workdir.display(),
        grouped(options.max_turns as u64),
        job.time.as_secs_f64(),
        grouped(options.max_tokens),
        grouped(MAX_SHOWN as u64),
        grouped(MAX_SHOWN as u64 / 2),
        grouped(MAX_SHOWN as u64 / 2),
    );
    if !job.skills.is_empty() {
        prompt.push_str("\n\n");
        prompt.push_str(&catalogue(job.skills, job.disclosure));
    }
    prompt
}

/// A number with thousands separators.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn bash_tool(timeout: f64) -> Tool {
    Tool {
        name: "bash".to_owned(),
        description: format!(
            "Runs a command with bash and gives its output (standard output and error together) and exit status. Ends after \
             {timeout} seconds."
        ),
        parameters: json!({
            "type": "object",
            "properties": { "command": { "type": "string", "description": "The command." } },
            "required": ["command"],
        }),
    }
}

fn output_text(outcome: &ExecOutcome) -> String {
    let mut text = outcome.stdout.text();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let ending = match outcome.exit {
        Exit::Code(code) => format!("[exit status {code}]"),
        Exit::Signal(signal) => format!("[killed by signal {signal}]"),
        Exit::Deadline => {
            format!("[killed after {:.0} s: the time for a command was over]", outcome.wall.as_secs_f64())
        }
        Exit::Cancelled => "[cancelled]".to_owned(),
        Exit::Limit(_) => "[killed: a limit of the sandbox was passed]".to_owned(),
    };
    text + &ending
}

fn trajectory_call(call: &assay_model::ToolCall) -> ToolCall {
    ToolCall {
        tool_call_id: call.id.clone(),
        function_name: call.name.clone(),
        // The format supports only objects.
        arguments: match &call.arguments {
            arguments @ Value::Object(_) => arguments.clone(),
            other => json!({ "unreadable": other }),
        },
        ..ToolCall::default()
    }
}

/// Estimates the usage of a reply without usage data from the characters sent and received.
fn estimate_usage(request: &ChatRequest, reply: &ChatReply) -> Usage {
    let received = text_length(&reply.text)
        + reply.reasoning.as_deref().map_or(0, text_length)
        + call_length(&reply.tool_calls);
    Usage { input: estimate_request(request), output: estimate(received), ..Usage::default() }
}

fn text_length(text: &str) -> u64 {
    text.chars().count() as u64
}

fn call_length(calls: &[assay_model::ToolCall]) -> u64 {
    calls.iter().map(|call| text_length(&call.name) + chars(&call.arguments)).sum()
}

/// Estimates the tokens of a request from its characters.
fn estimate_request(request: &ChatRequest) -> u64 {
    let (text, called) = (text_length, call_length);
    let message = |message: &Message| match message {
        Message::User { text: said } | Message::Tool { text: said, .. } => text(said),
        Message::Assistant { text: said, tool_calls, .. } => text(said) + called(tool_calls),
    };
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| text(&tool.name) + text(&tool.description) + chars(&tool.parameters))
        .sum();
    estimate(text(&request.system) + request.messages.iter().map(message).sum::<u64>() + tools)
}

fn metrics(usage: Usage, is_estimate: bool, raw: &Value) -> Metrics {
    let mut extra = Map::new();
    if is_estimate {
        extra.insert("estimated".to_owned(), json!(true));
    }
    if !raw.is_null() {
        extra.insert("usage".to_owned(), raw.clone());
    }
    Metrics {
        prompt_tokens: Some(usage.prompt()),
        completion_tokens: Some(usage.output),
        cached_tokens: Some(usage.cache_read),
        extra,
        ..Metrics::default()
    }
}

/// Records what was unusual about a turn.
fn note_turn(step: &mut Step, retries: &[assay_model::Retry], stop: &Stop, model: Option<&str>) {
    if !retries.is_empty() {
        step.extra.insert("retries".to_owned(), json!(retries));
    }
    if !matches!(stop, Stop::End | Stop::Tools) {
        step.extra.insert("stop".to_owned(), json!(stop));
    }
    if let Some(model) = model {
        step.extra.insert("model".to_owned(), json!(model));
    }
}
