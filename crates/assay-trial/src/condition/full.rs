use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::provision::{Condition, ConditionContext, ConditionError, Provision, curated};

/// The whole library, the task's own skills included, in an order drawn from the seed: will the
/// right one be found?
pub(super) struct Full;

impl Condition for Full {
    fn name(&self) -> &'static str {
        "full"
    }

    fn provide(&self, context: &ConditionContext<'_>) -> Result<Provision, ConditionError> {
        // No skill should help with a control, so it may have none of its own.
        let mut skills = match curated(context) {
            Err(_) if context.task.negative_control => Vec::new(),
            skills => skills?,
        };
        for skill in &context.library.packages {
            // Two folders of one name cannot stand side by side; the task's own goes first.
            if skills.iter().all(|known| known.directory != skill.directory) {
                skills.push(skill.clone());
            }
        }
        skills.sort_by(|one, other| one.directory.cmp(&other.directory));
        skills.shuffle(&mut ChaCha8Rng::seed_from_u64(context.seed));
        Ok(Provision { skills, ..Provision::default() })
    }
}
