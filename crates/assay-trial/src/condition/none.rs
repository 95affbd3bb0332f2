use super::{Condition, Provision, Setting};

/// No skill: the baseline of most experiments.
pub(super) struct None;

impl Condition for None {
    fn name(&self) -> &'static str {
        "none"
    }

    fn provide(&self, _setting: &Setting<'_>) -> Result<Provision, String> {
        Ok(Provision::default())
    }
}
