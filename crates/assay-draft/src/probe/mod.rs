//! The probe: what the model that is to be measured does without the skill, asked before any task is written.
//!
//! It is asked several ways about each directive, and sees neither the skill nor the answer. The model that writes the draft
//! compares its replies with the answers. What it does anyway can only be a control, and a skill without enough other
//! directives has nothing that an evaluation could show. `probe.json` has questions, replies and comparisons.
//!
//! A model that compares loosely makes directives look known, and one that compares strictly makes them look unknown. Either
//! costs its user tasks or a verdict and gains the model nothing, and the work without the skill, which each task is later
//! validated with, does not depend on it.

mod classify;
mod questions;
mod record;
mod reply;
mod request;

pub use classify::{ProbeVerdict, classify_matches};
pub(crate) use questions::probe_directives;
pub use record::{PROBE_FILE, ProbeRecord, ProbedDirective, apply_probe};
