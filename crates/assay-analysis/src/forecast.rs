//! What a plan will cost, and what it can and cannot find, before anything runs.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::plan::{Chances, Impossible, MOVING, Plan as Design, Requirement, SPREAD, Shape};
use assay_stats::simulate::Baseline;
use assay_store::{Cell, Exclusion, PlannedTask, Record, RunFolder, Store, StoreError, TaskLimits, TrialId};
use assay_trace::Placement;
use serde::Serialize;

use crate::shared::SharedSkills;

/// With fewer tasks that have two trials or more, recorded trials do not stand for the baseline.
const PILOT_TASKS: usize = 5;

/// What is asked of a plan beside what it can find.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wish {
    /// A true lift that is to be found.
    pub lift: Option<f64>,
    /// No effect is to be shown within ± this.
    pub equivalence_margin: Option<f64>,
    /// A p value, after Holm's correction, that a gate asks for.
    pub p: Option<f64>,
}

/// What a plan comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanForecast {
    /// `assay.plan-forecast/2`.
    pub schema: &'static str,
    /// The experiment's name.
    pub run: String,
    /// Distinct trials.
    pub trials: usize,
    /// Of them, with a result in the store.
    pub cached: usize,
    /// Arm by arm.
    pub arms: Vec<ArmForecast>,
    /// The limits that hold, agent by agent and task by task.
    pub limits: Vec<LimitForecast>,
    /// What the missing trials will cost, in USD; `null` where the cost of one is unknown.
    pub cost_usd: Option<f64>,
    /// What they will take, in seconds, at the experiment's concurrency; `null` where nothing like them was recorded.
    pub seconds: Option<f64>,
    /// What the design can and cannot find.
    pub design: DesignForecast,
    /// What was asked for, and what it takes.
    pub requested: WishForecast,
    /// Why what was asked for cannot be had at all, with the arithmetic. Empty: nothing stands against it.
    pub impossible: Vec<String>,
    /// Tasks and cells that cannot be run.
    pub excluded: Vec<Exclusion>,
    /// What this machine cannot give of what the tasks ask for, and tasks that share skills and declare no cluster.
    pub warnings: Vec<String>,
}

/// One arm of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmForecast {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// `native` or `system`, where there is a choice.
    pub placement: Option<Placement>,
    /// The condition.
    pub condition: String,
    /// Cells.
    pub cells: usize,
    /// Of them, with a result in the store.
    pub cached: usize,
    /// Mean cost of its recorded trials, else of the agent's others, in USD.
    pub cost_usd_each: Option<f64>,
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

/// What a design can and cannot find, by simulating the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DesignForecast {
    /// Tasks that can be run.
    pub tasks: usize,
    /// Clusters that they come in; `null` where no task names any.
    pub clusters: Option<usize>,
    /// What was simulated as independent tasks: the tasks, or the effective clusters, N²/Σn², rounded down.
    pub units: usize,
    /// Trials of each cell.
    pub repetitions: u32,
    /// Comparisons that share the error rate: the primary ones, or all where there is no primary condition.
    pub family: usize,
    /// The primary condition, which the figures are about.
    pub primary: Option<String>,
    /// d in "no effect within ±d".
    pub margin: f64,
    /// `default`, or `records` where the store's trials of the baseline stood for it.
    pub baseline_from: &'static str,
    /// Mean pass rate of the baseline that was assumed.
    pub baseline: f64,
    /// Suites simulated.
    pub suites: Option<usize>,
    /// The smallest lift that comes out as `helps` with a chance of 80 %.
    pub mde: Option<f64>,
    /// The smallest margin within which nothing comes out as `negligible` with a chance of 80 %.
    pub smallest_margin: Option<f64>,
    /// The chances of each verdict on an arm that does nothing.
    pub if_no_effect: Option<VerdictChances>,
    /// The same number of trials as fewer or more repetitions of more or fewer tasks.
    pub shapes: Vec<ShapeForecast>,
}

