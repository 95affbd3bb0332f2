//! Whether directives can show what a skill is worth.

use assay_diagnostic::counted;

use super::{DirectiveClass, DraftDirective};

/// Fewest directives that items of a task can be made of. A task with fewer items shows one fact and not a skill.
pub const FEWEST_MEASURABLE: usize = 4;

/// Directives that can show what a skill adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasurableDirectives {
    /// How many there are.
    pub count: usize,
    /// How many of them are knowledge. The others are conventions: following them shows that an agent obeys the skill, and not
    /// that the skill is worth anything.
    pub knowledge: usize,
}

impl MeasurableDirectives {
    /// Counts those of a list.
    pub fn count_in(directives: &[DraftDirective]) -> Self {
        let mut found = Self { count: 0, knowledge: 0 };
        for directive in directives.iter().filter(|directive| directive.is_measurable()) {
            found.count += 1;
            found.knowledge += usize::from(directive.class == Some(DirectiveClass::Knowledge));
        }
        found
    }

    /// Why they cannot show what the skill is worth, as a clause; `None` if they can.
    pub fn explain_shortfall(self) -> Option<String> {
        let Self { count, knowledge } = self;
        if count < FEWEST_MEASURABLE {
            return Some(format!(
                "{} that an agent would not follow anyway and that a result shows, at least {FEWEST_MEASURABLE} are needed",
                counted(count, "directive", "directives")
            ));
        }
        (knowledge == 0).then(|| {
            format!(
                "{} that an agent would not follow anyway, all of them conventions: they show that an agent obeys the skill, and \
                 knowledge is needed to show what it is worth",
                counted(count, "directive", "directives")
            )
        })
    }
}
