//! What to do next, derived from the findings of a run.

use assay_stats::{Reason, VerdictKind};
use assay_store::{ConditionRole, RunFolder, TrialId};

use crate::cause::Cause;
use crate::causes::{lowest_trial, not_opened};
use crate::explore::{Exploration, ResidualFailure, TopTasks};
use crate::gather::Gathered;
use crate::model::{Arm, Comparison};

/// A report has at most so many.
const MOST: usize = 3;

/// A check that fails in this share of a task's trials or more fails reliably.
const RELIABLE: f64 = 0.5;

/// A step that the data suggest. Each has one rule, and the rules have an order: first what a
/// verdict needs, then what would change the skill.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Trials without a result: the run is executed again.
    Finish {
        /// Trials with an infrastructure error, and trials that were not executed.
        trials: usize,
    },
    /// The treatment of the condition was not there in most trials.
    NotDelivered {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The share of valid trials with the treatment.
        delivered: f64,
    },
    /// The primary comparison, or one if there is none, is inconclusive.
    Inconclusive {
        /// The condition.
        condition: String,
        /// The equivalence margin.
        margin: f64,
        /// Why, the one to act on first; at least one.
        causes: Vec<Cause>,
        /// Tasks that show a lift of the margin's size with 80% power; absent if there is no such number.
        tasks: Option<usize>,
        /// A trial without any score, if the tasks are too hard.
        failed: Option<TrialId>,
        /// Whether another program executed the trials.
        imported: bool,
    },
    /// The effect is within the equivalence margin.
    Negligible {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// Its mean tokens in relation to the baseline's; absent if either is unknown.
        token_ratio: Option<f64>,
        /// Its mean cost in relation to the baseline's; absent if either is unknown.
        cost_ratio: Option<f64>,
        /// Why; may be empty.
        causes: Vec<Cause>,
        /// Whether another program executed the trials.
        imported: bool,
    },
    /// The skill of a condition was opened in few trials.
    NotOpened {
        /// The condition.
        condition: String,
        /// The share of valid trials in which a skill was opened.
        opened: f64,
        /// A trial in which none was.
        trial: Option<TrialId>,
    },
    /// The condition is worse than the baseline.
    Harms {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The tasks that turned from pass to fail, or lost most; largest loss first.
        tasks: Vec<String>,
        /// The trial of the first with the lowest score.
        trial: Option<TrialId>,
        /// Whether the run has transcripts that an audit can compare.
        has_transcripts: bool,
    },
    /// A check of a task still fails.
    StillFails {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The task.
        task: String,
        /// The check; absent if the verifier reports none.
        test: Option<String>,
        /// Failed and valid trials.
        failed: [usize; 2],
        /// The first of the failed trials.
        trial: TrialId,
    },
    /// The curated skills help, and so does a placebo.
    PlaceboHelps {
        /// The condition.
        condition: String,
        /// The placebo.
        placebo: String,
    },
    /// The curated skills help, and no placebo shows that it is their content.
    NoPlacebo {
        /// The condition.
        condition: String,
    },
}

/// The findings that next steps follow from.
pub(crate) struct Findings<'a> {
    pub(crate) gathered: &'a Gathered,
    pub(crate) arms: &'a [Arm],
    pub(crate) comparisons: &'a [Comparison],
    pub(crate) exploration: &'a Exploration,
    /// Whether the run has no verdict yet.
    pub(crate) is_interim: bool,
}

