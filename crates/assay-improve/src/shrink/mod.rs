//! Which parts of a skill carry its lift, and the shorter skill.
//!
//! [`next_step`] is a function of a design and the scores so far: it says which trials come next, or what they show. The
//! command and the simulation of its error rates (`assay lab simulate --grid ablation`) call the same one.

pub mod campaign;
mod decide;
mod design;
mod document;
mod outcome;
pub mod parts;
#[cfg(test)]
mod tests;
mod trials;
pub mod variant;

pub use decide::next_step;
pub use design::{Allocation, FEWEST_TASKS, Refusal, ScreeningRule, ShrinkDesign};
pub use document::{SHRINK_SCHEMA, ShrinkDocument};
pub use outcome::{PartOutcome, PartState, ShrinkDecision, ShrinkOutcome, ShrinkStep};
pub use trials::{CellTrials, ReferenceTrials, ShrinkCell, ShrinkScores, ShrinkStage, WantedTrials};
