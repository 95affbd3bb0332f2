//! The words for what to do next.

use std::path::Path;

use assay_analysis::{Cause, NextStep, TrialId};

use crate::text::{counted, percent, pp, shell_word};

/// Tasks that are named in a sentence.
const NAMED: usize = 3;

/// A next step as one to three sentences: the cause, then what to do, with at most one command. `experiment` is the
/// file of the run's experiment, if it is known; without it no command names one.
pub fn next_step(step: &NextStep, experiment: Option<&Path>) -> String {
    match step {
        NextStep::Finish { trials } => {
            let none = counted(*trials, "trial has", "trials have");
            match command(experiment, "run") {
                Some(run) => format!("{none} no result: `{run}` executes only these."),
                None => format!("{none} no result: run the experiment again, which executes only these."),
            }
        }
        NextStep::NotDelivered { run, condition, delivered } => format!(
            "`{condition}` was not tested: its treatment was available in {:.0}% of its trials only. Find out why before you \
             add trials: `assay show {run}` lists them.",
            100.0 * delivered
        ),
        NextStep::Inconclusive { condition, margin, causes, tasks, failed, imported } => {
            let advice = Advice {
                experiment,
                margin: *margin,
                tasks: *tasks,
                failed: failed.as_ref(),
                imported: *imported,
            };
            let [first, rest @ ..] = &causes[..] else { return format!("`{condition}` is inconclusive.") };
            let also: String = rest.iter().map(|cause| format!(" Also: {}.", cause_words(cause))).collect();
            format!("`{condition}` is inconclusive: {}. {}{also}", cause_words(first), advice.on(first))
        }
        NextStep::Negligible { run, condition, token_ratio, cost_ratio, causes, imported } => {
            let times = match (cost_ratio, token_ratio) {
                (Some(ratio), _) => format!(" and costs {ratio:.1} × as much as the baseline"),
                (None, Some(ratio)) => format!(" and costs {ratio:.1} × the tokens of the baseline"),
                (None, None) => String::new(),
            };
            let why: String =
                causes.iter().take(1).map(|cause| format!(" ({})", cause_words(cause))).collect();
            let how = if *imported {
                format!("; `assay report {run} --details` lists what it passes")
            } else {
                " (`assay init task --help`)".to_owned()
            };
            format!(
                "`{condition}` has a negligible effect{why}{times}: drop it, or test it on tasks that the baseline fails{how}."
            )
        }
        NextStep::PlaceboHelps { condition, placebo } => {
            let how = match command(experiment, "run") {
                Some(run) => format!(
                    "Put `{placebo}` first in `conditions`: `{run}` then compares `{condition}` with it"
                ),
                None => format!(
                    "Run the experiment with `{placebo}` as the first condition to compare `{condition}` with it"
                ),
            };
            format!(
                "`{condition}` helps, and so does `{placebo}`, which teaches nothing of the tasks. {how}, from the same trials."
            )
        }
        NextStep::NotOpened { condition, opened, trial } => {
            format!("`{condition}`: {}. {}", not_opened(*opened), notice(trial.as_ref()))
        }
        NextStep::Harms { run, condition, tasks, trial, has_transcripts } => {
            let lost = if tasks.is_empty() { String::new() } else { format!(" {} lost most.", named(tasks)) };
            let what = match (has_transcripts, trial) {
                (true, _) => {
                    format!(" `assay audit corpus {run}` shows what it changed in the agent's behavior.")
                }
                (false, Some(trial)) => format!(" `assay show {}` shows such a trial.", trial.short()),
                (false, None) => String::new(),
            };
            format!("`{condition}` harms.{lost}{what}")
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
        NextStep::NoPlacebo { condition } => {
            let how = command(experiment, "run")
                .map_or(String::new(), |run| format!(" `{run}` then executes only its trials."));
            format!(
                "`{condition}` helps: add the condition `placebo` to see whether any text of this length would.{how}"
            )
        }
    }
}

/// A cause as a clause, without its full stop.
fn cause_words(cause: &Cause) -> String {
    match cause {
        Cause::FewTasks { units, needed } => {
            format!(
                "a verdict needs at least {needed} tasks or effective clusters, and this comparison has {units}"
            )
        }
        Cause::NeedsNetwork { tasks } => format!(
            "{} excluded, because {} needs the network, which the task forbids",
            counted(tasks.len(), "task is", "tasks are"),
            if tasks.len() == 1 {
                format!("the solution of {}", named(tasks))
            } else {
                format!("each solution ({})", named(tasks))
            },
        ),
        Cause::LostTrials { trials } => format!(
            "{} could change the verdict",
            counted(*trials, "trial with an infrastructure error", "trials with infrastructure errors")
        ),
        Cause::Ceiling { at_ceiling, tasks, .. } if at_ceiling == tasks => {
            "the baseline passes all tasks: they cannot show help".to_owned()
        }
        Cause::Ceiling { at_ceiling, tasks, baseline, exhausted } => {
            let room = if *exhausted {
                format!(
                    ", and its score of {} leaves no room for a lift of the margin's size",
                    percent(*baseline)
                )
            } else {
                String::new()
            };
            if *at_ceiling == 0 {
                format!(
                    "the baseline's score of {} leaves no room for a lift of the margin's size",
                    percent(*baseline)
                )
            } else {
                format!(
                    "the baseline passes {at_ceiling} of {tasks} tasks in every trial: these cannot show help{room}"
                )
            }
        }
        Cause::Floor { at_floor, tasks } if at_floor == tasks => {
            "no trial scores anything under either condition: the tasks are too hard to show a difference"
                .to_owned()
        }
        Cause::Floor { at_floor, tasks } => format!(
            "no trial of {at_floor} of {tasks} tasks scores anything under either condition: these are too hard to show a difference"
        ),
        Cause::NotOpened { opened, .. } => not_opened(*opened),
        Cause::OppositeEffects { better, worse, .. } => {
            format!("effects of both signs: {} clearly better, {} clearly worse", are(better), are(worse))
        }
        Cause::PartialCredit { pass_rate_lift } => {
            format!("the scores give partial credit, and the pass rate differs by {}", pp(*pass_rate_lift))
        }
        Cause::Noise => "the differences between tasks are too large for their number".to_owned(),
    }
}

fn not_opened(opened: f64) -> String {
    format!("a skill was opened in only {} of the trials", percent(opened))
}

/// What to do about a skill that is not noticed.
fn notice(trial: Option<&TrialId>) -> String {
    let show = trial
        .map_or(String::new(), |trial| format!(" `assay show {}` shows a trial without.", trial.short()));
    format!(
        "Improve its description, or add a condition with `disclosure = \"told\"` to measure the skill apart from whether it is noticed.{show}"
    )
}

/// What a step can refer to.
struct Advice<'a> {
    experiment: Option<&'a Path>,
    margin: f64,
    tasks: Option<usize>,
    failed: Option<&'a TrialId>,
    imported: bool,
}

