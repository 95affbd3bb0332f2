//! What a report says, and how it is found.

use std::collections::{BTreeMap, BTreeSet};

use assay_trial::{
    Exclusion, Outcome, Placement, PlannedAgent, RunFolder, Selection, SharedSkills, Store, StoreError,
};
use serde::Serialize;

use crate::controls::NegativeControls;
use crate::explore::{Frontier, HeatMap, Pooled, Repetitions, Stratum, TopTasks, Variance};
use crate::gather::{Gathered, Slot};
use crate::models::RepliedModel;
use crate::tests_breakdown::TestRow;
use crate::{arms, comparisons, controls, explore, models, overlap, tasks, tests_breakdown};

/// A placebo that is opened in a smaller share of its trials than this has not acted as one.
const UNREAD: f64 = 0.05;

/// The format of [`Report`].
pub const SCHEMA: &str = "assay.report/1";

/// All findings about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own in the JSON document")]
pub struct Report {
    /// `assay.report/1`.
    pub schema: &'static str,
    /// The run.
    pub run: String,
    /// d in "no effect within ±d", as the plan fixed it.
    pub margin: f64,
    /// The condition whose comparisons are primary, as the plan named it; `null` where all comparisons are one family.
    pub primary: Option<String>,
    /// Whether anything here was measured on a model. `false`: a demonstration.
    pub measures_a_model: bool,
    /// Whether this run holds all of an earlier one, so that its size may have been chosen after a look.
    pub extended_after_look: bool,
    /// Whether a trial scored something between 0 and 1. Where none did, scores are pass rates.
    pub fractional_scores: bool,
    /// What was measured, condition by condition.
    pub arms: Vec<Arm>,
    /// Each condition against its baseline. The primary ones are a family, and the others are one.
    pub comparisons: Vec<Comparison>,
    /// Task by task. Exploratory: no verdict rests on one row.
    pub tasks: Vec<TaskRow>,
    /// Tasks where no skill should help, counted apart; `null` where there are none.
    pub negative_controls: Option<NegativeControls>,
    /// Lifts by domain, difficulty, number of skills and length of the curated skills. Exploratory.
    pub strata: Vec<Stratum>,
    /// Lifts over all agents together; empty where there is one. Exploratory.
    pub pooled: Vec<Pooled>,
    /// Pass rates task by arm, ordered by lift.
    pub heat: Vec<HeatMap>,
    /// Cost against pass rate. Exploratory.
    pub frontier: Frontier,
    /// Each arm's variance, within tasks and between them.
    pub variance: Vec<Variance>,
    /// Whether each comparison's repetitions suffice.
    pub repetitions: Vec<Repetitions>,
    /// The tasks that gained most, in the order of the comparisons. Exploratory.
    pub gains: Vec<TopTasks>,
    /// The tasks that lost most, in the order of the comparisons. Exploratory.
    pub losses: Vec<TopTasks>,
    /// Which of the verifiers' tests fail in each arm, and which ones a condition turns. Exploratory.
    pub tests: Vec<TestRow>,
    /// The models that replied, by the providers' own word.
    pub replied_models: Vec<RepliedModel>,
    /// Whether one of them is not the model that was asked for: a gate must not pass such a run.
    pub model_mismatch: bool,
    /// What was left out, and why.
    pub excluded: Vec<Exclusion>,
    /// What a reader has to know, in sentences.
    pub notes: Vec<String>,
}

/// One arm: all trials of an agent, in a sandbox, under a condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
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
    pub touched: f64,
    /// Enough of a skill's body reached the model.
    pub opened: f64,
    /// A file of a skill was run.
    pub executed: f64,
}

/// A condition against its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
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
    pub these_tasks_ci95: Option<[f64; 2]>,
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
    pub noise_floor: Option<f64>,
    /// The smallest lift that this design and spread find with 80 % power.
    pub smallest_detectable: Option<f64>,
    /// Percentile bootstrap within tasks, as SkillsBench does it. Printed by name; never decides.
    pub skillsbench_ci95: Option<[f64; 2]>,
    /// `helps`, `harms`, `no-effect` or `underpowered`.
    pub verdict: &'static str,
    /// Why it is underpowered: `design`, `losses` or `noise`.
    pub reason: Option<&'static str>,
    /// The direction, where the interval excludes 0 and the verdict is `no-effect`.
    pub direction: Option<&'static str>,
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
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The sandbox.
    pub sandbox: String,
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

/// Finds everything about a run.
pub fn report(store: &Store, run: &RunFolder) -> Result<Report, StoreError> {
    report_selected(store, run, &Selection::default())
}

