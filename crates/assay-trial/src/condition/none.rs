use assay_store::ConditionRole;

use super::error::ConditionError;
use super::provision::{Condition, ConditionContext, Provision};

/// No skill: the baseline of most experiments.
pub(super) struct None;

impl Condition for None {
    fn role(&self) -> ConditionRole {
        ConditionRole::None
    }

    fn provide(&self, _context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        Ok(Provision::default())
    }
}
