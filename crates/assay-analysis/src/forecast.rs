//! Cost, duration and statistical power of a plan before it runs.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::plan::{Chances, Impossible, MOVING, Plan as Design, Requirement, SPREAD, Shape};
use assay_stats::simulate::Baseline;
use assay_store::{
    Cell, Exclusion, JudgeSpec, OutcomeRule, PlannedTask, Record, RunFolder, RunOutcomes, Stopping, Store,
    StoreError, TaskLimits, TrialId,
};
use assay_trace::Placement;
use serde::Serialize;

mod observed;

use crate::arms;
use crate::cause::FEWEST_TASKS;
use crate::cost::{CostForecast, CostRange, Pool, counted_record, sum};
use crate::gather::Gathered;
use crate::item_sets::{CanaryKnowledge, canary_knowledge};
use crate::model::AgentKey;
use crate::outcome::OutcomeSummary;
use crate::shared::SharedSkills;
use crate::table::Slot;

/// The fewest tasks with two recorded trials or more that are used as a pilot of the baseline.
const PILOT_TASKS: usize = 5;

/// What is left above, or below, a baseline's mean and a lift together.
const ROOM: f64 = 0.01;

/// Tasks that a warning names.
const NAMED_TASKS: usize = 5;

/// A split of trials is proposed if it makes standard errors smaller by 3% or more.
const WORTH: f64 = 0.97;

/// What a plan is required to attain.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PlanRequest {
    /// A true lift to detect.
    pub lift: Option<f64>,
    /// An equivalence margin to show.
    pub equivalence_margin: Option<f64>,
    /// An upper limit of the Holm-adjusted p.
    pub p: Option<f64>,
}

/// The forecast of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanForecast {
    /// `assay.plan-forecast/2`.
    pub schema: &'static str,
    /// The experiment's name.
    pub run: String,
    /// Distinct trials.
    pub trials: usize,
    /// Of them, cached.
    pub cached: usize,
    /// What the plan forecasts: as in a report of the recorded trials.
    pub outcome: OutcomeSummary,
    /// The baseline of the recorded trials, agent by agent, as a report of them has it; empty without.
    pub baselines: Vec<BaselineForecast>,
    /// Arm by arm.
    pub arms: Vec<ArmForecast>,
    /// The limits of every agent and task.
    pub limits: Vec<LimitForecast>,
    /// The cost of the missing trials in USD; `null` if the cost of one is unknown.
    pub cost_usd: Option<f64>,
    /// The lower end of its range: the sum of the arms' 95% prediction intervals, or 0 where only caps are known. Without
    /// judges.
    pub cost_usd_low: Option<f64>,
    /// The upper end.
    pub cost_usd_high: Option<f64>,
    /// The same in parts.
    #[serde(skip)]
    pub cost: CostForecast,
    /// Their duration in seconds at the experiment's concurrency; `null` without recorded trials.
    pub seconds: Option<f64>,
    /// What the recorded trials of the baseline know that nobody can guess, agent by agent; empty without canaries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub canaries: Vec<CanaryKnowledge>,
    /// The models whose attempts without the skill selected the tasks; empty if nothing did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected_by: Vec<String>,
    /// Statistical properties of the design.
    pub design: DesignForecast,
    /// The request, and the design that it needs.
    pub requested: RequestForecast,
    /// Why the request is unattainable, with the arithmetic; empty if it is attainable.
    pub impossible: Vec<String>,
    /// Tasks and cells that cannot be run.
    pub excluded: Vec<Exclusion>,
    /// Requirements of tasks that this machine cannot meet, and tasks that share skills without a
    /// cluster.
    pub warnings: Vec<String>,
    /// The judges, if tasks have a rubric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeForecast>,
}

/// What judging a plan's trials takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeForecast {
    /// The judges, as `provider:model`.
    pub judges: Vec<String>,
    /// `call` or `agent`.
    pub mode: String,
    /// Answers of each judge to each item.
    pub repeats: u32,
    /// Requests for a trial whose rubric has at most 20 items; a judge that is an agent sends more.
    pub requests_each: usize,
    /// Mean cost of judging a recorded trial in USD; `null` without one. It is part of no other figure.
    pub cost_usd_each: Option<f64>,
}

/// The baseline of an agent's recorded trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaselineForecast {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The mean over tasks of the mean outcome value of their trials.
    pub score: f64,
    /// Whether a trial has an outcome value between 0 and 1. If none has, `score` is a pass rate.
    pub is_fractional: bool,
    /// Tasks.
    pub tasks: usize,
    /// Valid trials on these tasks.
    pub trials: usize,
}

