//! The comparison of two arms: their cases as pairs, and what the rule of verdicts says of them.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{
    ArmRates, Interval, Losses, LossyTask, PairedTask, Reason, VerdictKind, has_enough_units,
    interval_of_any, lift, mde, power_to_detect, rate, run_to_run_noise, tasks_to_detect, verdict,
};
use assay_store::{ArmRole, AttemptEnd, DeltaRule, PublishedComparison, ResultAttempt, ToolResults};

use super::document::{
    AppraisedArm, AppraisedComparison, LostAttempts, OurFigures, TheirFigures, reason_word, verdict_word,
};
use super::error::AppraisalError;
use super::options::AppraisalOptions;

/// The confidence of intervals.
const LEVEL: f64 = 0.95;

/// The fewest cases that a verdict needs, as the rule of verdicts has it.
pub(super) const FEWEST: usize = assay_stats::FEWEST_UNITS;

/// The arms that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChosenArms {
    baseline: Option<usize>,
    arms: Vec<usize>,
}

impl ChosenArms {
    /// The baseline by name or role, and the arms to compare with it: treatments first.
    pub(super) fn choose(results: &ToolResults, options: &AppraisalOptions) -> Result<Self, AppraisalError> {
        let names = || results.arms.iter().map(|arm| arm.name.clone()).collect::<Vec<_>>();
        let named = |name: &String| {
            let found = results.arms.iter().position(|arm| arm.name == *name);
            found.ok_or_else(|| AppraisalError::UnknownArm { name: name.clone(), arms: names() })
        };
        let with_role = |role: ArmRole| -> Vec<usize> {
            (0..results.arms.len()).filter(|at| results.arms[*at].role == role).collect()
        };
        let baseline = match &options.baseline {
            Some(name) => Some(named(name)?),
            None => match with_role(ArmRole::Baseline).as_slice() {
                [one] => Some(*one),
                [] if results.arms.len() == 1 => None,
                _ => return Err(AppraisalError::NoBaseline(names())),
            },
        };
        let arms = if let Some(name) = &options.arm {
            vec![named(name)?]
        } else {
            let rest = [ArmRole::Treatment, ArmRole::Unnamed, ArmRole::Baseline];
            rest.into_iter().flat_map(with_role).filter(|at| Some(*at) != baseline).collect()
        };
        let chosen = Self { baseline, arms };
        if let Some(baseline) = baseline {
            for arm in &chosen.arms {
                let cases = |arm: usize| -> BTreeSet<&str> {
                    results
                        .attempts
                        .iter()
                        .filter(|one| one.arm == arm)
                        .map(|one| one.case.as_str())
                        .collect()
                };
                if cases(*arm).is_disjoint(&cases(baseline)) {
                    let name = |at: usize| results.arms[at].name.clone();
                    return Err(AppraisalError::NoCommonCase { arm: name(*arm), baseline: name(baseline) });
                }
            }
        }
        Ok(chosen)
    }

    /// The only arm, if nothing can be compared.
    pub(super) fn lone(&self, results: &ToolResults) -> Option<usize> {
        match (self.baseline, self.arms.as_slice()) {
            (None, [arm, ..]) => Some(*arm),
            (Some(baseline), []) if results.arms.len() == 1 => Some(baseline),
            _ => None,
        }
    }
}

/// The attempts of a case under one arm.
#[derive(Debug, Default)]
struct CaseScores {
    kept: Vec<f64>,
    lost: usize,
    /// What the tool counts, whatever the end.
    counted: Vec<f64>,
    skipped: bool,
}

fn scores_by_case(results: &ToolResults, arm: usize) -> BTreeMap<&str, CaseScores> {
    let mut cases: BTreeMap<&str, CaseScores> = BTreeMap::new();
    for attempt in results.attempts.iter().filter(|attempt| attempt.arm == arm) {
        let case = cases.entry(&attempt.case).or_default();
        match kept_score(attempt) {
            Some(score) => case.kept.push(score),
            None => case.lost += 1,
        }
        case.skipped |= matches!(attempt.end, AttemptEnd::Skipped(_));
        case.counted.extend(attempt.score);
    }
    cases
}

