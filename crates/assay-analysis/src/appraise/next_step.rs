//! The cheapest next step, with its cost.

use assay_stats::{VerdictKind, unopened_tasks_needed};
use assay_store::ToolResults;

use super::comparison::{FEWEST, kept_score};
use super::document::{AppraisalStep, AppraisedComparison, ExposureFigures};
use super::options::AppraisalOptions;

/// The variance between tasks of the true lift, and that of one attempt, over pairs of models on 127 tasks with four attempts
/// each (mcpmark): what is assumed under five tasks, where the results themselves do not say.
const BETWEEN: f64 = 0.105;
/// The variance of one attempt, as [`BETWEEN`].
const WITHIN: f64 = 0.063;

/// The quantiles of a test at 5% and of a power of 80%.
const QUANTILES: f64 = 1.960 + 0.842;

/// A baseline at least this good has no room for an improvement that could be shown.
const CEILING: f64 = 0.95;

/// Most attempts of a case that are advised.
const MOST_ATTEMPTS: usize = 10;

/// The next step after a comparison.
pub(super) fn next_step(
    results: &ToolResults,
    first: &AppraisedComparison,
    lone: Option<usize>,
    exposure: Option<&ExposureFigures>,
    options: &AppraisalOptions,
) -> AppraisalStep {
    let ours = &first.ours;
    let per_arm: Vec<Option<f64>> = ours.arms.iter().map(|arm| arm.cost_usd).collect();
    let step = |trials: usize, cost_usd: Option<f64>, text: String| AppraisalStep {
        command: results.rerun.clone(),
        trials: Some(trials),
        cost_usd,
        text,
    };
    if ours.reason == Some("never-opened") {
        return AppraisalStep {
            command: Some("assay lint .".to_owned()),
            trials: Some(0),
            cost_usd: Some(0.0),
            text: "improve the description: the agent never opens the skill, so its content cannot help"
                .to_owned(),
        };
    }
    if let Some(step) =
        exposure.and_then(|exposure| unopened_step(results, exposure, ours.verdict, &per_arm, options))
    {
        return step;
    }
    let lost = ours.lost.arm + ours.lost.baseline;
    if lone.is_some() || ours.reason == Some("no-baseline") {
        let trials = ours.arms.first().map_or(0, |arm| arm.attempts);
        let cost = per_arm.first().copied().flatten().map(|cost| cost * trials as f64);
        let text =
            "run the same cases without the skill: nothing can be said of its effect otherwise".to_owned();
        return step(trials, cost, text);
    }
    if ours.reason == Some("losses") && lost > 0 {
        let cost = total(&per_arm, ours.lost.arm, ours.lost.baseline);
        return step(
            lost,
            cost,
            format!("repeat the {lost} runs without a result: they could change the verdict"),
        );
    }
    let decided = [VerdictKind::Helps, VerdictKind::Harms, VerdictKind::Negligible].map(VerdictKind::word);
    if ours.verdict.is_some_and(|verdict| decided.contains(&verdict)) {
        let text = "none needed: these results answer whether the skill helps on such cases".to_owned();
        return AppraisalStep { command: None, trials: Some(0), cost_usd: Some(0.0), text };
    }
    if ours.verdict.is_none() {
        let text = "publish the score of every case: with them the interval can be computed".to_owned();
        return AppraisalStep { command: None, trials: Some(0), cost_usd: Some(0.0), text };
    }
    if ours.arms.get(1).and_then(|base| base.score).is_some_and(|score| score >= CEILING) {
        let text = "write harder cases: the baseline passes these, so that no help can be shown".to_owned();
        return AppraisalStep { command: None, trials: None, cost_usd: None, text };
    }
    more_cases(results, first, &per_arm, options)
}

/// More trials with the skill only, if it was never opened and nothing is shown.
fn unopened_step(
    results: &ToolResults,
    exposure: &ExposureFigures,
    verdict: Option<&str>,
    per_arm: &[Option<f64>],
    options: &AppraisalOptions,
) -> Option<AppraisalStep> {
    let open = verdict.is_none_or(|verdict| verdict == VerdictKind::Inconclusive.word());
    if exposure.opened > 0 || exposure.known < exposure.attempts || !open {
        return None;
    }
    let more = unopened_tasks_needed(options.margin)?.saturating_sub(exposure.tasks);
    let bound = exposure.bound.map_or(100.0, |bound| 100.0 * bound);
    let margin = 100.0 * options.margin;
    Some(AppraisalStep {
        command: results.rerun.clone(),
        trials: Some(more),
        cost_usd: per_arm.first().copied().flatten().map(|cost| cost * more as f64),
        text: format!(
            "improve the description, or run {more} more cases with the skill only: it was opened in none of {}, which bounds \
             |lift| at {bound:.0}%; {} such cases bound it at {margin:.0}% without any baseline",
            exposure.tasks,
            exposure.tasks + more
        ),
    })
}

