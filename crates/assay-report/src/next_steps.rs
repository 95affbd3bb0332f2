//! The words for what to do next.

use assay_analysis::NextStep;

use crate::text::counted;

/// A next step as one sentence or two.
pub fn next_step(step: &NextStep) -> String {
    match step {
        NextStep::Finish { trials } => format!(
            "{} no result: run the experiment again, which executes only these.",
            counted(*trials, "trial has", "trials have")
        ),
        NextStep::FewTasks { tasks, needed } => {
            format!("Add tasks: a verdict needs at least {needed}, and this run has {tasks}.")
        }
        NextStep::Inconclusive { condition, margin } => format!(
            "`{condition}` is inconclusive: `assay plan EXPERIMENT --lift {margin}` compares designs with more tasks or repetitions."
        ),
        NextStep::NotOpened { condition, opened } => format!(
            "`{condition}`: a skill was opened in only {:.0}% of the trials. Improve its description, or add a condition with \
             `disclosure = \"told\"` to measure the skill apart from whether it is noticed.",
            100.0 * opened
        ),
        NextStep::NotDelivered { run, condition, delivered } => format!(
            "`{condition}` was not tested: its treatment was available in {:.0}% of its trials only. Find out why before you \
             add trials: `assay show {run}` lists them.",
            100.0 * delivered
        ),
        NextStep::Harms { run, condition } => {
            format!(
                "`{condition}` harms: `assay audit corpus {run}` shows what it changed in the agent's behavior."
            )
        }
        NextStep::StillFails { run, condition, task, test, failed: [failed, trials], trial } => {
            let what = match test {
                Some(test) => format!("the check `{test}` of the task `{task}`"),
                None => format!("the task `{task}`"),
            };
            format!(
                "`{condition}`: {what} fails in {failed} of {}. `assay show {}` shows one, `assay report {run} --tests` lists all.",
                counted(*trials, "trial", "trials"),
                trial.short()
            )
        }
        NextStep::NoPlacebo { condition } => format!(
            "`{condition}` helps: add the condition `placebo` to see whether any text of this length would."
        ),
    }
}