/// The first of the steps whose rules hold.
pub(crate) fn next_steps(run: &RunFolder, findings: &Findings<'_>) -> Vec<NextStep> {
    let Findings { arms, comparisons, exploration, .. } = findings;
    let unfinished: usize = arms.iter().map(|arm| arm.unfinished + arm.infrastructure).sum();
    let is_imported = run.imported.is_some();
    let finish = (unfinished > 0 && !is_imported).then_some(NextStep::Finish { trials: unfinished });
    if findings.is_interim {
        // The others speak as of all trials.
        return finish.into_iter().collect();
    }

    // What the experiment was made for: its primary condition, except where it is not compared, else each in turn.
    let is_chief = |condition: &str| run.primary.as_deref().is_none_or(|primary| primary == condition);
    let of = |kind: VerdictKind| {
        comparisons.iter().find(|found| is_chief(&found.condition) && found.verdict == Some(kind))
    };
    let inconclusive = of(VerdictKind::Inconclusive)
        .filter(|found| !matches!(found.reason, Some(Reason::Judge | Reason::NotDelivered)))
        .map(|found| inconclusive(run, findings, found));
    let negligible = of(VerdictKind::Negligible).map(|found| negligible(run, arms, found));
    let harms = of(VerdictKind::Harms).map(|found| harms(run, findings, found));
    let told = |step: Option<&NextStep>| {
        let causes = match step {
            Some(NextStep::Inconclusive { causes, .. } | NextStep::Negligible { causes, .. }) => &causes[..],
            _ => &[],
        };
        causes.first().is_some_and(|cause| matches!(cause, Cause::NotOpened { .. }))
    };
    let unnoticed = if told(inconclusive.as_ref()) || told(negligible.as_ref()) {
        None
    } else {
        let mut chief = arms.iter().filter(|arm| is_chief(&arm.condition));
        chief.find_map(|arm| unnoticed(run, findings, arm))
    };
    let undelivered = comparisons
        .iter()
        .find(|found| is_chief(&found.condition) && found.reason == Some(Reason::NotDelivered));
    let undelivered = undelivered.and_then(|found| {
        let (condition, delivered) = (found.condition.clone(), found.delivered?);
        Some(NextStep::NotDelivered { run: run.run.clone(), condition, delivered })
    });
    let reliable = |row: &&ResidualFailure| row.failed as f64 >= RELIABLE * row.trials as f64;
    let rows = exploration.residual_failures.iter().filter(|row| is_chief(&row.condition));
    // Where nothing passes, one failure among all says little; with a negligible effect it is not the next thing to do.
    let of_interest = negligible.is_none() && !is_floor(inconclusive.as_ref());
    let still = rows.filter(|_| of_interest).find(reliable).and_then(|row| {
        Some(NextStep::StillFails {
            run: run.run.clone(),
            condition: row.condition.clone(),
            task: row.task.clone(),
            test: row.test.clone(),
            failed: [row.failed, row.trials],
            trial: row.failed_trials.first()?.clone(),
        })
    });
    let has_placebo = run.conditions.iter().any(|name| run.role_of(name) == ConditionRole::Placebo);
    let helps =
        of(VerdictKind::Helps).filter(|found| run.role_of(&found.condition) == ConditionRole::Curated);
    let explained = helps.filter(|_| !is_imported).and_then(|found| {
        let is_helping = |other: &&Comparison| {
            other.who == found.who
                && run.role_of(&other.condition) == ConditionRole::Placebo
                && other.verdict == Some(VerdictKind::Helps)
        };
        let placebo = comparisons.iter().find(is_helping)?.condition.clone();
        Some(NextStep::PlaceboHelps { condition: found.condition.clone(), placebo })
    });
    let placebo = helps.filter(|_| !has_placebo && !is_imported);
    let placebo = placebo.map(|found| NextStep::NoPlacebo { condition: found.condition.clone() });

    let all = [finish, undelivered, harms, inconclusive, negligible, explained, unnoticed, still, placebo];
    all.into_iter().flatten().take(MOST).collect()
}

fn is_floor(step: Option<&NextStep>) -> bool {
    let Some(NextStep::Inconclusive { causes, .. }) = step else { return false };
    matches!(causes.first(), Some(Cause::Floor { .. }))
}

fn inconclusive(run: &RunFolder, findings: &Findings<'_>, found: &Comparison) -> NextStep {
    let losses = || lost_most(findings, found).and_then(|top| top.tasks.first());
    let table = findings.gathered.tables.iter().find(|table| table.who == found.who);
    let hard = || {
        let residual = &findings.exploration.residual_failures;
        let row = residual.iter().find(|row| row.condition == found.condition && row.who == found.who)?;
        row.failed_trials.first().cloned()
    };
    let worst = || lowest_trial(table?, &found.condition, &losses()?.task);
    NextStep::Inconclusive {
        condition: found.condition.clone(),
        margin: run.margin,
        causes: found.causes.clone(),
        tasks: found.tasks_needed,
        failed: hard().or_else(worst),
        imported: run.imported.is_some(),
    }
}

fn negligible(run: &RunFolder, arms: &[Arm], found: &Comparison) -> NextStep {
    let arm = |condition: &str| arms.iter().find(|arm| arm.who == found.who && arm.condition == condition);
    let (base, own) = (arm(&found.baseline), arm(&found.condition));
    let ratio = |of: fn(&Arm) -> Option<f64>| {
        let (base, own) = (base.and_then(of)?, own.and_then(of)?);
        (base > 0.0).then(|| own / base)
    };
    NextStep::Negligible {
        run: run.run.clone(),
        condition: found.condition.clone(),
        token_ratio: ratio(|arm| arm.tokens),
        cost_ratio: ratio(|arm| arm.cost_usd),
        causes: found.causes.clone(),
        imported: run.imported.is_some(),
    }
}

fn harms(run: &RunFolder, findings: &Findings<'_>, found: &Comparison) -> NextStep {
    let lost: Vec<String> = lost_most(findings, found)
        .map(|top| top.tasks.iter().map(|task| task.task.clone()).collect())
        .unwrap_or_default();
    let table = findings.gathered.tables.iter().find(|table| table.who == found.who);
    let trial = table.zip(lost.first()).and_then(|(table, task)| lowest_trial(table, &found.condition, task));
    NextStep::Harms {
        run: run.run.clone(),
        condition: found.condition.clone(),
        tasks: lost,
        trial,
        // An audit needs transcripts and the skills' text, which only trials of this program are sure to have.
        has_transcripts: run.imported.is_none(),
    }
}

/// The tasks of a comparison that lost most.
fn lost_most<'a>(findings: &Findings<'a>, found: &Comparison) -> Option<&'a TopTasks> {
    let mut all = findings.exploration.losses.iter();
    all.find(|top| top.who == found.who && top.condition == found.condition && top.baseline == found.baseline)
}

fn unnoticed(run: &RunFolder, findings: &Findings<'_>, arm: &Arm) -> Option<NextStep> {
    let table = findings.gathered.tables.iter().find(|table| table.who == arm.who)?;
    let Cause::NotOpened { opened, trial } = not_opened(run, arm, table)? else { return None };
    Some(NextStep::NotOpened { condition: arm.condition.clone(), opened, trial })
}
