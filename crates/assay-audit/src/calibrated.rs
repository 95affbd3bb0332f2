//! The calibrated auditor: exposure first, evidence from the skill's text, and every count beside what chance gives.
//!
//! [`audit`] looks at the runs of one task and forgets them again; [`corpus`] puts the tasks of an arm together. docs/AUDIT.md says
//! what each number means.

mod guards;
mod pattern;
mod task;

pub use pattern::{Effect, Finding, Pattern};
pub use task::{Exposed, Run, RunAudit, TaskAudit, TaskRuns, audit};
