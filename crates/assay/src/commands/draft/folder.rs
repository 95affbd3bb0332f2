//! The folder of a draft: its state, and the files of its stages.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use assay_draft::proposal::{Idea, UnusedIntent};
use assay_draft::review::Fault;
use assay_fs::tree::Tree;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::draft::DraftStage;
use crate::failure::Failure;

/// `draft.json`: what the draft is about, and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    schema: String,
    /// The skill's name.
    pub(super) skill: String,
    /// Its digest.
    pub(super) digest: String,
    /// The model that writes, as `provider:model`.
    pub(super) model: String,
    /// Tasks to propose.
    pub(super) tasks: usize,
    /// The versions of the prompts.
    pub(super) prompts: BTreeMap<String, String>,
    /// The last stage that is complete.
    pub(super) stage: Option<DraftStage>,
}

impl State {
    pub(super) fn new(skill: String, digest: String, model: String, tasks: usize) -> Self {
        Self {
            schema: "assay.draft/1".to_owned(),
            skill,
            digest,
            model,
            tasks,
            prompts: assay_draft::prompts::versions(),
            stage: None,
        }
    }
}

/// `ideas.json`.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the key of the file")]
pub(super) struct Ideas {
    pub(super) schema: String,
    pub(super) ideas: Vec<Idea>,
    /// Intents that no idea serves, with the model's reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) unused: Vec<UnusedIntent>,
}

/// `proposals/NAME.json`: what a model wrote of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProposalRecord {
    pub(super) schema: String,
    pub(super) idea: Idea,
    pub(super) model: String,
    pub(super) prompts: BTreeMap<String, String>,
    /// Digests of the folder as the model wrote it: at first, and after each repair.
    pub(super) written: Vec<String>,
    pub(super) repairs: usize,
    /// The faults that the next repair is to correct. They are stored before the model is asked, so that a draft that is
    /// killed asks with the same words again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<Pending>,
}

/// A repair that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The digest of the folder with the faults.
    pub(super) digest: String,
    pub(super) faults: Vec<Fault>,
    /// What the model is shown of them.
    pub(super) report: String,
}

/// `validation.json`: tasks that were accepted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Validation {
    pub(super) schema: String,
    pub(super) tasks: BTreeMap<String, Accepted>,
}

/// A task that was accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Accepted {
    /// The digest of its folder.
    pub(super) digest: String,
    pub(super) repairs: usize,
    /// Warnings, for those who review it.
    pub(super) warnings: Vec<Fault>,
}

/// `infeasible.json`: tasks that were rejected.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Infeasible {
    pub(super) schema: String,
    pub(super) tasks: BTreeMap<String, Rejected>,
}

/// A task that was rejected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Rejected {
    /// Why, in a sentence without its full stop.
    pub(super) reason: String,
    pub(super) faults: Vec<Fault>,
    pub(super) repairs: usize,
}

/// `headroom.json`: results of the pilot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Headroom {
    pub(super) schema: String,
    /// The pilot's run.
    pub(super) run: String,
    pub(super) tasks: BTreeMap<String, PilotResult>,
    /// The share of measured tasks that were removed.
    pub(super) removed_share: Option<f64>,
}

/// A task's results in the pilot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PilotResult {
    /// Trials with a result.
    pub(super) trials: usize,
    pub(super) passed: usize,
    /// The mean outcome value of these trials: what verdicts are computed from; `None` in files of earlier
    /// versions, and without a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<f64>,
    /// Whether it was removed.
    pub(super) removed: bool,
}

/// The folder of a draft.
#[derive(Debug)]
pub(super) struct DraftFolder {
    pub(super) root: PathBuf,
}

impl DraftFolder {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn task(&self, name: &str) -> PathBuf {
        self.root.join("tasks").join(name)
    }

