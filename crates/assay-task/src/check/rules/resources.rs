//! Wishes that no sandbox here gives.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "resources",
    levels: "fail, warn",
    summary: "requirements that no sandbox here provides: a GPU, Windows (fail), more CPUs or memory than the machine has (warn)",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    let wish = &subject.task.config.environment;
    let file = subject.task.root.join("task.toml");
    let mut say = |level, message: String, hint: &str| {
        found.push(Finding::new(level, RULE.code, file.clone(), message, hint));
    };
    if wish.gpus > 0 {
        say(
            Severity::Error,
            "requires a GPU, which no sandbox here provides".to_owned(),
            "run it on another machine",
        );
    }
    if wish.windows {
        say(
            Severity::Error,
            "requires Windows, which no sandbox here provides".to_owned(),
            "run it on another machine",
        );
    }
    if let (Some(cpus), Some(have)) = (wish.cpus, subject.context.cpus)
        && cpus > have
    {
        let message = format!("requests {cpus} CPUs; this machine has {have}");
        say(Severity::Warning, message, "run it on a larger machine, or request less");
    }
    if let (Some(memory), Some(have)) = (wish.memory_bytes, subject.context.memory_bytes)
        && memory > have
    {
        let message = format!("requests {} MB of memory; this machine has {} MB", memory >> 20, have >> 20);
        say(Severity::Warning, message, "run it on a larger machine, or request less");
    }
}
