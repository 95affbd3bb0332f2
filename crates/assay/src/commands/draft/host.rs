//! What the stages of a draft need of the command line and this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_draft::ErrorCause;
use assay_draft::host::{CheckedTask, DraftHost, GradedChecks};
use assay_draft::validation::ORACLE_TRIALS;
use assay_model::Price;
use assay_sandbox::Sandbox;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use assay_trial::task_check::{TaskCheckEvent, TaskCheckEvents, TaskChecker, read_memory_size};
use assay_trial::{MachineContext, Permissions, Sandboxes};

use crate::commands::task::{TaskCheckLines, close_checker, open_checker, review};
use crate::config::Settings;
use crate::failure::Failure;
use crate::machine;
use crate::ui::Ui;

/// Concurrent trials of a task's checks.
const JOBS: u16 = 2;

/// The command line as the host of stages.
pub(super) struct CommandHost<'a> {
    pub(super) settings: &'a Settings,
    pub(super) permissions: Permissions,
    pub(super) ui: &'a Ui,
    /// What executes checks, once one was executed.
    pub(super) executor: Option<TaskChecker<'static>>,
}

/// Prints what happens while tasks are checked, but that it begins: the stages say so.
struct CheckNotes<'a>(&'a Ui);

impl TaskCheckEvents for CheckNotes<'_> {
    fn handle_event(&self, event: &TaskCheckEvent<'_>) {
        if !matches!(event, TaskCheckEvent::Executing { .. }) {
            TaskCheckLines(self.0).handle_event(event);
        }
    }
}

impl CommandHost<'_> {
    fn checker(&mut self) -> Result<&mut TaskChecker<'static>, Failure> {
        Ok(match &mut self.executor {
            Some(executor) => executor,
            none => none.insert(open_checker(Some(JOBS), ORACLE_TRIALS, None, self.settings)?),
        })
    }
}

impl DraftHost for CommandHost<'_> {
    fn check_task(&mut self, task: &Task, findings: &mut Vec<Finding>) -> Result<CheckedTask, ErrorCause> {
        let notes = CheckNotes(self.ui);
        let executed = self.checker()?.execute_task(task, &notes).map_err(Failure::from)?;
        let unchecked = executed.unchecked_parts().first().cloned();
        if unchecked.is_none() {
            executed.add_findings(task, findings);
        }
        Ok(CheckedTask { output: executed.printed_output(), unchecked })
    }

    fn grade_solution(&mut self, task: &Task) -> Result<GradedChecks, ErrorCause> {
        let notes = CheckNotes(self.ui);
        let graded = self.checker()?.grade_solution(task, &notes).map_err(Failure::from)?;
        let passed =
            graded.checks.into_iter().map(|check| (check.name.clone(), check.passed() == Some(true)));
        Ok(GradedChecks { passed: passed.collect(), output: graded.output, unchecked: graded.unchecked })
    }

    fn finish_checks(&mut self) {
        close_checker(self.executor.take(), self.ui);
    }

    fn open_sandbox(&self) -> Result<Arc<dyn Sandbox>, ErrorCause> {
        Ok(machine::bubblewrap_sandbox()?)
    }

    fn open_sandboxes(&self) -> Result<Sandboxes, ErrorCause> {
        Ok(machine::sandboxes_for(self.settings)?)
    }

    fn machine_context<'a>(&'a self, sandboxes: &'a Sandboxes) -> MachineContext<'a> {
        MachineContext { permissions: self.permissions, ..machine::context(sandboxes, None) }
    }

    fn memory_bytes(&self) -> Option<u64> {
        read_memory_size()
    }

    fn is_paid(&self, model: &str, base_url: Option<&str>, price: Option<Price>) -> bool {
        machine::is_paid(model, base_url, price)
    }

    fn write_reviews(
        &mut self,
        tasks: &[PathBuf],
        skills: &[Package],
        folder: &Path,
    ) -> Result<(), ErrorCause> {
        Ok(review::write_reviews(tasks, skills, folder, self.settings, self.ui)?)
    }
}
