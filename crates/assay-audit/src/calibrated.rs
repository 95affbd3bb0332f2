//! The calibrated auditor: exposure first, evidence from the skill's text, and every count beside
//! what chance gives.
//!
//! [`audit`] looks at the runs of one task and forgets them again; [`corpus`] puts the tasks of an
//! arm together. docs/AUDIT.md says what each number means.

mod check;
mod corpus;
mod findings;
mod guards;
mod null;
mod pattern;
mod planted;
mod task;

pub use check::{Auc, Check, LeftOut, Planted, Rate, check};
pub use corpus::{CorpusAudit, TraceLine, corpus, pairs};
pub use findings::{
    Adopted, ArmExposure, ArmFindings, AtThreshold, Bucket, Cost, PatternFindings, Reader, ReaderSpan, Steps,
    TopTask, findings,
};
pub use null::{Excess, TaskExcess, Unit, test};
pub use pattern::{Effect, Finding, Pattern};
pub use task::{ArmPairs, Counts, PairAudit, Run, RunAudit, TaskAudit, TaskRuns, audit};
