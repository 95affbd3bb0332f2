//! Audits of runs in the store.

use assay_analysis::audited::{self, AuditError, audited_skills, require_baseline, skill_texts, visit_run};
use assay_audit::calibrated::{CorpusAudit, TaskRuns, audit};
use assay_audit::corpus::Notice;
use assay_audit::evidence::SkillText;
use assay_store::{RunFolder, Store};

use super::ask::AuditModels;
use super::notices::Notices;
use crate::failure::Failure;

/// Audits a run. What cannot be used is reported.
pub(super) fn of_run(
    store: &Store,
    run: &RunFolder,
    models: &mut AuditModels<'_>,
    notices: &mut Notices<'_>,
) -> Result<CorpusAudit, Failure> {
    let (mut found, mut judge) = (Vec::new(), models.judge.take());
    visit(store, run, Some(models), notices, |task, library| {
        let audited = audit(task, library);
        if let Some(judge) = &mut judge {
            judge.add_task(task, &audited);
        }
        found.push(audited);
    })?;
    models.judge = judge;
    if found.is_empty() {
        let message = format!("the run {} has no finished trial with a skill to audit", run.run);
        return Err(Failure::bad_input(message));
    }
    Ok(CorpusAudit::new(found))
}

/// Reads a run task by task, and gives each to `each` with all skills. A model may add directives to the skills that are
/// audited.
pub(super) fn visit(
    store: &Store,
    run: &RunFolder,
    models: Option<&mut AuditModels<'_>>,
    notices: &mut Notices<'_>,
    each: impl FnMut(&TaskRuns<'_>, &[SkillText]),
) -> Result<(), Failure> {
    require_baseline(run)?;
    let mut texts = skill_texts(store, run, notices);
    if let Some(models) = models {
        let audited = audited_skills(run, notices);
        for (_, skill) in texts.iter_mut().filter(|(digest, _)| audited.contains(*digest)) {
            models.add_to(skill)?;
        }
    }
    visit_run(store, run, &texts, notices, each)?;
    Ok(())
}

impl audited::Notices for Notices<'_> {
    fn file(&mut self, notice: Notice) {
        self.report(&notice);
    }

    fn text(&mut self, message: &str) {
        self.warn(message);
    }

    fn progress(&mut self, what: &str, done: usize, total: usize) {
        self.note_progress(what, done, total);
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        match error {
            AuditError::NoBaseline(_) => Self::bad_input(error.to_string()),
            AuditError::Store(error) => error.into(),
        }
    }
}