/// Finds everything about the selected cells of a run, as if the others were not planned. Only the family of comparisons stays
/// that of the whole run.
pub fn report_selected(store: &Store, run: &RunFolder, only: &Selection) -> Result<Report, StoreError> {
    Ok(find(run, &Gathered::read(store, run, only)?))
}

/// A run's records, laid onto its plan.
pub(crate) fn gather(store: &Store, run: &RunFolder) -> Result<Gathered, StoreError> {
    Gathered::read(store, run, &Selection::default())
}

/// The findings, from records alone.
pub fn find(run: &RunFolder, gathered: &Gathered) -> Report {
    let tables = &gathered.tables;
    let arms = arms::arms(run, tables);
    let clusters = comparisons::clusters(run);
    let pairs = explore::pairs(run, tables);
    let (gains, losses) = explore::extremes(run, &pairs);
    let replied_models = models::replied(run, gathered);
    let mut report = Report {
        schema: SCHEMA,
        run: run.run.clone(),
        margin: run.margin,
        primary: run.primary.clone(),
        measures_a_model: run.agents.iter().any(|agent| agent.measures_a_model),
        extended_after_look: run.extends.is_some(),
        fractional_scores: gathered.slots().any(Slot::is_fractional),
        comparisons: comparisons::comparisons(run, tables, run.primary.as_deref()),
        tasks: tasks::rows(run, tables),
        negative_controls: controls::controls(run, gathered),
        strata: explore::strata(run, &pairs, &clusters),
        pooled: explore::pooled(run, &pairs, &clusters),
        heat: explore::heat(run, tables),
        frontier: explore::frontier(&arms),
        variance: explore::variance(run, tables),
        repetitions: explore::repetitions(run, &pairs),
        gains,
        losses,
        tests: tests_breakdown::rows(run, tables),
        arms,
        model_mismatch: replied_models.iter().any(|model| !model.matches),
        replied_models,
        excluded: gathered.excluded.clone(),
        notes: Vec::new(),
    };
    let controls = report.negative_controls.iter_mut().flat_map(|controls| &mut controls.comparisons);
    for comparison in report.comparisons.iter_mut().chain(controls) {
        comparison.imported = run.imported.is_some();
    }
    report.notes = notes(run, gathered, &report);
    report
}

fn notes(run: &RunFolder, gathered: &Gathered, report: &Report) -> Vec<String> {
    let mut notes = unusable(run, gathered);
    notes.extend(models::notes(&report.replied_models));
    let mut scripted: Vec<&str> = Vec::new();
    for agent in run.agents.iter().filter(|agent| !agent.measures_a_model) {
        let name = agent.label.model.as_deref().unwrap_or(agent.name());
        if !scripted.contains(&name) {
            scripted.push(name);
        }
    }
    if !scripted.is_empty() {
        notes.push(format!(
            "{} {} what a file says: such figures demonstrate the instrument and measure no model.",
            scripted.join(", "),
            if scripted.len() == 1 { "plays" } else { "play" }
        ));
    }
    notes.extend(run.warnings.iter().cloned());
    notes.extend(imported(run, gathered));
    notes.extend(cut(gathered));
    let controls = report.negative_controls.iter().flat_map(|controls| &controls.comparisons);
    notes.extend(overlap::notes(run, report.comparisons.iter().chain(controls)));
    notes.extend(placed(run));
    notes.extend(metered(run, gathered));
    notes.extend(estimated(run, gathered));
    for (one, other, tasks) in &run.equal_conditions {
        notes.push(format!(
            "`{one}` and `{other}` provide the same on {}: there they share their trials.",
            counted(*tasks, "task", "tasks")
        ));
    }
    if run.imported.is_none() {
        let planned: BTreeSet<&str> = run.cells.iter().map(|cell| cell.task.as_str()).collect();
        let tasks = run.tasks.iter().filter(|task| planned.contains(task.name.as_str()));
        notes.extend(SharedSkills::among(tasks).map(|shared| shared.to_string()));
    }
    let control_arms = report.negative_controls.iter().flat_map(|controls| &controls.arms);
    let all_arms: Vec<&Arm> = report.arms.iter().chain(control_arms).collect();
    let unfinished: usize = all_arms.iter().map(|arm| arm.unfinished).sum();
    if unfinished > 0 {
        let trials = counted(unfinished, "planned trial has", "planned trials have");
        let what = match run.imported {
            Some(_) => "import the jobs again once they have finished",
            None => "run the experiment again to go on",
        };
        notes.push(format!("{trials} no record yet: {what}."));
    }
    for arm in report.arms.iter().filter(|arm| arm.condition == "placebo") {
        if arm.trials > 0 && arm.exposure.opened < UNREAD && run.imported.is_none() {
            notes.push(format!(
                "`placebo`{} was opened in {:.0} % of its trials: nobody read it, so it is a second baseline.",
                by(run, arm),
                100.0 * arm.exposure.opened
            ));
        }
    }
    for arm in all_arms.iter().filter(|arm| arm.contaminated > 0) {
        notes.push(format!(
            "{} `{}`{} had a skill of the experiment in the sandbox that was not provided.",
            counted(arm.contaminated, "trial of", "trials of"),
            arm.condition,
            by(run, arm)
        ));
    }
    notes.extend(controls::notes(run, report));
    if let Some(earlier) = &run.extends {
        notes.push(format!(
            "This run holds all trials of `{earlier}` and more. If its report was looked at before, the verdict is too \
             sure of itself."
        ));
    }
    if gathered.unreadable > 0 {
        let records = counted(gathered.unreadable, "record is", "records are");
        notes.push(format!("{records} not readable, and the trial counts as unfinished."));
    }
    notes
}

