//! Shared by the tests of this crate: a small experiment on disk, and a fake sandbox.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use assay_agent::{Agent, AgentRun, Ended, Job, Nop};
use assay_sandbox::{
    Captured, Enforcement, Exec, ExecOutcome, Exit, Mechanism, Root, Sandbox, SandboxError, Session, Spec,
    Usage,
};
use assay_skill::Package;
use assay_store::Store;
use assay_task::Task;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::backend::BackendKind;
use crate::{
    Backend, Experiment, MachineContext, Permissions, Plan, PlanError, ResolvedTrial, SandboxUnavailable,
    Sandboxes, TrialSpec,
};

/// A skill's text, with enough distinctive lines to be recognized.
pub(crate) const SKILL: &str = "---\nname: one\ndescription: Writes ledgers in the house format.\n---\n# One\n\
    Amounts are written in minor units, without a decimal point.\n\
    Credits stand in parentheses, and never carry a minus sign.\n\
    The last line is a control total over all amounts of the file.\n";

const EXPERIMENT: &str = r#"schema = "assay.experiment/1"
name = "test"
suite = ["tasks/*"]
library = ["skills/*"]
conditions = ["none", "curated"]
repetitions = 2
seed = 1
margin = 0.10
sandbox = "none"
[[agents]]
name = "nop"
timeout = 300
"#;

/// A machine without bubblewrap and Docker, with a key for every provider.
pub(crate) fn on_machine<T>(work: impl FnOnce(&MachineContext<'_>) -> T) -> T {
    let env = |name: &str| name.ends_with("_KEY").then(|| "key".to_owned());
    let sandboxes = Sandboxes::new(
        Err(SandboxUnavailable::NotOffered("not in these tests")),
        Err(SandboxUnavailable::NotOffered("no Docker in these tests")),
    );
    work(&MachineContext {
        env: &env,
        sandboxes: &sandboxes,
        dry: false,
        permissions: Permissions::ALL,
        cli_agents: None,
    })
}

/// An experiment with the task `a` and the skill `one`, and a store.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) store: Store,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The store's work folder is inside the test's own folder.
        let store = Store::open(&folder.path().join("store")).unwrap();
        let store = store.work_in(Some(folder.path().join("work")));
        let fixture = Self { folder, store };
        fixture.write("experiment.toml", EXPERIMENT);
        fixture.write("skills/one/SKILL.md", SKILL);
        fixture.task("a");
        fixture
    }

    /// Adds a task whose instruction is its name.
    pub(crate) fn task(&self, name: &str) {
        let file = |file: &str, text: &str| self.write(&format!("tasks/{name}/{file}"), text);
        file("task.toml", "version = \"1.0\"\n[metadata]\nrequired_skills = [\"one\"]\n");
        file("instruction.md", name);
        file("environment/Dockerfile", "FROM host\nWORKDIR /app\nCOPY data /app/data\n");
        file("environment/data/in.txt", "1\n");
        file("tests/test.sh", "echo 1 > /logs/verifier/reward.txt\n");
        file("solution/solve.sh", "true\n");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text in a file, which must contain it.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(from), "{path} does not contain {from:?}");
        self.write(path, &text.replacen(from, to, 1));
    }

    /// The same in the experiment.
    pub(crate) fn experiment(&self, from: &str, to: &str) {
        self.edit("experiment.toml", from, to);
    }

    pub(crate) fn try_plan(&self) -> Result<Plan, PlanError> {
        let experiment = Experiment::load(&self.path("experiment.toml")).unwrap();
        on_machine(|machine| Plan::build(experiment, &self.store, machine))
    }

    /// A trial's live objects.
    pub(crate) fn resolve(&self, plan: &Plan, spec: &TrialSpec) -> ResolvedTrial {
        on_machine(|machine| plan.resolver(&self.store, machine).resolve(spec)).unwrap()
    }

    pub(crate) fn plan(&self) -> Plan {
        self.try_plan().unwrap()
    }

    pub(crate) fn load_task(&self, name: &str) -> Task {
        Task::load(&self.path(&format!("tasks/{name}"))).unwrap()
    }

    pub(crate) fn load_skill(&self, name: &str) -> Package {
        Package::load(&self.path(&format!("skills/{name}"))).package.unwrap()
    }
}

