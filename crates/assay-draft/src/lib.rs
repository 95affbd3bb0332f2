//! Drafting an evaluation of a skill from the skill itself.
//!
//! The first stage is [`needs`]: what a skill requires of an environment, and whether an evaluation can provide it.
//! [`requests`] has the rules by which trigger requests are sampled, prompted for, checked and reviewed.
//! Nothing here calls a model or starts a process.

pub mod needs;
pub mod requests;