/// Conditions that ran without a usable trial, with the outcomes of their trials.
fn unusable(run: &RunFolder, gathered: &Gathered) -> Vec<String> {
    let mut notes = Vec::new();
    let tables = gathered.tables.iter().map(|table| (table, ""));
    let controls = gathered.controls.iter().map(|table| (table, " on the negative controls"));
    for (table, place) in tables.chain(controls) {
        for condition in run.conditions.iter().filter(|condition| !table.is_usable(condition)) {
            let Some(tasks) = table.cells.get(condition) else { continue };
            let results: Vec<_> = tasks.values().flat_map(|slot| &slot.results).collect();
            if results.is_empty() {
                continue;
            }
            let broken = results.iter().filter(|result| result.outcome == Outcome::Infrastructure).count();
            let late = results.iter().filter(|result| result.outcome == Outcome::TimedOut).count();
            let silent = results.len() - broken - late;
            let parts = [
                (late, "timed out before the model replied"),
                (silent, "ended without a reply from the model"),
                (broken, "ended with an infrastructure error"),
            ];
            let parts: Vec<String> = parts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            let who = &run.agents[table.agent];
            let by = match &who.label.model {
                _ if run.agents.len() < 2 => String::new(),
                Some(model) => format!(" by {model}"),
                None => format!(" by {}", who.name()),
            };
            notes.push(format!(
                "`{condition}`{by} has no usable trial{place}: of {}, {}. It gets no pass rate and no comparison.",
                counted(results.len(), "trial", "trials"),
                parts.join(" and ")
            ));
        }
    }
    notes
}

/// Which agents were told of skills otherwise than by their own folders, and what all of them were told.
fn placed(run: &RunFolder) -> Vec<String> {
    let told: BTreeSet<&str> = run
        .agents
        .iter()
        .filter(|agent| agent.placement == Some(Placement::System))
        .map(PlannedAgent::name)
        .collect();
    let mut notes = Vec::new();
    if !told.is_empty() {
        let names = told.into_iter().collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "{names}: told of skills in a text of the system, and not by a folder of its own."
        ));
    }
    match run.disclosure.as_str() {
        "told" => {
            notes.push("The agents were told that the skills were installed for the task.".to_owned());
        }
        "eager" => {
            notes.push("The bodies of the skills stood in the agents' context from the start.".to_owned());
        }
        _ => {}
    }
    notes
}

/// Where tokens are an estimate, agent by agent.
fn estimated(run: &RunFolder, gathered: &Gathered) -> Vec<String> {
    let mut found: BTreeMap<String, (usize, usize, u64, u64)> = BTreeMap::new();
    for table in gathered.tables.iter().chain(&gathered.controls) {
        let agent = &run.agents[table.agent];
        let name = agent
            .label
            .model
            .as_deref()
            .map_or_else(|| agent.name().to_owned(), |model| format!("{} with {model}", agent.name()));
        let (trials, estimates, tokens, guessed) = found.entry(name).or_default();
        let results = table.cells.values().flat_map(BTreeMap::values).flat_map(|slot| &slot.results);
        for result in results {
            *trials += 1;
            *tokens = tokens.saturating_add(result.usage.as_ref().map_or(0, total));
            if let Some(estimated) = &result.estimated {
                *estimates += 1;
                *guessed = guessed.saturating_add(total(&estimated.usage));
            }
        }
    }
    found.retain(|_, (_, estimates, ..)| *estimates > 0);
    let note = |(who, (trials, estimates, tokens, guessed)): (String, (usize, usize, u64, u64))| {
        let share = if tokens > 0 { 100.0 * guessed as f64 / tokens as f64 } else { 0.0 };
        format!(
            "{who}: in {estimates} of {} the provider's usage is missing or impossible for some replies. Their tokens and cost \
             are estimated from characters ({share:.0}% of all tokens; marked ≈), and no cap counts them.",
            counted(trials, "trial", "trials")
        )
    };
    found.into_iter().map(note).collect()
}

