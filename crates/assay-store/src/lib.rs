//! Trial specifications, records and plans as data, and the store that contains them.
//!
//! A [`TrialSpec`] contains everything needed to execute one trial. A [`RunFolder`] is a run's
//! plan, a [`Record`] the result of one trial; both are in a [`Store`], a folder of plain files.
//! Reports are computed from these alone. This crate starts nothing: no sandbox, no agent, no
//! model.
//!
//! A store is read on every system. What executing trials needs of it (leases, their owners,
//! folders of work, sweeps) is there on Linux only.

mod access;
mod archive;
mod check_label;
mod closing;
mod error;
mod evidence;
mod exclusion;
#[cfg(target_os = "linux")]
mod execution;
mod files;
#[cfg(target_os = "linux")]
mod heartbeat;
mod identity;
mod judgement;
mod keys;
#[cfg(target_os = "linux")]
mod lease;
mod limits;
mod metric;
mod origin;
mod outcome;
mod outcome_rule;
#[cfg(target_os = "linux")]
mod owner;
#[cfg(target_os = "linux")]
mod process;
mod record;
mod review;
mod role;
mod run;
mod run_question;
mod runs;
mod sandbox;
mod score;
mod seal;
mod seconds;
mod selection;
mod signature;
mod spec;
mod step_record;
mod store;
mod tool_results;
mod verified;
#[cfg(target_os = "linux")]
mod work;

pub use archive::{ArchiveError, ArchiveTask, ExportedRun, ImportedRun, RunExport, export_run, import_run};
pub use check_label::{CheckClass, CheckLabel, CheckSet};
pub use closing::{Closing, ClosingVerdict};
pub use error::StoreError;
pub use evidence::{EVIDENCE_CAP, evidence_paths, is_evidence};
pub use exclusion::ExclusionGroup;
#[cfg(target_os = "linux")]
pub use execution::CleanupReport;
pub use files::{pretty, write_atomically, write_json, write_new};
pub use identity::{InvalidTrialId, TrialId, canonical};
pub use judgement::{JudgedItem, Judgement, SET_SCORE, SetScore};
pub use keys::{KeyError, RECORD_KEY_VARIABLE, RecordKey, RecordKeys};
#[cfg(target_os = "linux")]
pub use lease::{Claim, Holder, Lease};
pub use limits::{Limit, LimitSource, TaskLimits};
pub use metric::{
    DOUBLES_CALLS, DOUBLES_UNKNOWN_CALLS, LINES_CHANGED, MetricDirection, MetricError, MetricScale,
    MetricSource, MetricSpec,
};
pub use origin::{ImportedFrom, RecordOrigin, Signature, SignatureMismatch};
pub use outcome::{Check, OutcomeKind, OutcomeValues, RunOutcomes};
pub use outcome_rule::OutcomeRule;
#[cfg(target_os = "linux")]
pub use owner::{Liveness, Owner};
pub use record::{
    AgentLabel, Cause, Estimated, Evidence, GeneratedSkill, KeptBecause, LostEvidence, Metered, Record,
    RecordError, VerifierEnvironment,
};
pub use review::{
    ADJUDICATED, AddedSheet, Basis, COLUMNS_OF_LABELS, ItemLabel, Mark, Marks, Sheet, SheetError, SheetItem,
    decide, is_annotator_name,
};
pub use role::{ConditionRole, PrimaryCandidate, Treatment, default_primary};
pub use run::{
    Cell, ConditionSettings, Exclusion, KnownSkills, NEEDS_NETWORK, PlannedAgent, PlannedProvision,
    PlannedSkill, PlannedTask, Reuse, ReusedTrials, RunFolder, Stopping, is_run_name,
};
pub use run_question::{EarlierKind, EarlierRun, QuestionPart, RunQuestion};
pub use runs::{RunSummary, SOURCE};
pub use sandbox::{Enforcement, Mechanism, SandboxUsage};
pub use score::{Outcome, score};
pub use seconds::Seconds;
pub use selection::{Selection, pattern_matches};
pub use spec::agent::AgentSpec;
pub use spec::judge::{JudgeInput, JudgeMode, JudgeModel, JudgeSpec};
pub use spec::network::NetworkPolicy;
pub use spec::sandbox::{SandboxChoice, SandboxKind, SandboxLimits};
pub use spec::trial::{
    EARLIER_PROTOCOL, PROTOCOL, ProvisionSpec, SkillRef, SpecError, TaskRef, TrialSpec, work_of,
};
pub use step_record::StepRecord;
pub use store::{IMPORTED_SPECIFICATION, Store};
pub use tool_results::{
    ArmRole, AttemptEnd, DeltaRule, PublishedComparison, PublishedRates, ResultArm, ResultAttempt,
    ResultCheck, ResultRemark, ResultSource, ToolResults,
};
