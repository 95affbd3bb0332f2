//! The calibrated auditor: exposure first, evidence from the skill's text, and every count beside
//! what chance gives.
//!
//! [`audit`] looks at the runs of one task and forgets them again; [`corpus`] puts the tasks of an
//! arm together. docs/AUDIT.md says what each number means.

mod claims;
mod corpus;
mod findings;
mod guards;
mod headline;
mod identity;
mod null;
mod pattern;
mod reader;
mod report;
mod run_score;
mod share;
mod task;

pub use claims::claims;
pub use corpus::{AdoptionLine, CorpusAudit, TraceLine, corpus, corpus_with, pairs, visit};
pub use findings::{
    Adopted, ArmExposure, ArmFindings, AtThreshold, Bucket, Cost, PatternFindings, Steps, TopTask, findings,
};
pub use headline::Evidence;
pub use identity::task_digest;
pub use null::{Excess, TaskExcess, Unit, test};
pub use pattern::{Effect, Finding, Pattern};
pub use reader::{Reader, ReaderSpan, RunFinding};
pub use report::{
    CheckOutcome, DirectiveFinding, DirectiveReport, MatteredCheck, RunLocation, Undelivered,
    adherence_report,
};
pub use run_score::{RunScore, run_scores};
pub use share::{Rate, count_labels};
pub use task::{ArmPairs, Counts, PairAudit, Run, RunAudit, RunName, TaskAudit, TaskRuns, audit, audit_own};