/// One arm of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmForecast {
    /// Which agent of the plan, from 0.
    #[serde(skip)]
    pub number: usize,
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The declared server of the model: a name, or an address in its normal form; `null` for scripts and without a
    /// model.
    pub server: Option<String>,
    /// `native` or `system`, if there is a choice.
    pub placement: Option<Placement>,
    /// The condition.
    pub condition: String,
    /// Cells.
    pub cells: usize,
    /// Of them, cached.
    pub cached: usize,
    /// Mean cost of its recorded trials, else of the agent's others, in USD.
    pub cost_usd_each: Option<f64>,
    /// The range of the cost of its missing trials, all together; `null` if nothing bounds it.
    pub cost_usd_missing: Option<CostRange>,
    /// The same, of the seconds they took.
    pub seconds_each: Option<f64>,
}

/// The limits of one agent on one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitForecast {
    /// The agent's name in reports.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The limits.
    #[serde(flatten)]
    pub limits: TaskLimits,
}

/// Statistical properties of a design, by simulating the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DesignForecast {
    /// Tasks that can be run.
    pub tasks: usize,
    /// Their clusters; `null` if no task names any.
    pub clusters: Option<usize>,
    /// Independent units simulated: the tasks, or the effective clusters, N²/Σn², rounded down.
    pub units: usize,
    /// Trials of each cell.
    pub repetitions: u32,
    /// Trials of the baseline in each cell.
    pub base_repetitions: u32,
    /// A better split of the same trials, if there are several comparisons and it is worth a change.
    pub split: Option<SplitForecast>,
    /// Comparisons that share the error rate: the primary ones, or all without a primary condition.
    pub family: usize,
    /// The primary condition, which the figures are about.
    pub primary: Option<String>,
    /// The equivalence margin.
    pub margin: f64,
    /// `default`, or `records` if recorded trials of the baseline were used.
    pub baseline_from: &'static str,
    /// Mean outcome value of the baseline that was assumed: with recorded trials, theirs and that of one
    /// more task at ½.
    pub baseline: f64,
    /// The 95% CI of the baseline's mean outcome value over tasks like the recorded ones; `null` without recorded trials.
    pub baseline_ci95: Option<[f64; 2]>,
    /// The lowest and the highest power over this interval: at the requested lift, else at the minimum detectable
    /// effect.
    pub power_range: Option<[f64; 2]>,
    /// Suites simulated.
    pub suites: Option<usize>,
    /// The minimum detectable effect with 80% power.
    pub mde: Option<f64>,
    /// The smallest equivalence margin with 80% power for `negligible` if the true effect is zero.
    pub smallest_margin: Option<f64>,
    /// The expected verdicts if the true effect is zero.
    pub if_no_effect: Option<VerdictChances>,
    /// The same number of trials with other numbers of tasks and repetitions.
    pub shapes: Vec<ShapeForecast>,
    /// Expected trials, if comparisons are decided after each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<StoppingForecast>,
}

/// Expected trials of a design with decisions after each round, by simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoppingForecast {
    /// Rounds at most.
    pub rounds: u32,
    /// Trials at most.
    pub most: usize,
    /// Trials of the fixed design.
    pub fixed: usize,
    /// If the true effect is zero.
    pub if_no_effect: Option<f64>,
    /// At the minimum detectable effect of the fixed design.
    pub at_mde: Option<f64>,
    /// At twice this effect; `null` beyond the largest possible lift.
    pub at_twice_mde: Option<f64>,
    /// The power at the minimum detectable effect, 80% with the fixed design.
    pub power_at_mde: Option<f64>,
    /// The tasks after the rounds, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_stage: Option<SecondStageForecast>,
}

/// The tasks that take part in no round, and how probably they are needed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecondStageForecast {
    /// The tasks of the rounds, without negative controls.
    pub first_tasks: usize,
    /// The tasks after the rounds, as the seed has drawn them.
    pub tasks: Vec<String>,
    /// The probability that the rounds leave a comparison open if the true effect is zero.
    pub if_no_effect: Option<f64>,
    /// The same at the minimum detectable effect of the fixed design.
    pub at_mde: Option<f64>,
}

/// A design with the same number of trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShapeForecast {
    /// Tasks.
    pub tasks: usize,
    /// Trials of each cell.
    pub repetitions: usize,
    /// The minimum detectable effect with 80% power.
    pub mde: Option<f64>,
    /// The smallest equivalence margin with 80% power for `negligible` if the true effect is zero.
    pub smallest_margin: Option<f64>,
    /// The probability of the right verdict at the requested lift.
    pub power: Option<f64>,
}

