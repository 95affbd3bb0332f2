//! Wishes that no sandbox here gives.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::Rule;
use crate::check::subject::Subject;

pub(super) struct Resources;

impl Rule for Resources {
    fn code(&self) -> &'static str {
        "resources"
    }

    fn levels(&self) -> &'static str {
        "fail, warn"
    }

    fn summary(&self) -> &'static str {
        "wishes that no sandbox here gives: a GPU, Windows (fail), more processors or memory than the machine has (warn)"
    }

    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let wish = &subject.task.config.environment;
        let file = subject.task.root.join("task.toml");
        let mut say = |level, message: String, hint: &str| {
            found.push(Finding::new(level, self.code(), file.clone(), message, hint));
        };
        if wish.gpus > 0 {
            say(
                Severity::Error,
                "asks for a GPU, which no sandbox here gives".to_owned(),
                "run it elsewhere",
            );
        }
        if wish.windows {
            say(
                Severity::Error,
                "asks for Windows, which no sandbox here gives".to_owned(),
                "run it elsewhere",
            );
        }
        if let (Some(cpus), Some(have)) = (wish.cpus, subject.context.cpus)
            && cpus > have
        {
            let message = format!("asks for {cpus} processors; this machine has {have}");
            say(Severity::Warning, message, "run it on a larger machine, or ask for less");
        }
        if let (Some(memory), Some(have)) = (wish.memory_bytes, subject.context.memory_bytes)
            && memory > have
        {
            let message = format!("asks for {} MB of memory; this machine has {}", memory >> 20, have >> 20);
            say(Severity::Warning, message, "run it on a larger machine, or ask for less");
        }
    }
}