impl Advice<'_> {
    /// What to do about a cause of an inconclusive comparison.
    fn on(&self, cause: &Cause) -> String {
        let margin = pp(self.margin).replace('+', "±");
        match cause {
            Cause::FewTasks { .. } => self.more_tasks("Add tasks"),
            Cause::Ceiling { .. } => self.more_tasks("Add harder tasks"),
            Cause::Floor { .. } => {
                let show = self.failed.map_or(String::new(), |trial| {
                    format!(" `assay show {}` shows where such a trial ends.", trial.short())
                });
                format!("Add easier tasks.{show}")
            }
            Cause::NeedsNetwork { .. } => {
                let again =
                    command(self.experiment, "run").map_or(String::new(), |run| format!(", then `{run}`"));
                format!(
                    "Put what the solution fetches into the task's image, or set `network_mode = \"public\"` in its task.toml{again}."
                )
            }
            Cause::LostTrials { .. } => match command(self.experiment, "run") {
                Some(run) if !self.imported => format!("`{run}` retries them."),
                _ => "Only the program that executed the trials can retry them.".to_owned(),
            },
            Cause::NotOpened { trial, .. } => notice(trial.as_ref()),
            Cause::OppositeEffects { trial, worse, .. } => {
                let task = worse.first().map_or("", String::as_str);
                trial.as_ref().map_or_else(
                    || "Restrict the skill to the tasks that it helps.".to_owned(),
                    |trial| format!("`assay show {}` shows a trial of `{task}`.", trial.short()),
                )
            }
            Cause::PartialCredit { .. } => match command(self.experiment, "run") {
                Some(run) if !self.imported => format!(
                    "Set `outcome = \"pass\"` in the experiment; `{run}` then judges the same trials by pass or fail."
                ),
                _ => "A verdict on passes alone may differ.".to_owned(),
            },
            Cause::Noise => {
                let needed = self.tasks.map(|tasks| format!("≈{}", counted(tasks, "task", "tasks")));
                match (command(self.experiment, "plan"), needed) {
                    (Some(plan), Some(needed)) => format!(
                        "{needed} would show a lift of {margin}; `{plan} --lift {}` compares designs.",
                        self.margin
                    ),
                    (Some(plan), None) => format!("`{plan} --lift {}` compares designs.", self.margin),
                    (None, Some(needed)) => format!("Add tasks: {needed} would show a lift of {margin}."),
                    (None, None) => "Add tasks.".to_owned(),
                }
            }
        }
    }

    /// How tasks are added.
    fn more_tasks(&self, what: &str) -> String {
        if self.imported {
            format!("{what} where the trials were executed, and import the results again.")
        } else {
            format!("{what} (`assay init task --help`).")
        }
    }
}

