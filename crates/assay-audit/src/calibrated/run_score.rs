//! A run scored by all the skills that it was offered together.

use std::collections::BTreeSet;

use serde::Serialize;

use super::task::{RunAudit, RunName, TaskAudit};
use crate::adherence::{ADOPTED, combine_scores};

/// A run with the skill or skills that it was offered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunScore {
    /// The task.
    pub task: String,
    /// The trace.
    pub trace: String,
    /// Condition, repetition and trial.
    #[serde(flatten)]
    pub name: RunName,
    /// Skills that it was offered and that are audited.
    pub skills: usize,
    /// Those of them that can be measured in the task.
    pub measured: usize,
    /// Whether it opened one of them.
    pub opened: bool,
    /// The evidence of all of them that can be measured, as one score; `None` where none can.
    pub score: Option<f64>,
    /// Whether that reaches the threshold; `None` where no run could.
    pub adopted: Option<bool>,
    /// The scores of the task's runs without any of them, for the same skills; copies counted once.
    pub controls: Vec<f64>,
}

/// The runs that were offered a skill, each once, in the order of the tasks. A run and its copies are one.
pub fn run_scores(tasks: &[TaskAudit]) -> Vec<RunScore> {
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut found = Vec::new();
    for task in tasks {
        for run in distinct(task).filter(|run| run.with) {
            if known.insert((&task.task, &run.trace)) {
                found.push(score_run(tasks, task, run));
            }
        }
    }
    found
}

fn distinct(task: &TaskAudit) -> impl Iterator<Item = &RunAudit> {
    task.runs.iter().enumerate().filter(|(at, run)| run.original == *at).map(|(_, run)| run)
}

fn score_run(tasks: &[TaskAudit], task: &TaskAudit, run: &RunAudit) -> RunScore {
    let of_trace = |audit: &'_ TaskAudit, trace: &str, with: bool| {
        audit.runs.iter().position(|other| other.trace == trace && other.with == with)
    };
    let audits: Vec<(&TaskAudit, &RunAudit)> = tasks
        .iter()
        .filter(|audit| audit.task == task.task)
        .filter_map(|audit| Some((audit, &audit.runs[of_trace(audit, &run.trace, true)?])))
        .collect();
    let measured: Vec<&(&TaskAudit, &RunAudit)> =
        audits.iter().filter(|(_, audited)| audited.adoption.is_some()).collect();
    let score =
        (!measured.is_empty()).then(|| combine_scores(measured.iter().filter_map(|(_, run)| run.adoption)));
    let can_adopt = measured.iter().any(|(_, audited)| audited.adopted.is_some());
    let controls = distinct(task).filter(|control| !control.with && !control.exposure.opened);
    let control_score = |control: &RunAudit| {
        let scores: Option<Vec<f64>> = measured
            .iter()
            .map(|(audit, _)| audit.runs[of_trace(audit, &control.trace, false)?].adoption)
            .collect();
        scores.map(combine_scores)
    };
    RunScore {
        task: task.task.clone(),
        trace: run.trace.clone(),
        name: run.name.clone(),
        skills: audits.len(),
        measured: measured.len(),
        opened: audits.iter().any(|(_, audited)| audited.exposure.opened),
        score,
        adopted: score.filter(|_| can_adopt).map(|score| score >= ADOPTED),
        controls: if measured.is_empty() { Vec::new() } else { controls.filter_map(control_score).collect() },
    }
}
