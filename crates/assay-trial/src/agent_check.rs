//! The trial that tells whether an agent sees skills: `assay agent doctor`.
//!
//! One skill must be advertised to the agent and must open, another must stay hidden, a codeword in the body of the first
//! must reach the model, and a command must write a file.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_agent::cli_agents::Harness;
use assay_diagnostic::{clean, counted};
use assay_gateway::Ledger;
use assay_store::{AgentSpec, ConditionRole, Outcome, Record, SandboxChoice, Store};
use assay_trace::{Placement, Source, Trajectory};
use serde::Serialize;

use crate::condition::Pairing;
use crate::plan::error::PlanError;
use crate::run::context::MachineContext;
use crate::run::single::{SingleTrial, SingleTrialError, run_single};

/// The skill that is offered.
const OFFERED_SKILL: &str = "daily-codeword";

/// The skill that is not.
const WITHHELD: &str = "gate-signal";

/// A check of an agent.
#[derive(Debug, Serialize)]
pub struct AgentCheck {
    /// Its name: `opened`.
    pub what: &'static str,
    /// Whether it passed.
    pub passed: bool,
    /// What was seen, in a sentence.
    pub text: String,
}

impl AgentCheck {
    /// The check as a line of a terminal.
    pub fn to_line(&self) -> String {
        let mark = if self.passed { "ok" } else { "--" };
        format!("  {mark}  {:12}{}\n", self.what, clean(&self.text))
    }
}

/// Executes the scripted trial of an agent in a folder, and checks what it shows.
///
/// `store` is one of its own, which is not kept.
///
/// # Errors
/// The folder cannot be written, or the trial cannot be executed. An agent that is not installed is a check that failed.
pub fn run_agent_check(
    folder: &Path,
    harness: &dyn Harness,
    version: Option<&str>,
    placement: Option<Placement>,
    sandbox: SandboxChoice,
    store: &Store,
    machine: &MachineContext<'_>,
) -> Result<Vec<AgentCheck>, AgentCheckError> {
    let word = format!("lanternfish-{}", std::process::id());
    write_agent_check(folder, &word).map_err(AgentCheckError::Write)?;
    let mut agent = AgentSpec::named(harness.name());
    agent.version = version.map(str::to_owned);
    agent.model = Some("scripted:turns.jsonl".to_owned());
    agent.timeout = Some(120.0);
    agent.placement = placement;
    let trial = SingleTrial {
        name: "doctor",
        directory: folder,
        task: &folder.join("task"),
        agent,
        condition: ConditionRole::Curated.name(),
        library: vec!["skills/*".to_owned()],
        pairing: Pairing { curated: Some(vec![OFFERED_SKILL.to_owned()]), ..Pairing::default() },
        sandbox,
    };
    let record = match run_single(&trial, store, machine, &AtomicBool::new(false)) {
        Ok(record) => record,
        Err(SingleTrialError::Plan(PlanError::Agent { error, .. })) => {
            return Ok(vec![AgentCheck { what: "installed", passed: false, text: error.to_string() }]);
        }
        Err(error) => return Err(AgentCheckError::Trial(error)),
    };
    let checks = TrialOutput::read(store, record).evaluate(harness, placement, &word);
    store.clear_scratch();
    Ok(checks)
}

/// Why an agent could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum AgentCheckError {
    /// The files of the trial.
    #[error("cannot write the trial: {0}")]
    Write(#[source] std::io::Error),
    /// The trial.
    #[error(transparent)]
    Trial(SingleTrialError),
}

/// The files that the trial wrote.
struct TrialOutput {
    record: Record,
    ledger: Option<Ledger>,
    trajectory: Option<Trajectory>,
    diff: String,
    stderr: String,
}

impl TrialOutput {
    fn read(store: &Store, record: Record) -> Self {
        let folder = store.trial_folder(&record.trial).join("attempts").join(record.attempt.to_string());
        let text = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
        Self {
            ledger: serde_json::from_slice(&text("gateway.json")).ok(),
            trajectory: serde_json::from_slice(&text("trajectory.json")).ok(),
            diff: String::from_utf8_lossy(&text("workspace.diff")).into_owned(),
            stderr: String::from_utf8_lossy(&text("agent/stderr.txt")).into_owned(),
            record,
        }
    }

