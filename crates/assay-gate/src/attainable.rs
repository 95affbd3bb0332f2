//! What results of a gate's skills could show, before any trial.

use std::collections::BTreeMap;

use assay_report::{counted, pp};
use assay_stats::simulate::Baseline;
use assay_stats::{SessionDrift, mcnemar};

use crate::decide::{Claim, Outcome, decide, one_sided_p};
use crate::measured::LookLevel;
use crate::policy::{BudgetScope, Policy, Requirement};
use crate::power::{ENOUGH, ExperimentSize};
use crate::terms::SkillTerms;

/// A skill whose trials are about to be executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedClaim<'a> {
    pub(crate) skill: &'a str,
    pub(crate) terms: &'a SkillTerms,
    pub(crate) look: LookLevel,
    /// Whether it is compared with another version of itself.
    pub(crate) has_version: bool,
    /// Whether a reference version is measured as well.
    pub(crate) has_reference: bool,
}

/// What a skill's claim can show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClaimForecast {
    /// The probability that an equal version passes; `None` for `helps`.
    pub(crate) power_equal: Option<f64>,
    /// The same in words.
    pub(crate) note: String,
}

/// Why a policy is refused before any trial.
#[derive(Debug, thiserror::Error)]
pub enum UnattainablePolicy {
    /// No result meets it.
    #[error("the policy cannot be met by any result: {}", problems.join("; "))]
    Impossible {
        /// Why, by skill.
        problems: Vec<String>,
    },
    /// An equal version would rarely pass.
    #[error("the experiment is too small for the policy (`min_power` = {min_power}): {}", claims.join("; "))]
    TooSmall {
        /// The least power that the policy demands.
        min_power: f64,
        /// The power of the claims that have less.
        claims: Vec<String>,
    },
}

impl UnattainablePolicy {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Impossible { .. } => {
                "no trial was run; add tasks or repetitions, or change what the policy requires"
            }
            Self::TooSmall { .. } => {
                "no trial was run; add tasks or repetitions, or set `margin` or `min_power` in the policy"
            }
        }
    }
}

/// The tasks that count for a requirement.
fn size(planned: &PlannedClaim<'_>) -> ExperimentSize {
    let terms = planned.terms;
    let mut numbers = BTreeMap::new();
    let clusters = terms
        .tasks
        .values()
        .filter(|task| !task.negative_control)
        .map(|task| {
            let cluster = task.cluster.as_deref()?;
            let next = numbers.len() as u64;
            Some(*numbers.entry(cluster).or_insert(next))
        })
        .collect();
    let repetitions = terms.experiment.as_ref().map_or(1, |experiment| experiment.repetitions as usize);
    let reference = planned.has_reference.then_some(planned.look.reference_level);
    ExperimentSize { clusters, repetitions, baseline: base_rates(planned), reference }
}

/// The baseline's pass rates: with the mean that the policy names, or those that `plan` assumes.
fn base_rates(planned: &PlannedClaim<'_>) -> Baseline {
    let usual = Baseline::default();
    let Some([passed, all]) = planned.terms.rule.expected_baseline else { return usual };
    let mean = passed as f64 / all.max(1) as f64;
    // The spread of the default.
    let size = 0.48;
    Baseline::beta((mean * size).max(0.01), ((1.0 - mean) * size).max(0.01)).unwrap_or(usual)
}

