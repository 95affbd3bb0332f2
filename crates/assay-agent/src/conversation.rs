use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_model::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, Stop, Tool, Usage};
use assay_sandbox::{Exec, ExecOutcome, Exit, Session, Sink};
use assay_trace::{AgentInfo, FinalMetrics, Metrics, ObservationResult, Source, Step, ToolCall, Trajectory};
use serde_json::{Map, Value, json};

use crate::catalogue::catalogue;
use crate::ending::{self, LastAnswer, ProviderSide};
use crate::oracle::{broken, resource};
use crate::window::{estimate, slide};
use crate::{Agent, AgentRun, Ended, Job, now};

/// Changes whenever a change here can change what a model does: prompt, tool, limits, window.
const VERSION: &str = "1";

/// Most bytes of one command's output that go to the model: half from the beginning, half from the end.
const SHOWN: usize = 10_000;

/// Most bytes of one command's output that are kept on disk.
const KEPT: u64 = 1 << 20;

/// How often in a row a reply may be cut off before it calls anything, until the loop gives up.
const PATIENCE: usize = 3;

/// assay's own agent: a conversation with one tool, `bash`, and a catalogue of the offered skills.
///
/// The loop is mini-swe-agent's, reduced: every call runs in a fresh shell of the same sandbox, a reply without a call ends
/// the work. Skills are disclosed as Codex does it: name, description and path stand in the system message, and the model
/// opens one by reading its SKILL.md.
pub struct Loop {
    model: Arc<dyn ChatModel>,
    options: LoopOptions,
}

/// Limits of the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopOptions {
    /// Most replies of the model.
    pub max_turns: usize,
    /// Most tokens in all, read and written, as the provider counts them.
    pub max_tokens: u64,
    /// Most seconds of one command.
    pub command_timeout: f64,
    /// Most tokens of conversation sent at once; older tool results leave it first.
    pub context_tokens: u64,
    /// Most tokens of one reply.
    pub max_output_tokens: Option<u32>,
    /// Sampling temperature; the provider's default if unset.
    pub temperature: Option<f64>,
}

impl Default for LoopOptions {
    fn default() -> Self {
        Self {
            max_turns: 30,
            max_tokens: 1_000_000,
            command_timeout: 120.0,
            context_tokens: 100_000,
            max_output_tokens: None,
            temperature: None,
        }
    }
}

impl Loop {
    /// The loop around a model.
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
            command_timeout,
            context_tokens,
            max_output_tokens,
            temperature,
        } = self.options;
        json!({
            "name": "loop",
            "version": VERSION,
            // A script is told by its content, not by where it lies.
            "model": if self.model.measures_a_model() { self.model.id() } else { "scripted" },
            "options": {
                "max_turns": max_turns,
                "max_tokens": max_tokens,
                "command_timeout": command_timeout,
                "context_tokens": context_tokens,
                "max_output_tokens": max_output_tokens,
                "temperature": temperature,
            },
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
        let mut talk = Talk::new(self, job, session, Trajectory::new(info));
        let ended = talk.hold();
        let ended = ending::judge(ended, &talk.provider, time);
        talk.finish(ended)
    }
}

/// A conversation under way.
struct Talk<'a> {
    agent: &'a Loop,
    job: &'a Job<'a>,
    session: &'a mut dyn Session,
    request: ChatRequest,
    trajectory: Trajectory,
    usage: Usage,
    /// Replies whose tokens the provider gave no figures for: the sum is then unknown.
    uncounted: bool,
    /// Tokens counted towards the limit: the provider's figures, or our estimate of a turn it gave none for.
    spent: u64,
    throttled: Duration,
    commands: usize,
    /// Where in the conversation results of calls stand that read a skill; they stay in the window.
    skill_results: BTreeSet<usize>,
    /// What its provider did.
    provider: ProviderSide,
}

