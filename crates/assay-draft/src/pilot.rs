//! The pilot of a draft: the model that is to be measured attempts each task once without and once with the skill.
//!
//! The rule reads the items of directives without the skill only, and the goal under both conditions: choosing tasks by what
//! the skill achieves would favor it. `attempts.json` has every attempt, also of tasks that were repaired or fell.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_store::{ConditionRole, Outcome, Store, TrialId};
use serde::{Deserialize, Serialize};

use crate::author::DraftAuthor;
use crate::directives::DirectiveClass;
use crate::error::DraftError;
use crate::event::{DraftEvent, DraftEvents};
use crate::evidence::GradedWork;
use crate::experiment::{AttemptAgent, attempts};
use crate::folder::{DraftFolder, folder_digest};
use crate::host::DraftHost;
use crate::items::{FEWEST_ITEMS, ItemSet, TaskItem, TaskItems, read_judged};
use crate::review::Fault;
use crate::solvers::{SolverOptions, check_agents, check_payment};
use crate::trials::TrialRunner;

/// The file with the attempts.
pub const ATTEMPTS_FILE: &str = "attempts.json";

/// The experiment of the attempts.
const EXPERIMENT: &str = "attempts.toml";

/// The model that is to be measured, as an agent reaches it.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotModel {
    /// The model, as `provider:model`. A script is relative to the folder of the draft.
    pub model: String,
    /// Its address, if not the provider's own.
    pub base_url: Option<String>,
    /// The variable with its key.
    pub api_key_env: Option<String>,
    /// What a million tokens of input and of output cost in USD.
    pub price: Option<[f64; 2]>,
}

/// The provider of scripts in the place of models.
const SCRIPTED: &str = "scripted:";

impl PilotModel {
    /// A model as experiments in the folder `root` name it: there a script is relative to that folder, and on the command line to
    /// the working directory.
    pub fn name_in(root: &Path, model: &str) -> String {
        let Some(script) = model.strip_prefix(SCRIPTED) else { return model.to_owned() };
        let absolute = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
        let (Ok(script), Ok(root)) = (absolute(Path::new(script)), absolute(root)) else {
            return model.to_owned();
        };
        let pairs = script.components().zip(root.components());
        let shared = pairs.take_while(|(one, other)| one == other).count();
        let up = root.components().skip(shared).map(|_| Component::ParentDir);
        let path: PathBuf = up.chain(script.components().skip(shared)).collect();
        format!("{SCRIPTED}{}", path.display())
    }

    pub(crate) fn to_agent(&self) -> AttemptAgent<'_> {
        AttemptAgent {
            model: &self.model,
            base_url: self.base_url.as_deref(),
            api_key_env: self.api_key_env.as_deref(),
            price: self.price,
        }
    }
}

/// `attempts.json`: the attempts of the model that is to be measured.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PilotRecord {
    schema: String,
    /// The model, as `provider:model`.
    pub model: String,
    /// By the name of the task: each version of it that was attempted, the latest last.
    pub tasks: BTreeMap<String, Vec<PilotedTask>>,
}

/// The attempts on a version of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotedTask {
    /// The digest of its folder.
    pub(crate) digest: String,
    /// Without the skill.
    pub without: PilotAttempt,
    /// With it.
    pub with: PilotAttempt,
    /// Why the task cannot stay as it is; empty if it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

/// An attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotAttempt {
    trial: TrialId,
    /// Whether the task was passed.
    pub outcome: Outcome,
    /// Whether it met each item, by id.
    pub met: BTreeMap<String, bool>,
    /// The end of what the checks printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

impl PilotAttempt {
    /// The attempt as work that was graded.
    pub(crate) fn to_work(&self, model: &str) -> GradedWork {
        GradedWork { model: model.to_owned(), met: self.met.clone(), output: String::new() }
    }

    fn counts(&self, items: &TaskItems) -> (usize, usize) {
        let measuring = || items.items.iter().filter(|item| item.is_measuring());
        (measuring().filter(|item| is_met(&self.met, item)).count(), measuring().count())
    }
}

impl PilotRecord {
    /// Reads the attempts of a draft; `None` if its folder has none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_from(folder: &DraftFolder) -> Result<Option<Self>, DraftError> {
        folder.read_json(ATTEMPTS_FILE)
    }

    /// The attempts on a task as it was under a digest.
    pub(crate) fn find_attempts(&self, task: &str, digest: &str) -> Option<&PilotedTask> {
        self.tasks.get(task)?.iter().rfind(|piloted| piloted.digest == digest)
    }

    /// The last attempts on a task, whatever it was then.
    pub(crate) fn last_attempts(&self, task: &str) -> Option<&PilotedTask> {
        self.tasks.get(task)?.last()
    }
}

fn is_met(met: &BTreeMap<String, bool>, item: &TaskItem) -> bool {
    met.get(&item.id).copied().unwrap_or(false)
}