/// The probabilities of the four verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VerdictChances {
    /// Of `helps`.
    pub helps: f64,
    /// Of `harms`.
    pub harms: f64,
    /// Of `negligible`.
    pub negligible: f64,
    /// Of `inconclusive`.
    pub inconclusive: f64,
}

/// A better split of a task's trials between the baseline and the other conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SplitForecast {
    /// Trials of the baseline.
    pub base_repetitions: u32,
    /// Trials of each other condition.
    pub repetitions: u32,
    /// All of them, on one task.
    pub trials_per_task: u32,
    /// The trials' part of the standard error of a lift, as a ratio to the plan's.
    pub standard_error_ratio: f64,
}

/// The request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RequestForecast {
    /// The lift.
    pub lift: Option<f64>,
    /// The expected verdicts of this design at that lift.
    pub at_lift: Option<VerdictChances>,
    /// Tasks that detect it with 80% power, at these repetitions.
    pub tasks_for_lift: Option<usize>,
    /// `records`, if recorded trials of the comparison gave the variance, as in a report; else `model`.
    pub tasks_for_lift_from: &'static str,
    /// The margin.
    pub equivalence_margin: Option<f64>,
    /// Tasks with 80% power for `negligible` if the true effect is zero.
    pub tasks_for_margin: Option<usize>,
    /// The limit of the Holm-adjusted p.
    pub p: Option<f64>,
    /// The smallest p value these tasks can give, before Holm's correction.
    pub smallest_p: f64,
}

/// The parts of an execution that a forecast depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// The number of concurrent trials.
    pub concurrency: usize,
    /// The limits of every agent and task with a cell.
    pub limits: Vec<TaskLimits>,
    /// Tasks whose verifiers write several rewards and none of the name `reward`, by their text or by
    /// their checks.
    pub several_rewards: BTreeSet<String>,
    /// Most USD of one trial of each agent, by price and caps; `None` where nothing bounds it.
    pub trial_caps: Vec<Option<f64>>,
}

/// Forecasts a plan from the records in the store.
pub fn forecast(
    plan: &RunFolder,
    execution: &Execution,
    store: &Store,
    request: PlanRequest,
) -> Result<PlanForecast, StoreError> {
    let trials = plan.trials();
    let mut records: BTreeMap<&TrialId, Record> = BTreeMap::new();
    for &id in &trials {
        if let Some(record) = counted_record(store, id)? {
            records.insert(id, record);
        }
    }
    let pool = Pool::of(plan, &records, store);
    let arms = forecast_arms(plan, &records, &pool, execution);
    let ranges: Vec<_> = arms
        .iter()
        .filter(|arm| arm.cells > arm.cached)
        .map(|arm| (arm.number, arm.cost_usd_missing))
        .collect();
    let missing = arms.iter().map(|arm| arm.cells - arm.cached).sum();
    let cost = CostForecast { trials: missing, ..sum(plan, &ranges) };
    let (cost_usd, seconds) = cost_and_duration(plan, execution, &arms);
    // Without a primary comparison all comparisons are of one family.
    let conditions = match &plan.primary {
        Some(_) => 1,
        None => plan.conditions.len().saturating_sub(1),
    };
    let names: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.task.as_str()).collect();
    let planned: Vec<PlannedTask> =
        plan.tasks.iter().filter(|task| names.contains(task.name.as_str())).cloned().collect();
    let size = Size::of(&planned);
    let mut outcomes = RunOutcomes::new(plan.outcome);
    for record in records.values() {
        outcomes.observe(record);
    }
    let pilot = pilot(plan, &records, &planned, &outcomes);
    let design = Design {
        tasks: size.units,
        repetitions: compared_repetitions(plan) as usize,
        base_repetitions: base_repetitions(plan) as usize,
        family: (conditions * plan.agents.len()).max(1),
        margin: plan.margin,
        baseline: pilot.map(|pilot| pilot.baseline).unwrap_or_default(),
        spread: SPREAD,
        moving: MOVING,
    };
    let (found, mut requested, impossible) = forecast_design(plan, &design, size, pilot, request);
    // Where the comparison has been measured, its own variance is better than an assumed one, and the number is that of
    // the report.
    let possible = request.lift.filter(|_| requested.at_lift.is_some());
    let measured = possible.map(|lift| observed::tasks_for_lift(plan, store, lift)).transpose()?;
    if let Some(need) = measured.flatten() {
        requested.tasks_for_lift = need.tasks;
        requested.tasks_for_lift_from = "records";
    }
    let (baselines, canaries) = baselines(plan, store, &records)?;
    Ok(PlanForecast {
        schema: "assay.plan-forecast/2",
        run: plan.run.clone(),
        trials: trials.len(),
        cached: records.len(),
        outcome: OutcomeSummary::of(&outcomes),
        baselines,
        canaries,
        selected_by: plan.selected_by.clone(),
        arms,
        limits: limits(plan, execution),
        cost_usd,
        cost_usd_low: cost.range.map(|[low, _]| low),
        cost_usd_high: cost.range.map(|[_, high]| high),
        cost,
        seconds,
        design: found,
        requested,
        impossible,
        excluded: plan.excluded.clone(),
        warnings: plan
            .warnings
            .iter()
            .cloned()
            .chain(SharedSkills::among(&planned).map(|shared| shared.to_string()))
            .chain(several_rewards(plan, execution, &outcomes))
            .collect(),
        judge: plan.judge.as_ref().map(|judge| judge_forecast(judge, &records)),
    })
}

