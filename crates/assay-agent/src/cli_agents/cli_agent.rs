//! A CLI agent that is installed on this machine, with a model.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_sandbox::{Exec, ExecOutcome, Exit, Mount, Session, Sink};
use assay_trace::{AgentInfo, Disclosure, Ended, Part, Placement, Source, Step, Trajectory};
use serde_json::{Value, json};

use super::harness::{Harness, Launch};
use super::install::Installation;
use crate::agent::{Agent, AgentRun, Job, McpTransport, now};
use crate::catalogue::catalogue;
use crate::oracle::{broken, resource};

/// The folder of an agent's installation inside the sandbox.
pub const INSTALLED: &str = "/opt/assay/agent";

/// The folder of skills that are listed in a system prompt: no agent searches it by itself.
const SYSTEM_SKILLS_DIR: &str = "/skills";

/// Maximum bytes of one argument, well below Linux's limit of 128 KiB (execve(2),
/// `MAX_ARG_STRLEN`).
const MAX_ARGUMENT: usize = 64 << 10;

/// Timeout for copying an agent's transcript.
const TRANSCRIPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The file for its standard output, in the log folder.
const STDOUT_FILE: &str = "stdout.jsonl";

/// The copy of the transcript that it wrote, in the log folder.
const TRANSCRIPT_FILE: &str = "transcript.json";

/// Maximum bytes of an agent's output that are stored.
const OUTPUT_CAP: u64 = 64 << 20;

/// A CLI agent that is installed on this machine, with a model.
pub struct CliAgent {
    harness: &'static dyn Harness,
    installation: Installation,
    /// As written in the experiment.
    model: String,
    script: Option<Script>,
    placement: Placement,
    /// The limits that the gateway enforces, for the trial's identity.
    limits: Value,
}

/// A script as the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Its identity, as part of the trial's.
    pub identity: Value,
    /// Whether the name of the condition can change its replies.
    pub reads_condition: bool,
}

/// Why an agent cannot use a model or a placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableModel {
    /// The agent does not support skills itself.
    #[error("{agent} has no skills folder of its own: use `placement = \"system\"`")]
    NoSkillsFolder {
        /// The agent's name.
        agent: &'static str,
    },
    /// The agent does not support the provider's protocol.
    #[error("{agent} supports models of {}, not of {provider:?}", model_formats(known))]
    Provider {
        /// The agent's name.
        agent: &'static str,
        /// The model's provider.
        provider: String,
        /// The providers that it supports.
        known: &'static [&'static str],
    },
}

/// The providers' models, in the notation of experiments.
fn model_formats(providers: &[&str]) -> String {
    let all: Vec<String> = providers.iter().map(|one| format!("{one}:NAME")).collect();
    all.join(" or ")
}

impl CliAgent {
    /// `script` is set if the model is a script. `placement` defaults to the agent's own. `limits`
    /// are enforced by the gateway, and belong to the agent's identity.
    pub fn new(
        harness: &'static dyn Harness,
        installation: Installation,
        model: &str,
        script: Option<Script>,
        placement: Option<Placement>,
        limits: Value,
    ) -> Result<Self, UnusableModel> {
        let own = if harness.skills_dir().is_some() { Placement::Native } else { Placement::System };
        let placement = placement.unwrap_or(own);
        if placement == Placement::Native && own == Placement::System {
            return Err(UnusableModel::NoSkillsFolder { agent: harness.name() });
        }
        let provider = model.split_once(':').map_or(model, |(provider, _)| provider);
        if script.is_none() && !harness.providers().contains(&provider) {
            return Err(UnusableModel::Provider {
                agent: harness.name(),
                provider: provider.to_owned(),
                known: harness.providers(),
            });
        }
        Ok(Self { harness, installation, model: model.to_owned(), script, placement, limits })
    }

    /// How it gets its skills.
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

