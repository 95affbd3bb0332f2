use assay_store::ConditionRole;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::error::ConditionError;
use super::provision::{Condition, ConditionContext, Provision, curated};

/// The whole library with the task's own skills, in an order drawn from the seed: does the agent
/// find the right one?
pub(super) struct Full;

impl Condition for Full {
    fn role(&self) -> ConditionRole {
        ConditionRole::Full
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        // No skill should help with a control, so it may have none.
        let mut skills = match curated(context) {
            Err(_) if context.task.negative_control => Vec::new(),
            skills => skills?,
        };
        for skill in &context.library.packages {
            // Two folders of the same name cannot be side by side; the task's own has priority.
            if skills.iter().all(|known| known.directory != skill.directory) {
                skills.push(skill.clone());
            }
        }
        skills.sort_by(|one, other| one.directory.cmp(&other.directory));
        skills.shuffle(&mut ChaCha8Rng::seed_from_u64(context.seed));
        Ok(Provision { skills, ..Provision::default() })
    }
}
