use super::{Condition, Provision, Setting, curated};

/// The skills that belong to the task.
pub(super) struct Curated;

impl Condition for Curated {
    fn name(&self) -> &'static str {
        "curated"
    }

    fn provide(&self, setting: &Setting<'_>) -> Result<Provision, String> {
        Ok(Provision { skills: curated(setting)?, ..Provision::default() })
    }
}