    /// Writes the agent's files inside the sandbox.
    fn write_files(
        &self,
        launch: &Launch<'_>,
        job: &Job<'_>,
        session: &mut dyn Session,
    ) -> Result<(), Ended> {
        let files = self.harness.files(launch);
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
            if let Some(ended) = imposed_ending(outcome.exit) {
                return Err(ended);
            }
            if outcome.exit != Exit::Code(0) {
                let message = format!("cannot write {}: {}", path.display(), outcome.stdout.text().trim());
                return Err(Ended::Broken { part: Part::AgentSetup, message });
            }
        }
        Ok(())
    }

    /// Starts the agent, and waits for its end.
    fn execute(&self, launch: &Launch<'_>, job: &Job<'_>, session: &mut dyn Session) -> Ended {
        let Some(endpoint) = &job.endpoint else {
            let message = "no proxy was opened for the agent's model".to_owned();
            return Ended::Broken { part: Part::AgentSetup, message };
        };
        if let Err(ended) = self.write_files(launch, job, session) {
            return ended;
        }
        let (rest, env) = self.harness.invocation(launch);
        let mut argv = endpoint.launcher.clone();
        argv.push(launch.installed(self.harness.program()));
        argv.extend(rest);
        let command = Exec {
            argv,
            env: [("HOME".to_owned(), launch.home.display().to_string())]
                .into_iter()
                .chain(env)
                .chain(job.env.iter().cloned())
                .collect(),
            cwd: Some(job.workdir.clone()),
            deadline: Some(job.deadline),
            stdout: Sink { file: Some(job.logs.join(STDOUT_FILE)), cap: OUTPUT_CAP, keep: 2048 },
            stderr: Some(Sink { file: Some(job.logs.join("stderr.txt")), cap: 1 << 20, keep: 2048 }),
        };
        let outcome = session.exec(&command, job.cancel);
        if let (Some(path), Ok(_)) = (self.harness.transcript_file(), &outcome) {
            copy_transcript(&launch.home.join(path), job, session);
        }
        match outcome {
            Err(error) => broken(&error),
            Ok(outcome) => imposed_ending(outcome.exit).unwrap_or_else(|| own_ending(self.harness, &outcome)),
        }
    }

    /// Reads its output as a trajectory.
    fn trajectory(&self, job: &Job<'_>, prompt: &str) -> Trajectory {
        let info = AgentInfo {
            name: self.harness.name().to_owned(),
            version: self.version(),
            model_name: Some(self.model.clone()),
            ..AgentInfo::default()
        };
        let mut trajectory = Trajectory::new(info);
        trajectory.add_step(Source::User, prompt).timestamp = Some(now());
        let path = job.logs.join(if self.harness.transcript_file().is_some() {
            TRANSCRIPT_FILE
        } else {
            STDOUT_FILE
        });
        let reader = assay_trace::read::reader(self.harness.transcript()).ok();
        let Ok(mut read) = assay_trace::read::read(&path, reader) else { return trajectory };
        let is_prompt = |step: &Step| step.source == Source::User && step.message.contains(prompt.trim());
        // The prompt itself, or within a longer text of the agent.
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

impl Agent for CliAgent {
    fn name(&self) -> &'static str {
        self.harness.name()
    }

    fn version(&self) -> String {
        self.installation.version.clone()
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }

    fn skills_dir(&self) -> &'static str {
        match self.placement {
            Placement::Native => self.harness.skills_dir().unwrap_or(SYSTEM_SKILLS_DIR),
            Placement::System => SYSTEM_SKILLS_DIR,
        }
    }

    fn identity(&self) -> Value {
        let mut identity = json!({
            "name": self.harness.name(),
            "version": self.installation.version,
            "model": if self.script.is_some() { "scripted" } else { self.model.as_str() },
            "script": self.script.as_ref().map(|script| &script.identity),
            "limits": self.limits,
        });
        // Omitted for the agent's default placement, so that the ids of older trials do not change.
        if self.placement == Placement::System {
            identity["placement"] = json!(self.placement);
        }
        identity
    }

    fn measures_a_model(&self) -> bool {
        self.script.is_none()
    }

    fn supports_mcp(&self, transport: McpTransport) -> bool {
        self.harness.supports_mcp(transport)
    }

    fn own_memory(&self) -> u64 {
        self.harness.memory_mb() << 20
    }

    fn is_own_state(&self, below_home: &Path) -> bool {
        let own = self.harness.state();
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
        let launch = Launch {
            address: format!(
                "http://127.0.0.1:{}",
                job.endpoint.as_ref().map_or(0, |endpoint| endpoint.port)
            ),
            token: job.endpoint.as_ref().map_or("", |endpoint| &endpoint.token),
            provider: self.model.split_once(':').map_or("", |(provider, _)| provider),
            model: self.model_name(),
            prompt: &prompt,
            context: &context,
            workdir: &job.workdir,
            home: &home,
            mcp_servers: job.mcp_servers,
            installation: &installation,
        };
        let ended = self.execute(&launch, job, session);
        // The gateway counts tokens and waits.
        AgentRun::new(self.trajectory(job, &prompt), ended)
    }
}