/// The score of an attempt that was graded.
pub(super) fn kept_score(attempt: &ResultAttempt) -> Option<f64> {
    attempt.score.filter(|_| attempt.end == AttemptEnd::Graded)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// All comparisons with the baseline; none without one.
pub(super) fn compare_arms(
    results: &ToolResults,
    arms: &ChosenArms,
    options: &AppraisalOptions,
) -> Vec<AppraisedComparison> {
    let Some(baseline) = arms.baseline else { return Vec::new() };
    let family = arms.arms.len();
    arms.arms
        .iter()
        .map(|arm| {
            let pair = Pair { results, arm: *arm, baseline };
            AppraisedComparison {
                label: if family > 1 { results.arms[*arm].name.clone() } else { String::new() },
                theirs: pair.theirs(),
                ours: pair.ours(family, options),
            }
        })
        .collect()
}

struct Pair<'a> {
    results: &'a ToolResults,
    arm: usize,
    baseline: usize,
}

impl Pair<'_> {
    fn theirs(&self) -> TheirFigures {
        let name = |at: usize| self.results.arms[at].name.as_str();
        let is_it = |published: &&PublishedComparison| match &published.arms {
            Some((arm, base)) => arm == name(self.arm) && base == name(self.baseline),
            None => published.rates.is_none(),
        };
        let published = self.results.published.iter().find(is_it);
        let rule = published.map_or(DeltaRule::ByCase, |published| published.rule);
        TheirFigures {
            delta: published.and_then(|published| published.delta),
            verdict: published.and_then(|published| published.verdict.clone()),
            recomputed: self.recompute(rule),
            measure: published.map(|published| published.measure.clone()),
        }
    }

    /// The difference by the tool's own rule.
    fn recompute(&self, rule: DeltaRule) -> Option<f64> {
        let [arm, base] = [self.arm, self.baseline].map(|at| scores_by_case(self.results, at));
        match rule {
            DeltaRule::ByAttempt => {
                let all = |cases: &BTreeMap<&str, CaseScores>| {
                    mean(&cases.values().flat_map(|case| case.counted.iter().copied()).collect::<Vec<_>>())
                };
                Some(all(&arm)? - all(&base)?)
            }
            DeltaRule::ByCase => {
                let differences: Vec<f64> = arm
                    .iter()
                    .filter_map(|(name, case)| {
                        let base = base.get(name).filter(|base| !base.skipped && !case.skipped)?;
                        Some(mean(&case.counted)? - mean(&base.counted)?)
                    })
                    .collect();
                mean(&differences)
            }
        }
    }

    fn lossy_tasks(&self) -> Vec<LossyTask> {
        let [arm, base] = [self.arm, self.baseline].map(|at| scores_by_case(self.results, at));
        let mut clusters: BTreeMap<&str, u64> = BTreeMap::new();
        let cluster_of: BTreeMap<&str, &str> = self
            .results
            .attempts
            .iter()
            .filter_map(|attempt| Some((attempt.case.as_str(), attempt.cluster.as_deref()?)))
            .collect();
        arm.iter()
            .filter_map(|(name, case)| {
                let base = base.get(name)?;
                let cluster = cluster_of.get(name).map(|cluster| {
                    let next = u64::try_from(clusters.len()).unwrap_or(u64::MAX);
                    *clusters.entry(cluster).or_insert(next)
                });
                let kept = PairedTask { arm: case.kept.clone(), base: base.kept.clone(), cluster };
                Some(LossyTask { kept, arm_lost: case.lost, base_lost: base.lost })
            })
            .collect()
    }

    fn ours(&self, family: usize, options: &AppraisalOptions) -> OurFigures {
        let lossy = self.lossy_tasks();
        let tasks: Vec<PairedTask> = lossy.iter().map(|task| task.kept.clone()).collect();
        let paired: Vec<&PairedTask> =
            tasks.iter().filter(|task| !task.arm.is_empty() && !task.base.is_empty()).collect();
        let losses = Losses::of(&lossy);
        let lost = LostAttempts { arm: losses.arm_lost, baseline: losses.base_lost };
        let any_lost = losses.arm_lost + losses.base_lost > 0;
        let estimate = lift(&tasks, LEVEL);
        let decided = verdict(&tasks, family, options.margin, any_lost.then_some(&losses));
        let sizes: BTreeSet<usize> =
            paired.iter().flat_map(|task| [task.arm.len(), task.base.len()]).collect();
        let few = paired.len() < FEWEST;
        let power = match power_to_detect(&tasks, family, options.margin) {
            Some(power) => Some(power),
            // No verdict but `inconclusive` is possible.
            None if few && !paired.is_empty() => Some(0.0),
            None => None,
        };
        let bases: Vec<Vec<f64>> = tasks.iter().map(|task| task.base.clone()).collect();
        let repetitions: Vec<usize> = tasks.iter().map(|task| task.arm.len()).collect();
        OurFigures {
            lift: estimate.map(|estimate| estimate.mean),
            ci95: interval_of_any(&tasks, LEVEL).map(ends),
            verdict: estimate.map(|_| verdict_word(decided.kind)),
            reason: estimate.and(decided.reason).map(reason_word),
            tasks: paired.len(),
            repetitions: (sizes.len() == 1).then(|| sizes.first().copied()).flatten(),
            repetitions_range: sizes.first().zip(sizes.last()).map(|(least, most)| [*least, *most]),
            power,
            mde: mde(&tasks, family),
            tasks_needed: estimate.filter(|_| !few).and_then(|estimate| {
                let effect = estimate.mean.abs().max(options.margin);
                tasks_to_detect(&tasks, family, effect, options.margin)
            }),
            noise: run_to_run_noise(&bases, &repetitions, options.seed),
            arms: [self.arm, self.baseline].map(|at| appraised_arm(self.results, at)).to_vec(),
            lost,
            ci95_bounds: None,
        }
    }
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// An arm with its mean over all its cases.
fn appraised_arm(results: &ToolResults, at: usize) -> AppraisedArm {
    let cases = scores_by_case(results, at);
    let means: Vec<f64> = cases.values().filter_map(|case| mean(&case.kept)).collect();
    let costs: Vec<f64> = results
        .attempts
        .iter()
        .filter(|attempt| attempt.arm == at)
        .filter_map(|attempt| Some(attempt.cost_usd? + attempt.judge_cost_usd.unwrap_or(0.0)))
        .collect();
    let scores: Vec<Vec<f64>> = cases.values().map(|case| case.kept.clone()).collect();
    // One case says nothing of others.
    let interval = rate(&scores, LEVEL).map(|rate| rate.interval.map_or([0.0, 1.0], ends));
    AppraisedArm {
        name: results.arms[at].name.clone(),
        score: mean(&means),
        ci95: interval,
        attempts: cases.values().map(|case| case.kept.len()).sum(),
        models: results.arms[at].models.iter().cloned().collect(),
        cost_usd: mean(&costs),
    }
}

