//! `assay agent doctor`: whether agents see skills here, before a run costs anything.
//!
//! One scripted trial an agent, in the sandbox that runs use: a skill that it must be told of and must be able to open, another
//! that it must not see, a word that only the first one's body holds, and a command that must leave a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_agent::cli_agents::{Harness, Installation};
use assay_gateway::Ledger;
use assay_store::{Outcome, Record, Selection, Store};
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
const OFFERED: &str = "word-of-the-house";

/// The skill that is not.
const WITHHELD: &str = "gate-of-the-yard";

/// What was looked at, in this order.
#[derive(Serialize)]
struct Finding {
    agent: &'static str,
    version: String,
    sandbox: &'static str,
    /// Whether it can be measured with.
    sees: bool,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    what: &'static str,
    holds: bool,
    text: String,
}

pub(super) fn run(args: &DoctorArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    let place = place_beside(&settings.store)?;
    let mut findings = Vec::new();
    for chosen in super::chosen(&args.agents, args.agents.is_empty())? {
        let make = chosen.0;
        if args.agents.is_empty() && Installation::find(&cache, make, None).is_none() {
            ui.note(&format!("{} is not installed: `assay agent install {}`", make.name(), make.name()));
            continue;
        }
        let finding = examine(&chosen, args.sandbox, args.placement.map(Into::into), &base(), &place)?;
        if !ui.json() {
            ui.out(&lay_out(&finding))?;
        }
        findings.push(finding);
    }
    let all = findings.iter().all(|finding| finding.sees);
    if ui.json() {
        ui.document(&serde_json::json!({ "schema": "assay.agent-doctor/1", "agents": findings }))?;
    }
    Ok(if all { Status::Done } else { Status::DidNotHold })
}

fn lay_out(finding: &Finding) -> String {
    let mut text = format!("{} {} in {}\n", finding.agent, finding.version, finding.sandbox);
    for check in &finding.checks {
        let mark = if check.holds { "ok" } else { "--" };
        text.push_str(&format!("  {mark}  {:12}{}\n", check.what, assay_report::clean(&check.text)));
    }
    text
}

/// Looks at the agents whose trials a run is about to execute. One that sees no skill would make every verdict on skills
/// `negligible`.
pub(crate) fn before(plan: &Plan, only: &Selection, store: &Store, ui: &Ui) -> Result<(), Failure> {
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
    let place = store.scratch()?;
    for (name, version, sandbox, placement) in wanted {
        let name = version.map_or(name.to_owned(), |version| format!("{name}@{version}"));
        let kind = if sandbox == "docker" { Kind::Docker } else { Kind::Bubblewrap };
        let images = &plan.experiment.sandbox.images;
        let finding = match examine(&super::find(&name)?, kind, placement, images, &place) {
            Ok(finding) => finding,
            Err(failure) => {
                ui.note(&format!("{name} was not looked at in {sandbox}: {failure}"));
                continue;
            }
        };
        if let Some(failed) = finding.checks.iter().find(|check| !check.holds) {
            let message = format!("{name} cannot be measured with in {sandbox}: {}", failed.text);
            return Err(Failure::infrastructure(message).hint(format!(
                "`assay agent doctor {name}` tells more; `--no-checks` runs it all the same"
            )));
        }
    }
    Ok(())
}

/// What stands for every image where nobody says otherwise.
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

/// A folder in which a trial meets what one of this store meets: the same file system and, where the store exists, a path at least as long. The
/// store is not created.
fn place_beside(store: &Path) -> Result<PathBuf, Failure> {
    if store.join("store.json").is_file() {
        let store = Store::open(store)?;
        assay_trial::clean_up(&store);
        return Ok(store.scratch()?);
    }
    let whole = std::path::absolute(store).map_err(|error| broken("find the store", &error))?;
    let above = whole.ancestors().skip(1).find(|folder| folder.is_dir());
    Ok(above.unwrap_or(Path::new("/")).to_path_buf())
}

/// Runs the trial in a folder of its own below `place`, and looks at what it left.
fn examine(
    (make, version): &Chosen,
    sandbox: Kind,
    placement: Option<Placement>,
    images: &BTreeMap<String, String>,
    place: &Path,
) -> Result<Finding, Failure> {
    let folder = tempfile::Builder::new().prefix(".assay-doctor-").tempdir_in(place);
    let folder =
        folder.map_err(|error| broken(&format!("create a folder in {}", place.display()), &error))?;
    let word = format!("lanternfish-{}", std::process::id());
    lay_down(folder.path(), &word).map_err(|error| broken("write the trial", &error))?;
    let mut finding = Finding {
        agent: make.name(),
        version: version.clone().unwrap_or(make.package().version.to_owned()),
        sandbox: sandbox.name(),
        sees: false,
        checks: Vec::new(),
    };
    let store = machine::open_store(&folder.path().join("store"))?;
    let docker = machine::docker_options(store.label(), &store.owner().mark());
    let sandboxes = machine::sandboxes_with(docker).of_store(&store);
    let here = machine::context(&sandboxes, None);
    let mut agent = AgentSpec::named(make.name());
    agent.version.clone_from(version);
    agent.model = Some("scripted:turns.jsonl".to_owned());
    agent.timeout = Some(120.0);
    agent.placement = placement;
    let trial = SingleTrial {
        name: "doctor",
        directory: folder.path(),
        task: &folder.path().join("task"),
        agent,
        condition: "curated",
        library: vec!["skills/*".to_owned()],
        pairing: Pairing { curated: Some(vec![OFFERED.to_owned()]), ..Pairing::default() },
        sandbox: choice(sandbox, images),
    };
    let record = match run_single(&trial, &store, &here, &AtomicBool::new(false)) {
        Ok(record) => record,
        Err(SingleTrialError::Plan(PlanError::Agent { error, .. })) => {
            finding.checks.push(Check { what: "installed", holds: false, text: error.to_string() });
            return Ok(finding);
        }
        Err(error) => return Err(error.into()),
    };
    let left = Left::read(&store, record);
    store.clear_scratch();
    finding.checks = left.judge(*make, placement, &word);
    finding.sees = finding.checks.iter().all(|check| check.holds);
    Ok(finding)
}

