use assay_store::ConditionRole;

use super::error::ConditionError;
use super::provision::{Condition, ConditionContext, Provision};

/// The agent writes its own skills first: is a curated one worth more than the model's own
/// knowledge?
pub(super) struct SelfGenerated;

/// The text before the task. `{skills}` is the empty folder.
const PREFACE: &str = "Before you solve the task below, write down what one has to know for it. First name the knowledge that the \
task needs: conventions, formats, tools, pitfalls. Then write between one and five reusable skills into the folder {skills}, \
which is empty: each a folder of its own with a SKILL.md in Markdown that says when to use it, how to set up what it needs, and \
the steps, with code examples; written for any task of this kind, not for this one alone. Then solve the task, using them.\n\n\
The task:";

impl Condition for SelfGenerated {
    fn role(&self) -> ConditionRole {
        ConditionRole::SelfGenerated
    }

    fn provide(&self, _context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        Ok(Provision { preface: PREFACE.to_owned(), writes_skills: true, ..Provision::default() })
    }
}
