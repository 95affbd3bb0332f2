//! A model whose replies are a function of its requests, and a host whose checks are a rule.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::{fs, io};

use assay_ask::{AskCaps, CostCap, ModelHandle};
use assay_diagnostic::Severity;
use assay_draft::author::DraftAuthor;
use assay_draft::host::{CheckedTask, DraftHost, GradedChecks};
use assay_draft::{DraftEvent, ErrorCause};
use assay_model::{Call, ChatModel, ChatReply, ChatRequest, Message, ModelError, Price, Stop};
use assay_sandbox::Sandbox;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use assay_trial::{MachineContext, Permissions, SandboxUnavailable, Sandboxes};
use serde_json::Value;
use tempfile::TempDir;

/// A reply to the text of a request.
type Reply = dyn Fn(&str) -> Result<String, ModelError> + Send + Sync;

/// A model, with the texts that it was sent.
#[derive(Clone)]
pub(crate) struct Model {
    name: String,
    reply: Arc<Reply>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Model {
    pub(crate) fn new(
        name: &str,
        reply: impl Fn(&str) -> Result<String, ModelError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), reply: Arc::new(reply), requests: Arc::default() }
    }

    pub(crate) fn handle(&self) -> ModelHandle {
        ModelHandle::of_model(Arc::new(self.clone()))
    }

    /// The texts that it was sent.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl ChatModel for Model {
    fn id(&self) -> &str {
        &self.name
    }

    fn chat(&self, request: &ChatRequest, _: &Call<'_>) -> Result<ChatReply, ModelError> {
        let users = request.messages.iter().filter_map(|message| match message {
            Message::User { text } => Some(text.clone()),
            _ => None,
        });
        let text = users.collect::<Vec<_>>().first().cloned().unwrap_or_default();
        self.requests.lock().unwrap().push(text.clone());
        Ok(ChatReply {
            text: (self.reply)(&text)?,
            tool_calls: Vec::new(),
            reasoning: None,
            stop: Stop::End,
            usage: None,
            raw_usage: Value::Null,
            raw: Value::Null,
            model: None,
            retries: Vec::new(),
        })
    }
}

/// A cap that caps nothing.
pub(crate) fn no_cap() -> CostCap {
    CostCap::new(None, AskCaps::default())
}

pub(crate) fn running() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// The model as the author of a draft.
pub(crate) fn author(model: &Model, replies: PathBuf) -> DraftAuthor {
    DraftAuthor::new(model.handle(), replies, no_cap(), running())
}

/// A folder with skills.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Writes a skill into a folder of its name. Returns the folder.
    pub(crate) fn skill(&self, below: &str, name: &str, body: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: Works with {name}.\n---\n\n{body}\n");
        let folder = format!("{below}/{name}");
        self.write(&format!("{folder}/SKILL.md"), &text);
        self.path(&folder)
    }
}

/// A host whose oracle fails for solutions with the word `wrong`.
#[derive(Default)]
pub(crate) struct Host {
    /// Why nothing can be executed, if so.
    pub(crate) unchecked: Option<String>,
    /// Names of the tasks that were checked.
    pub(crate) checked: Vec<String>,
    /// How many solutions were graded.
    pub(crate) graded: usize,
    pub(crate) finished: usize,
}

/// Runs the solution of a task and its tests in a folder of this machine.
pub(crate) fn grade_in_folder(task: &Path) -> io::Result<GradedChecks> {
    let root = tempfile::tempdir()?;
    let copy = |from: &str, to: &str| {
        let (from, to) = (task.join(from), root.path().join(to));
        if !from.is_dir() {
            return fs::create_dir_all(to);
        }
        assay_fs::copy_tree(&from, &to, &assay_fs::Caps::default()).map(|_| ()).map_err(io::Error::other)
    };
    copy("environment/files", "app")?;
    copy("tests", "tests")?;
    copy("solution", "solution")?;
    let run = |script: &str| {
        let script = root.path().join(script);
        std::process::Command::new("bash").arg(script).current_dir(root.path().join("app")).output()
    };
    let (solved, tested) = (run("solution/solve.sh")?, run("tests/test.sh")?);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let output = format!("{}{}{}", text(&solved.stderr), text(&tested.stdout), text(&tested.stderr));
    let report = fs::read(root.path().join("logs/verifier/ctrf.json")).unwrap_or_default();
    let report: Value = serde_json::from_slice(&report).unwrap_or_default();
    let tests = report["results"]["tests"].as_array().cloned().unwrap_or_default();
    let passed =
        tests.iter().filter_map(|test| Some((test["name"].as_str()?.to_owned(), test["status"] == "passed")));
    Ok(GradedChecks { passed: passed.collect(), output, unchecked: None })
}

impl DraftHost for Host {
    fn check_task(&mut self, task: &Task, findings: &mut Vec<Finding>) -> Result<CheckedTask, ErrorCause> {
        self.checked.push(task.name.clone());
        let solution = task.root.join("solution/solve.sh");
        if fs::read_to_string(&solution)?.contains("wrong") {
            let message = "the oracle does not pass".to_owned();
            findings.push(Finding::new(Severity::Error, "oracle-fails", &solution, message, "fix it"));
        }
        Ok(CheckedTask { output: "north 0".to_owned(), unchecked: self.unchecked.clone() })
    }

    fn grade_solution(&mut self, task: &Task) -> Result<GradedChecks, ErrorCause> {
        self.graded += 1;
        grade_in_folder(&task.root).map_err(Into::into)
    }

    fn finish_checks(&mut self) {
        self.finished += 1;
    }

    fn open_sandbox(&self) -> Result<Arc<dyn Sandbox>, ErrorCause> {
        Err(io::Error::other("no sandbox in these tests").into())
    }

    fn open_sandboxes(&self) -> Result<Sandboxes, ErrorCause> {
        let none = || SandboxUnavailable::NotOffered("not in these tests");
        Ok(Sandboxes::new(Err(none()), Err(none())))
    }

    fn machine_context<'a>(&'a self, sandboxes: &'a Sandboxes) -> MachineContext<'a> {
        let permissions = Permissions::ALL;
        MachineContext { env: &|_| None, sandboxes, dry: false, permissions, cli_agents: None }
    }

    fn memory_bytes(&self) -> Option<u64> {
        Some(8 << 30)
    }

    fn is_paid(&self, model: &str, _: Option<&str>, _: Option<Price>) -> bool {
        !model.starts_with("scripted:")
    }

    fn write_reviews(&mut self, tasks: &[PathBuf], _: &[Package], folder: &Path) -> Result<(), ErrorCause> {
        fs::create_dir_all(folder)?;
        for task in tasks {
            fs::write(folder.join(task.file_name().unwrap()).with_extension("md"), "review")?;
        }
        Ok(())
    }
}

/// Remembers events as they are debugged.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl assay_draft::DraftEvents for Heard {
    fn handle_event(&self, event: &DraftEvent<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}