/// A warning about tasks with several rewards and no `reward`, unless the plan names the outcome.
fn several_rewards(plan: &RunFolder, execution: &Execution, outcomes: &RunOutcomes) -> Option<String> {
    let recorded = outcomes.with_several_rewards().into_iter().map(str::to_owned);
    let tasks: BTreeSet<String> = recorded.chain(execution.several_rewards.iter().cloned()).collect();
    if tasks.is_empty() || plan.outcome != Some(OutcomeRule::Auto) {
        return None;
    }
    let named: Vec<String> = tasks.iter().take(NAMED_TASKS).map(|task| format!("`{task}`")).collect();
    let more = tasks.len().saturating_sub(NAMED_TASKS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "the verifiers of {}{more} write several rewards and no key `reward`: their outcome is whether a trial passes, with all \
         rewards at 1 or more. Write the key `reward`, or set `outcome = \"pass\"` or `outcome = \"score\"`",
        named.join(", ")
    ))
}

fn judge_forecast(judge: &JudgeSpec, records: &BTreeMap<&TrialId, Record>) -> JudgeForecast {
    let judgements = records.values().filter_map(|record| record.judgement.as_ref());
    let costs: Vec<f64> = judgements.filter_map(|judgement| judgement.cost_usd).collect();
    let repeats = usize::try_from(judge.repeats).unwrap_or(usize::MAX);
    JudgeForecast {
        judges: judge.models.iter().map(|model| model.model.clone()).collect(),
        mode: judge.mode.word().to_owned(),
        repeats: judge.repeats,
        requests_each: judge.models.len().saturating_mul(repeats),
        cost_usd_each: (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64),
    }
}

/// Trials of the baseline on a task.
fn base_repetitions(plan: &RunFolder) -> u32 {
    plan.conditions.first().map_or(plan.repetitions, |name| plan.repetitions_of(name))
}

/// Trials of the primary condition on a task, or of the condition with the fewest.
fn compared_repetitions(plan: &RunFolder) -> u32 {
    let compared = plan.conditions.iter().skip(1);
    let chosen = compared.filter(|name| plan.primary.as_ref().is_none_or(|primary| primary == *name));
    chosen.map(|name| plan.repetitions_of(name)).min().unwrap_or(plan.repetitions)
}

/// The split of a task's trials between the baseline and k other conditions that makes the standard
/// errors smallest, if it is worth a change.
///
/// The trials' part of the variance of a comparison is proportional to 1/b + 1/r. With b + k·r trials
/// it is smallest at b = √k·r: Dunnett, "A multiple comparison procedure for comparing several
/// treatments with a control", JASA 50 (1955), section 5. Here the best whole numbers are chosen.
fn split(plan: &RunFolder) -> Option<SplitForecast> {
    let others = u32::try_from(plan.conditions.len().checked_sub(1)?).ok().filter(|others| *others > 1)?;
    let compared: Vec<u32> = plan.conditions.iter().skip(1).map(|name| plan.repetitions_of(name)).collect();
    let base = base_repetitions(plan);
    let total = base + compared.iter().sum::<u32>();
    let variance = |base: u32, own: u32| 1.0 / f64::from(base) + 1.0 / f64::from(own);
    let now = compared.iter().map(|own| variance(base, *own)).sum::<f64>() / f64::from(others);
    let splits = (1..=total / others).filter_map(|own| Some((total.checked_sub(others * own)?, own)));
    let found = splits
        .filter(|(base, _)| *base > 0)
        .min_by(|one, other| variance(one.0, one.1).total_cmp(&variance(other.0, other.1)))?;
    let ratio = (variance(found.0, found.1) / now).sqrt();
    (ratio < WORTH).then_some(SplitForecast {
        base_repetitions: found.0,
        repetitions: found.1,
        trials_per_task: found.0 + others * found.1,
        standard_error_ratio: ratio,
    })
}

