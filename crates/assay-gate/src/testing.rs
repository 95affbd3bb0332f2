//! A repository with a skill and its tasks, and a program around a gate that executes nothing.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_store::{Cell, Claim, Outcome, Record, RecordKey, RecordKeys, RunFolder, Store, TrialId};
use assay_trial::{CliAgentContext, Experiment, Plan, SandboxUnavailable, Sandboxes};
use tempfile::TempDir;

use crate::document::GateDocument;
use crate::gate::Gate;
use crate::gate_error::GateError;
use crate::host::{GateEvent, GateHost, HostError};
use crate::measure::GateTrials;
use crate::request::GateRequest;
use crate::scope::Scope;

/// The number of tasks of the skill.
pub(crate) const TASKS: usize = 6;

pub(crate) const POLICY: &str = "schema = \"assay.gate-policy/1\"\nallow_unsandboxed = true\n[[rules]]\n\
    skills = [\"skills/*\"]\nexperiment = \"experiment.toml\"\nrequire = \"helps\"\n";

/// Runs Git.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    let output = Command::new("git").arg("-C").arg(folder).args(identity).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A skill's document.
pub(crate) fn skill(name: &str, body: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Ends {name} with the agreed word. Use it for every one of the {name}.\n---\n\n# Word\n\n{body}\n"
    )
}

/// A repository whose first commit, with the tag `base`, has the skill `reports` with its tasks.
pub(crate) struct GateRepository {
    folder: TempDir,
}

impl GateRepository {
    /// With a policy, and lines for the agent of the experiment.
    pub(crate) fn new(policy: &str, agent: &str) -> Self {
        let here = Self { folder: tempfile::tempdir().unwrap() };
        here.write("repository/gate.toml", policy);
        here.write("repository/skills/reports/SKILL.md", &skill("reports", "The word is `right`."));
        let mut pairs = String::new();
        for number in 1..=TASKS {
            let task = format!("repository/tasks/reports-{number}");
            here.write(&format!("{task}/task.toml"), "version = \"1.0\"\n");
            let instruction = format!("End report {number} of the reports with the agreed word.\n");
            here.write(&format!("{task}/instruction.md"), &instruction);
            here.write(&format!("{task}/environment/Dockerfile"), "FROM debian:12-slim\nWORKDIR /app\n");
            here.write(&format!("{task}/tests/test.sh"), "#!/bin/bash\ngrep right /app/answer.txt\n");
            here.write(&format!("{task}/solution/solve.sh"), "#!/bin/bash\necho right > /app/answer.txt\n");
            pairs.push_str(&format!("[tasks.reports-{number}]\ncurated = [\"reports\"]\n"));
        }
        here.write("repository/turns.jsonl", "{\"say\":\"Done.\"}\n");
        here.write(
            "repository/experiment.toml",
            &format!(
                "schema = \"assay.experiment/1\"\nname = \"lab\"\nsuite = [\"tasks/*\"]\nlibrary = [\"skills/*\"]\n\
                 conditions = [\"none\", \"curated\"]\nrepetitions = 3\nsandbox = \"none\"\n[[agents]]\nname = \"loop\"\n{agent}\n{pairs}"
            ),
        );
        git(&here.top(), &["init", "--quiet", "--initial-branch=main"]);
        here.commit("base");
        git(&here.top(), &["tag", "base"]);
        here
    }

