//! Files that were not read.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::TaskRule;
use crate::check::subject::Subject;

pub(super) const RULE: TaskRule = TaskRule {
    code: "unread",
    levels: "info",
    summary: "files that are too large, too many or unreadable, so that other rules saw only a part",
    is_opt_in: false,
    check,
};

fn check(subject: &Subject<'_>, found: &mut Vec<Finding>) {
    for (file, why) in &subject.unread {
        let hint = "review it manually";
        found.push(Finding::new(Severity::Info, RULE.code, file, format!("not fully checked: {why}"), hint));
    }
}
