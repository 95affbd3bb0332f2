//! One container of the task's image, for the agent and, after everything in it was killed, for the
//! verifier.
//!
//! Folders of this machine are mounted read-only: files are copied out after everything inside was
//! killed.

mod account;
mod agent;
mod base;
mod compare;
mod files;
mod links;
mod named;
mod pristine;
mod restore;
mod services;
mod snapshot;
mod step;
mod verifier;

pub(crate) use base::ImageEnvironment;
