//! Where an attempt happens, from laying it out to what the verifier left behind: one file for each
//! kind of sandbox.

pub(crate) mod container;
pub(crate) mod folders;
pub(crate) mod phases;
