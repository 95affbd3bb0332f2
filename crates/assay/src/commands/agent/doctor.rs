//! `assay agent doctor`: whether agents see skills here, before a run costs anything.
//!
//! Each agent runs one scripted trial in the sandbox that runs use. One skill must be advertised to
//! it and must open, another must stay hidden, a codeword in the body of the first must reach the
//! model, and a command must write a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_agent::cli_agents::{Harness, Installation};
use assay_gateway::Ledger;
use assay_report::counted;
use assay_store::{ConditionRole, Outcome, Record, Selection, Store};
use assay_trace::{Placement, Source, Trajectory};
use assay_trial::{
    AgentSpec, Pairing, Plan, PlanError, SandboxChoice, SandboxKind, SingleTrial, SingleTrialError,
    run_single,
};
use serde::Serialize;

use super::{Chosen, DoctorArgs, Kind};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// The skill that is offered.
const OFFERED: &str = "daily-codeword";

/// The skill that is not.
const WITHHELD: &str = "gate-signal";

/// The checks of one agent, in the order of execution.
#[derive(Serialize)]
struct Finding {
    agent: &'static str,
    version: String,
    sandbox: &'static str,
    /// Whether all checks passed.
    sees: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    what: &'static str,
    passed: bool,
    text: String,
}

pub(super) fn run(args: &DoctorArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    let scratch = scratch_folder(&settings.store)?;
    let mut findings = Vec::new();
    for chosen in super::chosen(&args.agents, args.agents.is_empty())? {
        let harness = chosen.0;
        if args.agents.is_empty() && Installation::find(&cache, harness, None).is_none() {
            ui.note(&format!(
                "{} is not installed (hint: run `assay agent install {}`)",
                harness.name(),
                harness.name()
            ));
            continue;
        }
        let finding = examine(&chosen, args.sandbox, args.placement.map(Into::into), &base(), &scratch)?;
        if !ui.json() {
            ui.out(&render(&finding))?;
        }
        findings.push(finding);
    }
    let all = findings.iter().all(|finding| finding.sees);
    if ui.json() {
        ui.document(&serde_json::json!({ "schema": "assay.agent-doctor/2", "agents": findings }))?;
    }
    Ok(if all { Status::Done } else { Status::DidNotHold })
}

fn render(finding: &Finding) -> String {
    let mut text = format!("{} {} in {}\n", finding.agent, finding.version, finding.sandbox);
    for check in &finding.checks {
        let mark = if check.passed { "ok" } else { "--" };
        text.push_str(&format!("  {mark}  {:12}{}\n", check.what, assay_report::clean(&check.text)));
    }
    text
}

/// Tests the agents whose trials a run is about to execute. An agent that sees no skills would make
/// every verdict on skills `negligible`.
pub(crate) fn check_planned_agents(
    plan: &Plan,
    only: &Selection,
    store: &Store,
    ui: &Ui,
) -> Result<(), Failure> {
    let mut wanted = BTreeSet::new();
    for cell in &plan.cells {
        let entry = &plan.agents[cell.agent];
        let name = entry.label.name.as_str();
        let is_done =
            || store.record(&cell.trial).is_ok_and(|found| found.is_some_and(|one| one.outcome.counts()));
        if only.matches(cell, name) && entry.route.is_some() && !is_done() {
            let version = entry.spec.version.as_deref();
            wanted.insert((name, version, cell.sandbox.as_str(), entry.placement));
        }
    }
    let scratch = store.scratch()?;
    for (name, version, sandbox, placement) in wanted {
        let name = version.map_or(name.to_owned(), |version| format!("{name}@{version}"));
        let kind = if sandbox == "docker" { Kind::Docker } else { Kind::Bubblewrap };
        let images = &plan.experiment.sandbox.images;
        let finding = match examine(&super::find(&name)?, kind, placement, images, &scratch) {
            Ok(finding) => finding,
            Err(failure) => {
                ui.note(&format!("cannot test {name} in {sandbox}: {failure}"));
                continue;
            }
        };
        if let Some(failed) = finding.checks.iter().find(|check| !check.passed) {
            let message = format!("{name} failed the agent check in {sandbox}: {}", failed.text);
            return Err(Failure::infrastructure(message).hint(format!(
                "run `assay agent doctor {name}` for details, or use `--no-checks` to run anyway"
            )));
        }
    }
    Ok(())
}

/// The image map if the experiment does not set one.
fn base() -> BTreeMap<String, String> {
    BTreeMap::from([("*".to_owned(), "base:bookworm".to_owned())])
}

