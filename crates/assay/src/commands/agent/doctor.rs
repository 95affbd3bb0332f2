//! `assay agent doctor`: whether agents see skills here, before a run costs anything.
//!
//! Each agent runs one scripted trial in the sandbox that runs use. One skill must be advertised to
//! it and must open, another must stay hidden, a codeword in the body of the first must reach the
//! model, and a command must write a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_agent::cli_agents::Installation;
use assay_store::{Selection, Store};
use assay_trace::Placement;
use assay_trial::{AgentCheck, AgentCheckError, Plan, SandboxChoice, SandboxKind, run_agent_check};
use serde::Serialize;

use super::chosen::{Chosen, chosen, find};
use crate::args::agent::{DoctorArgs, Kind};
use crate::config::Settings;
use crate::failure::{Failure, Status};
use crate::machine;
use crate::ui::Ui;

/// The checks of one agent, in the order of execution.
#[derive(Serialize)]
struct Finding {
    agent: &'static str,
    version: String,
    sandbox: &'static str,
    /// Whether all checks passed.
    sees: bool,
    checks: Vec<AgentCheck>,
}

pub(super) fn run(args: &DoctorArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let cache = machine::cache()?;
    let scratch = scratch_folder(&settings.store)?;
    let images = BTreeMap::from([("*".to_owned(), "base:bookworm".to_owned())]);
    let mut findings = Vec::new();
    for chosen in chosen(&args.agents, args.agents.is_empty())? {
        let harness = chosen.0;
        if args.agents.is_empty() && Installation::find(&cache, harness, None).is_none() {
            ui.note(&format!(
                "{} is not installed (hint: run `assay agent install {}`)",
                harness.name(),
                harness.name()
            ));
            continue;
        }
        let finding = examine(&chosen, args.sandbox, args.placement.map(Into::into), &images, &scratch)?;
        if !ui.json() {
            ui.out(&render(&finding))?;
        }
        findings.push(finding);
    }
    if ui.json() {
        ui.document(&serde_json::json!({ "schema": "assay.agent-doctor/2", "agents": findings }))?;
    }
    Ok(if findings.iter().all(|finding| finding.sees) { Status::Done } else { Status::DidNotHold })
}

fn render(finding: &Finding) -> String {
    let lines: String = finding.checks.iter().map(AgentCheck::to_line).collect();
    format!("{} {} in {}\n{lines}", finding.agent, finding.version, finding.sandbox)
}

/// Tests the agents whose trials a run is about to execute. An agent that sees no skills would make
/// every verdict on skills `negligible`.
pub(crate) fn check_planned_agents(
    plan: &Plan,
    only: &Selection,
    store: &Store,
    ui: &Ui,
) -> Result<(), Failure> {
    let scratch = store.scratch()?;
    for (name, version, sandbox, placement) in plan.awaited_agents(only, store) {
        let name = version.map_or(name.to_owned(), |version| format!("{name}@{version}"));
        let kind = if sandbox == "docker" { Kind::Docker } else { Kind::Bubblewrap };
        let images = &plan.experiment.sandbox.images;
        let finding = match examine(&find(&name)?, kind, placement, images, &scratch) {
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
    let (choice, version) = (choice(sandbox, images), version.as_deref());
    finding.checks = match run_agent_check(folder.path(), *harness, version, placement, choice, &store, &here)
    {
        Ok(checks) => checks,
        Err(AgentCheckError::Trial(error)) => return Err(error.into()),
        Err(error) => return Err(Failure::infrastructure(error.to_string())),
    };
    finding.sees = finding.checks.iter().all(|check| check.passed);
    Ok(finding)
}

fn broken(action: &str, error: &std::io::Error) -> Failure {
    Failure::infrastructure(format!("cannot {action}: {error}"))
}
