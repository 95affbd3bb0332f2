//! Files that were not read.

use assay_diagnostic::Severity;

use crate::check::finding::Finding;
use crate::check::rule::Rule;
use crate::check::subject::Subject;

pub(super) struct Unread;

impl Rule for Unread {
    fn code(&self) -> &'static str {
        "unread"
    }

    fn levels(&self) -> &'static str {
        "info"
    }

    fn summary(&self) -> &'static str {
        "files that are too large, too many or unreadable, so that other rules saw only a part"
    }

    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        for (file, why) in &subject.unread {
            let hint = "review it manually";
            found.push(Finding::new(
                Severity::Info,
                self.code(),
                file,
                format!("not fully checked: {why}"),
                hint,
            ));
        }
    }
}
