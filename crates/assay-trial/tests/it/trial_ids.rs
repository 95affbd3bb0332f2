//! The trial ids of the examples, compared with a committed list: a refactoring must not change
//! them, because every recorded trial would then be executed again.
//!
//! `trial_ids.txt` has the ids at protocol `assay.trial/3`. After raising the protocol, or changing
//! an agent's version or the examples, write the fixture again.
//!
//! The ids of `assay.trial/2` differ in all lines: since `assay.trial/3` a trial has the declared
//! server of its model, and no label of its task.
//!
//! The ids of `assay.trial/2` differ from those of commit 8a3a32c: the protocol, which is part of
//! every id, was `assay.trial/1` there. Apart from the checks (oracle, no-op), the ids of that
//! commit cannot be reproduced by restoring its protocol: the loop's version was 1, before its
//! prompt stated its limits; in agents.toml the tasks' 60 s applied, which the experiment's 300 now
//! override; and Claude Code and OpenCode had older versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_agent::cli_agents::HARNESSES;
use assay_sandbox::Bubblewrap;
use assay_store::{Store, TrialId};
use assay_trial::{
    CliAgentContext, Experiment, MachineContext, Permissions, Plan, SandboxUnavailable, Sandboxes, TrialSpec,
};
use serde_json::json;

const EXAMPLES: [&str; 3] = ["quickstart/experiment.toml", "quickstart/every-condition.toml", "agents.toml"];

#[test]
fn trial_ids_of_examples_do_not_change() {
    let found = EXAMPLES.map(ids).concat();
    let expected = include_str!("trial_ids.txt");
    if found != expected {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trial_ids.txt");
        fs::write(&path, &found).unwrap();
        let differ =
            found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected).count();
        panic!("{differ} lines differ from trial_ids.txt; what was found is in {}", path.display());
    }
}

/// A line for each trial of an example: the experiment, the task, the agent, the condition, the
/// repetition and the id.
fn ids(example: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let store = Store::open(&folder.path().join("store")).unwrap();
    let sandboxes = Sandboxes::new(
        Ok(Arc::new(Bubblewrap::new(PathBuf::from("/nonexistent"), Vec::new()))),
        Err(SandboxUnavailable::NotOffered("no Docker in this test")),
    );
    let cli_agents = CliAgentContext {
        cache: install_all(folder.path()),
        forwarder: PathBuf::from("/nonexistent"),
        forwarder_args: Vec::new(),
        double_args: Vec::new(),
        replay: None,
    };
    let machine = MachineContext {
        env: &|_| None,
        sandboxes: &sandboxes,
        dry: true,
        permissions: Permissions::ALL,
        cli_agents: Some(cli_agents),
    };
    let plan = Plan::build(Experiment::load(&path).unwrap(), &store, &machine).unwrap();
    assert_eq!(plan.excluded, []);
    let name = &plan.experiment.name;
    let mut lines = Vec::new();
    for cell in &plan.cells {
        let agent = &plan.agents[cell.agent].label.name;
        let id = id_anywhere(&plan.trials[&cell.trial]);
        lines.push(format!("{name} {} {agent} {} {} {id}\n", cell.task, cell.condition, cell.repetition));
    }
    for check in &plan.checks {
        for (agent, trial) in [("oracle", check.oracle.as_ref().unwrap()), ("nop", &check.nop)] {
            lines.push(format!("{name} {} {agent} check 1 {}\n", check.task, id_anywhere(trial)));
        }
    }
    lines.sort();
    lines.concat()
}

/// The id of a trial with a fixed root of its sandbox, because the image differs between machines.
fn id_anywhere(trial: &TrialSpec) -> TrialId {
    assert_eq!(TrialId::of(&trial.specification), trial.id);
    let mut specification = trial.specification.clone();
    let base = specification.pointer_mut("/environment/base").unwrap();
    assert!(base["host"].is_string(), "{base}");
    *base = json!({ "host": "fixed" });
    TrialId::of(&specification)
}

/// A cache with a file in place of each agent's program.
fn install_all(folder: &Path) -> PathBuf {
    let cache = folder.join("cache");
    for &harness in HARNESSES {
        let program =
            cache.join("agents").join(harness.name()).join(harness.package().version).join(harness.program());
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(program, "").unwrap();
    }
    cache
}