/// Refuses requirements that no result can meet, and comparisons of versions that an equal version would rarely pass. For each
/// skill, what its claim can show.
pub(crate) fn check_attainable(
    policy: &Policy,
    planned: &[PlannedClaim<'_>],
) -> Result<Vec<ClaimForecast>, UnattainablePolicy> {
    let problems = unattainable(policy, planned);
    if !problems.is_empty() {
        return Err(UnattainablePolicy::Impossible { problems });
    }
    let mut weak = Vec::new();
    let forecasts = planned
        .iter()
        .map(|planned| {
            let forecast = forecast(planned);
            let refused = planned.has_version && planned.terms.rule.require == Requirement::NonInferior;
            if refused && forecast.power_equal.is_some_and(|power| power < policy.min_power) {
                weak.push(format!("{}: {}", planned.skill, too_weak(planned, &forecast)));
            }
            forecast
        })
        .collect();
    if weak.is_empty() {
        return Ok(forecasts);
    }
    Err(UnattainablePolicy::TooSmall { min_power: policy.min_power, claims: weak })
}

fn unattainable(policy: &Policy, planned: &[PlannedClaim<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut claims = Vec::new();
    for planned in planned {
        let (name, rule, size) = (planned.skill, &planned.terms.rule, size(planned));
        let trials = (size.clusters.len() * size.repetitions) as u64;
        let expected = rule.expected_baseline;
        problems.extend(
            rule.exact_p
                .and_then(|limit| exact(limit, expected, trials))
                .map(|problem| format!("{name}: {problem}")),
        );
        let baseline = expected.map_or(0.0, |[passed, all]| passed as f64 / all.max(1) as f64);
        let claim = Claim {
            skill: name.to_owned(),
            require: rule.require,
            margin: rule.margin,
            tasks: size.best_case(baseline),
            reference: None,
            reference_level: planned.look.reference_level,
            level: planned.look.level,
            drift: SessionDrift::NONE,
        };
        let (level, tasks) = (planned.look.level, counted(size.clusters.len(), "task", "tasks"));
        match one_sided_p(&claim.tasks, claim.bound(), claim.drift) {
            None => problems.push(format!(
                "{name}: a confidence interval needs at least 5 tasks, or as many clusters of the same size; the experiment has {tasks} for this skill{}",
                if size.clusters.iter().any(Option::is_some) {
                    format!(" in {}", counted(planned.terms.units(), "cluster", "clusters"))
                } else {
                    String::new()
                }
            )),
            Some(p) if p > level => problems.push(format!(
                "{name}: `{}` is unattainable: the best possible result of {tasks} with {} (a lift of {} over a baseline of {:.0}%{}) has one-sided p = {p:.4}, above the level {level:.4}",
                rule.require.word(),
                counted(size.repetitions, "repetition", "repetitions"),
                pp(1.0 - baseline),
                100.0 * baseline,
                if rule.require == Requirement::Helps { String::new() } else { format!(", margin {}", pp(rule.margin)) },
            )),
            Some(_) => claims.push(claim),
        }
    }
    if problems.is_empty() && policy.budget_scope == BudgetScope::PullRequest {
        let decisions = decide(&claims, policy.budget_scope);
        let missing = claims.iter().zip(decisions).filter(|(_, found)| found.outcome != Outcome::Pass);
        problems.extend(missing.map(|(claim, decision)| {
            format!(
                "{}: even the best possible results of all {} do not meet the shared error budget: one-sided p = {:.4}, above {:.4} (Holm)",
                claim.skill,
                counted(claims.len(), "skill", "skills"),
                decision.p.unwrap_or(1.0),
                decision.level
            )
        }));
    }
    problems
}

/// Whether McNemar's test can have a p this small.
fn exact(limit: f64, expected: Option<[u64; 2]>, trials: u64) -> Option<String> {
    let [passed, all] = expected.unwrap_or([0, trials]);
    let failed = all.saturating_sub(passed);
    let smallest = mcnemar(failed, 0);
    (smallest > limit).then(|| {
        format!(
            "`exact_p` of {limit} is unattainable: the baseline passes {passed} of {all} trials, so only {} can differ in the skill's favor, and the smallest two-sided p of McNemar's test is 2 × ½^{failed} = {smallest:.4}",
            counted(failed, "pair", "pairs")
        )
    })
}

/// The power of a skill's claim before any trial.
fn forecast(planned: &PlannedClaim<'_>) -> ClaimForecast {
    let (size, rule, level) = (size(planned), &planned.terms.rule, planned.look.level);
    let shape = format!(
        "{} × {}",
        counted(size.clusters.len(), "task", "tasks"),
        counted(size.repetitions, "repetition", "repetitions")
    );
    if rule.require == Requirement::Helps {
        let note = size.helps_power(rule.lift, level).map_or_else(
            || format!("{shape}: a lift of {} is larger than the base rates allow", pp(rule.lift)),
            |power| format!("{shape}: a lift of {} is shown in {:.0}%", pp(rule.lift), 100.0 * power),
        );
        return ClaimForecast { power_equal: None, note };
    }
    let power = size.equal_power(rule.margin, level);
    // For `not-harmful` an equal version is a skill that does nothing.
    let what = if planned.has_version { "an equal version passes" } else { "a skill without effect passes" };
    let mut note = format!("{shape}, margin {}: {what} in {:.0}%", pp(rule.margin), 100.0 * power);
    if power < ENOUGH {
        note.push_str(&enough(&size, rule.margin, level));
    }
    ClaimForecast { power_equal: Some(power), note }
}

/// What would give 80% power.
fn enough(size: &ExperimentSize, margin: f64, level: f64) -> String {
    let tasks = size
        .tasks_for_equal(margin, level)
        .map_or("more than 2,000 tasks".to_owned(), |tasks| counted(tasks, "task", "tasks"));
    let supported = size
        .supported_margin(level)
        .map_or(String::new(), |margin| format!(", and a margin of {margin:.2} these tasks"));
    format!(" ({:.0}% take {tasks}{supported})", 100.0 * ENOUGH)
}

fn too_weak(planned: &PlannedClaim<'_>, forecast: &ClaimForecast) -> String {
    let look = planned.look;
    let at = if look.version > 1 || look.look > 1 {
        format!(
            " at version {} since the last merge, look {} (level {:.5})",
            look.version, look.look, look.level
        )
    } else {
        String::new()
    };
    format!("{}{at}", forecast.note)
}