fn total(per_arm: &[Option<f64>], arm: usize, baseline: usize) -> Option<f64> {
    let cost = |at: usize| per_arm.get(at).copied().flatten();
    Some(cost(0)? * arm as f64 + cost(1)? * baseline as f64)
}

/// More cases, or more attempts of each, whichever takes fewer trials.
fn more_cases(
    results: &ToolResults,
    first: &AppraisedComparison,
    per_arm: &[Option<f64>],
    options: &AppraisalOptions,
) -> AppraisalStep {
    let ours = &first.ours;
    let effect = ours.lift.map_or(options.margin, f64::abs).max(options.margin);
    let attempts = ours.repetitions_range.map_or(1, |[_, most]| most).max(1);
    let (between, within) =
        variances(results, first).filter(|_| ours.tasks >= FEWEST).unwrap_or((BETWEEN, WITHIN));
    let variance = |attempts: usize| between + 2.0 * within / attempts as f64;
    // Two more units make up for quantiles of Student's distribution, and no verdict is possible under five.
    let cases = |attempts: usize| whole((QUANTILES / effect).powi(2) * variance(attempts)) + 2;
    let needed = ours.tasks_needed.unwrap_or_else(|| cases(attempts)).max(FEWEST);
    let more = needed.saturating_sub(ours.tasks).max(1);
    let trials = 2 * attempts * more;
    // Repetitions help only as far as attempts vary, which one attempt does not show.
    let measured = variances(results, first).is_some() && ours.tasks >= FEWEST;
    let deeper =
        (attempts + 1..=MOST_ATTEMPTS).find(|deeper| measured && cases(*deeper).max(FEWEST) <= ours.tasks);
    if let Some(deeper) = deeper.filter(|deeper| 2 * (deeper - attempts) * ours.tasks < trials) {
        let each = (deeper - attempts) * ours.tasks;
        return AppraisalStep {
            command: results
                .rerun
                .clone()
                .map(|command| command.replace("--runs 5", &format!("--runs {deeper}"))),
            trials: Some(2 * each),
            cost_usd: total(per_arm, each, each),
            text: format!(
                "attempt each case {deeper} times under each arm: {} pp is then found with a probability of 80%",
                whole(100.0 * effect)
            ),
        };
    }
    let runs = if attempts == 1 { "run" } else { "runs" };
    let added = if more == 1 { "1 case".to_owned() } else { format!("{more} cases") };
    AppraisalStep {
        command: results
            .rerun
            .clone()
            .map(|command| command.replace("--runs 5", &format!("--runs {attempts}"))),
        trials: Some(trials),
        cost_usd: total(per_arm, attempts * more, attempts * more),
        text: format!(
            "add {added} with {attempts} {runs} under each arm: {} pp is then found with a probability of 80%",
            whole(100.0 * effect)
        ),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0, and a cast saturates")]
fn whole(value: f64) -> usize {
    value.max(0.0).ceil().min(1e9) as usize
}

/// The variance between cases of the lift without that of attempts, and the mean variance of an attempt; `None` if no case has
/// two attempts under an arm.
fn variances(results: &ToolResults, first: &AppraisedComparison) -> Option<(f64, f64)> {
    use std::collections::BTreeMap;
    let at = |name: &str| results.arms.iter().position(|arm| arm.name == name);
    let [arm, base] = [at(&first.ours.arms.first()?.name)?, at(&first.ours.arms.get(1)?.name)?];
    let mut cases: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for attempt in &results.attempts {
        let Some(side) = [arm, base].iter().position(|arm| *arm == attempt.arm) else { continue };
        cases.entry(&attempt.case).or_default()[side].extend(kept_score(attempt));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mut within, mut error, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for sides in cases.values().filter(|sides| sides.iter().all(|side| !side.is_empty())) {
        differences.push(mean(&sides[0]) - mean(&sides[1]));
        for side in sides.iter().filter(|side| side.len() > 1) {
            let squares: f64 = side.iter().map(|score| (score - mean(side)).powi(2)).sum();
            within.push(squares / (side.len() - 1) as f64);
        }
        error.push(sides.iter().map(|side| 1.0 / side.len() as f64).sum::<f64>());
    }
    if within.is_empty() || differences.len() < 2 {
        return None;
    }
    let lift = mean(&differences);
    let spread =
        differences.iter().map(|one| (one - lift).powi(2)).sum::<f64>() / (differences.len() - 1) as f64;
    let within = mean(&within);
    Some(((spread - within * mean(&error)).max(0.0), within))
}
