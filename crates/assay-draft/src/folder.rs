//! The folder of a draft: its state, and the files of its stages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use assay_fs::tree::Tree;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{DraftError, FolderFault, InputFault};
use crate::ideas::{DroppedIdea, Idea, UnusedIntent};
use crate::review::Fault;
use crate::stages::DraftStage;

/// `draft.json`: what the draft is about, and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DraftState {
    schema: String,
    /// The skill's name.
    pub(crate) skill: String,
    /// Its digest.
    pub(crate) digest: String,
    /// The model that writes, as `provider:model`.
    pub(crate) model: String,
    /// Tasks that are to be accepted.
    pub(crate) tasks: usize,
    /// Whether ideas are made from name and description of the skill only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) blind_ideas: bool,
    /// How often ideas were asked for in the place of tasks that fell.
    #[serde(default)]
    pub(crate) refills: usize,
    /// The most tasks that were accepted at once so far.
    #[serde(default)]
    pub(crate) most_accepted: usize,
    /// What trials and requests cost so far in USD; absent if prices are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    /// The versions of the prompts.
    pub(crate) prompts: BTreeMap<String, String>,
    /// The last stage that is complete.
    pub(crate) stage: Option<DraftStage>,
}

impl DraftState {
    pub(crate) fn new(skill: String, digest: String, model: String, tasks: usize) -> Self {
        Self {
            schema: "assay.draft/1".to_owned(),
            skill,
            digest,
            model,
            tasks,
            blind_ideas: false,
            refills: 0,
            most_accepted: 0,
            cost_usd: None,
            prompts: crate::prompts::versions(),
            stage: None,
        }
    }
}

/// `ideas.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DraftIdeas {
    pub(crate) schema: String,
    pub(crate) ideas: Vec<Idea>,
    /// Intents that no idea serves, with the model's reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unused: Vec<UnusedIntent>,
    /// Ideas that cannot show what the skill adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) dropped: Vec<DroppedIdea>,
}

/// `proposals/NAME.json`: what a model wrote of a task.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProposalRecord {
    pub(crate) schema: String,
    pub(crate) idea: Idea,
    pub(crate) model: String,
    pub(crate) prompts: BTreeMap<String, String>,
    /// Digests of the folder as the model wrote it: at first, and after each repair.
    pub(crate) written: Vec<String>,
    pub(crate) repairs: usize,
    /// The faults that the next repair is to correct. They are stored before the model is asked, so that a draft that is
    /// killed asks with the same words again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<PendingRepair>,
}

/// A repair that has begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PendingRepair {
    /// The digest of the folder with the faults.
    pub(crate) digest: String,
    pub(crate) faults: Vec<Fault>,
    /// What the model is shown of them.
    pub(crate) report: String,
}

/// `validation.json`: tasks that were accepted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ValidationRecord {
    pub(crate) schema: String,
    pub(crate) tasks: BTreeMap<String, AcceptedTask>,
}

/// A task that was accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AcceptedTask {
    /// The digest of its folder.
    pub(crate) digest: String,
    pub(crate) repairs: usize,
    /// Warnings, for those who review it.
    pub(crate) warnings: Vec<Fault>,
}

/// `infeasible.json`: tasks that were rejected, and directives that no task can test.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct InfeasibleTasks {
    pub(crate) schema: String,
    pub(crate) tasks: BTreeMap<String, RejectedTask>,
    /// Why no task can test a directive, by the id of the directive, in a sentence without its full stop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) directives: BTreeMap<String, String>,
}

/// A task that was rejected.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RejectedTask {
    /// Why, in a sentence without its full stop.
    pub(crate) reason: String,
    pub(crate) faults: Vec<Fault>,
    pub(crate) repairs: usize,
}

/// The file with the results of the pilot without the skill.
pub(crate) const HEADROOM_FILE: &str = "headroom.json";

/// The results of the pilot without the skill; `None` if it was not read.
pub(crate) fn read_headroom(folder: &DraftFolder) -> Result<Option<HeadroomRecord>, DraftError> {
    folder.read_json(HEADROOM_FILE)
}

/// `headroom.json`: results of the pilot.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeadroomRecord {
    pub(crate) schema: String,
    /// The pilot's run.
    pub(crate) run: String,
    /// The models of its agents.
    #[serde(default)]
    pub(crate) models: BTreeSet<String>,
    pub(crate) tasks: BTreeMap<String, PilotResult>,
    /// The share of measured tasks that were removed.
    pub(crate) removed_share: Option<f64>,
}

/// A task's results in the pilot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PilotResult {
    /// Trials with a result.
    pub(crate) trials: usize,
    pub(crate) passed: usize,
    /// The mean outcome value of these trials: what verdicts are computed from; `None` in files of earlier
    /// versions, and without a trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f64>,
    /// Whether it was removed.
    pub(crate) removed: bool,
}

