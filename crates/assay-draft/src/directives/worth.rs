//! Whether directives can show what a skill is worth.

use super::DraftDirective;

/// Fewest directives that items of a task can be made of. A task with fewer items shows one fact and not a skill.
pub const FEWEST_MEASURABLE: usize = 4;

/// How many directives can show what the skill adds.
pub fn count_measurable(directives: &[DraftDirective]) -> usize {
    directives.iter().filter(|directive| directive.is_measurable()).count()
}

/// Whether a result can show what the skill is worth.
pub fn is_worth_measuring(directives: &[DraftDirective]) -> bool {
    count_measurable(directives) >= FEWEST_MEASURABLE
}
