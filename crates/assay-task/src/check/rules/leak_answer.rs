//! Skills that contain the answer.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::Rule;
use crate::check::rules::leak_words::{Shared, shared};
use crate::check::subject::Subject;

pub(super) struct LeakAnswer;

impl Rule for LeakAnswer {
    fn code(&self) -> &'static str {
        "leak-answer"
    }

    fn levels(&self) -> &'static str {
        "fail"
    }

    fn summary(&self) -> &'static str {
        "a skill that contains the answer: 32 or more consecutive words of the solution, or of a file in tests/ with expected output"
    }

    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        for shared in shared(subject).into_iter().filter(Shared::is_answer) {
            let message = format!(
                "the skill `{}` contains the answer: {} consecutive words of the {}",
                shared.skill.name,
                shared.run.words,
                shared.side.word()
            );
            let hint = "remove it from the skill, or solve the task another way: otherwise the task measures copying";
            found.push(shared.finding(Severity::Error, self.code(), message, hint));
        }
    }
}