    /// Keeps other commands out of the folder until the file is closed.
    pub(super) fn lock(&self) -> Result<File, Failure> {
        let path = self.path(".lock");
        let failed = |error| Failure::infrastructure(format!("cannot lock {}: {error}", path.display()));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = (&file).take(20).read_to_string(&mut owner);
                let owner = if owner.is_empty() { String::new() } else { format!(", process {owner}") };
                return Err(Failure::bad_input(format!(
                    "another command is working on {}{owner}",
                    self.root.display()
                ))
                .hint("wait until it has ended"));
            }
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(file)
    }

    /// The state; an error if the folder is not a draft.
    pub(super) fn state(&self) -> Result<State, Failure> {
        self.read("draft.json")?.ok_or_else(|| {
            Failure::bad_input(format!("{} is not a draft: it has no draft.json", self.root.display()))
                .hint("`assay draft run SKILL --model PROVIDER:MODEL` begins one")
        })
    }

    /// Reads a file as JSON; `None` if it does not exist.
    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.path(name);
        let bytes = match assay_fs::read_file(&path, assay_fs::DOCUMENT_CAP) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Failure::bad_input(format!("cannot read {}: {error}", path.display())));
            }
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            Failure::bad_input(format!("{}:{}: {error}", path.display(), error.line()))
                .hint("correct the file, or remove it to make it again")
        })
    }

    /// Writes a file as JSON, atomically.
    pub(super) fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::infrastructure(format!("cannot write JSON: {error}")))?;
        self.write_text(name, &(text + "\n"))
    }

    pub(super) fn write_text(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path(name);
        make_folder(path.parent().unwrap_or(&self.root))?;
        assay_store::write_atomically(&path, text.as_bytes())?;
        Ok(())
    }

    /// The comment with which a person rejected an idea or a task in the view; `None` if nobody did. `kind` is `ideas` or `tasks`.
    pub(super) fn rejected_by_person(&self, kind: &str, name: &str) -> Result<Option<String>, Failure> {
        let approvals: Option<serde_json::Value> = self.read("approvals.json")?;
        let decided = approvals.as_ref().map(|approvals| &approvals[kind][name]);
        let rejected = decided.filter(|decided| decided["decision"] == "rejected");
        Ok(rejected.map(|decided| decided["comment"].as_str().unwrap_or_default().to_owned()))
    }

    /// Rejects the tasks that a person rejected, or whose idea they rejected.
    pub(super) fn apply_rejections(&self) -> Result<(), Failure> {
        for task in self.tasks() {
            let by_task = self.rejected_by_person("tasks", &task)?;
            let comment = match by_task {
                Some(comment) => Some(comment),
                None => self.rejected_by_person("ideas", &task)?,
            };
            if let Some(comment) = comment {
                let repairs = self.proposal(&task)?.map_or(0, |proposal| proposal.repairs);
                self.reject(
                    &task,
                    Rejected { reason: person_reason(&comment), faults: Vec::new(), repairs },
                )?;
            }
        }
        Ok(())
    }

    pub(super) fn infeasible(&self) -> Result<Infeasible, Failure> {
        let empty = || Infeasible { schema: "assay.draft-infeasible/1".to_owned(), tasks: BTreeMap::new() };
        Ok(self.read("infeasible.json")?.unwrap_or_else(empty))
    }

    pub(super) fn validation(&self) -> Result<Validation, Failure> {
        let empty = || Validation { schema: "assay.draft-validation/1".to_owned(), tasks: BTreeMap::new() };
        Ok(self.read("validation.json")?.unwrap_or_else(empty))
    }

    pub(super) fn proposal(&self, task: &str) -> Result<Option<ProposalRecord>, Failure> {
        self.read(&format!("proposals/{task}.json"))
    }

    pub(super) fn save_proposal(&self, record: &ProposalRecord) -> Result<(), Failure> {
        self.write(&format!("proposals/{}.json", record.idea.name), record)
    }

    /// Records that a task is rejected, and moves its folder out of the suite.
    pub(super) fn reject(&self, task: &str, rejected: Rejected) -> Result<(), Failure> {
        let mut infeasible = self.infeasible()?;
        infeasible.tasks.insert(task.to_owned(), rejected);
        self.write("infeasible.json", &infeasible)?;
        let mut validation = self.validation()?;
        if validation.tasks.remove(task).is_some() {
            self.write("validation.json", &validation)?;
        }
        self.move_task(task, "infeasible")
    }

    /// Moves a task's folder to another folder of the draft, if it exists.
    pub(super) fn move_task(&self, task: &str, to: &str) -> Result<(), Failure> {
        let from = self.task(task);
        if !from.is_dir() {
            return Ok(());
        }
        let folder = self.path(to);
        make_folder(&folder)?;
        let names =
            (1_u32..).map(|number| if number == 1 { task.to_owned() } else { format!("{task}-{number}") });
        let free = names.map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_err());
        let into = free.unwrap_or_else(|| folder.join(task));
        fs::rename(&from, &into).map_err(|error| {
            Failure::infrastructure(format!("cannot move {} to {}: {error}", from.display(), into.display()))
        })
    }

    /// The names of the folders in `tasks/`, sorted.
    pub(super) fn tasks(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("tasks")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

/// The reason of a task that a person rejected.
pub(super) fn person_reason(comment: &str) -> String {
    if comment.is_empty() {
        "rejected by a person".to_owned()
    } else {
        format!("rejected by a person: {comment}")
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path)
        .map_err(|error| Failure::infrastructure(format!("cannot create {}: {error}", path.display())))
}

/// The digest of a task's folder, with everything in it.
pub(super) fn folder_digest(path: &Path) -> String {
    Tree::read(path).digest().to_string()
}