/// All four fields together.
pub(crate) fn total(usage: &assay_model::Usage) -> u64 {
    let assay_model::Usage { input, output, cache_read, cache_write } = *usage;
    [output, cache_read, cache_write].into_iter().fold(input, u64::saturating_add)
}

/// Whether agents count the tokens that the gateway counted, for those that it stood in between.
fn metered(run: &RunFolder, gathered: &Gathered) -> Vec<String> {
    #[derive(Default)]
    struct Count {
        trials: usize,
        equal: usize,
        less: usize,
        beside: u64,
    }
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut replayed = 0;
    for table in &gathered.tables {
        let results = table.cells.values().flat_map(BTreeMap::values).flat_map(|slot| &slot.results);
        for metered in results.filter_map(|result| result.metered) {
            replayed += usize::from(metered.replayed);
            // An estimate cannot be checked against a transcript.
            if metered.estimated_tokens > 0 {
                continue;
            }
            let count = counts.entry(run.agents[table.agent].name()).or_default();
            count.trials += 1;
            count.equal += usize::from(metered.agrees());
            count.less += usize::from(metered.transcript_tokens.is_some_and(|own| own < metered.tokens));
            let left_out = metered.transcript_tokens != Some(metered.tokens);
            count.beside += if left_out { metered.beside_tokens } else { 0 };
        }
    }
    let mut notes = Vec::new();
    let agreeing: Vec<&str> =
        counts.iter().filter(|(_, count)| count.equal == count.trials).map(|(agent, _)| *agent).collect();
    if !agreeing.is_empty() {
        notes.push(format!(
            "The gateway and the transcripts count the same tokens in every trial of {}.",
            agreeing.join(", ")
        ));
    }
    for (agent, count) in &counts {
        let Count { trials, equal, less, beside } = count;
        if equal < trials {
            let leaves =
                if *less > 0 { format!("; in {less} the transcript leaves some out") } else { String::new() };
            notes.push(format!(
                "{agent}: the gateway and the transcript count the same tokens in {equal} of {trials} trials{leaves}."
            ));
        } else if *beside > 0 {
            notes.push(format!(
                "{agent}: its transcript leaves out what it asks beside its work (titles and the like), {} tokens a trial; the \
                 gateway counts them.",
                beside / *trials as u64
            ));
        }
    }
    if replayed > 0 {
        let trials = counted(replayed, "trial was", "trials were");
        notes.push(format!(
            "{trials} played again from cassettes: no provider was asked, and nothing new was learnt."
        ));
    }
    notes
}

/// What has to be known of trials that were executed elsewhere, and of rewards that came late.
fn imported(run: &RunFolder, gathered: &Gathered) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(origin) = &run.imported {
        notes.push(format!(
            "The trials were executed by {origin} and imported: which skills were offered and opened, what else stood in the \
             sandbox, and whether an agent steered its grader is not known of them."
        ));
    }
    let cells = gathered.tables.iter().chain(&gathered.controls).flat_map(|table| table.cells.values());
    let late = cells.flat_map(BTreeMap::values).flat_map(|slot| &slot.results).filter(|result| result.late);
    let late = late.count();
    if late > 0 {
        notes.push(format!(
            "{} graded after its deadline: the reward was read when the agent's time was over and its processes may still \
             have been at work. Such a trial counts as out of time.",
            counted(late, "trial was", "trials were each")
        ));
    }
    notes
}

/// A note where rewards had to be clamped to give scores.
fn cut(gathered: &Gathered) -> Option<String> {
    let cut: Vec<[f64; 2]> =
        gathered.slots().flat_map(|slot| &slot.results).filter_map(|result| result.outside).collect();
    let low = cut.iter().fold(f64::INFINITY, |low, [one, _]| low.min(*one));
    let high = cut.iter().fold(f64::NEG_INFINITY, |high, [_, one]| high.max(*one));
    (!cut.is_empty()).then(|| {
        format!(
            "{} a reward outside 0 to 1 ({low} to {high}). A score lies between 0 and 1: what is below counts as 0, what is \
             above as 1.",
            counted(cut.len(), "trial has", "trials have")
        )
        .replace('-', "−")
    })
}

/// A number with the word for one or for several.
fn counted(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// Whose arm it is, where there are several agents.
fn by(run: &RunFolder, arm: &Arm) -> String {
    if run.agents.len() < 2 {
        return String::new();
    }
    format!(" by {}", arm.model.as_deref().unwrap_or(&arm.agent))
}
