use super::neighbours::{related, unrelated};
use super::{Condition, Provision, Setting, curated, named};

/// The task's own skills and a related one: does a neighbour help or get in the way?
pub(super) struct PlusRelated;

/// The task's own skills and an unrelated one: what does more cost?
pub(super) struct PlusUnrelated;

impl Condition for PlusRelated {
    fn name(&self) -> &'static str {
        "plus-related"
    }

    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String> {
        let mut skills = curated(setting)?;
        let paired = setting.pairing.and_then(|pairing| pairing.related.as_deref());
        let second = match paired.or(setting.task.related_skill.as_deref()) {
            Some(name) => named(setting, name)?,
            None => related(setting, &skills)?.clone(),
        };
        skills.push(second);
        Ok(Provision { skills, ..Provision::default() })
    }
}

impl Condition for PlusUnrelated {
    fn name(&self) -> &'static str {
        "plus-unrelated"
    }

    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String> {
        let mut skills = curated(setting)?;
        let paired = setting.pairing.and_then(|pairing| pairing.negative.as_deref());
        let second = match paired.or(setting.task.unrelated_skill.as_deref()) {
            Some(name) => named(setting, name)?,
            None => unrelated(setting, &skills)?.clone(),
        };
        skills.push(second);
        Ok(Provision { skills, ..Provision::default() })
    }
}