/// What the trial left.
struct Left {
    record: Record,
    ledger: Option<Ledger>,
    trajectory: Option<Trajectory>,
    diff: String,
    said: String,
}

impl Left {
    fn read(store: &Store, record: Record) -> Self {
        let folder = store.trial_folder(&record.trial).join("attempts").join(record.attempt.to_string());
        let text = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
        Self {
            ledger: serde_json::from_slice(&text("gateway.json")).ok(),
            trajectory: serde_json::from_slice(&text("trajectory.json")).ok(),
            diff: String::from_utf8_lossy(&text("workspace.diff")).into_owned(),
            said: String::from_utf8_lossy(&text("agent/stderr.txt")).into_owned(),
            record,
        }
    }

    /// In the order in which one thing needs the other; what follows a failure is not looked at.
    fn judge(&self, make: &dyn Harness, placement: Option<Placement>, word: &str) -> Vec<Check> {
        let mut checks = Vec::new();
        let mut holds = |what: &'static str, holds: bool, good: String, bad: String| {
            checks.push(Check { what, holds, text: if holds { good } else { bad } });
            holds
        };
        let empty = Vec::new();
        let exchanges = self.ledger.as_ref().map_or(&empty, |ledger| &ledger.exchanges);
        let refused = self.ledger.as_ref().and_then(|ledger| ledger.refused.first());
        let last = self.said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let why = match (refused, &self.record.reason) {
            (Some(refused), _) => {
                format!("the gateway turned it away with status {}: {}", refused.status, refused.reason)
            }
            (None, Some(reason)) => reason.clone(),
            (None, None) => format!("it said on standard error: {last}"),
        };
        let reached = !exchanges.is_empty();
        if !holds(
            "model",
            reached,
            format!("{} requests", exchanges.len()),
            format!("it asked no model; {why}"),
        ) {
            return checks;
        }
        let ended = self.record.outcome != Outcome::Infrastructure;
        if !holds("end", ended, "it came to an end by itself".to_owned(), why) {
            return checks;
        }
        let seen = self.record.exposure.first();
        let told = seen.is_some_and(|seen| seen.advertised.is_some());
        let elsewhere = match make.skills_dir().filter(|_| placement != Some(Placement::System)) {
            Some(folder) => format!(
                "it was not told of the skill in {folder}: it looks elsewhere (another home or folder), or its skills are switched off"
            ),
            None => "what was to stand in its system's text does not reach the model".to_owned(),
        };
        if !holds("listed", told, "it is told of a skill that is there".to_owned(), elsewhere) {
            return checks;
        }
        let opened = seen.is_some_and(|seen| seen.opened.is_some()) && self.diff.contains(word);
        let shut =
            "the skill is listed, and its body does not reach the model (OpenCode needs ripgrep for that)";
        if !holds("opened", opened, "the skill's body reaches the model".to_owned(), shut.to_owned()) {
            return checks;
        }
        let alone = !self.diff.contains("withheld.txt");
        let stray = "it is told of a skill that was not provided".to_owned();
        holds("alone", alone, "it is told of no skill that was not provided".to_owned(), stray);
        let wrote = self.record.outcome == Outcome::Passed;
        let lost = "what its tool writes does not arrive in the work folder".to_owned();
        holds("tools", wrote, "what its tool writes arrives in the work folder".to_owned(), lost);
        let steps = self.trajectory.as_ref().map_or(0, |trajectory| {
            trajectory
                .steps
                .iter()
                .filter(|step| step.source == Source::Agent && !step.tool_calls.is_empty())
                .count()
        });
        let silent = format!(
            "its output tells of no step: it is swallowed, or not of the format {}",
            make.transcript()
        );
        holds("transcript", steps > 0, format!("{steps} steps with calls of tools"), silent);
        checks
    }
}

/// Writes task, skills and script.
fn lay_down(folder: &Path, word: &str) -> std::io::Result<()> {
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
    write("task/instruction.md", "Write the word of today into the file word.txt.\n")?;
    write("task/environment/Dockerfile", "FROM debian:bookworm-slim\nWORKDIR /app\n")?;
    write(
        "task/tests/test.sh",
        &format!("{TESTS}grep -q {word} /app/word.txt && echo 1 > /logs/verifier/reward.txt\nexit 0\n"),
    )?;
    write(
        &format!("skills/{OFFERED}/SKILL.md"),
        &skill(OFFERED, &format!("The word is {word}, today and in this house only.")),
    )?;
    write(
        &format!("skills/{WITHHELD}/SKILL.md"),
        &skill(WITHHELD, "The gate is shut when the lamp is lit above it."),
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

/// Before anything can go wrong there is a reward.
const TESTS: &str = "echo 0 > /logs/verifier/reward.txt\n";

/// A skill with enough telling lines to see whether its body was delivered.
fn skill(name: &str, line: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Tells about the {}. Use it whenever a word of today is asked for.\n---\n\n# {name}\n\n{line}\n\n\
         Everybody who comes to this place asks for it first.\nIt changes with the day, and nobody outside can know it.\n\
         Write it exactly as it stands here, in small letters.\nAdd nothing before it and nothing after it in the file.\n",
        name.replace('-', " ")
    )
}

fn broken(action: &str, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot {action}: {error}"))
}