    /// Runs the checks in order of dependency, up to the first failure that makes the rest moot.
    fn evaluate(&self, harness: &dyn Harness, placement: Option<Placement>, word: &str) -> Vec<AgentCheck> {
        let mut checks = Vec::new();
        let mut record = |what: &'static str, passed: bool, good: String, bad: String| {
            checks.push(AgentCheck { what, passed, text: if passed { good } else { bad } });
            passed
        };
        let empty = Vec::new();
        let exchanges = self.ledger.as_ref().map_or(&empty, |ledger| &ledger.exchanges);
        let refused = self.ledger.as_ref().and_then(|ledger| ledger.refused.first());
        let last = self.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let why = match (refused, &self.record.reason) {
            (Some(refused), _) => {
                format!("the gateway rejected its request with status {}: {}", refused.status, refused.reason)
            }
            (None, Some(reason)) => reason.clone(),
            (None, None) => format!("last line of standard error: {last}"),
        };
        let reached = !exchanges.is_empty();
        if !record(
            "model",
            reached,
            counted(exchanges.len(), "request", "requests"),
            format!("no request to the model; {why}"),
        ) {
            return checks;
        }
        let ended = self.record.outcome != Outcome::Infrastructure;
        if !record("end", ended, "it exited by itself".to_owned(), why) {
            return checks;
        }
        let seen = self.record.skills().first();
        let advertised = seen.is_some_and(|seen| seen.advertised.is_some());
        let elsewhere = match harness.skills_dir().filter(|_| placement != Some(Placement::System)) {
            Some(folder) => format!(
                "the skill in {folder} was not advertised: the agent looks in another folder, or its skills are disabled"
            ),
            None => "the system prompt with the skills did not reach the model".to_owned(),
        };
        if !record(
            "listed",
            advertised,
            "the offered skill was advertised to the model".to_owned(),
            elsewhere,
        ) {
            return checks;
        }
        let opened = seen.is_some_and(|seen| seen.opened.is_some()) && self.diff.contains(word);
        let unopened = "the skill is listed, but its body did not reach the model (OpenCode needs ripgrep)";
        if !record("opened", opened, "the skill's body reached the model".to_owned(), unopened.to_owned()) {
            return checks;
        }
        let alone = !self.diff.contains("withheld.txt");
        let stray = "a skill that was not offered was advertised".to_owned();
        record("alone", alone, "no other skill was advertised".to_owned(), stray);
        let wrote = self.record.outcome == Outcome::Passed;
        let lost = "its tool's output is missing in the working folder".to_owned();
        record("tools", wrote, "its tool wrote to the working folder".to_owned(), lost);
        let steps = self.trajectory.as_ref().map_or(0, |trajectory| {
            trajectory
                .steps
                .iter()
                .filter(|step| step.source == Source::Agent && !step.tool_calls.is_empty())
                .count()
        });
        let silent = format!(
            "no steps in its output: the output is missing or not in the format {}",
            harness.transcript()
        );
        record(
            "transcript",
            steps > 0,
            counted(steps, "step with tool calls", "steps with tool calls"),
            silent,
        );
        checks
    }
}

/// Writes the task, the skills and the script of the trial to a folder: `task`, `skills` and `turns.jsonl`.
fn write_agent_check(folder: &Path, word: &str) -> std::io::Result<()> {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::write(path, text)
    };
    write(
        "task/task.toml",
        "version = \"1.0\"\n[agent]\ntimeout_sec = 120.0\n[verifier]\ntimeout_sec = 60.0\n",
    )?;
    write("task/instruction.md", "Write today's codeword to the file word.txt.\n")?;
    write("task/environment/Dockerfile", "FROM debian:bookworm-slim\nWORKDIR /app\n")?;
    write("task/tests/test.sh", &format!("grep -q {word} /app/word.txt && right=1\n{REWARD}"))?;
    write(
        &format!("skills/{OFFERED_SKILL}/SKILL.md"),
        &skill(OFFERED_SKILL, &format!("Today's codeword is {word}, and it is valid for this project only.")),
    )?;
    write(
        &format!("skills/{WITHHELD}/SKILL.md"),
        &skill(WITHHELD, "The gate is closed when the lamp above it is lit."),
    )?;
    let rules = [
        serde_json::json!({ "tools": false, "say": "A word" }),
        serde_json::json!({ "turn": 0, "seen": WITHHELD, "say": "Two skills.", "run": ["echo seen > withheld.txt"] }),
        serde_json::json!({ "turn": 0, "seen": OFFERED_SKILL, "say": "There is a skill.", "skill": OFFERED_SKILL }),
        serde_json::json!({ "turn": 1, "seen": word, "say": "I write it.", "run": [format!("echo {word} > word.txt")] }),
        serde_json::json!({ "say": "Done." }),
    ];
    write("turns.jsonl", &rules.map(|rule| format!("{rule}\n")).concat())
}

/// Writes the reward and the only check.
const REWARD: &str = "if [ \"${right-}\" ]; then reward=1 status=passed; else reward=0 status=failed; fi\n\
    echo \"{\\\"reward\\\": $reward}\" > /logs/verifier/reward.json\n\
    echo '{\"results\": {\"tests\": [{\"name\": \"codeword\", \"status\": \"'$status'\"}]}}' > /logs/verifier/ctrf.json\n";

/// A skill with enough distinctive lines to show whether its body was delivered.
fn skill(name: &str, line: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Describes the {}. Use it when today's codeword is requested.\n---\n\n# {name}\n\n{line}\n\n\
         The codeword is needed at the beginning of every shift.\nIt changes every day and cannot be guessed from outside.\n\
         Write it exactly as it is given here, in lower case.\nAdd nothing before it and nothing after it in the file.\n",
        name.replace('-', " ")
    )
}
