//! What an agent did: actions on targets, with their outcome, in phases, and how two runs differ in
//! them.

mod action;
mod command;
mod compare;

pub use action::{Action, Phase, Verb, actions};
pub use compare::{Difference, DifferenceKind, differences};
