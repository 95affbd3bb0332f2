use super::neighbours::unrelated;
use super::{Condition, Provision, Setting, curated, named};

/// One skill that has nothing to do with the task: what merely having a skill costs.
pub(super) struct Negative;

impl Condition for Negative {
    fn name(&self) -> &'static str {
        "negative"
    }

    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String> {
        let paired = setting.pairing.and_then(|pairing| pairing.negative.as_deref());
        let skill = match paired.or(setting.task.negative_skill.as_deref()) {
            Some(name) => named(setting, name)?,
            // No skill belongs to a negative control, and so any other has nothing to do with it.
            None if setting.task.negative_control => {
                unrelated(setting, &curated(setting).unwrap_or_default())?.clone()
            }
            None => unrelated(setting, &curated(setting)?)?.clone(),
        };
        Ok(Provision { skills: vec![skill], ..Provision::default() })
    }
}