/// The folder of a draft.
#[derive(Debug)]
pub struct DraftFolder {
    root: PathBuf,
}

impl DraftFolder {
    /// The folder at a path. It need not exist.
    pub fn at_path(root: PathBuf) -> Self {
        Self { root }
    }

    /// Its path.
    pub fn root_path(&self) -> &Path {
        &self.root
    }

    /// The path of a file in it.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn task_folder(&self, name: &str) -> PathBuf {
        self.root.join("tasks").join(name)
    }

    /// Keeps other commands out of the folder until the file is closed.
    pub(crate) fn lock_folder(&self) -> Result<File, DraftError> {
        let path = self.path_of(".lock");
        let failed = |error: io::Error| DraftError::io(format!("lock {}", path.display()), error);
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
                return Err(FolderFault::Locked { root: self.root.clone(), owner }.into());
            }
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(file)
    }

    /// The state; an error if the folder is not a draft.
    pub(crate) fn read_state(&self) -> Result<DraftState, DraftError> {
        self.read_json("draft.json")?.ok_or_else(|| FolderFault::NotADraft(self.root.clone()).into())
    }

    /// Refuses a folder that is not a draft.
    ///
    /// # Errors
    /// It has no state that can be read.
    pub fn check_draft(&self) -> Result<(), DraftError> {
        self.read_state().map(|_| ())
    }

    /// Reads a file as JSON; `None` if it does not exist.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, DraftError> {
        let path = self.path_of(name);
        let bytes = match assay_fs::read_file(&path, assay_fs::DOCUMENT_CAP) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(DraftError::read(&path, error));
            }
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            InputFault::DraftFile { path, line: error.line(), message: error.to_string() }.into()
        })
    }

    /// Writes a file as JSON, atomically.
    pub(crate) fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), DraftError> {
        let text =
            serde_json::to_string_pretty(value).map_err(|error| DraftError::io("write JSON", error))?;
        self.write_text(name, &(text + "\n"))
    }

    pub(crate) fn write_text(&self, name: &str, text: &str) -> Result<(), DraftError> {
        let path = self.path_of(name);
        make_folder(path.parent().unwrap_or(&self.root))?;
        assay_store::write_atomically(&path, text.as_bytes())?;
        Ok(())
    }

    /// The comment with which a person rejected an idea or a task in the view; `None` if nobody did. `kind` is `ideas` or `tasks`.
    pub(crate) fn rejected_by_person(&self, kind: &str, name: &str) -> Result<Option<String>, DraftError> {
        let approvals: Option<serde_json::Value> = self.read_json("approvals.json")?;
        let decided = approvals.as_ref().map(|approvals| &approvals[kind][name]);
        let rejected = decided.filter(|decided| decided["decision"] == "rejected");
        Ok(rejected.map(|decided| decided["comment"].as_str().unwrap_or_default().to_owned()))
    }

    /// Rejects the tasks that a person rejected, or whose idea they rejected.
    pub(crate) fn apply_rejections(&self) -> Result<(), DraftError> {
        for task in self.list_tasks() {
            let by_task = self.rejected_by_person("tasks", &task)?;
            let comment = match by_task {
                Some(comment) => Some(comment),
                None => self.rejected_by_person("ideas", &task)?,
            };
            if let Some(comment) = comment {
                let repairs = self.read_proposal(&task)?.map_or(0, |proposal| proposal.repairs);
                self.reject_task(
                    &task,
                    RejectedTask { reason: person_reason(&comment), faults: Vec::new(), repairs },
                )?;
            }
        }
        Ok(())
    }

    pub(crate) fn read_infeasible(&self) -> Result<InfeasibleTasks, DraftError> {
        let schema = || "assay.draft-infeasible/1".to_owned();
        let empty = || InfeasibleTasks { schema: schema(), ..InfeasibleTasks::default() };
        Ok(self.read_json("infeasible.json")?.unwrap_or_else(empty))
    }

    pub(crate) fn read_validation(&self) -> Result<ValidationRecord, DraftError> {
        let empty =
            || ValidationRecord { schema: "assay.draft-validation/1".to_owned(), tasks: BTreeMap::new() };
        Ok(self.read_json("validation.json")?.unwrap_or_else(empty))
    }

    pub(crate) fn read_proposal(&self, task: &str) -> Result<Option<ProposalRecord>, DraftError> {
        self.read_json(&format!("proposals/{task}.json"))
    }

    pub(crate) fn save_proposal(&self, record: &ProposalRecord) -> Result<(), DraftError> {
        self.write_json(&format!("proposals/{}.json", record.idea.name), record)
    }

    /// Records that a task is rejected, and moves its folder out of the suite.
    pub(crate) fn reject_task(&self, task: &str, rejected: RejectedTask) -> Result<(), DraftError> {
        let mut infeasible = self.read_infeasible()?;
        infeasible.tasks.insert(task.to_owned(), rejected);
        self.write_json("infeasible.json", &infeasible)?;
        let mut validation = self.read_validation()?;
        if validation.tasks.remove(task).is_some() {
            self.write_json("validation.json", &validation)?;
        }
        self.move_task(task, "infeasible")
    }

    /// Moves a task's folder to another folder of the draft, if it exists.
    pub(crate) fn move_task(&self, task: &str, to: &str) -> Result<(), DraftError> {
        let from = self.task_folder(task);
        if !from.is_dir() {
            return Ok(());
        }
        let folder = self.path_of(to);
        make_folder(&folder)?;
        let names =
            (1_u32..).map(|number| if number == 1 { task.to_owned() } else { format!("{task}-{number}") });
        let free = names.map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_err());
        let into = free.unwrap_or_else(|| folder.join(task));
        fs::rename(&from, &into)
            .map_err(|error| DraftError::io(format!("move {} to {}", from.display(), into.display()), error))
    }

    /// The names of the folders in `tasks/`, sorted.
    pub fn list_tasks(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path_of("tasks")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names
    }
}