impl<'a> Talk<'a> {
    fn new(
        agent: &'a Loop,
        job: &'a Job<'a>,
        session: &'a mut dyn Session,
        mut trajectory: Trajectory,
    ) -> Self {
        let system = system_prompt(job);
        let user = match job.preface {
            "" => job.instruction.to_owned(),
            preface => format!("{preface}\n\n{}", job.instruction),
        };
        trajectory.say(Source::System, &system).timestamp = Some(now());
        trajectory.say(Source::User, &user).timestamp = Some(now());
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
            uncounted: false,
            spent: 0,
            throttled: Duration::ZERO,
            commands: 0,
            skill_results: BTreeSet::new(),
            provider: ProviderSide::default(),
        }
    }

    fn hold(&mut self) -> Ended {
        let mut stumbles = 0;
        for _ in 0..self.agent.options.max_turns {
            if let Some(ended) = self.over() {
                return ended;
            }
            slide(&mut self.request.messages, self.agent.options.context_tokens, &self.skill_results);
            let call =
                Call { deadline: Some(self.job.deadline), cancel: self.job.cancel, scene: self.job.scene };
            let asked = Instant::now();
            let reply = self.agent.model.chat(&self.request, &call);
            self.provider.requests += 1;
            let waited = reply.iter().flat_map(|reply| &reply.retries).map(|retry| retry.waited).sum();
            self.provider.silent = self.provider.silent.max(asked.elapsed().saturating_sub(waited));
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => return self.unanswered(&error),
            };
            let cut_off = reply.stop == Stop::Length;
            let calls = self.take(reply);
            if calls.is_empty() {
                stumbles += 1;
                if !cut_off || stumbles >= PATIENCE {
                    return Ended::Finished;
                }
                self.tell("Your reply was cut off at its limit. Go on, in smaller steps.");
                continue;
            }
            stumbles = 0;
            for (number, call) in calls.iter().enumerate() {
                if let Err(ended) = self.answer(call) {
                    for skipped in &calls[number + 1..] {
                        self.observe(skipped, "not run", true, Value::Null);
                    }
                    return ended;
                }
            }
        }
        Ended::TurnLimit
    }

    /// Whether a limit has been reached between two turns.
    fn over(&self) -> Option<Ended> {
        if self.job.cancel.load(Ordering::Relaxed) {
            Some(Ended::Cancelled)
        } else if Instant::now() >= self.job.deadline {
            Some(Ended::Deadline)
        } else if self.spent >= self.agent.options.max_tokens {
            Some(Ended::TokenLimit)
        } else {
            None
        }
    }

    /// Puts down why there was no reply; what that makes of the trial is [`ending::judge`]'s to say.
    fn unanswered(&mut self, error: &ModelError) -> Ended {
        self.provider.last = LastAnswer::of(error).unwrap_or(LastAnswer::Awaited);
        match error {
            ModelError::Cancelled => Ended::Cancelled,
            ModelError::Deadline => Ended::Deadline,
            _ => Ended::Finished,
        }
    }

    /// Puts a reply into the conversation, the trajectory and the accounts.
    fn take(&mut self, reply: ChatReply) -> Vec<assay_model::ToolCall> {
        let retried: Duration = reply.retries.iter().map(|retry| retry.waited).sum();
        self.throttled += retried;
        if let Some(usage) = reply.usage {
            self.usage += usage;
            self.spent = self.spent.saturating_add(prompt(usage)).saturating_add(usage.output);
        } else {
            self.uncounted = true;
            self.spent += estimate(&reply.text) + estimate(&self.request.system);
        }
        let step = self.trajectory.say(Source::Agent, &reply.text);
        step.timestamp = Some(now());
        step.reasoning_content = reply.reasoning;
        step.tool_calls = reply.tool_calls.iter().map(recorded).collect();
        step.metrics = reply.usage.map(|usage| metrics(usage, &reply.raw_usage));
        note_turn(step, &reply.retries, &reply.stop, reply.model.as_deref());
        self.request.messages.push(Message::Assistant {
            text: reply.text,
            tool_calls: reply.tool_calls.clone(),
            raw: reply.raw,
        });
        reply.tool_calls
    }

    fn tell(&mut self, text: &str) {
        self.trajectory.say(Source::User, text).timestamp = Some(now());
        self.request.messages.push(Message::User { text: text.to_owned() });
    }

    /// Runs a call and gives its result to the model, or ends the work.
    fn answer(&mut self, call: &assay_model::ToolCall) -> Result<(), Ended> {
        let Some(command) =
            call.arguments.get("command").and_then(Value::as_str).filter(|_| call.name == "bash")
        else {
            self.observe(
                call,
                "the only tool is `bash`, with one string argument, `command`",
                true,
                Value::Null,
            );
            return Ok(());
        };
        // No program can be given one; and what a model writes is no fault of the sandbox.
        if command.contains('\0') {
            self.observe(call, "the command holds a NUL character and was not run", true, Value::Null);
            return Ok(());
        }
        if command.contains(&*self.skills_root().to_string_lossy()) {
            self.skill_results.insert(self.request.messages.len());
        }
        self.commands += 1;
        let limit = Instant::now() + Duration::from_secs_f64(self.agent.options.command_timeout);
        let exec = Exec {
            argv: vec!["bash".to_owned(), "-c".to_owned(), command.to_owned()],
            env: self.job.env.to_vec(),
            cwd: Some(self.job.workdir.clone()),
            deadline: Some(limit.min(self.job.deadline)),
            stdout: Sink {
                file: Some(self.job.logs.join(format!("command-{}.txt", self.commands))),
                cap: KEPT,
                keep: SHOWN / 2,
            },
            stderr: None,
        };
        let outcome = match self.session.exec(&exec, self.job.cancel) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.observe(call, &error.to_string(), true, Value::Null);
                return Err(broken(&error));
            }
        };
        let late = outcome.exit == Exit::Deadline && limit >= self.job.deadline;
        self.observe(call, &shown(&outcome), outcome.exit != Exit::Code(0), json!(outcome.exit));
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

    fn observe(&mut self, call: &assay_model::ToolCall, text: &str, is_error: bool, exit: Value) {
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
        let total = (!self.uncounted && self.trajectory.turns() > 0).then_some(self.usage);
        self.trajectory.final_metrics = Some(FinalMetrics {
            total_prompt_tokens: total.map(prompt),
            total_completion_tokens: total.map(|usage| usage.output),
            total_cached_tokens: total.map(|usage| usage.cache_read),
            total_cost_usd: None,
            total_steps: self.trajectory.steps.len(),
            ..FinalMetrics::default()
        });
        AgentRun { trajectory: self.trajectory, usage: total, ended, throttled: self.throttled }
    }
}

