//! What the trials of a run show of the skills that they were given, without places and patterns: the part that pages and
//! the diagnosis of items count. Results are kept in the store.

use assay_audit::adherence::{DirectiveCounts, Status};
use assay_audit::calibrated::{RunAudit, TaskRuns, audit_own, task_digest};
use assay_audit::evidence::SkillText;
use assay_store::{RunFolder, Store};
use serde::{Deserialize, Serialize};

use super::{AuditCache, AuditError, Notices, SkillTexts, visit_run};

/// What a run of a task shows of the task's skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditedRun {
    /// The step in which the skill had been read.
    pub opened_at: Option<usize>,
    /// The adoption score; `None` where nothing of the skill can be adopted measurably.
    pub adoption: Option<f64>,
    /// The status of each directive, in their order.
    pub statuses: Vec<Status>,
    /// Whether each directive's line reached the agent, in their order.
    pub delivered: Vec<bool>,
    /// The run of its arm and condition whose copy it is, as a place among the task's runs; `None` unless it is one.
    pub copy_of: Option<usize>,
}

impl AuditedRun {
    fn of(run: &RunAudit) -> Self {
        let adherence = &run.adherence;
        Self {
            opened_at: run.opened_at,
            adoption: run.adoption,
            statuses: adherence.assessments.iter().map(|assessment| assessment.status).collect(),
            delivered: adherence.deliveries.iter().map(Option::is_some).collect(),
            copy_of: run.copy_of,
        }
    }

    /// How many directives have which status.
    pub fn counts(&self) -> DirectiveCounts {
        let delivered = self.delivered.iter().filter(|delivered| **delivered).count();
        DirectiveCounts::of(self.statuses.iter().copied(), delivered)
    }
}

/// What the runs of a task show, in their order: kept results if there are any of the same contents and rules.
pub fn summarize_task(
    task: &TaskRuns<'_>,
    library: &[SkillText],
    cache: Option<&AuditCache>,
) -> Vec<AuditedRun> {
    let key = cache.map(|cache| (cache, task_digest(task, library)));
    let fits = |found: &Vec<AuditedRun>| {
        let directives = task.skill.directives.len();
        found.len() == task.runs.len()
            && found.iter().enumerate().all(|(at, run)| {
                run.statuses.len() == directives
                    && run.delivered.len() == directives
                    && run.copy_of.is_none_or(|other| other < at)
            })
    };
    if let Some((cache, key)) = &key
        && let Some(found) = cache.load_runs(key).filter(fits)
    {
        return found;
    }
    let found: Vec<AuditedRun> = audit_own(task, library).runs.iter().map(AuditedRun::of).collect();
    if let Some((cache, key)) = &key {
        cache.save_runs(key, &found);
    }
    found
}

/// Reads a run task by task as [`visit_run`] does, and gives each task to `each` with what its runs show.
///
/// # Errors
/// As of [`visit_run`].
pub fn summarize_run(
    store: &Store,
    run: &RunFolder,
    texts: &SkillTexts,
    notices: &mut dyn Notices,
    mut each: impl FnMut(&TaskRuns<'_>, &[AuditedRun]),
) -> Result<(), AuditError> {
    let cache = AuditCache::of_store(store);
    visit_run(store, run, texts, notices, |task, library| {
        each(task, &summarize_task(task, library, Some(&cache)));
    })
}
