//! Which parts of a skill carry its lift.

pub mod shrink;