fn system_prompt(job: &Job<'_>) -> String {
    let mut prompt = format!(
        "You solve a task in a Linux sandbox. Your one tool is `bash`; each call runs in a fresh shell that starts in {}, and \
         files and background processes stay. Look before you change anything, do the whole task, and check your work. When \
         it is done, answer with a short summary and call no tool.",
        job.workdir.display()
    );
    if !job.skills.is_empty() {
        prompt.push_str("\n\n");
        prompt.push_str(&catalogue(job.skills, job.disclosure));
    }
    prompt
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

fn shown(outcome: &ExecOutcome) -> String {
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

fn recorded(call: &assay_model::ToolCall) -> ToolCall {
    ToolCall {
        tool_call_id: call.id.clone(),
        function_name: call.name.clone(),
        // The format knows objects only.
        arguments: match &call.arguments {
            arguments @ Value::Object(_) => arguments.clone(),
            other => json!({ "unreadable": other }),
        },
        ..ToolCall::default()
    }
}

/// Tokens read, from a cache or not. The figures come from outside: whatever they are, no sum of them panics.
fn prompt(usage: Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

fn metrics(usage: Usage, raw: &Value) -> Metrics {
    let mut extra = Map::new();
    if !raw.is_null() {
        extra.insert("usage".to_owned(), raw.clone());
    }
    Metrics {
        prompt_tokens: Some(prompt(usage)),
        completion_tokens: Some(usage.output),
        cached_tokens: Some(usage.cache_read),
        extra,
        ..Metrics::default()
    }
}

/// What a turn had to go through, where it is worth a word.
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
