//! What the stages of a draft need of the command line and this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_draft::ErrorCause;
use assay_draft::host::{CheckedTask, DraftHost};
use assay_draft::validation::ORACLE_TRIALS;
use assay_model::Price;
use assay_sandbox::Sandbox;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use assay_trial::{MachineContext, Permissions, Sandboxes};

use crate::commands::task::execute::Executor;
use crate::commands::task::{memory, review};
use crate::config::Settings;
use crate::machine;
use crate::ui::Ui;

/// Concurrent trials of a task's checks.
const JOBS: usize = 2;

/// The command line as the host of stages.
pub(super) struct CommandHost<'a> {
    pub(super) settings: &'a Settings,
    pub(super) permissions: Permissions,
    pub(super) ui: &'a Ui,
    /// What executes checks, once one was executed.
    pub(super) executor: Option<Executor<'static>>,
}

impl DraftHost for CommandHost<'_> {
    fn check_task(&mut self, task: &Task, findings: &mut Vec<Finding>) -> Result<CheckedTask, ErrorCause> {
        let executor = match &mut self.executor {
            Some(executor) => executor,
            none => none.insert(Executor::new(JOBS, ORACLE_TRIALS, None, self.settings)?),
        };
        let executed = executor.execute(task, self.ui)?;
        let unchecked = executed.unchecked().first().cloned();
        if unchecked.is_none() {
            executed.add_findings(task, findings);
        }
        Ok(CheckedTask { output: executed.output(), unchecked })
    }

    fn finish_checks(&mut self) {
        if let Some(executor) = self.executor.take() {
            executor.finish(self.ui);
        }
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
        memory()
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
