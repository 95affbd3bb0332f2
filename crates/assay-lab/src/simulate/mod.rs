//! Simulated suites with known effects, and the verdicts on them.
//!
//! A [`Design`](assay_stats::simulate::Design) draws suites; [`simulate_suites`] draws many and counts how often the
//! intervals and verdicts were right. Each suite has its own random stream, so ranges of suites can run on any number of
//! threads and their [`Tally`]s add up.

mod ablation;
mod accept;
mod admission;
mod difficulty;
mod effects;
mod few_tasks;
pub mod gate;
mod graded;
mod grid;
mod heterogeneity;
mod judge_labels;
mod judges;
mod looks;
mod method;
mod metric;
mod null_draft;
mod relabeled;
mod reliability;
mod sequential;
mod skills;
mod tally;
mod threads;
mod versions;

pub use ablation::{AblationCell, AblationFigures, SectionTruth, ablation_grid};
pub use accept::{AcceptCell, AcceptFigures, AcceptMiss, AcceptRule, AcceptTruth, accept_grid};
pub use admission::{AdmissionCell, AdmissionFigures, admission_grid};
pub use difficulty::{DifficultyCell, DifficultyFigures, difficulty_grid};
pub use effects::TaskEffects;
pub use few_tasks::{FewTasksCell, FewTasksFigures, WayFigures, few_tasks_grid};
pub use graded::{GradedCell, GradedFigures, graded_grid};
pub use grid::{GridCell, Miss, planned_grid, validity_grid};
pub use heterogeneity::{HeterogeneityCell, HeterogeneityFigures, heterogeneity_grid};
pub use judge_labels::{JudgeLabelsCell, JudgeLabelsFigures, Sampling, judge_labels_grid};
pub use judges::{JudgeCell, JudgeCoverage, TrueItem, simulate_judges};
pub use looks::{LooksCell, LooksFigures, looks_grid};
pub use method::{Method, compare};
pub use metric::{MetricCell, MetricFigures, MetricNoise, MetricTruth, metric_grid};
pub use null_draft::{NullDraftCell, NullDraftFigures, null_draft_grid};
pub use relabeled::{RecordedTask, Relabel, RelabeledFigures, simulate_relabeled};
pub use reliability::{ReliabilityCell, ReliabilityFigures, reliability_grid};
pub use sequential::{Rates, SequentialCell, SequentialTruth, sequential_grid};
pub use skills::{SkillsCell, SkillsFigures, skills_grid};
pub use tally::{Cell, Tally, simulate_suites};
pub use threads::simulate_all;
pub use versions::Versions;
