//! The environment of an attempt, from its preparation to the verifier's files, with one file for
//! each kind of sandbox.

pub(crate) mod container;
pub(crate) mod folders;
pub(crate) mod phases;
