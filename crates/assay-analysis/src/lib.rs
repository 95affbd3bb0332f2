//! Reports from records: pure functions from the records in a store to the contents of a report.
//!
//! Nothing here calls a model, starts a sandbox or formats output. [`report`] gathers a run's
//! records from a store, [`analyze`] needs none; [`Report`] is the result: the arms, their
//! comparisons with the baseline, and the tasks.

pub mod appraise;
mod arms;
mod asked_question;
pub mod audited;
mod calibration;
mod cause;
mod causes;
mod checks;
mod close;
mod compare;
mod comparisons;
mod contrasts;
mod controls;
mod cost;
mod delivered;
mod delivery;
mod evidence;
pub mod explore;
mod forecast;
mod gather;
mod history;
pub mod item_sets;
pub mod judged;
mod looks;
mod matching;
mod metrics;
mod model;
mod models;
mod names;
mod next_steps;
mod note;
mod notes;
mod origins;
mod outcome;
mod overlap;
mod progress;
mod provenance;
mod report;
mod result;
mod round_plans;
mod rounds;
mod settings;
mod shared;
mod standing;
mod table;
mod task_results;
mod tasks;
mod undelivered;

pub use assay_stats::sequential::FUTILITY;
pub use assay_stats::{Direction, Reason, VerdictKind};
pub use assay_store::{
    CheckClass, CheckSet, Closing, ConditionRole, EarlierKind, Exclusion, MetricDirection, MetricScale,
    OutcomeRule, Reuse, Treatment, TrialId,
};
pub use shared::SharedSkills;

pub use asked_question::{AskedQuestion, PastRun, question};
pub use cause::Cause;
pub use close::{CloseOutcome, close};
pub use compare::{ExcludedArm, LEAST_TASKS, RunComparison, SkillChange, compare, compare_gathered};
pub use contrasts::{Contrast, ContrastKind, ContrastVerdict};
pub use controls::NegativeControls;
pub use cost::{CostForecast, CostRange, CostSource, TrialCaps, forecast_cost};
pub use delivered::LEAST_DELIVERED;
pub use evidence::{Evidence, evidence, evidence_against};
pub use forecast::{
    ArmForecast, BaselineForecast, DesignForecast, Execution, JudgeForecast, LimitForecast, NoVerdict,
    PlanForecast, PlanRequest, RequestForecast, SecondStageForecast, ShapeForecast, SplitForecast,
    StoppingForecast, VerdictChances, check_verdict_possible, forecast,
};
pub use gather::Gathered;
pub use history::{HISTORY_SCHEMA, Trend, TrendPoint, find_trends, read_history};
pub use matching::{MatchedCondition, match_conditions};
pub use metrics::{GuardWord, MetricComparison, MetricWord};
pub use model::{
    AgentKey, Arm, Comparison, End, EstimatedShare, ExposureShares, FamilyInterval, GeneratedShares, INTERIM,
    MoreTasks, Rounds, TaskArm, TaskRow, TokenCounts,
};
pub use models::RepliedModel;
pub use next_steps::NextStep;
pub use note::{ArmName, ArmNames, ControlNote, Note, TokenNote};
pub use origins::RecordOrigins;
pub use outcome::{OutcomeSummary, OutcomeTasks};
pub use progress::Progress;
pub use provenance::{Provenance, ProvenanceAgent, ProvidedSkill};
pub use report::{
    Registration, Report, ReusedCount, SCHEMA, analyze, report, report_calibrated, report_for_gate,
    report_selected,
};
pub use rounds::{DecidedRun, RoundState, decided_before, round_state};
pub use task_results::{FailedTrial, MeasuredRuns, TaskArmResults, TaskResults, TestResults, task_results};
