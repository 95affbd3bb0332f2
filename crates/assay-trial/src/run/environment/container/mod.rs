//! One container of the task's image, for the agent and, after everything in it is dead, for the
//! verifier.
//!
//! Nothing of this machine is mounted but what may only be read: files come out after everything
//! inside is dead.

mod account;
mod agent;
mod base;
mod compare;
mod files;
mod pristine;
mod verifier;

pub(crate) use base::ImageEnvironment;
