//! What the stages of a draft need of their caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::Price;
use assay_sandbox::Sandbox;
use assay_skill::Package;
use assay_task::Task;
use assay_task::check::Finding;
use assay_trial::{MachineContext, Sandboxes};

use crate::error::ErrorCause;

/// What the checks of a task showed besides findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedTask {
    /// What solution and verifier printed.
    pub output: String,
    /// Why something could not be checked, if so.
    pub unchecked: Option<String>,
}

/// What the checks of a task say of a solution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GradedChecks {
    /// Whether each check passed, by name. Empty if nothing was graded, such as after a deadline.
    pub passed: BTreeMap<String, bool>,
    /// What solution and verifier printed.
    pub output: String,
    /// Why it could not be graded here, if so.
    pub unchecked: Option<String>,
}

/// What the stages of a draft need of their caller and its machine.
pub trait DraftHost {
    /// Runs solution and no-op check of a task, and adds what they say against it. A rubric decides nothing here: no judge is
    /// asked.
    ///
    /// # Errors
    /// Nothing can be executed here.
    fn check_task(&mut self, task: &Task, findings: &mut Vec<Finding>) -> Result<CheckedTask, ErrorCause>;

    /// Runs the solution of a task once and grades it. A solution that fails is a result like any other.
    ///
    /// # Errors
    /// Nothing can be executed here.
    fn grade_solution(&mut self, task: &Task) -> Result<GradedChecks, ErrorCause>;

    /// Ends the checks. It is called once for all tasks, if one was checked.
    fn finish_checks(&mut self);

    /// Opens the sandbox of programs that make files.
    ///
    /// # Errors
    /// There is none here.
    fn open_sandbox(&self) -> Result<Arc<dyn Sandbox>, ErrorCause>;

    /// Opens the sandboxes of trials.
    ///
    /// # Errors
    /// The store cannot be opened.
    fn open_sandboxes(&self) -> Result<Sandboxes, ErrorCause>;

    /// What trials may know of this machine, with the permissions of the caller.
    fn machine_context<'a>(&'a self, sandboxes: &'a Sandboxes) -> MachineContext<'a>;

    /// The machine's memory in bytes, if it is known.
    fn memory_bytes(&self) -> Option<u64>;

    /// Whether somebody bills for a model at an address.
    fn is_paid(&self, model: &str, base_url: Option<&str>, price: Option<Price>) -> bool;

    /// Writes a report on each task, for those who review it.
    ///
    /// # Errors
    /// A report cannot be written.
    fn write_reviews(
        &mut self,
        tasks: &[PathBuf],
        skills: &[Package],
        folder: &Path,
    ) -> Result<(), ErrorCause>;
}
