//! Which parts of a treatment carry its effect: screening designs and their analysis.
//!
//! Each variant of the treatment keeps about half of its parts. Every task has its own design ([`screening`]), so that
//! interactions of parts are noise between tasks and not bias. Within a task the parts' effects are least-squares
//! estimates; over tasks they have the interval of every other lift ([`crate::lift`]).

mod budget;
mod design;
mod effects;
mod own_test;

pub use budget::{TRIAL_VARIANCE, detectable_part, has_power_for_margin, pooled_trial_variance};
pub use design::{MOST_PARTS, PartSet, ROWS, screening};
pub use effects::{AblatedTask, PartTest, VariantScores, part_effect, part_estimates};
pub use own_test::{exact_p, with_and_without};