/// The reason of a task that a person rejected.
pub(crate) fn person_reason(comment: &str) -> String {
    if comment.is_empty() {
        "rejected by a person".to_owned()
    } else {
        format!("rejected by a person: {comment}")
    }
}

pub(crate) fn make_folder(path: &Path) -> Result<(), DraftError> {
    fs::create_dir_all(path).map_err(|error| DraftError::io(format!("create {}", path.display()), error))
}

/// The digest of a task's folder, with everything in it.
pub(crate) fn folder_digest(path: &Path) -> String {
    Tree::read(path).digest().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> (tempfile::TempDir, DraftFolder) {
        let root = tempfile::tempdir().unwrap();
        let folder = DraftFolder::at_path(root.path().to_owned());
        (root, folder)
    }

    fn write_task(folder: &DraftFolder, name: &str, text: &str) {
        make_folder(&folder.task_folder(name)).unwrap();
        fs::write(folder.task_folder(name).join("instruction.md"), text).unwrap();
    }

    #[test]
    fn tasks_of_one_name_are_kept_side_by_side() {
        let (_root, folder) = draft();
        for text in ["first", "second", "third"] {
            write_task(&folder, "sums", text);
            folder.move_task("sums", "infeasible").unwrap();
        }
        assert_eq!(folder.list_tasks(), Vec::<String>::new());
        for (name, text) in [("sums", "first"), ("sums-2", "second"), ("sums-3", "third")] {
            let path = folder.path_of("infeasible").join(name).join("instruction.md");
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
        // What is not there is not moved.
        folder.move_task("sums", "infeasible").unwrap();
        assert!(!folder.path_of("infeasible/sums-4").exists());
    }

    #[test]
    fn a_rejected_task_is_no_longer_accepted() {
        let (_root, folder) = draft();
        write_task(&folder, "sums", "first");
        let mut validation = folder.read_validation().unwrap();
        let accepted = AcceptedTask { digest: "d".to_owned(), repairs: 1, warnings: Vec::new() };
        validation.tasks.insert("sums".to_owned(), accepted);
        folder.write_json("validation.json", &validation).unwrap();
        let approvals =
            serde_json::json!({"ideas": {"sums": {"decision": "rejected", "comment": "too vague"}}});
        folder.write_json("approvals.json", &approvals).unwrap();
        folder.apply_rejections().unwrap();
        assert!(folder.read_validation().unwrap().tasks.is_empty());
        let infeasible = folder.read_infeasible().unwrap();
        assert_eq!(infeasible.tasks["sums"].reason, "rejected by a person: too vague");
        assert!(folder.path_of("infeasible/sums/instruction.md").is_file() && folder.list_tasks().is_empty());
    }

    #[test]
    fn a_folder_is_used_by_one_command() {
        let (_root, folder) = draft();
        let lock = folder.lock_folder().unwrap();
        let error = folder.lock_folder().unwrap_err();
        let expected = format!(
            "another command is working on {}, process {}",
            folder.root_path().display(),
            std::process::id()
        );
        assert_eq!(error.to_string(), expected);
        drop(lock);
        folder.lock_folder().unwrap();
    }

    #[test]
    fn a_file_that_was_edited_wrongly_is_named_with_its_line() {
        let (_root, folder) = draft();
        assert!(matches!(folder.check_draft(), Err(DraftError::Folder(FolderFault::NotADraft(_)))));
        fs::write(folder.path_of("draft.json"), "{\n  \"skill\": 1\n}\n").unwrap();
        let error = folder.check_draft().unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("{}:", folder.path_of("draft.json").display())),
            "{error}"
        );
        assert!(matches!(error, DraftError::Input(InputFault::DraftFile { line: 2, .. })), "{error:?}");
    }
}
