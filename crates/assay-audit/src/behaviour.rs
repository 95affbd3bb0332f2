//! What an agent did: actions on targets, with their outcome, in phases, and how two runs differ in
//! them.

mod action;
mod command;
mod compare;
mod verb;

pub use action::{Action, Phase, actions};
pub use compare::{Difference, DifferenceKind, differences};
pub use verb::Verb;