/// What the same number of trials finds in another shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShapeForecast {
    /// Tasks.
    pub tasks: usize,
    /// Trials of each cell.
    pub repetitions: usize,
    /// The smallest lift that comes out as `helps` with a chance of 80 %.
    pub mde: Option<f64>,
    /// The smallest margin within which nothing comes out as `negligible` with a chance of 80 %.
    pub smallest_margin: Option<f64>,
    /// The chance of the right verdict at the lift that was asked for.
    pub power: Option<f64>,
}

/// The chances of the four verdicts.
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

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WishForecast {
    /// The lift.
    pub lift: Option<f64>,
    /// The chances of each verdict at that lift, with this design.
    pub at_lift: Option<VerdictChances>,
    /// Tasks needed to find it with a chance of 80 %, at these repetitions.
    pub tasks_for_lift: Option<usize>,
    /// The margin.
    pub equivalence_margin: Option<f64>,
    /// Tasks needed to show no effect within it with a chance of 80 %, where there is none.
    pub tasks_for_margin: Option<usize>,
    /// The gate's p value.
    pub p: Option<f64>,
    /// The smallest p value these tasks can give, before Holm's correction.
    pub smallest_p: f64,
}

/// How a plan is to be executed, as far as a forecast depends on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Trials at once.
    pub concurrency: usize,
    /// The limits that hold, for every agent and every task with a cell.
    pub limits: Vec<TaskLimits>,
}

