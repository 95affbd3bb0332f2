//! Tasks on which no skill should help, and conditions that should not: what they tell of the rest.

use assay_trial::RunFolder;
use serde::Serialize;

use crate::gather::Gathered;
use crate::report::{Arm, Comparison, Report, TaskRow};
use crate::{arms, comparisons, tasks};

/// The negative controls: tasks where no skill should help. They leave every other table of the report, and are a family of their
/// own, judged by the same rules; `no-effect` is the hoped answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NegativeControls {
    /// The arms on these tasks.
    pub arms: Vec<Arm>,
    /// Each condition against its baseline on them.
    pub comparisons: Vec<Comparison>,
    /// Task by task.
    pub tasks: Vec<TaskRow>,
}

/// `None` where the run has no such task.
pub(crate) fn controls(run: &RunFolder, gathered: &Gathered) -> Option<NegativeControls> {
    (!gathered.controls.is_empty()).then(|| NegativeControls {
        arms: arms::arms(run, &gathered.controls),
        comparisons: comparisons::comparisons(run, &gathered.controls, None),
        tasks: tasks::rows(run, &gathered.controls),
    })
}

/// What they tell, in so many words.
pub(crate) fn notes(run: &RunFolder, report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for comparison in &report.comparisons {
        let what = match comparison.condition.as_str() {
            "placebo" => "A text that teaches nothing",
            "negative" => "A skill that is not about the task",
            _ => continue,
        };
        if comparison.verdict == "helps" {
            notes.push(format!(
                "`{}`{} helps. {what} raised the pass rate by {} points, so as much of what another condition gains may be \
                 the doing of any text at all.",
                comparison.condition,
                by(run, comparison),
                points(comparison.lift)
            ));
        }
    }
    if let Some(controls) = &report.negative_controls {
        notes.extend(control_notes(run, &controls.comparisons, report.margin));
    }
    notes
}

/// A gain or a loss on the controls is a note of its own; those that came out alike are told together.
fn control_notes(run: &RunFolder, comparisons: &[Comparison], margin: f64) -> Vec<String> {
    let on = match comparisons.iter().map(|comparison| comparison.tasks).max() {
        None => return Vec::new(),
        Some(1) => "the one negative control".to_owned(),
        Some(tasks) => format!("the {tasks} negative controls"),
    };
    let margin = 100.0 * margin;
    let mut notes = Vec::new();
    for comparison in comparisons {
        let condition = format!("`{}`{}", comparison.condition, by(run, comparison));
        let moved = points(comparison.lift);
        match comparison.verdict {
            "helps" => notes.push(format!(
                "{condition} helps on {on}, by {moved} points, where no skill should: look for what gives the answer away \
                 before its other gains are believed."
            )),
            "harms" => notes.push(format!("{condition} harms on {on}, by {moved} points.")),
            _ => {}
        }
    }
    let alike = |holds: &dyn Fn(&Comparison) -> bool| -> Option<(String, bool, Option<usize>)> {
        let alike: Vec<&Comparison> = comparisons.iter().filter(|comparison| holds(comparison)).collect();
        let needed = alike.iter().filter_map(|comparison| comparison.tasks_needed).max();
        Some((together(run, &alike, comparisons.len())?, alike.len() == 1, needed))
    };
    if let Some((names, one, _)) = alike(&|comparison| comparison.verdict == "no-effect") {
        let have = if one { "has" } else { "have" };
        notes.push(format!("{names} {have} no effect within ±{margin:.0} points on {on}, as it should be."));
    }
    let lost = |comparison: &Comparison| comparison.reason == Some("losses");
    if let Some((names, one, _)) = alike(&lost) {
        let does = if one { "does" } else { "do" };
        notes
            .push(format!("Too many trials were lost on {on} to tell whether {names} {does} nothing there."));
    }
    let unclear = |comparison: &Comparison| comparison.verdict == "underpowered" && !lost(comparison);
    if let Some((names, one, needed)) = alike(&unclear) {
        let does = if one { "does" } else { "do" };
        let needed =
            needed.map_or(String::new(), |tasks| format!("; about {tasks} such tasks would be needed"));
        notes.push(format!(
            "Whether {names} {does} nothing on {on}, within ±{margin:.0} points, is not shown{needed}."
        ));
    }
    notes
}

/// Several conditions by name, many by number.
fn together(run: &RunFolder, alike: &[&Comparison], of: usize) -> Option<String> {
    let names: Vec<String> =
        alike.iter().map(|comparison| format!("`{}`{}", comparison.condition, by(run, comparison))).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [some @ .., last] if some.len() < 3 => Some(format!("{} and {last}", some.join(", "))),
        many => Some(format!("{} of {of} comparisons", many.len())),
    }
}

fn points(lift: Option<f64>) -> String {
    format!("{:+.0}", 100.0 * lift.unwrap_or(0.0)).replace('-', "−")
}

fn by(run: &RunFolder, comparison: &Comparison) -> String {
    if run.agents.len() < 2 {
        return String::new();
    }
    format!(" by {}", comparison.model.as_deref().unwrap_or(&comparison.agent))
}
