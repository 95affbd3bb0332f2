use assay_store::ConditionRole;

use super::error::ConditionError;
use super::neighbours::{related, unrelated};
use super::provision::{Condition, ConditionContext, Provision, curated, named};

/// The task's own skills and a related one: does a neighbour help or get in the way?
pub(super) struct PlusRelated;

/// The task's own skills and an unrelated one: what does an additional skill cost?
pub(super) struct PlusUnrelated;

impl Condition for PlusRelated {
    fn role(&self) -> ConditionRole {
        ConditionRole::PlusRelated
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let mut skills = curated(context)?;
        let paired = context.pairing.and_then(|pairing| pairing.related.as_deref());
        let second = match paired.or(context.task.related_skill.as_deref()) {
            Some(name) => named(context, name)?,
            None => related(context, &skills)?.clone(),
        };
        skills.push(second);
        Ok(Provision { skills, ..Provision::default() })
    }
}

impl Condition for PlusUnrelated {
    fn role(&self) -> ConditionRole {
        ConditionRole::PlusUnrelated
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        let mut skills = curated(context)?;
        let paired = context.pairing.and_then(|pairing| pairing.negative.as_deref());
        let second = match paired.or(context.task.unrelated_skill.as_deref()) {
            Some(name) => named(context, name)?,
            None => unrelated(context, &skills)?.clone(),
        };
        skills.push(second);
        Ok(Provision { skills, ..Provision::default() })
    }
}