    /// With an agent whose model is a script.
    pub(crate) fn scripted(policy: &str) -> Self {
        Self::new(policy, "model = \"scripted:turns.jsonl\"")
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a skill of the working tree.
    pub(crate) fn write_skill(&self, name: &str, body: &str) {
        self.write(&format!("repository/skills/{name}/SKILL.md"), &skill(name, body));
    }

    pub(crate) fn commit(&self, message: &str) {
        git(&self.top(), &["add", "--all"]);
        git(&self.top(), &["commit", "--quiet", "--message", message]);
    }

    /// A gate of the working tree against the first commit.
    pub(crate) fn request(&self) -> GateRequest {
        GateRequest {
            policy: self.top().join("gate.toml"),
            changed_since: Some("base".to_owned()),
            ..GateRequest::default()
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn host(&self) -> FakeHost {
        FakeHost::new(self.folder.path())
    }

    /// Calls a function with a gate.
    pub(crate) fn with_gate<T>(
        &self,
        request: &GateRequest,
        host: &FakeHost,
        events: &dyn Fn(&GateEvent<'_>),
        call: impl FnOnce(&Gate<'_>) -> T,
    ) -> T {
        let store = self.store();
        let scope = Scope::find(request, &store).unwrap();
        call(&Gate { request, scope: &scope, store: &store, host, events: &events })
    }

    /// What a gate decides.
    pub(crate) fn decide(
        &self,
        request: &GateRequest,
        host: &FakeHost,
        events: &dyn Fn(&GateEvent<'_>),
    ) -> Result<GateDocument, GateError> {
        let store = self.store();
        let scope = Scope::find(request, &store)?;
        Gate { request, scope: &scope, store: &store, host, events: &events }.decide()
    }
}

/// Environment variables.
type Variables = Box<dyn Fn(&str) -> Option<String> + Sync>;

/// A program with a key and a store, whose agents work and whose tasks pass their checks.
pub(crate) struct FakeHost {
    folder: PathBuf,
    env: Variables,
    has_key: bool,
    /// Why the agents fail.
    agents: Option<&'static str>,
    cancel: Arc<AtomicBool>,
    /// The tasks that were checked.
    pub(crate) checked: RefCell<Vec<PathBuf>>,
}

impl FakeHost {
    fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            env: Box::new(|_| None),
            has_key: true,
            agents: None,
            cancel: Arc::new(AtomicBool::new(false)),
            checked: RefCell::default(),
        }
    }

    /// Whose agents fail for a reason.
    pub(crate) fn with_broken_agents(self, reason: &'static str) -> Self {
        Self { agents: Some(reason), ..self }
    }

    /// That is interrupted before the first trial.
    pub(crate) fn interrupted(self) -> Self {
        Self { cancel: Arc::new(AtomicBool::new(true)), ..self }
    }

    /// That cannot sign what it records.
    pub(crate) fn without_key(self) -> Self {
        Self { has_key: false, ..self }
    }

    /// With environment variables.
    pub(crate) fn with_env(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Self { env: Box::new(env), ..self }
    }
}

impl GateHost for FakeHost {
    fn env(&self) -> &(dyn Fn(&str) -> Option<String> + Sync) {
        &*self.env
    }

    fn state_folder(&self) -> Option<PathBuf> {
        Some(self.folder.join("state"))
    }

    fn load_keys(&self) -> Result<RecordKeys, HostError> {
        Ok(RecordKeys::signing(vec![RecordKey::parse(&"1".repeat(64)).unwrap()]))
    }

    fn has_given_key(&self) -> Result<bool, HostError> {
        Ok(self.has_key)
    }

    fn explain_unsigned(&self) -> Option<String> {
        (!self.has_key).then(|| "there is no key".to_owned())
    }

    fn fill_prices(&self, _: &mut Experiment) -> Result<(), HostError> {
        Ok(())
    }

    fn open_store(&self, path: &Path) -> Result<Store, HostError> {
        let store = Store::open(path).map_err(|error| HostError::new(error.to_string()))?;
        Ok(store.with_keys(self.load_keys()?))
    }

    fn remove_stale_containers(&self, _: &Store) {}

    fn watch_signals(&self) -> Result<Arc<AtomicBool>, HostError> {
        Ok(self.cancel.clone())
    }

    fn open_sandboxes(&self) -> Result<Sandboxes, HostError> {
        let none = || SandboxUnavailable::NotOffered("no trial is executed");
        Ok(Sandboxes::new(Err(none()), Err(none())))
    }

    fn cli_agents(&self) -> Option<CliAgentContext> {
        None
    }

    fn check_agents(&self, _: &Plan, _: &Store) -> Result<(), HostError> {
        self.agents.map_or(Ok(()), |reason| Err(HostError::new(reason)))
    }

    fn check_tasks(
        &self,
        folders: &[PathBuf],
        _: Option<&Experiment>,
        _: &Path,
    ) -> Result<Vec<String>, HostError> {
        self.checked.borrow_mut().extend_from_slice(folders);
        Ok(vec![format!("task check: {} tasks", folders.len())])
    }
}

/// Records the trials of the first round of a skill as if they had been executed.
pub(crate) fn record_skill(gate: &Gate<'_>, skill: &str, outcome: impl Fn(&Cell) -> Outcome) {
    let policy = gate.scope.policy.as_ref().unwrap();
    let all = gate.find_skills(policy);
    let gated = all.iter().find(|gated| gated.row.skill == skill).unwrap();
    let store = gate.open_trials(gate.store).unwrap();
    let sandboxes = gate.host.open_sandboxes().unwrap();
    let trials = GateTrials {
        request: gate.request,
        host: gate.host,
        events: gate.events,
        store: &store,
        looks: None,
        machine: &gate.machine_context(policy, &sandboxes),
        cancel: &AtomicBool::new(true),
        reuse: policy.reuse,
        on_undecided: policy.on_undecided,
        budget: None,
        policy_hash: "",
    };
    let terms = &gate.scope.terms.skills[skill];
    let planned = trials.prepare(0, (skill, terms), gate.find_versions(policy, gated, None)).unwrap();
    record_trials(&planned.plan, &planned.plan.run_folder(), &store, outcome);
}

/// Records the trials of a plan and of its checks as if they had been executed.
fn record_trials(plan: &Plan, folder: &RunFolder, store: &Store, outcome: impl Fn(&Cell) -> Outcome) {
    let agent = &plan.agents[0].label;
    let write = |id: &TrialId, record: Record| {
        let Claim::Mine(lease) = store.claim(id).unwrap() else { panic!("the lease is free") };
        let started_at = Some("2026-01-01T00:00:00Z".to_owned());
        let reward = Some(if record.outcome == Outcome::Passed { 1.0 } else { 0.0 });
        let record = Record { exposure: Some(Vec::new()), turns: Some(1), started_at, reward, ..record };
        store.finish(&record, &lease).unwrap();
    };
    for check in &plan.checks {
        let oracles = check.oracle.iter().map(|trial| (&trial.id, Outcome::Passed));
        for (id, outcome) in oracles.chain([(&check.nop.id, Outcome::Failed)]) {
            write(id, Record::new(id.clone(), check.task.clone(), agent.clone(), outcome));
        }
    }
    for cell in &folder.cells {
        let record = Record::new(cell.trial.clone(), cell.task.clone(), agent.clone(), outcome(cell));
        write(
            &cell.trial,
            Record {
                sandbox: cell.sandbox.clone(),
                condition: cell.condition.clone(),
                repetition: cell.repetition,
                ..record
            },
        );
    }
}
