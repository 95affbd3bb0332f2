//! A solution once, for what its checks say, and not for whether the task is sound.

use std::path::Path;

use assay_store::{Cause, Check, Outcome};
use assay_task::{Grading, Task};

use super::{TaskCheckError, TaskCheckEvent, TaskCheckEvents, TaskChecker, end_of};
use crate::experiment::foreign::Permissions;
use crate::run::execute::run as run_plan;
use crate::run::executor::{Event, RunOptions};

/// What the checks of a task say of a solution.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GradedSolution {
    /// The outcome; `None` if nothing could be executed.
    pub outcome: Option<Outcome>,
    /// The checks, as the verifier reported them.
    pub checks: Vec<Check>,
    /// The end of what solution and verifier printed.
    pub output: String,
    /// Why it could not be graded, if so.
    pub unchecked: Option<String>,
}

impl TaskChecker<'_> {
    /// Executes the solution of a task once and grades it. A solution that fails is a result like any other. A rubric
    /// decides nothing.
    ///
    /// # Errors
    /// The store or the sandboxes fail. What cannot be executed here is part of the result.
    pub fn grade_solution(
        &mut self,
        task: &Task,
        events: &dyn TaskCheckEvents,
    ) -> Result<GradedSolution, TaskCheckError> {
        if task.graded_by == Grading::TestsAndRubric {
            let copy = self.without_rubric(task)?;
            return self.grade_tests(&copy, events);
        }
        self.grade_tests(task, events)
    }

    fn grade_tests(
        &self,
        task: &Task,
        events: &dyn TaskCheckEvents,
    ) -> Result<GradedSolution, TaskCheckError> {
        let unchecked =
            |reason: String| GradedSolution { unchecked: Some(reason), ..GradedSolution::default() };
        let mut plan = match self.plan(task) {
            Ok(plan) => plan,
            Err(reason) => return Ok(unchecked(reason)),
        };
        plan.cells.retain(|cell| plan.agents[cell.agent].label.name == "oracle" && cell.repetition == 1);
        let Some(trial) = plan.cells.first().map(|cell| cell.trial.clone()) else {
            return Ok(unchecked("no solution/solve.sh: nothing can be graded".to_owned()));
        };
        let run = plan.begin_run(&self.store)?.run;
        let here = self.machine.context(Permissions::default());
        let resolver = plan.resolver(&self.store, &here);
        let cancel = &self.machine.cancel;
        let outcome =
            run_plan(&plan, &run, &self.store, &resolver, &RunOptions::new(1), cancel, &mut |event| {
                if let Event::Note(note) = event {
                    events.handle_event(&TaskCheckEvent::Note(&note));
                }
            });
        self.store.clear_scratch();
        outcome?;
        let Some(record) = self.store.record(&trial)? else {
            return Ok(unchecked("the trial did not finish".to_owned()));
        };
        let attempt = self.store.trial_folder(&trial).join(format!("attempts/{}", record.attempt));
        let output = describe_output(&attempt);
        let failed = !record.outcome.counts() && record.cause != Some(Cause::Verifier);
        let reason = record.reason.clone().unwrap_or_default();
        Ok(GradedSolution {
            outcome: Some(record.outcome),
            checks: record.checks(),
            output,
            unchecked: failed.then(|| format!("an infrastructure error: {reason}")),
        })
    }
}

/// What solution and verifier printed at last.
fn describe_output(attempt: &Path) -> String {
    let mut text = String::new();
    for (what, file) in [("solution", "agent/oracle.txt"), ("verifier", "verifier/test-stdout.txt")] {
        let output = end_of(attempt, file);
        if !output.trim().is_empty() {
            text.push_str(&format!("the {what} printed:\n{}\n", output.trim_end()));
        }
    }
    text
}