/// Why a task cannot stay, by one attempt without and one with the skill: whether each met the items, by id.
///
/// A goal that either misses is a fault. `judged` items of directives count toward the fewest of a task. So are the items of directives that the attempt without the skill meets, if those
/// that it misses are fewer than [`FEWEST_ITEMS`], or none of them is knowledge.
pub fn decide_pilot(
    items: &TaskItems,
    judged: usize,
    without: &BTreeMap<String, bool>,
    with: &BTreeMap<String, bool>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for item in items.list_set(ItemSet::Gc) {
        for (met, how) in [(without, "without"), (with, "with")] {
            if !is_met(met, item) {
                let message =
                    format!("{}: the agent that worked {how} the skill misses it: {}", item.id, item.text);
                faults.push(Fault::new("goal-missed", message));
            }
        }
    }
    let measuring: Vec<&TaskItem> = items.items.iter().filter(|item| item.is_measuring()).collect();
    let missed: Vec<&&TaskItem> = measuring.iter().filter(|item| !is_met(without, item)).collect();
    let has_knowledge = missed.iter().any(|item| item.class == Some(DirectiveClass::Knowledge));
    if missed.len() + judged >= FEWEST_ITEMS && has_knowledge {
        return faults;
    }
    for item in measuring.iter().filter(|item| is_met(without, item)) {
        let message = format!("{}: the agent that worked without the skill meets it", item.id);
        faults.push(Fault::new("known-without-skill", message));
    }
    let message = format!(
        "the agent that worked without the skill misses {} of {} items of directives, {}: a task needs {FEWEST_ITEMS}, one of \
         them knowledge",
        missed.len(),
        measuring.len(),
        if has_knowledge { "knowledge among them" } else { "none of them knowledge" },
    );
    faults.push(Fault::new("too-few-items", message));
    faults
}

/// A task that the pilot found faulty.
pub(crate) struct FaultyTask {
    pub(crate) task: String,
    pub(crate) digest: String,
    pub(crate) faults: Vec<Fault>,
    /// What the checks printed of both attempts.
    pub(crate) output: String,
}

/// What the pilot needs.
pub(crate) struct PilotStage<'a> {
    pub(crate) model: &'a PilotModel,
    /// For the cap of the draft.
    pub(crate) options: &'a SolverOptions<'a>,
    pub(crate) folder: &'a DraftFolder,
    pub(crate) author: &'a DraftAuthor,
    pub(crate) cancel: &'a Arc<AtomicBool>,
    pub(crate) host: &'a dyn DraftHost,
    pub(crate) events: &'a dyn DraftEvents,
}

impl PilotStage<'_> {
    /// Attempts the accepted tasks. Returns those that cannot stay as they are. What was attempted is not attempted again.
    pub(crate) fn attempt_tasks(&self) -> Result<Vec<FaultyTask>, DraftError> {
        let PilotStage { model, folder, .. } = *self;
        let accepted = folder.read_validation()?.tasks;
        let name = &model.model;
        let mut record =
            PilotRecord::read_from(folder)?.filter(|record| &record.model == name).unwrap_or_default();
        "assay.draft-attempts/1".clone_into(&mut record.schema);
        record.model.clone_from(name);
        let (mut runner, mut faulty) = (None, Vec::new());
        for task in folder.list_tasks() {
            let digest = folder_digest(&folder.task_folder(&task));
            if accepted.get(&task).is_none_or(|accepted| accepted.digest != digest) {
                continue;
            }
            let piloted = if let Some(piloted) = record.find_attempts(&task, &digest) {
                piloted.clone()
            } else {
                let runner = match &runner {
                    Some(runner) => runner,
                    None => runner.insert(self.open_runner()?),
                };
                let piloted = self.attempt_task(runner, &task, digest.clone())?;
                record.tasks.entry(task.clone()).or_default().push(piloted.clone());
                folder.write_json(ATTEMPTS_FILE, &record)?;
                piloted
            };
            if !piloted.faults.is_empty() {
                let output = describe_attempts(&piloted);
                faulty.push(FaultyTask { task, digest, faults: piloted.faults, output });
            }
        }
        Ok(faulty)
    }

    fn open_runner(&self) -> Result<TrialRunner<'_>, DraftError> {
        let agent = self.model.to_agent();
        let payment = SolverOptions { price: agent.price, base_url: agent.base_url, ..*self.options };
        check_payment(&payment, agent.model, self.host)?;
        let path = self.folder.path_of(EXPERIMENT);
        if path.symlink_metadata().is_err() {
            self.folder.write_text(EXPERIMENT, &attempts(&agent))?;
        }
        check_agents(&path, agent.model)?;
        Ok(TrialRunner {
            file: EXPERIMENT,
            max_usd: self.options.max_usd,
            folder: self.folder,
            author: self.author,
            cancel: self.cancel,
            host: self.host,
            store: Store::open(&self.folder.path_of("attempts/store"))?,
            events: self.events,
        })
    }

    fn attempt_task(
        &self,
        runner: &TrialRunner<'_>,
        task: &str,
        digest: String,
    ) -> Result<PilotedTask, DraftError> {
        let mut plan = runner.plan_task(task)?;
        let is_bare = |plan: &assay_trial::Plan, condition: &str| {
            plan.experiment.role_of(condition) == ConditionRole::None
        };
        let mut attempt = |is_without: bool| -> Result<PilotAttempt, DraftError> {
            let how = if is_without { "without" } else { "with" };
            let what = format!("the pilot {how} the skill, by {}", self.model.model);
            self.events.handle_event(&DraftEvent::Working { task, what: &what });
            let cell = plan.cells.iter().find(|cell| is_bare(&plan, &cell.condition) == is_without).cloned();
            let cell = cell.ok_or_else(|| crate::error::SolverFault::NotPlanned {
                task: task.to_owned(),
                reasons: format!("{EXPERIMENT} has no condition {how} the skill"),
            })?;
            let cells = plan.cells.clone();
            let record = runner.run_cell(&mut plan, &cell, task)?;
            plan.cells = cells;
            let checks = record.checks().into_iter();
            let met = checks.map(|check| (check.name.clone(), check.passed() == Some(true))).collect();
            let output = runner.read_output(&record);
            Ok(PilotAttempt { trial: record.trial, outcome: record.outcome, met, output })
        };
        let (without, with) = (attempt(true)?, attempt(false)?);
        let root = self.folder.task_folder(task);
        let items = TaskItems::read_from(&root)?;
        let faults = match &items {
            Some(items) => decide_pilot(items, read_judged(&root, items), &without.met, &with.met),
            None if without.outcome == Outcome::Passed => {
                vec![Fault::new(
                    "known-without-skill",
                    "the agent that worked without the skill passes the task",
                )]
            }
            None => Vec::new(),
        };
        let of = |attempt: &PilotAttempt| items.as_ref().map_or((0, 0), |items| attempt.counts(items));
        self.events.handle_event(&DraftEvent::Piloted {
            task,
            passed: [without.outcome == Outcome::Passed, with.outcome == Outcome::Passed],
            met: [of(&without).0, of(&with).0],
            of: of(&without).1,
        });
        Ok(PilotedTask { digest, without, with, faults })
    }
}

