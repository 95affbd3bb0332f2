//! What a report consists of: arms, comparisons and tasks.

use std::collections::BTreeMap;

use assay_stats::{Direction, Reason, VerdictKind};
use assay_store::PlannedAgent;
use assay_trace::Placement;
use serde::Serialize;

/// Whose results these are: arms that share a key are compared with each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AgentKey {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
}

impl AgentKey {
    pub(crate) fn new(agent: &PlannedAgent, sandbox: &str) -> Self {
        Self { agent: agent.name().to_owned(), model: agent.label.model.clone(), sandbox: sandbox.to_owned() }
    }

    /// What tells it from other agents: the model, or the harness where there is none.
    pub fn short(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.agent)
    }
}

/// One arm: all trials of an agent, in a sandbox, under a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// `offered`, `told` or `eager`.
    pub disclosure: String,
    /// `native` or `system`, where there is a choice.
    pub placement: Option<Placement>,
    /// Tasks with a valid trial in every arm of the table: the denominator.
    pub tasks: usize,
    /// Valid trials on these tasks.
    pub trials: usize,
    /// Trials planned, on all tasks.
    pub planned: usize,
    /// Mean over tasks of the share of trials passed; `null` without a task.
    pub pass_rate: Option<f64>,
    /// Its 95 % interval over the population of tasks; `null` below 2 tasks.
    pub ci95: Option<[f64; 2]>,
    /// Mean over tasks of the mean score of their trials, which the verdicts read; `null` without a task.
    pub score: Option<f64>,
    /// Its 95 % interval, like that of the pass rate.
    pub score_ci95: Option<[f64; 2]>,
    /// The score over all tasks planned in every arm of the table, if every lost trial had scored 0, and if every one
    /// had scored 1. A task that was lost whole counts here and not in `score`.
    pub bounds: Option<[f64; 2]>,
    /// Mean tokens of a trial, read and written, over the trials that count them.
    pub tokens: Option<f64>,
    /// The same, in four fields.
    pub token_counts: Option<TokenCounts>,
    /// Mean cost of a trial in USD; `null` where any trial's cost is unknown.
    pub cost_usd: Option<f64>,
    /// How much of `tokens` and `cost_usd` is an estimate; `null` where the provider counted everything.
    pub estimated: Option<EstimatedShare>,
    /// Mean seconds of a trial's agent.
    pub seconds: Option<f64>,
    /// Mean turns of a trial's agent.
    pub turns: Option<f64>,
    /// Shares of valid trials in which each stage was reached, by any skill.
    pub exposure: ExposureShares,
    /// Trials that ended as infrastructure.
    pub infrastructure: usize,
    /// The same, by cause.
    pub infrastructure_causes: BTreeMap<String, usize>,
    /// Trials without a record yet.
    pub unfinished: usize,
    /// Valid trials with a skill of the experiment in the sandbox that was not provided.
    pub contaminated: usize,
    /// Valid trials whose agent changed what decides about its own reward. They count as not passed.
    pub tampered: usize,
    /// Valid trials whose agent ran out of time. They count as not passed.
    pub timed_out: usize,
}

/// How much of an arm's tokens was estimated by characters, because the provider's usage never came or cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EstimatedShare {
    /// Trials that hold an estimate.
    pub trials: usize,
    /// The share of the arm's tokens that is an estimate.
    pub share: f64,
}

/// Mean tokens of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TokenCounts {
    /// Read, and not from a cache.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// Written into a cache.
    pub cache_write: f64,
}

/// Shares of valid trials, each fact on its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ExposureShares {
    /// A skill's files were in the sandbox.
    pub offered: f64,
    /// The model was told of a skill: an entry in a listing, its description, or a path in it.
    pub advertised: f64,
    /// A tool call had a path in a skill, or called it.
    pub mentioned: f64,
    /// Enough of a skill's body reached the model.
    pub opened: f64,
    /// A file of a skill was run.
    pub executed: f64,
}

