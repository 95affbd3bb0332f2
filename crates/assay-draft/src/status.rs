//! The tasks of a draft, and what its requests used.

use std::path::PathBuf;

use assay_diagnostic::{clean, counted};
use assay_model::Usage;
use serde::Serialize;

use crate::author::{DraftAuthor, stored_replies};
use crate::coverage::{DirectiveCoverage, DraftCoverage, ProbeCoverage, read_coverage};
use crate::error::DraftError;
use crate::evidence::{ItemSummary, summarize_items};
use crate::folder::{DraftFolder, DraftIdeas, HeadroomRecord};
use crate::solvers::read_solvers;
use crate::stages::DraftStage;

/// The tasks of a draft, and what its requests used, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct DraftStatus {
    schema: &'static str,
    skill: String,
    digest: String,
    model: String,
    stage: Option<DraftStage>,
    /// Directives by class and coverage; `null` where the stage was not run.
    directives: Option<DirectiveCoverage>,
    /// What the model that is to be measured does without the skill; `null` where none was asked.
    probe: Option<ProbeCoverage>,
    ideas: usize,
    tasks: Vec<TaskStatus>,
    /// Tasks by state; `null` where the stage that decides was not run.
    accepted: Option<usize>,
    infeasible: Option<usize>,
    too_easy: Option<usize>,
    /// The folder, as it was given.
    #[serde(skip)]
    folder: PathBuf,
    /// The lines about directives, for people.
    #[serde(skip)]
    coverage: String,
    /// Stored replies, and the tokens of all requests so far.
    replies: usize,
    usage: Usage,
    /// Requests of this command; absent in `draft status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// A task.
#[derive(Debug, Serialize)]
struct TaskStatus {
    task: String,
    state: TaskState,
    repairs: usize,
    /// Whether another model solved it; absent if none has tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    solved: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Its items; absent if it has none, or is not in the suite.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    items: Option<ItemSummary>,
}

/// What happened to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum TaskState {
    Proposed,
    Accepted,
    Infeasible,
    TooEasy,
}

impl TaskState {
    fn word(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Accepted => "accepted",
            Self::Infeasible => "infeasible",
            Self::TooEasy => "too easy",
        }
    }
}

impl DraftStatus {
    /// The status for people.
    pub fn to_text(&self) -> String {
        render(self)
    }
}

/// Reads the status of a draft, with the requests of a command if `model` was asked by one.
///
/// # Errors
/// The folder is no draft, or a file in it cannot be read.
pub fn read_status(folder: &DraftFolder, model: Option<&DraftAuthor>) -> Result<DraftStatus, DraftError> {
    let state = folder.read_state()?;
    let solvers = read_solvers(folder)?.unwrap_or_default();
    let solved = |task: &str| solvers.tasks.get(task).map(|solved| solved.solved);
    let (validation, infeasible) = (folder.read_validation()?, folder.read_infeasible()?);
    let mut tasks: Vec<TaskStatus> = folder
        .list_tasks()
        .into_iter()
        .map(|task| {
            let accepted = validation.tasks.get(&task);
            let state = if accepted.is_some() { TaskState::Accepted } else { TaskState::Proposed };
            let repairs = accepted.map_or(0, |accepted| accepted.repairs);
            let items = summarize_items(folder, &task)?;
            Ok(TaskStatus { state, repairs, solved: solved(&task), reason: None, items, task })
        })
        .collect::<Result<_, DraftError>>()?;
    tasks.extend(infeasible.tasks.into_iter().map(|(task, rejected)| TaskStatus {
        solved: solved(&task),
        task,
        state: TaskState::Infeasible,
        repairs: rejected.repairs,
        reason: Some(rejected.reason),
        items: None,
    }));
    let headroom: Option<HeadroomRecord> = folder.read_json("headroom.json")?;
    let is_piloted = headroom.is_some();
    let removed =
        headroom.into_iter().flat_map(|headroom| headroom.tasks).filter(|(_, result)| result.removed);
    for (task, result) in removed.filter(|(task, _)| !folder.task_folder(task).is_dir()) {
        tasks.push(TaskStatus {
            state: TaskState::TooEasy,
            solved: solved(&task),
            repairs: validation.tasks.get(&task).map_or(0, |accepted| accepted.repairs),
            reason: Some(format!("passed {} of {} trials without the skill", result.passed, result.trials)),
            items: None,
            task,
        });
    }
    let (replies, usage) = stored_replies(folder.path_of("replies"))?;
    let requests = model.map(DraftAuthor::count_requests);
    let count = |state: TaskState| tasks.iter().filter(|task| task.state == state).count();
    let is_validated =
        state.stage >= Some(DraftStage::Validation) || count(TaskState::Proposed) < tasks.len();
    let coverage = read_coverage(folder)?;
    let coverage_text = coverage.as_ref().map(DraftCoverage::to_text).unwrap_or_default();
    let (directives, probe) =
        coverage.map_or((None, None), |coverage| (Some(coverage.directives), coverage.probe));
    Ok(DraftStatus {
        directives,
        probe,
        coverage: coverage_text,
        accepted: is_validated.then(|| count(TaskState::Accepted)),
        infeasible: is_validated.then(|| count(TaskState::Infeasible)),
        too_easy: is_piloted.then(|| count(TaskState::TooEasy)),
        schema: "assay.draft-status/1",
        folder: folder.root_path().to_owned(),
        skill: state.skill,
        digest: state.digest,
        model: state.model,
        stage: state.stage,
        ideas: folder.read_json::<DraftIdeas>("ideas.json")?.map_or(0, |ideas| ideas.ideas.len()),
        tasks,
        replies: replies.len(),
        usage,
        requests: requests.map(|(sent, _)| sent),
        cached: requests.map(|(_, cached)| cached),
        cost_usd: model.and_then(DraftAuthor::sum_cost),
    })
}

fn render(document: &DraftStatus) -> String {
    let stage = document.stage.map_or("none", DraftStage::name);
    let mut text = format!(
        "{}: skill {}, model {}, stage {stage}\n",
        document.folder.display(),
        clean(&document.skill),
        clean(&document.model)
    );
    text.push_str(&document.coverage);
    for task in &document.tasks {
        let repairs = match task.repairs {
            0 => String::new(),
            count => format!(", {}", counted(count, "repair", "repairs")),
        };
        let solved = if task.solved == Some(true) { ", solved by another model" } else { "" };
        let reason = task.reason.as_ref().map_or(String::new(), |reason| format!(": {}", clean(reason)));
        let items = task.items.as_ref().map(ItemSummary::to_text).unwrap_or_default();
        let (name, state) = (clean(&task.task), task.state.word());
        text.push_str(&format!("  {name}: {state}{repairs}{items}{solved}{reason}\n"));
    }
    let validated = match (document.accepted, document.infeasible) {
        (Some(accepted), Some(infeasible)) => format!("{accepted} accepted, {infeasible} infeasible"),
        _ => "not validated".to_owned(),
    };
    let piloted = document
        .too_easy
        .map_or_else(|| "headroom not measured".to_owned(), |too_easy| format!("{too_easy} too easy"));
    let cost = document.cost_usd.map_or_else(String::new, |usd| format!(", ${usd:.4}"));
    text.push_str(&format!(
        "{}, {validated}, {piloted}; {}, {} tokens{cost}\n",
        counted(document.ideas, "idea", "ideas"),
        counted(document.replies, "reply", "replies"),
        assay_diagnostic::group_digits(usize::try_from(document.usage.total()).unwrap_or(usize::MAX)),
    ));
    text
}