/// What the checks printed, for the author.
fn describe_attempts(piloted: &PilotedTask) -> String {
    let part =
        |(how, attempt): (&str, &PilotAttempt)| format!("The attempt {how} the skill:\n{}\n", attempt.output);
    [("without", &piloted.without), ("with", &piloted.with)].map(part).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> TaskItems {
        let item = |id: &str, set: &str, class: Option<&str>| {
            serde_json::from_value::<TaskItem>(serde_json::json!({
                "id": id, "set": set, "text": format!("what {id} demands"), "class": class,
            }))
            .unwrap()
        };
        TaskItems::new(vec![
            item("gc-total", "gc", None),
            item("d01", "if", Some("knowledge")),
            item("d02", "if", Some("convention")),
            item("d03", "if", Some("convention")),
            item("d04", "if", Some("convention")),
            item("d05", "if", Some("convention")),
            item("d06", "if", Some("reminder")),
        ])
    }

    #[test]
    fn a_script_is_named_from_the_folder_of_the_draft() {
        let root = tempfile::tempdir().unwrap();
        let draft = root.path().join("drafts/one");
        std::fs::create_dir_all(&draft).unwrap();
        let check = |script: &str, expected: &str| {
            let script = format!("scripted:{}", root.path().join(script).display());
            assert_eq!(PilotModel::name_in(&draft, &script), format!("scripted:{expected}"));
        };
        std::fs::write(root.path().join("turns.jsonl"), "").unwrap();
        std::fs::write(draft.join("turns.jsonl"), "").unwrap();
        check("turns.jsonl", "../../turns.jsonl");
        check("drafts/one/turns.jsonl", "turns.jsonl");
        assert_eq!(PilotModel::name_in(&draft, "openai:gpt-5"), "openai:gpt-5");
    }

    #[test]
    fn a_task_stays_whose_items_are_missed_without_the_skill() {
        let check = |without: &[&str], with: &[&str], expected: &[&str]| {
            let met = |ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), true)).collect();
            let faults = decide_pilot(&items(), 0, &met(without), &met(with));
            let codes: Vec<String> = faults
                .iter()
                .map(|fault| {
                    format!("{} {}", fault.code, fault.message.split(':').next().unwrap_or_default())
                })
                .collect();
            assert_eq!(codes, expected, "{without:?} {with:?}");
        };
        let all = ["gc-total", "d01", "d02", "d03", "d04", "d05"];
        check(&["gc-total", "d06"], &all, &[]);
        check(&["gc-total", "d06", "d02"], &all, &[]);
        // What the skill achieves decides nothing.
        check(&["gc-total"], &["gc-total"], &[]);
        check(&["gc-total"], &all[1..], &["goal-missed gc-total"]);
        check(&[], &[], &["goal-missed gc-total", "goal-missed gc-total"]);
        let few = "too-few-items the agent that worked without the skill misses 3 of 5 items of directives, knowledge among them";
        check(
            &["gc-total", "d02", "d03"],
            &all,
            &["known-without-skill d02", "known-without-skill d03", few],
        );
        let none = "too-few-items the agent that worked without the skill misses 4 of 5 items of directives, none of them knowledge";
        check(&["gc-total", "d01"], &all, &["known-without-skill d01", none]);
    }
}
