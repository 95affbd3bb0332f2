//! Drafting an evaluation of a skill from the skill itself.
//!
//! - [`needs`]: what a skill requires of an environment, and whether an evaluation can provide it.
//! - [`prompts`]: what a model is asked.
//! - [`proposal`]: ideas of tasks and their files, as a model replies with them, and task folders made of them.
//! - [`review`]: faults of a task that can be found without running it.
//! - [`generate`]: skills that a model writes, as it replies with them.
//! - [`experiment`]: the experiments that run the tasks.
//! - [`requests`]: the rules by which trigger requests are sampled, prompted for, checked and reviewed.
//! - [`author`]: the model that writes, with its stored replies.
//!
//! Nothing here starts a process.

pub mod author;
mod complaint;
pub mod experiment;
pub mod generate;
pub mod needs;
pub mod prompts;
pub mod proposal;
pub mod requests;
pub mod review;
mod sources;

pub use complaint::Complaint;