/// Forecasts a plan from what the store holds.
pub fn forecast(
    plan: &RunFolder,
    execution: &Execution,
    store: &Store,
    wish: Wish,
) -> Result<PlanForecast, StoreError> {
    let trials = plan.trials();
    let mut records: BTreeMap<&TrialId, Record> = BTreeMap::new();
    for &id in &trials {
        match store.record(id) {
            Ok(Some(record)) if record.outcome.counts() => {
                records.insert(id, record);
            }
            Ok(_) | Err(StoreError::Format { .. } | StoreError::Version { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let arms = arms(plan, &records);
    let (cost_usd, seconds) = bill(plan, execution, &arms);
    // The primary comparison is what a plan is for. Without one all comparisons count alike.
    let conditions = match &plan.primary {
        Some(_) => 1,
        None => plan.conditions.len().saturating_sub(1),
    };
    let names: BTreeSet<&str> = plan.cells.iter().map(|cell| cell.task.as_str()).collect();
    let planned: Vec<PlannedTask> =
        plan.tasks.iter().filter(|task| names.contains(task.name.as_str())).cloned().collect();
    let size = Size::of(&planned);
    let pilot = pilot(plan, &records, &planned);
    let design = Design {
        tasks: size.units,
        repetitions: plan.repetitions as usize,
        base_repetitions: plan.repetitions as usize,
        family: (conditions * plan.agents.len()).max(1),
        margin: plan.margin,
        baseline: pilot.unwrap_or_default(),
        spread: SPREAD,
        moving: MOVING,
    };
    let (found, requested, impossible) = judge(plan, &design, size, pilot.is_some(), wish);
    Ok(PlanForecast {
        schema: "assay.plan-forecast/2",
        run: plan.run.clone(),
        trials: trials.len(),
        cached: records.len(),
        arms,
        limits: limits(plan, execution),
        cost_usd,
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
            .collect(),
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

/// How many tasks, and what they count as.
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

fn arms(plan: &RunFolder, records: &BTreeMap<&TrialId, Record>) -> Vec<ArmForecast> {
    let mut arms = Vec::new();
    for (agent, entry) in plan.agents.iter().enumerate() {
        let of_agent: Vec<&Record> = recorded(plan, records, |cell| cell.agent == agent);
        for condition in &plan.conditions {
            let is_own = |cell: &Cell| cell.agent == agent && cell.condition == *condition;
            let cells = plan.cells.iter().filter(|cell| is_own(cell)).count();
            let own = recorded(plan, records, is_own);
            let like = if own.is_empty() { &of_agent } else { &own };
            arms.push(ArmForecast {
                agent: entry.name().to_owned(),
                model: entry.label.model.clone(),
                placement: entry.placement,
                condition: condition.clone(),
                cells,
                cached: own.len(),
                cost_usd_each: mean(like, |record| record.cost_usd),
                seconds_each: mean(like, |record| Some(record.seconds.total)),
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

/// The mean of a figure that every record has; `None` where one has not, or there is none.
fn mean(records: &[&Record], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let figures: Option<Vec<f64>> = records.iter().map(|record| figure(record)).collect();
    figures
        .filter(|figures| !figures.is_empty())
        .map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// What the missing trials will cost and take. A script costs nothing; what is unknown makes the sum unknown.
fn bill(plan: &RunFolder, execution: &Execution, arms: &[ArmForecast]) -> (Option<f64>, Option<f64>) {
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

/// The baseline's scores as the store has them, where it has enough.
fn pilot(
    plan: &RunFolder,
    records: &BTreeMap<&TrialId, Record>,
    planned: &[PlannedTask],
) -> Option<Baseline> {
    let controls: BTreeSet<&str> =
        planned.iter().filter(|task| task.negative_control).map(|task| task.name.as_str()).collect();
    let baseline = plan.conditions.first()?;
    let mut tasks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let measured = plan
        .cells
        .iter()
        .filter(|cell| cell.condition == *baseline && !controls.contains(cell.task.as_str()));
    for cell in measured {
        if let Some(score) = records.get(&cell.trial).and_then(Record::score) {
            tasks.entry(&cell.task).or_default().push(score);
        }
    }
    let tasks: Vec<Vec<f64>> = tasks.into_values().filter(|scores| scores.len() > 1).collect();
    if tasks.len() < PILOT_TASKS { None } else { Baseline::pilot(&tasks) }
}

fn judge(
    plan: &RunFolder,
    design: &Design,
    size: Size,
    piloted: bool,
    wish: Wish,
) -> (DesignForecast, WishForecast, Vec<String>) {
    let seed = plan.seed;
    let mut impossible: Vec<Impossible> =
        design.impossible(&Requirement { lift: wish.lift, margin: wish.equivalence_margin, p: None });
    // The sign-flip test takes every cluster as a unit, and Holm's correction is over all comparisons.
    let compared = plan.conditions.len().saturating_sub(1) * plan.agents.len();
    let permuted = Design { tasks: size.clusters.unwrap_or(size.tasks), family: compared.max(1), ..*design };
    let p_only = permuted.impossible(&Requirement { lift: None, margin: None, p: wish.p });
    impossible.extend(p_only.into_iter().filter(|reason| matches!(reason, Impossible::SmallestP { .. })));
    let mut note = |error: Impossible| {
        if !impossible.contains(&error) {
            impossible.push(error);
        }
    };
    let forecast = design.forecast(seed).map_err(&mut note).ok();
    let at_lift = wish.lift.and_then(|lift| design.chances(lift, seed).map_err(&mut note).ok());
    let tasks_for_lift =
        wish.lift.and_then(|lift| design.tasks_for_lift(lift, seed).map_err(&mut note).ok()).flatten();
    let tasks_for_margin = wish
        .equivalence_margin
        .and_then(|margin| design.tasks_for_margin(margin, seed).map_err(&mut note).ok())
        .flatten();
    let found = DesignForecast {
        tasks: size.tasks,
        clusters: size.clusters,
        units: size.units,
        repetitions: plan.repetitions,
        family: design.family,
        primary: plan.primary.clone(),
        margin: design.margin,
        baseline_from: if piloted { "records" } else { "default" },
        baseline: design.baseline.mean(),
        suites: forecast.map(|forecast| forecast.suites),
        mde: forecast.and_then(|forecast| forecast.detectable),
        smallest_margin: forecast.and_then(|forecast| forecast.margin),
        if_no_effect: forecast.map(|forecast| chances(forecast.nothing)),
        shapes: design.shapes(wish.lift, seed).into_iter().map(shape).collect(),
    };
    let requested = WishForecast {
        lift: wish.lift,
        at_lift: at_lift.map(chances),
        tasks_for_lift,
        equivalence_margin: wish.equivalence_margin,
        tasks_for_margin,
        p: wish.p,
        smallest_p: assay_stats::plan::smallest_p(permuted.tasks),
    };
    (found, requested, impossible.iter().map(ToString::to_string).collect())
}

fn shape(shape: Shape) -> ShapeForecast {
    ShapeForecast {
        tasks: shape.tasks,
        repetitions: shape.repetitions,
        mde: shape.detectable,
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
