//! The parts of a report: arms, comparisons and tasks.

use std::collections::BTreeMap;

use assay_stats::{Direction, Reason, VerdictKind};
use assay_store::{ConditionRole, PlannedAgent};
use assay_trace::Placement;
use serde::Serialize;

use crate::cause::Cause;
use crate::progress::Progress;

/// Agent, model and sandbox. Arms with the same key are compared with each other.
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

    /// A short name: the model, or the harness without one.
    pub fn short(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.agent)
    }
}

/// The skills that agents wrote in an arm whose condition asks for some.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GeneratedShares {
    /// Valid trials of which the skills are known.
    pub trials: usize,
    /// Trials with at least one skill.
    pub trials_with_skills: usize,
    /// Skills in all trials.
    pub skills: usize,
    /// Mean bytes of a skill; `null` without one, or if unknown.
    pub bytes_each: Option<f64>,
    /// Trials in which the agent read one of its skills after it had written it; `null` if unknown.
    pub opened: Option<usize>,
}

/// One arm: all trials of an agent, in a sandbox, under a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// What it is, whatever its name; `null` if unknown.
    pub role: ConditionRole,
    /// `offered`, `told` or `eager`.
    pub disclosure: String,
    /// `native` or `system`, if there is a choice.
    pub placement: Option<Placement>,
    /// Tasks with a valid trial in every arm of the table: the denominator.
    pub tasks: usize,
    /// Valid trials on these tasks.
    pub trials: usize,
    /// Trials planned, on all tasks.
    pub planned: usize,
    /// Mean over tasks of the share of trials passed; `null` without a task.
    pub pass_rate: Option<f64>,
    /// Its 95% CI over the population of tasks; `null` below 2 tasks.
    pub ci95: Option<[f64; 2]>,
    /// Mean over tasks of the mean score of their trials, the basis of verdicts; `null` without a
    /// task.
    pub score: Option<f64>,
    /// Its 95% CI, like that of the pass rate.
    pub score_ci95: Option<[f64; 2]>,
    /// The score over all tasks executed in every arm of the table, if all trials with
    /// infrastructure errors had scored 0, and if all had scored 1. A task with nothing but such
    /// errors counts here and not in `score`.
    pub bounds: Option<[f64; 2]>,
    /// Mean tokens of a trial, read and written, over the trials that count them.
    pub tokens: Option<f64>,
    /// The same, in four fields.
    pub token_counts: Option<TokenCounts>,
    /// Mean cost of a trial in USD; `null` where any trial's cost is unknown.
    pub cost_usd: Option<f64>,
    /// How much of `tokens` and `cost_usd` is estimated; `null` if the provider counted everything.
    pub estimated: Option<EstimatedShare>,
    /// Mean seconds of a trial's agent; `null` where any trial's time is unknown.
    pub seconds: Option<f64>,
    /// Mean turns of a trial's agent.
    pub turns: Option<f64>,
    /// Shares of valid trials in which each stage was reached, by any skill; `null` where that of any trial
    /// is unknown, as in imported trials, or there is none.
    pub exposure: Option<ExposureShares>,
    /// The skills that the agent wrote; `null` if the condition asks for none.
    pub generated: Option<GeneratedShares>,
    /// Trials with an infrastructure error.
    pub infrastructure: usize,
    /// The same, by cause.
    pub infrastructure_causes: BTreeMap<String, usize>,
    /// Planned trials that were not executed. They have no effect on any other figure.
    pub unfinished: usize,
    /// Valid trials with a skill of the experiment in the sandbox that was not provided.
    pub contaminated: usize,
    /// Trials of which logs, artifacts or other evidence could not be kept. Of imported trials, and of those of earlier
    /// versions, it is unknown, and they are not counted.
    pub evidence_lost: usize,
    /// Valid trials whose agent changed files that could decide its own reward. They count as not
    /// passed.
    pub tampered: usize,
    /// Valid trials whose agent ran out of time. They count as not passed.
    pub timed_out: usize,
}

/// The part of an arm's tokens that is estimated from characters, because the provider's usage is
/// missing or impossible.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EstimatedShare {
    /// Trials with an estimate.
    pub trials: usize,
    /// The share of the arm's tokens that is estimated.
    pub share: f64,
}

/// Mean tokens of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TokenCounts {
    /// Read, and not from a cache; the whole prompt where `cache_read` is `null`.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache; `null` where that of any trial is unknown.
    pub cache_read: Option<f64>,
    /// Written into a cache; `null` where that of any trial is unknown.
    pub cache_write: Option<f64>,
}

