//! Exploratory results without verdicts: strata, pools, frontiers, variances.
//!
//! Intervals here are at 95% and unadjusted, however many there are. Each analysis is a file, with
//! its `mod`, its field and its call here.

mod extremes;
mod frontier;
mod heat;
mod over_models;
mod pair;
mod pooled;
mod residual;
mod skills;
mod strata;
mod test_changes;
mod variance;

use assay_store::RunFolder;
use serde::Serialize;

use crate::comparisons;
use crate::model::Arm;
use crate::table::Table;

pub use extremes::{TopTask, TopTasks};
pub use frontier::{Frontier, FrontierPoint, UnknownCost};
pub use heat::{HeatMap, HeatRow};
pub use over_models::OverModels;
pub use pooled::Pooled;
pub use residual::{FailingCondition, FailingTask, ResidualFailure};
pub use skills::{OverSkills, OverUnits, SkillEffect};
pub use strata::{Stratum, StratumKind};
pub use test_changes::{TestArm, TestChange, TestRow};
pub use variance::{NextTrials, Repetitions, Variance};

/// The exploratory findings of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Exploration {
    /// Lifts by domain, difficulty, number of skills and length of the curated skills.
    pub strata: Vec<Stratum>,
    /// Lifts over all agents together; empty with one agent.
    pub pooled: Vec<Pooled>,
    /// Lifts over agents as a sample of models; empty with one agent.
    pub over_models: Vec<OverModels>,
    /// The lift of each skill with at least 5 tasks, under each condition that provides the task's own skills.
    pub skills: Vec<SkillEffect>,
    /// One estimate over the skills of each such condition.
    pub over_skills: Vec<OverSkills>,
    /// Pass rates task by arm, ordered by lift.
    pub heat: Vec<HeatMap>,
    /// Cost against pass rate.
    pub frontier: Frontier,
    /// Each arm's variance, within tasks and between them.
    pub variance: Vec<Variance>,
    /// Whether each comparison's repetitions suffice.
    pub repetitions: Vec<Repetitions>,
    /// The tasks that gained most, in the order of the comparisons.
    pub gains: Vec<TopTasks>,
    /// The tasks that lost most, in the order of the comparisons.
    pub losses: Vec<TopTasks>,
    /// Which of the verifiers' tests fail in each arm, and which ones a condition turns.
    pub tests: Vec<TestRow>,
    /// Checks that still fail under a condition other than the baseline, most frequent first.
    pub residual_failures: Vec<ResidualFailure>,
    /// The same by task: those that the primary condition fails first, and those that only controls fail last.
    pub failing_tasks: Vec<FailingTask>,
}

impl Exploration {
    pub(crate) fn of(run: &RunFolder, tables: &[Table], arms: &[Arm]) -> Self {
        let clusters = comparisons::clusters(run);
        let pairs = pair::pairs(run, tables);
        let residual_failures = residual::failures(run, tables);
        let (gains, losses) = extremes::extremes(&pairs);
        let (skills, over_skills) = skills::skills(run, &pairs, &clusters);
        Self {
            strata: strata::strata(run, &pairs, &clusters),
            pooled: pooled::pooled(run, &pairs, &clusters),
            over_models: over_models::over_models(run, &pairs),
            skills,
            over_skills,
            heat: heat::heat(run, tables),
            frontier: frontier::frontier(arms),
            variance: variance::variance(run, tables),
            repetitions: variance::repetitions(&pairs),
            gains,
            losses,
            tests: test_changes::rows(run, tables),
            failing_tasks: residual::by_task(run, &residual_failures),
            residual_failures,
        }
    }
}