/// What can be said without a baseline.
pub(super) fn uncompared(results: &ToolResults, lone: Option<usize>) -> AppraisedComparison {
    let published = results.published.iter().find(|published| published.rates.is_none());
    let cases = lone.map(|at| scores_by_case(results, at)).unwrap_or_default();
    let kept: Vec<usize> = cases.values().map(|case| case.kept.len()).filter(|kept| *kept > 0).collect();
    let sizes: BTreeSet<usize> = kept.iter().copied().collect();
    AppraisedComparison {
        label: String::new(),
        theirs: TheirFigures {
            verdict: published.and_then(|published| published.verdict.clone()),
            measure: published.map(|published| published.measure.clone()),
            ..TheirFigures::default()
        },
        ours: OurFigures {
            reason: Some("no-baseline"),
            tasks: kept.len(),
            repetitions: (sizes.len() == 1).then(|| sizes.first().copied()).flatten(),
            repetitions_range: sizes.first().zip(sizes.last()).map(|(least, most)| [*least, *most]),
            arms: lone.map(|at| appraised_arm(results, at)).into_iter().collect(),
            lost: LostAttempts { arm: cases.values().map(|case| case.lost).sum(), baseline: 0 },
            ..OurFigures::default()
        },
    }
}

/// Comparisons of which only rates are known.
pub(super) fn compare_rates(results: &ToolResults, options: &AppraisalOptions) -> Vec<AppraisedComparison> {
    let rated: Vec<&PublishedComparison> =
        results.published.iter().filter(|published| published.rates.is_some()).collect();
    let family = rated.len();
    let compare = |published: &&PublishedComparison| {
        let rates = published.rates?;
        let delta = published.delta?;
        let arm_rates = ArmRates {
            arm: rates.with,
            base: rates.without,
            lift: delta,
            rounding: published.rounding,
            tasks: rates.tasks,
            attempts: rates.attempts.unwrap_or(1),
        };
        let (verdict, reason) = verdict_of_rates(&arm_rates, family, options.margin);
        let arm = |name: &str, score: f64| AppraisedArm {
            name: name.to_owned(),
            score: Some(score),
            attempts: rates.tasks * rates.attempts.unwrap_or(1),
            ..AppraisedArm::default()
        };
        let bounds = arm_rates.bound_interval(LEVEL);
        Some(AppraisedComparison {
            label: if family > 1 { published.label.clone() } else { String::new() },
            theirs: TheirFigures {
                delta: Some(delta),
                verdict: published.verdict.clone(),
                recomputed: None,
                measure: Some(published.measure.clone()),
            },
            ours: OurFigures {
                lift: Some(delta),
                verdict: verdict.map(verdict_word),
                reason: Some(reason),
                tasks: rates.tasks,
                repetitions: rates.attempts,
                repetitions_range: rates.attempts.map(|attempts| [attempts; 2]),
                power: (rates.tasks < FEWEST).then_some(0.0),
                arms: vec![arm("with the skill", rates.with), arm("without it", rates.without)],
                ci95_bounds: bounds.map(|bounds| [ends(bounds.narrowest), ends(bounds.widest)]),
                ..OurFigures::default()
            },
        })
    };
    rated.iter().filter_map(compare).collect()
}

/// The verdict that holds whatever the scores of cases were, and why.
fn verdict_of_rates(rates: &ArmRates, family: usize, margin: f64) -> (Option<VerdictKind>, &'static str) {
    if rates.tasks < FEWEST {
        return (Some(VerdictKind::Inconclusive), reason_word(Reason::Design));
    }
    let alpha = assay_stats::alpha(family);
    let Some(bounds) = rates.bound_interval(1.0 - alpha) else { return (None, "rates-only") };
    let may_be_negligible = has_enough_units(rates.tasks as f64, alpha, margin);
    if !bounds.narrowest.excludes_zero() && !may_be_negligible {
        return (Some(VerdictKind::Inconclusive), reason_word(Reason::Noise));
    }
    let beyond = |interval: Interval| interval.low > margin || interval.high < -margin;
    if bounds.widest.excludes_zero() && (!may_be_negligible || beyond(bounds.widest)) {
        let kind = if rates.lift > 0.0 { VerdictKind::Helps } else { VerdictKind::Harms };
        return (Some(kind), "rates-only");
    }
    (None, "rates-only")
}