impl TokenCounts {
    /// The whole prompt, with what a cache answered.
    pub fn prompt(&self) -> f64 {
        self.input + self.cache_read.unwrap_or_default() + self.cache_write.unwrap_or_default()
    }
}

/// The skill exposure funnel: shares of valid trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ExposureShares {
    /// A skill's files were in the sandbox.
    pub offered: f64,
    /// The model was sent a skill's entry in a list, its description, or a path in it.
    pub advertised: f64,
    /// A tool call named a path in a skill, or loaded it.
    pub mentioned: f64,
    /// At least half of a skill's distinctive lines reached the model.
    pub opened: f64,
    /// A file of a skill was run.
    pub executed: f64,
}

/// A condition against its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// What it is, whatever its name; `null` if unknown.
    pub role: ConditionRole,
    /// Tasks with a valid trial in both.
    pub tasks: usize,
    /// Clusters of these tasks, with single tasks counted as clusters of one; `null` if no task
    /// names a cluster.
    pub clusters: Option<usize>,
    /// The number of clusters of equal size that are worth as much, N²/Σn²; `null` if tasks are the
    /// units. Below 5 there is no interval.
    pub effective_clusters: Option<f64>,
    /// Mean over tasks of the difference of mean scores.
    pub lift: Option<f64>,
    /// The median-unbiased lift of a comparison that was decided after rounds and has ended: `lift` is on average too far
    /// from zero then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lift_unbiased: Option<f64>,
    /// The same for pass rates. It is the lift if all scores are 0 or 1.
    pub pass_rate_lift: Option<f64>,
    /// Its unadjusted 95% CI; `null` below 5 tasks or effective clusters.
    pub ci95: Option<[f64; 2]>,
    /// The 95% CI of the lift with the tasks taken as fixed: the variation if they were run again.
    /// Not used for the verdict. `null` if it is decided after rounds: it is an interval of one look.
    pub fixed_tasks_ci95: Option<[f64; 2]>,
    /// The adjusted CI, which decides the verdict.
    pub family: Option<FamilyInterval>,
    /// Whether this is a primary comparison, with a family apart from the others.
    pub primary: bool,
    /// The smallest α at which the interval that decides excludes 0, two-sided, for this comparison
    /// alone.
    pub p_interval: Option<f64>,
    /// The same times the size of its family, at most 1: at most 0.05 exactly if the adjusted CI
    /// excludes 0.
    pub p_interval_adjusted: Option<f64>,
    /// Normalized change: lift as a share of 1 − baseline; for losses, as a share of the baseline.
    pub normalized_change: Option<f64>,
    /// Its 95% CI.
    pub normalized_change_ci95: Option<[f64; 2]>,
    /// Hake's gain: lift as a share of 1 − baseline, for losses too.
    pub hake_gain: Option<f64>,
    /// Sign-flip permutation, two-sided. Not used for the verdict, and in the JSON only.
    pub p: Option<f64>,
    /// The same, by Holm across all comparisons.
    pub p_adjusted: Option<f64>,
    /// Wilcoxon signed-rank, two-sided. Likewise.
    pub p_wilcoxon: Option<f64>,
    /// The least and the largest lift with lost trials counted up to 0.25 below and above the rates of their cells in the
    /// arm, and vice versa in the baseline, the lift without them included; `null` if no trial was lost.
    pub loss_bounds: Option<[f64; 2]>,
    /// The least such difference, from 0 to 1, at which the lost trials change the verdict that the others have; `null` if they
    /// have none, if no trial was lost, and if no difference changes it.
    pub delta_star: Option<f64>,
    /// Tasks with lost trials that have no valid trial under one of the conditions: the lift leaves them out, and
    /// `loss_bounds` counts them.
    pub tasks_lost: usize,
    /// The standard deviation of the tasks' true lifts; `null` if no task has two trials in one of the arms.
    pub tau: Option<f64>,
    /// Its 95% CI; `null` below 5 tasks or effective clusters, if the comparison is decided after rounds, and if the tasks'
    /// lifts vary much less than their trials explain.
    pub tau_ci95: Option<[f64; 2]>,
    /// The 95% prediction interval of the true lift on a new task; `null` likewise.
    pub prediction95: Option<[f64; 2]>,
    /// The share of tasks whose score the condition moved, in either direction, as far as trials show it.
    pub moved: Option<f64>,
    /// 95th percentile of the same comparison between two halves of the baseline.
    pub run_to_run_noise: Option<f64>,
    /// The minimum detectable effect of this design with 80% power, at the observed variance.
    pub mde: Option<f64>,
    /// Percentile bootstrap within tasks, as in SkillsBench. Not used for the verdict.
    pub skillsbench_ci95: Option<[f64; 2]>,
    /// `helps`, `harms`, `negligible` or `inconclusive`; `null` while the run is not complete.
    pub verdict: Option<VerdictKind>,
    /// How far the run is, while it is not complete. p-values are `null` then, and intervals are not adjusted for looking
    /// early.
    #[serde(skip)]
    pub interim: Option<Progress>,
    /// The share of the condition's valid trials in which its treatment was there for the agent, as its role promises;
    /// `null` if unknown, or if there is no treatment. Below 0.5 the comparison is inconclusive.
    pub delivered: Option<f64>,
    /// Why it is inconclusive: `design`, `losses`, `noise`, `judge` or `not-delivered`.
    pub reason: Option<Reason>,
    /// What in the data keeps it from showing an effect, the one to act on first; empty if it helps or harms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The direction, if the adjusted CI excludes 0 and the verdict is `negligible`.
    pub direction: Option<Direction>,
    /// Tasks that detect a lift of the margin's size with 80% power, at the observed variance; `null` where the baseline
    /// leaves no room for such a lift, or no trial scores anything.
    pub tasks_needed: Option<usize>,
    /// Tasks that detect a lift as large as the observed one with 80% power. Given with
    /// `tasks_needed`.
    pub tasks_to_confirm: Option<usize>,
    /// Overlap in time: the smaller of the two shares of trials that ran within the period of the
    /// other condition, widened by the length of a trial. `null` if times are unknown.
    pub time_overlap: Option<f64>,
    /// When the baseline's trials ran, and the condition's: the first start and the last end.
    pub measured: Option<[[String; 2]; 2]>,
    /// Tasks on which the condition was better, equal, and worse.
    pub better_equal_worse: [usize; 3],
    /// How far it has come, if it is decided round by round. Intervals are repeated CIs then, and p-values are `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential: Option<Rounds>,
    /// Whether its trials were executed by another program and cannot be retried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

