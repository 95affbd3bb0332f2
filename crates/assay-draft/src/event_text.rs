//! Events of drafts in words.

use assay_diagnostic::{chain, clean, counted};

use crate::event::DraftEvent;

/// Describes progress, for people who want to see it; `None` for events that everybody should see.
pub fn describe_progress(event: &DraftEvent<'_>) -> Option<String> {
    Some(match event {
        DraftEvent::Directives(count) => format!("directives: {count}"),
        DraftEvent::Probed { known, unknown } => {
            format!("probe: {known} known without the skill, {unknown} not")
        }
        DraftEvent::Written(path) => format!("wrote {}", path.display()),
        DraftEvent::Checking { task, oracle_trials } => {
            format!("{task}: running the oracle {oracle_trials} times and the no-op check")
        }
        DraftEvent::Working { task, what } => format!("{task}: {what}"),
        DraftEvent::ItemDropped { task, item, reason } => {
            format!("{task}: item {item} left out: {}", clean(reason))
        }
        DraftEvent::Refilling { missing } => {
            format!("asking for other ideas: {} missing", counted(*missing, "task", "tasks"))
        }
        DraftEvent::IdeaDropped { idea, reason } => format!("{idea}: left out: it {}", clean(reason)),
        DraftEvent::Accepted(task) => format!("{task}: accepted"),
        DraftEvent::Rejected { task, reason } => format!("{task}: infeasible: {}", clean(reason)),
        DraftEvent::Repaired { task, repairs, most } => {
            format!("{task}: repaired ({repairs} of at most {most})")
        }
        DraftEvent::Solved { task, model } => format!("{task}: solved by {model}"),
        DraftEvent::Piloted { task, passed, met, of } => {
            let [without, with] = passed.map(|passed| if passed { "passed" } else { "failed" });
            format!(
                "{task}: {without} without the skill ({} of {of} IF items met), {with} with it ({} of {of})",
                met[0], met[1]
            )
        }
        DraftEvent::Requests { source, accepted, of } => format!("{source}: {accepted} of {of}"),
        _ => return None,
    })
}

/// Describes an event that is no progress.
pub fn describe_event(event: &DraftEvent<'_>) -> String {
    match event {
        DraftEvent::Diagnostic(diagnostic) => diagnostic.to_string(),
        DraftEvent::SafetyError(found) => {
            format!("{}: {}: {}", clean(&found.path), found.rule.code, clean(&found.message))
        }
        DraftEvent::NotCopied(left_out) => {
            format!("not copied: {}: {}", left_out.path.display(), left_out.reason)
        }
        DraftEvent::BadLine { path, line } => {
            format!("{}:{}: {}; skipped", path.display(), line.line, line.message)
        }
        DraftEvent::BadLines { path, count } => format!("{count} invalid lines in {}", path.display()),
        DraftEvent::UnreadableSkill(error) => format!("{}; left out", chain(*error)),
        DraftEvent::NoRecords(path) => format!("{}: no records", path.display()),
        DraftEvent::DuplicateIds(count) => format!("{count} duplicate ids; the first of each is used"),
        DraftEvent::UnreadableTranscript(error) => format!("warning: {}", chain(error)),
        DraftEvent::UnreadableTrial(error) => format!("warning: {}; left out", chain(error)),
        DraftEvent::NoTranscript(path) => format!("{}: no transcript", path.display()),
        DraftEvent::IntentCut { source, characters } => format!("{source}: cut to {characters} characters"),
        DraftEvent::MaterialCut => {
            "warning: the material is longer than a request may be; its parts were cut".to_owned()
        }
        DraftEvent::OtherModel { model, before } => {
            format!("the draft continues with {model} instead of {before}; its replies are not used")
        }
        DraftEvent::OtherPrompts => {
            "this version of assay has other prompts than the draft began with; its replies are not used"
                .to_owned()
        }
        DraftEvent::NoProbe => {
            "the model to be measured was not asked what it does without the skill: --measured names it".to_owned()
        }
        DraftEvent::NotAsked { directive, reason } => {
            format!("{directive}: not asked in the probe, because its question gives the answer away: {}", clean(reason))
        }
        DraftEvent::NothingToMeasure { reason, is_forced: true } => format!("warning: {reason}"),
        DraftEvent::NothingToMeasure { .. } => {
            "nothing to measure: no tasks are drafted, and nothing more is spent".to_owned()
        }
        DraftEvent::Unusable { task, reason } => format!("{task}: {}", clean(reason)),
        DraftEvent::NoSecondModel => {
            "only the author works on the tasks, so that wrong checks go unnoticed: --solver names another model"
                .to_owned()
        }
        DraftEvent::SameFamily { author, other } => {
            format!("{other} is of the family of {author}: it may share the author's reading of the skill")
        }
        DraftEvent::NoSolver => {
            "whether another model solves the tasks has not been checked: --solver names one".to_owned()
        }
        DraftEvent::TrialNote(note) => (*note).to_owned(),
        DraftEvent::FewTasks(tasks) => format!(
            "{} rarely decide anything: ten have a power of 71% to 84% for a difference of 0.17 to 0.20; --tasks asks for more",
            counted(*tasks, "task", "tasks")
        ),
        DraftEvent::NoCounterfactual(reason) => {
            format!("the experiment has no condition counterfactual: {reason}")
        }
        DraftEvent::NoHeadroom => {
            "headroom has not been measured: tasks that always pass without the skill cannot show that it helps"
                .to_owned()
        }
        event => format!("{event:?}"),
    }
}