fn limits(plan: &RunFolder, execution: &Execution) -> Vec<LimitForecast> {
    let named = |limits: &TaskLimits| {
        let entry = &plan.agents[limits.agent];
        LimitForecast {
            agent: entry.name().to_owned(),
            limits: limits.clone(),
            model: entry.label.model.clone(),
        }
    };
    execution.limits.iter().map(named).collect()
}

/// Why a design has no verdict, whatever its trials show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no verdict is possible: a confidence interval needs at least {FEWEST_TASKS} {kind}, and `{condition}` against `{baseline}` has {units}",
    kind = if *.clustered { "effective clusters of tasks" } else { "tasks" }
)]
pub struct NoVerdict {
    /// The condition with the most tasks, of those that matter.
    pub condition: String,
    /// The condition compared with.
    pub baseline: String,
    /// Its tasks, or effective clusters rounded down.
    pub units: usize,
    /// Whether they are clusters.
    pub clustered: bool,
}

/// Checks that the primary comparison of a plan, or one of its comparisons without a primary, has enough tasks for a
/// verdict. A plan without a comparison passes.
///
/// # Errors
/// None has enough.
pub fn check_verdict_possible(plan: &RunFolder) -> Result<(), NoVerdict> {
    let Some((baseline, others)) = plan.conditions.split_first() else { return Ok(()) };
    let mut tasks: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
    for cell in &plan.cells {
        tasks.entry((cell.agent, &cell.condition)).or_default().insert(&cell.task);
    }
    let mut best: Option<NoVerdict> = None;
    let chosen = others.iter().filter(|name| plan.primary.as_ref().is_none_or(|primary| primary == *name));
    for (condition, agent) in chosen.flat_map(|name| (0..plan.agents.len()).map(move |agent| (name, agent))) {
        let none = BTreeSet::new();
        let of = |name: &str| {
            let found = tasks.iter().find(|((of, condition), _)| *of == agent && *condition == name);
            found.map_or(&none, |(_, tasks)| tasks)
        };
        let (own, base) = (of(condition), of(baseline));
        let is_compared =
            |task: &&PlannedTask| own.contains(task.name.as_str()) && base.contains(task.name.as_str());
        let compared: Vec<PlannedTask> = plan.tasks.iter().filter(is_compared).cloned().collect();
        let size = Size::of(&compared);
        if size.units >= FEWEST_TASKS {
            return Ok(());
        }
        if best.as_ref().is_none_or(|best| size.units > best.units) {
            best = Some(NoVerdict {
                condition: condition.clone(),
                baseline: baseline.clone(),
                units: size.units,
                clustered: size.clusters.is_some(),
            });
        }
    }
    best.map_or(Ok(()), Err)
}

/// The number of tasks and of effective units.
#[derive(Debug, Clone, Copy)]
struct Size {
    tasks: usize,
    clusters: Option<usize>,
    units: usize,
}

impl Size {
    fn of(tasks: &[PlannedTask]) -> Self {
        let tasks: Vec<&PlannedTask> = tasks.iter().filter(|task| !task.negative_control).collect();
        let mut sizes: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for task in &tasks {
            let key = task.cluster.as_deref().map_or((false, task.name.as_str()), |cluster| (true, cluster));
            *sizes.entry(key).or_default() += 1;
        }
        let squares: usize = sizes.values().map(|size| size * size).sum();
        let clustered = sizes.keys().any(|(clustered, _)| *clustered);
        Self {
            tasks: tasks.len(),
            clusters: clustered.then_some(sizes.len()),
            units: (tasks.len() * tasks.len()).checked_div(squares).unwrap_or(0),
        }
    }
}

