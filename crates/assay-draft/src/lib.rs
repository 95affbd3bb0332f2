//! Drafting an evaluation of a skill from the skill itself.
//!
//! - [`needs`]: what a skill requires of an environment, and whether an evaluation can provide it; [`needs_line`] lists it.
//! - [`directives`]: what a skill tells an agent, with what an agent does that never saw it.
//! - [`draft`]: the stages of a draft in their order. [`folder`] has their files, [`host`] what they need of their caller,
//!   [`event`] what they report, and [`event_text`] says it.
//! - [`prompts`]: what a model is asked.
//! - [`probe`]: what the model that is to be measured does without the skill.
//! - [`ideas`]: ideas of tasks, as a model replies with them; [`proposal`]: their files, and task folders made of them.
//! - [`items`]: what is scored of a task, in two sets: goal completion and instruction following.
//! - [`review`]: faults of a task that can be found without running it; [`validation`] finds the others, and has them repaired.
//! - [`evidence`]: work of others on a task, without and with the skill, which decides what items stay.
//! - [`solvers`]: whether another model than the author's solves the tasks.
//! - [`experiment`]: the experiments that run the tasks; [`headroom`] removes those that are too easy.
//! - [`status`]: the tasks of a draft, and what its requests used.
//! - [`generate`]: skills that a model writes, as it replies with them. [`skill_sources`] is what it reads, and
//!   [`skill_writer`] writes them.
//! - [`requests`]: trigger requests: how they are sampled, prompted for, checked, reviewed and written.
//! - [`author`]: the model that writes, with its stored replies.

pub mod author;
mod complaint;
mod corpus;
mod coverage;
pub mod directives;
pub mod draft;
pub mod error;
pub mod event;
pub mod event_text;
pub mod evidence;
pub mod experiment;
mod first_message;
pub mod folder;
pub mod forecast;
pub mod generate;
pub mod headroom;
pub mod heartbeat;
pub mod host;
pub mod ideas;
mod input_files;
mod intents;
pub mod items;
pub mod needs;
pub mod needs_line;
mod next_step;
pub mod pilot;
pub mod probe;
pub mod prompts;
pub mod proposal;
mod refill;
pub mod requests;
pub mod review;
pub mod skill_sources;
pub mod skill_writer;
pub mod solvers;
mod sources;
mod stages;
pub mod status;
mod subject;
mod tasks;
mod trials;
pub mod validation;

pub use complaint::Complaint;
pub use error::{DraftError, ErrorCause};
pub use event::{DraftEvent, DraftEvents};
pub use first_message::Redact;
pub use stages::DraftStage;