/// A command on the experiment.
fn command(experiment: Option<&Path>, name: &str) -> Option<String> {
    Some(format!("assay {name} {}", shell_word(&experiment?.to_string_lossy())))
}

fn are(tasks: &[String]) -> String {
    format!("{} {}", named(tasks), if tasks.len() == 1 { "is" } else { "are" })
}

/// The first few names, and how many more there are.
fn named(tasks: &[String]) -> String {
    let names: Vec<String> = tasks.iter().take(NAMED).map(|task| format!("`{task}`")).collect();
    match (tasks.len().saturating_sub(NAMED), &names[..]) {
        (0, [first @ .., last]) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, names) => names.concat(),
        (more, names) => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inconclusive_comparison_names_its_cause_and_what_to_do() {
        let trial: TrialId = "ab".repeat(32).parse().expect("64 hexadecimal digits");
        let check = |causes: Vec<Cause>, imported: bool, expected: &str| {
            let step = NextStep::Inconclusive {
                condition: "curated".to_owned(),
                margin: 0.1,
                causes,
                tasks: Some(64),
                failed: Some(trial.clone()),
                imported,
            };
            let experiment = (!imported).then_some(Path::new("my suite/experiment.toml"));
            assert_eq!(next_step(&step, experiment), format!("`curated` is inconclusive: {expected}"));
        };
        let ceiling = |at_ceiling: usize, baseline: f64| Cause::Ceiling {
            at_ceiling,
            tasks: 20,
            baseline,
            exhausted: baseline > 0.9,
        };
        check(
            vec![ceiling(20, 1.0)],
            false,
            "the baseline passes all tasks: they cannot show help. Add harder tasks (`assay init task --help`).",
        );
        check(
            vec![ceiling(12, 0.7)],
            true,
            "the baseline passes 12 of 20 tasks in every trial: these cannot show help. Add harder tasks where the trials were executed, and import the results again.",
        );
        check(
            vec![Cause::Noise],
            false,
            "the differences between tasks are too large for their number. ≈64 tasks would show a lift of ±10 pp; `assay plan 'my suite/experiment.toml' --lift 0.1` compares designs.",
        );
        check(
            vec![Cause::Floor { at_floor: 5, tasks: 5 }],
            true,
            "no trial scores anything under either condition: the tasks are too hard to show a difference. Add easier tasks. `assay show abababababab` shows where such a trial ends.",
        );
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        check(
            vec![
                Cause::OppositeEffects {
                    better: names(&["a", "b"]),
                    worse: names(&["c"]),
                    trial: Some(trial.clone()),
                },
                Cause::LostTrials { trials: 1 },
            ],
            false,
            "effects of both signs: `a` and `b` are clearly better, `c` is clearly worse. `assay show abababababab` shows a trial of `c`. Also: 1 trial with an infrastructure error could change the verdict.",
        );
    }
}