fn forecast_arms(
    plan: &RunFolder,
    records: &BTreeMap<&TrialId, Record>,
    pool: &Pool<'_>,
    execution: &Execution,
) -> Vec<ArmForecast> {
    let mut arms = Vec::new();
    for (agent, entry) in plan.agents.iter().enumerate() {
        let of_agent: Vec<&Record> = recorded(plan, records, |cell| cell.agent == agent);
        for condition in &plan.conditions {
            let is_own = |cell: &Cell| cell.agent == agent && cell.condition == *condition;
            let cells = plan.cells.iter().filter(|cell| is_own(cell)).count();
            let own = recorded(plan, records, is_own);
            let like = if own.is_empty() { &of_agent } else { &own };
            let missing = cells - own.len();
            arms.push(ArmForecast {
                number: agent,
                cost_usd_missing: (missing > 0)
                    .then(|| pool.range(agent, condition, missing, &execution.trial_caps))
                    .flatten(),
                agent: entry.name().to_owned(),
                model: entry.label.model.clone(),
                server: entry.server.clone(),
                placement: entry.placement,
                condition: condition.clone(),
                cells,
                cached: own.len(),
                cost_usd_each: mean(like, |record| record.cost_usd),
                seconds_each: mean(like, |record| record.seconds.total),
            });
        }
    }
    arms
}

fn recorded<'a>(
    plan: &RunFolder,
    records: &'a BTreeMap<&TrialId, Record>,
    holds: impl Fn(&Cell) -> bool,
) -> Vec<&'a Record> {
    plan.cells.iter().filter(|cell| holds(cell)).filter_map(|cell| records.get(&cell.trial)).collect()
}

