//! `assay improve`: candidates for a skill against the skill, and the parts of a skill that carry its lift.

pub mod campaign;
