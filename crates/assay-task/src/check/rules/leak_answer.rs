//! Skills that contain the answer.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::rules::leak_words::{Shared, shared};
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "leak-answer",
    levels: "fail",
    summary: "a skill that contains the answer: 32 or more consecutive words of the solution, or of a file in tests/ with expected output",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for shared in shared(subject).into_iter().filter(Shared::is_answer) {
        let message = format!(
            "the skill `{}` contains the answer: {} consecutive words of the {}",
            shared.skill.name,
            shared.run.words,
            shared.side.word()
        );
        let hint =
            "remove it from the skill, or solve the task another way: otherwise the task measures copying";
        found.push(shared.finding(Severity::Error, RULE.code, message, hint));
    }
}