/// The mean of a figure; `None` without records or if a record lacks it.
fn mean(records: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = records.iter().map(|record| figure(record)).collect();
    figures
        .filter(|figures| !figures.is_empty())
        .map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Cost and duration of the missing trials. Scripted models cost nothing; an unknown figure makes
/// the sum unknown.
fn cost_and_duration(
    plan: &RunFolder,
    execution: &Execution,
    arms: &[ArmForecast],
) -> (Option<f64>, Option<f64>) {
    let missing = |arm: &ArmForecast| (arm.cells - arm.cached) as f64;
    let sum = |figure: fn(&ArmForecast) -> Option<f64>| {
        arms.iter()
            .filter(|arm| arm.cells > arm.cached)
            .map(|arm| figure(arm).map(|each| each * missing(arm)))
            .try_fold(0.0, |sum, figure| figure.map(|figure| sum + figure))
    };
    let free = plan.agents.iter().all(|entry| !entry.measures_a_model);
    let cost = if free { Some(0.0) } else { sum(|arm| arm.cost_usd_each) };
    let seconds = sum(|arm| arm.seconds_each).map(|seconds| seconds / execution.concurrency as f64);
    (cost, seconds)
}

/// The baseline of the recorded trials, by the rules of a report.
fn baselines(
    plan: &RunFolder,
    store: &Store,
    records: &BTreeMap<&TrialId, Record>,
) -> Result<(Vec<BaselineForecast>, Vec<CanaryKnowledge>), StoreError> {
    let Some(baseline) = plan.conditions.first() else { return Ok((Vec::new(), Vec::new())) };
    let failed = store.failed_checks(&plan.run)?;
    let gathered = Gathered::from_records(plan, &failed, |trial| Ok(records.get(trial).cloned()))?;
    let is_fractional = gathered.slots().any(Slot::is_fractional);
    let arms = arms::arms(plan, &gathered.tables).into_iter().filter(|arm| arm.condition == *baseline);
    let found = arms.filter_map(|arm| {
        let score = arm.score?;
        Some(BaselineForecast { who: arm.who, score, is_fractional, tasks: arm.tasks, trials: arm.trials })
    });
    Ok((found.collect(), canary_knowledge(plan, &gathered)))
}

/// A baseline from recorded outcome values.
#[derive(Clone, Copy)]
struct Pilot {
    baseline: Baseline,
    /// The 95% CI of its mean.
    interval: Option<[f64; 2]>,
}

/// The baseline of recorded outcome values, if there are enough.
fn pilot(
    plan: &RunFolder,
    records: &BTreeMap<&TrialId, Record>,
    planned: &[PlannedTask],
    outcomes: &RunOutcomes,
) -> Option<Pilot> {
    let controls: BTreeSet<&str> =
        planned.iter().filter(|task| task.negative_control).map(|task| task.name.as_str()).collect();
    let baseline = plan.conditions.first()?;
    let mut tasks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let measured = plan
        .cells
        .iter()
        .filter(|cell| cell.condition == *baseline && !controls.contains(cell.task.as_str()));
    for cell in measured {
        if let Some(score) = records.get(&cell.trial).and_then(|record| outcomes.value(record)) {
            tasks.entry(&cell.task).or_default().push(score);
        }
    }
    let tasks: Vec<Vec<f64>> = tasks.into_values().filter(|scores| scores.len() > 1).collect();
    let baseline = Baseline::pilot(&tasks).filter(|_| tasks.len() >= PILOT_TASKS)?;
    let interval = assay_stats::rate(&tasks, 0.95).and_then(|rate| rate.interval);
    Some(Pilot { baseline, interval: interval.map(|interval| [interval.low, interval.high]) })
}

/// The lowest and the highest probability of the right verdict on a lift, with the baseline's mean at either end of its interval
/// and in its middle. Where a mean leaves no room for the lift, the nearest that does is taken.
fn power_range(design: &Design, pilot: Pilot, lift: f64, seed: u64) -> Option<[f64; 2]> {
    let room = if lift > 0.0 { [0.0, 1.0 - lift - ROOM] } else { [ROOM - lift, 1.0] };
    let [low, high] = pilot.interval?;
    let power = |mean: f64| {
        let mean = mean.max(room[0]).min(room[1]);
        let design = Design { baseline: pilot.baseline.around(mean), ..*design };
        let chances = design.chances(lift, seed).ok()?;
        Some(if lift > 0.0 { chances.helps } else { chances.harms })
    };
    let powers: Vec<f64> = [low, pilot.baseline.mean(), high].into_iter().filter_map(power).collect();
    let least = powers.iter().copied().reduce(f64::min)?;
    Some([least, powers.iter().copied().reduce(f64::max)?])
}

fn forecast_design(
    plan: &RunFolder,
    design: &Design,
    size: Size,
    pilot: Option<Pilot>,
    request: PlanRequest,
) -> (DesignForecast, RequestForecast, Vec<String>) {
    let seed = plan.seed;
    let mut impossible: Vec<Impossible> =
        design.impossible(&Requirement { lift: request.lift, margin: request.equivalence_margin, p: None });
    // The sign-flip test takes every cluster as a unit, and Holm's correction is over all
    // comparisons.
    let compared = plan.conditions.len().saturating_sub(1) * plan.agents.len();
    let permuted = Design { tasks: size.clusters.unwrap_or(size.tasks), family: compared.max(1), ..*design };
    let p_only = permuted.impossible(&Requirement { lift: None, margin: None, p: request.p });
    impossible.extend(p_only.into_iter().filter(|reason| matches!(reason, Impossible::SmallestP { .. })));
    let mut note = |error: Impossible| {
        if !impossible.contains(&error) {
            impossible.push(error);
        }
    };
    let forecast = design.forecast(seed).map_err(&mut note).ok();
    let at_lift = request.lift.and_then(|lift| design.chances(lift, seed).map_err(&mut note).ok());
    let tasks_for_lift =
        request.lift.and_then(|lift| design.tasks_for_lift(lift, seed).map_err(&mut note).ok()).flatten();
    let tasks_for_margin = request
        .equivalence_margin
        .and_then(|margin| design.tasks_for_margin(margin, seed).map_err(&mut note).ok())
        .flatten();
    let mde = forecast.and_then(|forecast| forecast.mde);
    let lift = request.lift.filter(|_| at_lift.is_some()).or(mde).filter(|lift| *lift != 0.0);
    let found = DesignForecast {
        tasks: size.tasks,
        clusters: size.clusters,
        units: size.units,
        repetitions: compared_repetitions(plan),
        base_repetitions: base_repetitions(plan),
        split: if plan.stopping.is_some() { None } else { split(plan) },
        family: design.family,
        primary: plan.primary.clone(),
        margin: design.margin,
        baseline_from: if pilot.is_some() { "records" } else { "default" },
        baseline: design.baseline.mean(),
        baseline_ci95: pilot.and_then(|pilot| pilot.interval),
        power_range: pilot.zip(lift).and_then(|(pilot, lift)| power_range(design, pilot, lift, seed)),
        suites: forecast.map(|forecast| forecast.suites),
        mde,
        smallest_margin: forecast.and_then(|forecast| forecast.margin),
        if_no_effect: forecast.map(|forecast| chances(forecast.if_no_effect)),
        shapes: design.shapes(request.lift, seed).into_iter().map(shape).collect(),
        stopping: plan.stopping.map(|stopping| expected_trials(plan, design, stopping, mde)),
    };
    let requested = RequestForecast {
        lift: request.lift,
        at_lift: at_lift.map(chances),
        tasks_for_lift,
        tasks_for_lift_from: "model",
        equivalence_margin: request.equivalence_margin,
        tasks_for_margin,
        p: request.p,
        smallest_p: assay_stats::plan::smallest_p(permuted.tasks),
    };
    (found, requested, impossible.iter().map(ToString::to_string).collect())
}

fn expected_trials(
    plan: &RunFolder,
    design: &Design,
    stopping: Stopping,
    mde: Option<f64>,
) -> StoppingForecast {
    let of_fixed_design = plan.cells.iter().filter(|cell| cell.repetition <= plan.repetitions);
    let fixed = of_fixed_design.map(|cell| &cell.trial).collect::<BTreeSet<_>>().len();
    let more = stopping.stages().map(|_| plan.units(true));
    let at = |lift: f64| simulate_ends(design, stopping.rounds as usize, more, lift, plan.seed);
    let trials = |ends: Option<ExpectedEnds>| ends.map(|ends| ends.share * fixed as f64);
    let (at_zero, at_mde) = (at(0.0), mde.and_then(at));
    StoppingForecast {
        rounds: stopping.rounds,
        most: plan.trials().len(),
        fixed,
        if_no_effect: trials(at_zero),
        at_mde: trials(at_mde),
        at_twice_mde: trials(mde.and_then(|lift| at(2.0 * lift))),
        power_at_mde: at_mde.map(|ends| ends.power),
        second_stage: stopping.stages().map(|[first_tasks, _]| SecondStageForecast {
            first_tasks,
            tasks: plan.second_stage().into_iter().map(str::to_owned).collect(),
            if_no_effect: at_zero.map(|ends| ends.goes_on),
            at_mde: at_mde.map(|ends| ends.goes_on),
        }),
    }
}

/// How the comparisons of simulated experiments end.
#[derive(Clone, Copy)]
struct ExpectedEnds {
    power: f64,
    /// Trials, as a share of those of the fixed design.
    share: f64,
    /// Share of experiments that go on with the tasks after the rounds.
    goes_on: f64,
}

fn simulate_ends(
    design: &Design,
    rounds: usize,
    more: Option<usize>,
    lift: f64,
    seed: u64,
) -> Option<ExpectedEnds> {
    match more {
        None => design.in_rounds(rounds, lift, seed).ok().map(|found| ExpectedEnds {
            power: found.power,
            share: found.share,
            goes_on: 0.0,
        }),
        Some(more) => design.in_stages(rounds, more, lift, seed).ok().map(|found| ExpectedEnds {
            power: found.helps,
            share: found.share,
            goes_on: found.goes_on,
        }),
    }
}

fn shape(shape: Shape) -> ShapeForecast {
    ShapeForecast {
        tasks: shape.tasks,
        repetitions: shape.repetitions,
        mde: shape.mde,
        smallest_margin: shape.margin,
        power: shape.power,
    }
}

fn chances(chances: Chances) -> VerdictChances {
    VerdictChances {
        helps: chances.helps,
        harms: chances.harms,
        negligible: chances.negligible,
        inconclusive: chances.inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A plan with so many conditions beside the baseline, and trials of both.
    fn plan(others: usize, base: u32, own: u32) -> RunFolder {
        let conditions: Vec<String> = (0..=others).map(|number| format!("c{number}")).collect();
        let plan = json!({ "schema": RunFolder::SCHEMA, "run": "r", "plan": "", "margin": 0.1, "seed": 1,
            "repetitions": own, "conditions": conditions, "disclosure": "offered", "agents": [], "tasks": [],
            "cells": [], "excluded": [], "equal_conditions": [],
            "settings": { "c0": { "repetitions": base } } });
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn the_split_follows_the_square_root_rule_in_whole_numbers() {
        let check = |others: usize, base: u32, own: u32, expected: Option<(u32, u32)>| {
            let found = split(&plan(others, base, own));
            assert_eq!(found.map(|split| (split.base_repetitions, split.repetitions)), expected, "{others}");
        };
        // By hand, of 55 trials: 1/15 + 1/4 = .317 against 1/5 + 1/5 = .4; √(.317/.4) = .890.
        check(10, 5, 5, Some((15, 4)));
        let ratio = split(&plan(10, 5, 5)).unwrap().standard_error_ratio;
        assert!((ratio - (0.316_666_666_7_f64 / 0.4).sqrt()).abs() < 1e-9, "{ratio}");
        // √4 = 2: of 60 trials 20 of the baseline and 10 of each.
        check(4, 12, 12, Some((20, 10)));
        // It is so already, there is one comparison, or a trial cannot be divided.
        check(4, 20, 10, None);
        check(1, 5, 5, None);
        check(3, 1, 1, None);
    }
}