/// A condition against its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Tasks with a valid trial in both.
    pub tasks: usize,
    /// Clusters that these tasks come in, tasks without one counted as clusters of one; `null` where no task names any
    /// and tasks are the units.
    pub clusters: Option<usize>,
    /// The number of clusters of one size that weigh as these do, N²/Σn²; `null` where tasks are the units. Under 5 there
    /// is no interval.
    pub effective_clusters: Option<f64>,
    /// Mean over tasks of the difference of mean scores.
    pub lift: Option<f64>,
    /// The same of the shares of trials passed. Where all scores are 0 or 1, it is the lift.
    pub pass_rate_lift: Option<f64>,
    /// Its 95 % interval, unadjusted; `null` below 5 tasks or effective clusters.
    pub ci95: Option<[f64; 2]>,
    /// The 95 % interval of the lift on these very tasks, which are taken as fixed: what would vary if they were run again.
    /// Printed by name; never decides.
    pub fixed_tasks_ci95: Option<[f64; 2]>,
    /// The interval the verdict reads, at the family's level.
    pub family: Option<FamilyInterval>,
    /// Whether this is a primary comparison, judged apart from the others.
    pub primary: bool,
    /// The smallest α at which the interval that decides excludes 0, two-sided, for this comparison alone.
    pub p_interval: Option<f64>,
    /// The same times the size of its family, at most 1: at most .05 exactly where the interval that the verdict reads
    /// excludes 0.
    pub p_interval_adjusted: Option<f64>,
    /// Share of the room above the baseline that was gained; for losses, share of the baseline lost.
    pub normalized_gain: Option<f64>,
    /// Its 95 % interval.
    pub normalized_gain_ci95: Option<[f64; 2]>,
    /// Sign-flip permutation, two-sided. Secondary: it decides nothing and is in the JSON alone.
    pub p: Option<f64>,
    /// The same, by Holm across all comparisons.
    pub p_adjusted: Option<f64>,
    /// Wilcoxon signed-rank, two-sided. Secondary likewise.
    pub p_wilcoxon: Option<f64>,
    /// The lift with lost trials counted a quarter below and a quarter above their cells' rates in the arm, and the other
    /// way round in the baseline; `null` where no trial was lost.
    pub loss_bounds: Option<[f64; 2]>,
    /// 95th percentile of the same comparison between two halves of the baseline.
    pub run_to_run_noise: Option<f64>,
    /// The smallest lift that this design and spread find with 80 % power.
    pub mde: Option<f64>,
    /// Percentile bootstrap within tasks, as SkillsBench does it. Printed by name; never decides.
    pub skillsbench_ci95: Option<[f64; 2]>,
    /// `helps`, `harms`, `negligible` or `inconclusive`.
    pub verdict: VerdictKind,
    /// Why it is inconclusive: `design`, `losses` or `noise`.
    pub reason: Option<Reason>,
    /// The direction, where the interval excludes 0 and the verdict is `negligible`.
    pub direction: Option<Direction>,
    /// Tasks with which a lift of the margin's size would be found with 80 % power, at this spread.
    pub tasks_needed: Option<usize>,
    /// Tasks with which a lift as large as the one seen would be found with 80 % power, at this spread. Given with
    /// `tasks_needed`.
    pub tasks_to_confirm: Option<usize>,
    /// How much the two were measured at the same time: the smaller of the two shares of trials that ran within the period of
    /// the other condition, widened by the length of a trial. `null` where the times are not known.
    pub time_overlap: Option<f64>,
    /// When the baseline's trials ran, and the condition's: the first start and the last end.
    pub measured: Option<[[String; 2]; 2]>,
    /// Tasks on which the condition was better, equal, and worse.
    pub better_equal_worse: [usize; 3],
    /// Whether its trials were executed elsewhere: what was lost of them cannot be tried again here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// The interval that decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FamilyInterval {
    /// 1 − .05/m, m the number of comparisons in the family.
    pub level: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// One task under one agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskRow {
    /// The task.
    pub task: String,
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// As the task says.
    pub difficulty: Option<String>,
    /// As the task says.
    pub category: Option<String>,
    /// By condition, in the plan's order.
    pub arms: Vec<TaskArm>,
}

/// One task in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskArm {
    /// The condition.
    pub condition: String,
    /// Valid trials.
    pub trials: usize,
    /// Of them, passed.
    pub passed: usize,
    /// Their share; `null` without a trial.
    pub pass_rate: Option<f64>,
    /// The mean score of the trials; `null` without one.
    pub score: Option<f64>,
    /// Difference of scores to the baseline; `null` for the baseline itself and without trials in both.
    pub lift: Option<f64>,
    /// Trials that ended as infrastructure.
    pub infrastructure: usize,
}
