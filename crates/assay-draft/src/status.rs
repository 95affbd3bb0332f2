//! The tasks of a draft, and what its requests used.

use std::path::PathBuf;

use assay_diagnostic::{clean, counted};
use assay_model::Usage;
use serde::Serialize;

use crate::author::{DraftAuthor, count_replies};
use crate::coverage::{DirectiveCoverage, DraftCoverage, ProbeCoverage, read_coverage};
use crate::error::DraftError;
use crate::evidence::{ItemSummary, SetShares, summarize_items};
use crate::folder::{DraftFolder, DraftIdeas, read_headroom};
use crate::solvers::{SolvedTask, read_solvers};
use crate::stages::DraftStage;

/// The tasks of a draft, and what its requests used, as the document of JSON of a command that drafts.
#[derive(Debug, Serialize)]
pub struct DraftStatus {
    schema: &'static str,
    skill: String,
    digest: String,
    model: String,
    stage: Option<DraftStage>,
    /// Whether ideas are made from name and description of the skill only.
    blind_ideas: bool,
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
    name: String,
    state: TaskState,
    repairs: usize,
    /// Whether another model solved it; absent if none has tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    solved: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Which other model solved it, and how, for people.
    #[serde(skip)]
    solution: Option<&'static str>,
    /// Its items; absent if it has none, or its folder is not there.
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

    /// Where the folders of such tasks are, in that of the draft.
    fn folder(self) -> &'static str {
        match self {
            Self::Proposed | Self::Accepted => "tasks",
            Self::Infeasible => "infeasible",
            Self::TooEasy => "too-easy",
        }
    }
}

/// The state of a draft, as a document of JSON.
#[derive(Debug, Serialize)]
pub struct StatusDocument<'a> {
    schema: &'static str,
    skill: &'a str,
    /// `null` where the stage was not run.
    directives: Option<&'a DirectiveCoverage>,
    /// `null` where no model was asked.
    probe: Option<ProbeCounts>,
    tasks: Vec<TaskDocument<'a>>,
    spent: DraftSpending,
}

/// How many directives the model that is to be measured follows without the skill, and how many it does not.
#[derive(Debug, Serialize)]
struct ProbeCounts {
    known: usize,
    unknown: usize,
}

/// A task. What is not known of it is `null`.
#[derive(Debug, Serialize)]
struct TaskDocument<'a> {
    name: &'a str,
    state: TaskState,
    gc_items: Option<usize>,
    if_items: Option<usize>,
    blind: Option<SetShares>,
    with: Option<SetShares>,
    canaries: Option<usize>,
}

/// What a draft has used.
#[derive(Debug, Serialize)]
struct DraftSpending {
    /// Replies of models.
    replies: usize,
    /// Tokens of all requests.
    tokens: u64,
    /// What requests and trials cost in USD; `null` if prices are unknown.
    usd: Option<f64>,
}

impl DraftStatus {
    /// The state as a document of JSON.
    pub fn to_document(&self) -> StatusDocument<'_> {
        let tasks = self.tasks.iter().map(|task| TaskDocument {
            name: &task.name,
            state: task.state,
            gc_items: task.items.as_ref().map(|items| items.gc_items),
            if_items: task.items.as_ref().map(|items| items.if_items),
            blind: task.items.as_ref().and_then(|items| items.blind),
            with: task.items.as_ref().and_then(|items| items.with),
            canaries: task.items.as_ref().map(|items| items.canaries),
        });
        StatusDocument {
            schema: "assay.draft-status/1",
            skill: &self.skill,
            directives: self.directives.as_ref(),
            probe: self
                .probe
                .as_ref()
                .map(|probe| ProbeCounts { known: probe.known, unknown: probe.unknown }),
            tasks: tasks.collect(),
            spent: DraftSpending { replies: self.replies, tokens: self.usage.total(), usd: self.cost_usd },
        }
    }

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
    let (validation, infeasible) = (folder.read_validation()?, folder.read_infeasible()?);
    let headroom = read_headroom(folder)?;
    let is_piloted = headroom.is_some();
    let mut found: Vec<(String, TaskState, usize, Option<String>)> = Vec::new();
    for task in folder.list_tasks() {
        let accepted = validation.tasks.get(&task);
        let state = if accepted.is_some() { TaskState::Accepted } else { TaskState::Proposed };
        found.push((task, state, accepted.map_or(0, |accepted| accepted.repairs), None));
    }
    let rejected = infeasible.tasks.into_iter();
    found.extend(
        rejected
            .map(|(task, rejected)| (task, TaskState::Infeasible, rejected.repairs, Some(rejected.reason))),
    );
    let removed =
        headroom.into_iter().flat_map(|headroom| headroom.tasks).filter(|(_, result)| result.removed);
    for (task, result) in removed.filter(|(task, _)| !folder.task_folder(task).is_dir()) {
        let repairs = validation.tasks.get(&task).map_or(0, |accepted| accepted.repairs);
        let reason = format!("passed {} of {} trials without the skill", result.passed, result.trials);
        found.push((task, TaskState::TooEasy, repairs, Some(reason)));
    }
    let tasks = found.into_iter().map(|(name, state, repairs, reason)| {
        let items = summarize_items(folder, &folder.path_of(state.folder()).join(&name), &name)?;
        let solved = solvers.tasks.get(&name);
        let (solution, solved) = (solved.and_then(SolvedTask::describe), solved.map(|solved| solved.solved));
        Ok(TaskStatus { name, state, repairs, solved, reason, solution, items })
    });
    let tasks: Vec<TaskStatus> = tasks.collect::<Result<_, DraftError>>()?;
    let (replies, usage) = count_replies(folder.path_of("replies"))?;
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
        schema: "assay.draft-run/1",
        folder: folder.root_path().to_owned(),
        skill: state.skill,
        digest: state.digest,
        model: state.model,
        stage: state.stage,
        blind_ideas: state.blind_ideas,
        ideas: folder.read_json::<DraftIdeas>("ideas.json")?.map_or(0, |ideas| ideas.ideas.len()),
        tasks,
        replies,
        usage,
        requests: requests.map(|(sent, _)| sent),
        cached: requests.map(|(_, cached)| cached),
        cost_usd: model.and_then(DraftAuthor::sum_cost).or(state.cost_usd),
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
    if document.blind_ideas {
        text.push_str("ideas: from name and description of the skill only\n");
    }
    text.push_str(&document.coverage);
    for task in &document.tasks {
        let repairs = match task.repairs {
            0 => String::new(),
            count => format!(", {}", counted(count, "repair", "repairs")),
        };
        let solved = task.solution.map_or_else(String::new, |how| format!(", {how}"));
        let reason = task.reason.as_ref().map_or(String::new(), |reason| format!(": {}", clean(reason)));
        let items = task.items.as_ref().map(ItemSummary::to_text).unwrap_or_default();
        let (name, state) = (clean(&task.name), task.state.word());
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