/// The sandbox.
fn choice(kind: Kind, images: &BTreeMap<String, String>) -> SandboxChoice {
    match kind {
        Kind::Bubblewrap => SandboxChoice { kind: SandboxKind::Bubblewrap, ..SandboxChoice::default() },
        Kind::Docker => {
            SandboxChoice { kind: SandboxKind::Docker, images: images.clone(), ..SandboxChoice::default() }
        }
    }
}

/// A scratch folder on the store's file system, with a path at least as long as the store's, so that
/// the trial meets the same limits. Does not create the store.
fn scratch_folder(store: &Path) -> Result<PathBuf, Failure> {
    if store.join("store.json").is_file() {
        let store = Store::open(store)?;
        assay_trial::clean_up(&store);
        return Ok(store.scratch()?);
    }
    let whole = std::path::absolute(store).map_err(|error| broken("find the store", &error))?;
    let above = whole.ancestors().skip(1).find(|folder| folder.is_dir());
    Ok(above.unwrap_or(Path::new("/")).to_path_buf())
}

/// Executes the scripted trial in a new folder below `scratch`, and checks its output.
fn examine(
    (harness, version): &Chosen,
    sandbox: Kind,
    placement: Option<Placement>,
    images: &BTreeMap<String, String>,
    scratch: &Path,
) -> Result<Finding, Failure> {
    let folder = tempfile::Builder::new().prefix(".assay-doctor-").tempdir_in(scratch);
    let folder =
        folder.map_err(|error| broken(&format!("create a folder in {}", scratch.display()), &error))?;
    let word = format!("lanternfish-{}", std::process::id());
    write_fixture(folder.path(), &word).map_err(|error| broken("write the trial", &error))?;
    let mut finding = Finding {
        agent: harness.name(),
        version: version.clone().unwrap_or(harness.package().version.to_owned()),
        sandbox: sandbox.name(),
        sees: false,
        checks: Vec::new(),
    };
    let store = machine::open_store_unsigned(&folder.path().join("store"))?;
    let docker = machine::docker_options(store.label(), &store.owner().mark());
    let sandboxes = machine::sandboxes_with(docker).of_store(&store);
    let here = machine::context(&sandboxes, None);
    let mut agent = AgentSpec::named(harness.name());
    agent.version.clone_from(version);
    agent.model = Some("scripted:turns.jsonl".to_owned());
    agent.timeout = Some(120.0);
    agent.placement = placement;
    let trial = SingleTrial {
        name: "doctor",
        directory: folder.path(),
        task: &folder.path().join("task"),
        agent,
        condition: ConditionRole::Curated.name(),
        library: vec!["skills/*".to_owned()],
        pairing: Pairing { curated: Some(vec![OFFERED.to_owned()]), ..Pairing::default() },
        sandbox: choice(sandbox, images),
    };
    let record = match run_single(&trial, &store, &here, &AtomicBool::new(false)) {
        Ok(record) => record,
        Err(SingleTrialError::Plan(PlanError::Agent { error, .. })) => {
            finding.checks.push(Check { what: "installed", passed: false, text: error.to_string() });
            return Ok(finding);
        }
        Err(error) => return Err(error.into()),
    };
    let output = TrialOutput::read(&store, record);
    store.clear_scratch();
    finding.checks = output.evaluate(*harness, placement, &word);
    finding.sees = finding.checks.iter().all(|check| check.passed);
    Ok(finding)
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
    fn evaluate(&self, harness: &dyn Harness, placement: Option<Placement>, word: &str) -> Vec<Check> {
        let mut checks = Vec::new();
        let mut record = |what: &'static str, passed: bool, good: String, bad: String| {
            checks.push(Check { what, passed, text: if passed { good } else { bad } });
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

/// Writes the task, the skills and the script of the trial.
fn write_fixture(folder: &Path, word: &str) -> std::io::Result<()> {
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
        &format!("skills/{OFFERED}/SKILL.md"),
        &skill(OFFERED, &format!("Today's codeword is {word}, and it is valid for this project only.")),
    )?;
    write(
        &format!("skills/{WITHHELD}/SKILL.md"),
        &skill(WITHHELD, "The gate is closed when the lamp above it is lit."),
    )?;
    let rules = [
        serde_json::json!({ "tools": false, "say": "A word" }),
        serde_json::json!({ "turn": 0, "seen": WITHHELD, "say": "Two skills.", "run": ["echo seen > withheld.txt"] }),
        serde_json::json!({ "turn": 0, "seen": OFFERED, "say": "There is a skill.", "skill": OFFERED }),
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

fn broken(action: &str, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot {action}: {error}"))
}