/// An action of the fake sandbox.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// The command ends, and leaves these files for the verifier.
    LeaveFiles(&'static [(&'static str, &'static str)]),
    /// The command ends so.
    End(Exit),
    /// The sandbox does not start.
    Fail,
}

/// A reward and no other file.
pub(crate) const PASS: Act = Act::LeaveFiles(&[("reward.txt", "1")]);
pub(crate) const MISS: Act = Act::LeaveFiles(&[("reward.txt", "0")]);

/// A sandbox whose verifiers do what a function returns for the trial's short id and the number of
/// calls so far.
pub(crate) struct Fake<F> {
    act: F,
    asked: AtomicUsize,
}

impl<F: Fn(&str, usize) -> Act + Send + Sync + 'static> Fake<F> {
    pub(crate) fn backend(act: F) -> Arc<Backend> {
        let sandbox = Arc::new(Self { act, asked: AtomicUsize::new(0) });
        // An empty root: searching the host's for stray skills takes a while.
        let root = Root::Dir("/nonexistent".into());
        Arc::new(Backend { inner: BackendKind::Folders { sandbox, root }, base: json!("fake") })
    }
}

impl<F: Fn(&str, usize) -> Act + Send + Sync> Sandbox for Fake<F> {
    fn kind(&self) -> &'static str {
        "fake"
    }

    fn start(&self, spec: &Spec) -> Result<Box<dyn Session>, SandboxError> {
        let Some(id) = spec.label.strip_suffix("-verifier") else {
            return Ok(Box::new(FakeSession { act: MISS, rewards: None }));
        };
        match (self.act)(id, self.asked.fetch_add(1, Ordering::SeqCst)) {
            Act::Fail => Err(SandboxError::Start("the fake sandbox does not start".to_owned())),
            act => {
                let mount = spec.mounts.iter().find(|mount| mount.target == Path::new("/logs/verifier"));
                Ok(Box::new(FakeSession { act, rewards: mount.map(|mount| mount.source.clone()) }))
            }
        }
    }
}

struct FakeSession {
    act: Act,
    rewards: Option<PathBuf>,
}

impl Session for FakeSession {
    fn exec(&mut self, _command: &Exec, _cancel: &AtomicBool) -> Result<ExecOutcome, SandboxError> {
        let mut exit = Exit::Code(0);
        match (&self.act, &self.rewards) {
            (Act::LeaveFiles(files), Some(folder)) => {
                for (name, text) in *files {
                    fs::write(folder.join(name), text).unwrap();
                }
            }
            (Act::End(other), _) => exit = *other,
            _ => {}
        }
        let output = Captured { head: b"all is well\n\n".to_vec(), tail: Vec::new(), total: 13 };
        Ok(ExecOutcome { exit, stdout: output, stderr: Captured::default(), wall: Duration::ZERO })
    }

    fn path(&self, target: &Path) -> PathBuf {
        target.to_owned()
    }

    fn enforcement(&self) -> &Enforcement {
        const NOTHING: Enforcement = Enforcement {
            cpus: Mechanism::Nothing,
            memory: Mechanism::Nothing,
            pids: Mechanism::Nothing,
            storage: Mechanism::Nothing,
        };
        &NOTHING
    }

    fn stop(self: Box<Self>) -> Result<Usage, SandboxError> {
        Ok(Usage::default())
    }
}

/// An agent that ends as a function decides.
pub(crate) struct EndingAgent<F>(pub(crate) F);

impl<F: Fn(&Job<'_>) -> Ended + Send + Sync> Agent for EndingAgent<F> {
    fn name(&self) -> &'static str {
        "ends"
    }

    fn version(&self) -> String {
        "1".to_owned()
    }

    fn identity(&self) -> Value {
        Value::Null
    }

    fn run(&self, job: &Job<'_>, session: &mut dyn Session) -> AgentRun {
        AgentRun { ended: (self.0)(job), ..Nop.run(job, session) }
    }
}
