use assay_store::ConditionRole;

use super::error::ConditionError;
use super::neighbours::unrelated;
use super::provision::{Condition, ConditionContext, Provision, curated, named};

/// One skill that has nothing to do with the task: what merely having a skill costs.
pub(super) struct Negative;

impl Condition for Negative {
    fn role(&self) -> ConditionRole {
        ConditionRole::Negative
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let paired = context.pairing.and_then(|pairing| pairing.negative.as_deref());
        let skill = match paired.or(context.task.negative_skill.as_deref()) {
            Some(name) => named(context, name)?,
            // No skill belongs to a negative control, and so any other has nothing to do with it.
            None if context.task.negative_control => {
                unrelated(context, &curated(context).unwrap_or_default())?.clone()
            }
            None => unrelated(context, &curated(context)?)?.clone(),
        };
        Ok(Provision { skills: vec![skill], ..Provision::default() })
    }
}