/// The text of the condition, the sentence about the skills if it belongs here, and the task.
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

/// Splits a text into pieces that fit in an argument.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > MAX_ARGUMENT {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_ARGUMENT));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Copies the transcript that an agent wrote out of the sandbox, even after the deadline. What
/// cannot be copied is missing from the trajectory.
fn copy_transcript(path: &Path, job: &Job<'_>, session: &mut dyn Session) {
    let command = Exec {
        argv: vec!["cat".to_owned(), path.display().to_string()],
        env: Vec::new(),
        cwd: None,
        deadline: Some(Instant::now() + TRANSCRIPT_TIMEOUT),
        stdout: Sink { file: Some(job.logs.join(TRANSCRIPT_FILE)), cap: OUTPUT_CAP, keep: 0 },
        stderr: Some(Sink::default()),
    };
    let _ = session.exec(&command, job.cancel);
}

/// Why a command ended, if it did not end by itself.
fn imposed_ending(exit: Exit) -> Option<Ended> {
    match exit {
        Exit::Deadline => Some(Ended::Deadline),
        Exit::Cancelled => Some(Ended::Cancelled),
        Exit::Limit(limit) => Some(resource(limit)),
        Exit::Code(_) | Exit::Signal(_) => None,
    }
}

/// Why a command that ended by itself did so.
fn own_ending(harness: &dyn Harness, outcome: &ExecOutcome) -> Ended {
    let said = [outcome.stdout.text(), outcome.stderr.text()];
    if harness.loop_messages().iter().any(|words| said.iter().any(|said| said.contains(words))) {
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
    Ended::Broken { part: Part::AgentSetup, message: format!("{} {how}; {last}", harness.name()) }
}

#[cfg(test)]
mod tests {
    use assay_sandbox::Captured;

    use super::*;
    use crate::cli_agents::find;

    #[test]
    fn loop_detected_by_an_agent_is_its_result() {
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
            let found = match own_ending(find(name).unwrap(), &outcome) {
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
    fn long_text_is_split_into_pieces() {
        let check = |text: &str, expected: usize| {
            let pieces = pieces(text);
            assert_eq!((pieces.len(), pieces.concat().as_str()), (expected, text));
            assert!(pieces.iter().all(|piece| piece.len() <= MAX_ARGUMENT));
        };
        check("", 1);
        check(&"x".repeat(MAX_ARGUMENT), 1);
        check(&"x".repeat(MAX_ARGUMENT + 1), 2);
        check(&"€".repeat(MAX_ARGUMENT), 4);
    }

    #[test]
    fn placement_determines_the_skills_folder() {
        let check = |name: &str, placement: Option<Placement>, expected: Result<(&str, bool), &str>| {
            let installation = Installation { folder: PathBuf::new(), version: "1".to_owned() };
            let script = Some(Script { identity: Value::Null, reads_condition: false });
            let agent = CliAgent::new(
                find(name).unwrap(),
                installation,
                "scripted:x",
                script,
                placement,
                Value::Null,
            );
            let found = agent
                .map(|agent| (agent.skills_dir(), agent.identity().get("placement").is_some()))
                .map_err(|error| error.to_string());
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
        check("mini-swe-agent", Some(Placement::Native), Err("no skills folder of its own"));
    }
}
