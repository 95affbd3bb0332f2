use assay_store::ConditionRole;

use super::error::ConditionError;
use super::provision::{Condition, ConditionContext, Provision, curated};

/// The skills that belong to the task.
pub(super) struct Curated;

impl Condition for Curated {
    fn role(&self) -> ConditionRole {
        ConditionRole::Curated
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        Ok(Provision { skills: curated(context)?, ..Provision::default() })
    }
}