impl Comparison {
    /// The word for its verdict, or for its absence.
    pub fn word(&self) -> &'static str {
        self.verdict.map_or(INTERIM, VerdictKind::word)
    }
}

/// The word in the place of a verdict while a run is not complete.
pub const INTERIM: &str = "interim";

/// How far a comparison that is decided round by round has come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rounds {
    /// The last complete round that was analysed; 0 before the first.
    pub round: u32,
    /// Rounds at most.
    pub rounds: u32,
    /// Why it ended; `null` if it goes on.
    pub ended: Option<End>,
    /// The tasks after the rounds, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_tasks: Option<MoreTasks>,
}

impl Rounds {
    /// Why the rounds left the comparison open, if it goes on, or went on, with more tasks.
    pub fn left_open(&self) -> Option<End> {
        self.more_tasks.and_then(|more| more.after)
    }

    /// Whether the comparison takes part in no further round.
    pub(crate) fn rounds_ended(&self) -> bool {
        self.ended.is_some() || self.left_open().is_some()
    }

    /// Has a comparison that its rounds left open go on with more tasks, if the plan has any.
    pub(crate) fn go_on(&mut self) {
        if let Some(more) = &mut self.more_tasks {
            (more.stage, more.after) = (2, self.ended.take());
        }
    }
}

/// The tasks that decide a comparison if the rounds leave it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MoreTasks {
    /// How many the plan has.
    pub planned: u32,
    /// 1 as long as the comparison is that of the rounds, 2 after it.
    pub stage: u8,
    /// Why the rounds ended without a verdict: `futility` or `last-round`; `null` in the first stage.
    pub after: Option<End>,
}

/// Why a comparison ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// A verdict.
    Verdict,
    /// A verdict in the remaining rounds was improbable.
    Futility,
    /// There were no more rounds.
    LastRound,
    /// The tasks after the rounds were executed: both stages together give the verdict.
    SecondStage,
    /// The run was closed before the rule had ended.
    Closed,
}

/// The adjusted CI.
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
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// As in the task.
    pub difficulty: Option<String>,
    /// As in the task.
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
    /// Difference of scores to the baseline; `null` for the baseline itself and without trials in
    /// both.
    pub lift: Option<f64>,
    /// Trials with an infrastructure error.
    pub infrastructure: usize,
}
