//! Whether a changed skill is better, and which parts of a skill carry its lift.

pub mod campaign;
pub mod shrink;
