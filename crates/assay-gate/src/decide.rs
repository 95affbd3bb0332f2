//! From paired results to a decision: one-sided tests of the claims of a gate, each at the level of its look.

use assay_stats::{Interval, PairedTask, SessionDrift, interval_for_bound, p_above, p_below};
use serde::Serialize;

use crate::policy::{BudgetScope, Requirement};

/// The error rate that the one-sided tests against the reference version share over all versions since a merge and all
/// looks at them. What adds up over merges is the distance to the reference, which each merge has to show anew; and with a
/// rate for each try, one of many tries would pass.
pub const REFERENCE_BUDGET: f64 = 0.05;

/// A claim that a policy requires to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The skill.
    pub skill: String,
    /// What is claimed.
    pub require: Requirement,
    /// The margin of `not-harmful` and `non-inferior`.
    pub margin: f64,
    /// The results against the baseline, or against the version at the target.
    pub tasks: Vec<PairedTask>,
    /// The results against the reference version, if that is another than the one in `tasks`. `helps` has none.
    pub reference: Option<Vec<PairedTask>>,
    /// The one-sided level of the test against it: this look's share of [`REFERENCE_BUDGET`], or a round's part of that.
    pub reference_level: f64,
    /// The one-sided level of this look at this version of the skill.
    pub level: f64,
    /// The drift between the arms; [`SessionDrift::NONE`] for interleaved arms.
    pub drift: SessionDrift,
}

/// What results say about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The claim is shown: the interval lies above the bound.
    Pass,
    /// Neither the claim nor its contrary is shown.
    Undecided,
    /// The contrary is shown: the interval lies below the bound.
    Fail,
}

/// The decision on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decision {
    /// The one-sided p-value of the claim; `null` under 5 tasks or effective clusters.
    pub p: Option<f64>,
    /// What p is compared with: the level of the look, or with a shared budget its share.
    pub level: f64,
    /// Both tests together.
    pub outcome: Outcome,
    /// The test against the reference version.
    pub reference: Option<ReferenceTest>,
}

/// The test against the reference version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReferenceTest {
    /// The one-sided p-value.
    pub p: Option<f64>,
    /// What p is compared with.
    pub level: f64,
    /// The lift over the reference version.
    pub lift: Option<f64>,
    /// What this test alone says.
    pub outcome: Outcome,
}

impl Claim {
    /// The bound that the lift must be above.
    pub fn bound(&self) -> f64 {
        match self.require {
            Requirement::Helps => 0.0,
            Requirement::NotHarmful | Requirement::NonInferior => -self.margin,
        }
    }

    /// The interval that a one-sided test of the claim at `level` reads: each end is wrong with that probability. `None` under
    /// 5 tasks or effective clusters.
    pub fn interval_at(&self, level: f64) -> Option<Interval> {
        interval_for_bound(&self.tasks, self.bound(), 2.0 * level, self.drift)
    }

    /// What the results against the baseline say at a one-sided level.
    fn outcome_at(&self, level: f64) -> Outcome {
        outcome(self.interval_at(level), self.bound())
    }

    /// The results against the reference version, if the claim has to be shown against it.
    fn against_reference(&self) -> Option<&[PairedTask]> {
        self.reference.as_deref().filter(|_| self.require != Requirement::Helps)
    }
}

/// The one-sided p-value of the claim that the lift is above `bound`; `None` under 5 tasks or effective clusters.
pub fn one_sided_p(tasks: &[PairedTask], bound: f64, drift: SessionDrift) -> Option<f64> {
    let two_sided = p_above(tasks, bound, drift)?;
    if two_sided < 1.0 {
        return Some(0.5 * two_sided);
    }
    Some(1.0 - 0.5 * p_below(tasks, bound, drift)?)
}

fn outcome(interval: Option<Interval>, bound: f64) -> Outcome {
    match interval {
        Some(interval) if interval.low > bound => Outcome::Pass,
        Some(interval) if interval.high <= bound => Outcome::Fail,
        _ => Outcome::Undecided,
    }
}

/// What the results say about each claim, and the level at which each was tested against its baseline.
///
/// With [`BudgetScope::PullRequest`] the claims of `helps` share their levels by Holm's step-down procedure (Holm,
/// Scandinavian Journal of Statistics 6, 1979, 65–70), in its weighted form with the levels as weights: as long as one of
/// them is shown at its level over the number of those that are not shown yet, it no longer counts. A gate passes
/// versions that are equal for what they are, so `not-harmful` and `non-inferior` share nothing.
pub fn outcomes(claims: &[Claim], scope: BudgetScope) -> Vec<(Outcome, f64)> {
    outcomes_at(claims, scope, &|_, level| level)
}

/// The level of one test of a claim, by its number, where all of its tests together have a level.
pub(crate) type NominalLevel<'a> = &'a dyn Fn(usize, f64) -> f64;

fn outcomes_at(claims: &[Claim], scope: BudgetScope, nominal: NominalLevel<'_>) -> Vec<(Outcome, f64)> {
    let shares = |claim: &Claim| scope == BudgetScope::PullRequest && claim.require == Requirement::Helps;
    let mut open: Vec<usize> = (0..claims.len()).filter(|at| claims.get(*at).is_some_and(shares)).collect();
    let mut found: Vec<(Outcome, f64)> = claims
        .iter()
        .enumerate()
        .map(|(at, claim)| {
            let level = nominal(at, claim.level);
            let outcome = if shares(claim) { Outcome::Undecided } else { claim.outcome_at(level) };
            (outcome, level)
        })
        .collect();
    while !open.is_empty() {
        let left = open.len();
        let tested: Vec<(usize, Outcome, f64)> = open
            .iter()
            .filter_map(|at| Some((*at, claims.get(*at)?)))
            .map(|(at, claim)| (at, nominal(at, claim.level / left as f64)))
            .filter_map(|(at, level)| Some((at, claims.get(at)?.outcome_at(level), level)))
            .collect();
        open.retain(|at| !tested.iter().any(|(known, outcome, _)| known == at && *outcome == Outcome::Pass));
        for (at, outcome, level) in tested {
            if let Some(slot) = found.get_mut(at) {
                *slot = (outcome, level);
            }
        }
        if open.len() == left {
            break;
        }
    }
    for (claim, (outcome, _)) in claims.iter().zip(&mut found) {
        if let Some(tasks) = claim.against_reference() {
            *outcome = (*outcome).max(reference_outcome(claim, tasks));
        }
    }
    found
}

fn reference_outcome(claim: &Claim, tasks: &[PairedTask]) -> Outcome {
    let interval = interval_for_bound(tasks, claim.bound(), 2.0 * claim.reference_level, claim.drift);
    outcome(interval, claim.bound())
}

/// [`outcomes`], with the p-values.
pub fn decide(claims: &[Claim], scope: BudgetScope) -> Vec<Decision> {
    decide_at(claims, scope, &|_, level| level)
}

/// [`decide`], where a claim has several tests.
pub(crate) fn decide_at(claims: &[Claim], scope: BudgetScope, nominal: NominalLevel<'_>) -> Vec<Decision> {
    claims
        .iter()
        .zip(outcomes_at(claims, scope, nominal))
        .map(|(claim, (outcome, level))| Decision {
            p: one_sided_p(&claim.tasks, claim.bound(), claim.drift),
            level,
            outcome,
            reference: claim.against_reference().map(|tasks| ReferenceTest {
                p: one_sided_p(tasks, claim.bound(), claim.drift),
                level: claim.reference_level,
                lift: assay_stats::lift(tasks, 0.95).map(|estimate| estimate.mean),
                outcome: reference_outcome(claim, tasks),
            }),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 tasks of three trials, a share of which the skill lifts from 0 to 1, or lowers.
    fn tasks(lift: f64) -> Vec<PairedTask> {
        let task = |at: usize| {
            let moved = (at as f64) < 20.0 * lift.abs();
            let [low, high] = [vec![0.0; 3], vec![if moved { 1.0 } else { 0.0 }; 3]];
            let (arm, base) = if lift < 0.0 { (low, high) } else { (high, low) };
            PairedTask { arm, base, cluster: None }
        };
        (0..20).map(task).collect()
    }

    fn claim(require: Requirement, lift: f64, level: f64) -> Claim {
        Claim {
            skill: "s".to_owned(),
            require,
            margin: 0.1,
            tasks: tasks(lift),
            reference: None,
            reference_level: 0.05,
            level,
            drift: SessionDrift::NONE,
        }
    }

    fn helps(lift: f64, level: f64) -> Claim {
        claim(Requirement::Helps, lift, level)
    }

    fn one(claim: &Claim) -> Decision {
        decide(std::slice::from_ref(claim), BudgetScope::Skill)[0]
    }

    #[test]
    fn the_p_value_is_one_sided() {
        // n = 20 tasks, 6 of them with a difference of 1: mean .3, s² = 6·.7/19 = .22105. Pseudo-tasks: v₀ = 2·¼/3,
        // s̃² = (19·.22105 + 2/6)/21 = .21587, f = 21²/19. t = .3/√(.21587/20) = 2.8876, f = 23.2, one tail: .00414; and
        // t = .3/√(.22105/20) = 2.8536 with 19: .00509. The interval takes the wider one.
        let found = one(&helps(0.3, 0.025));
        assert!((found.p.unwrap() - 0.005_09).abs() < 5e-5, "{found:?}");
        // The contrary has the rest: the claims that the lift is above and below share one distribution.
        let against = one(&helps(-0.3, 0.025));
        assert!((against.p.unwrap() + found.p.unwrap() - 1.0).abs() < 1e-9, "{against:?}");
    }

    #[test]
    fn three_outcomes() {
        use Requirement::{Helps, NonInferior, NotHarmful};
        let check = |require: Requirement, lift: f64, level: f64, expected: Outcome| {
            let found = one(&claim(require, lift, level));
            assert_eq!(found.outcome, expected, "{require:?} {lift} {level}: {found:?}");
            assert_eq!(expected == Outcome::Pass, found.p.unwrap() <= level);
            assert_eq!(expected == Outcome::Fail, found.p.unwrap() >= 1.0 - level);
        };
        check(Helps, 0.3, 0.025, Outcome::Pass);
        check(Helps, 0.3, 0.001, Outcome::Undecided);
        check(Helps, 0.1, 0.025, Outcome::Undecided);
        check(Helps, -0.3, 0.025, Outcome::Fail);
        // Without any difference: no tail of 20 tasks reaches the margin of 10 points at .001.
        for require in [NonInferior, NotHarmful] {
            check(require, 0.0, 0.025, Outcome::Pass);
            check(require, 0.0, 0.000_01, Outcome::Undecided);
            check(require, -0.1, 0.025, Outcome::Undecided);
            check(require, -0.4, 0.025, Outcome::Fail);
            check(require, 0.9, 0.025, Outcome::Pass);
        }
    }

    #[test]
    fn too_few_tasks_decide_nothing() {
        let mut few = helps(1.0, 0.025);
        few.tasks.truncate(4);
        assert_eq!((one(&few).p, one(&few).outcome), (None, Outcome::Undecided));
        // 8 tasks, 6 of one cluster: 64/38 effective units.
        let mut clustered = helps(1.0, 0.025);
        clustered.tasks.truncate(8);
        for task in clustered.tasks.iter_mut().take(6) {
            task.cluster = Some(1);
        }
        assert_eq!(one(&clustered).outcome, Outcome::Undecided);
    }

    #[test]
    fn holm_is_for_claims_of_helps_that_share_a_budget() {
        use BudgetScope::{PullRequest, Skill};

        let p = |claim: &Claim| one(claim).p.unwrap();
        let level = 1.5 * p(&helps(0.3, 0.05));
        let [strong, weak, none] = [0.9, 0.3, 0.0].map(|lift| helps(lift, level));
        let shown = |claims: &[&Claim], scope: BudgetScope| -> Vec<bool> {
            let claims: Vec<Claim> = claims.iter().map(|claim| (*claim).clone()).collect();
            decide(&claims, scope).iter().map(|found| found.outcome == Outcome::Pass).collect()
        };
        // Alone it has all of the level, beside another undecided claim half of it, and beside a shown one all again.
        assert_eq!(shown(&[&weak], PullRequest), [true]);
        assert_eq!(shown(&[&weak, &none], PullRequest), [false, false]);
        assert_eq!(shown(&[&weak, &strong], PullRequest), [true, true]);
        assert_eq!(shown(&[&none, &weak, &strong], PullRequest), [false, false, true]);
        assert_eq!(shown(&[&none, &weak, &strong], Skill), [false, true, true]);
        // Thirty equal versions are thirty decisions of their own.
        let equal = claim(Requirement::NonInferior, 0.0, level);
        assert_eq!(shown(&vec![&equal; 30], PullRequest), vec![shown(&[&equal], Skill)[0]; 30]);
    }

    #[test]
    fn levels_are_weights() {
        // Two claims with equal results and unequal levels: the one with the larger level is first.
        let p = one(&helps(0.3, 0.05)).p.unwrap();
        let claims = [helps(0.3, 1.2 * p), helps(0.3, 2.4 * p)];
        let found = decide(&claims, BudgetScope::PullRequest);
        assert_eq!(found.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Pass; 2]);
        let levels: Vec<f64> = found.iter().map(|one| one.level / p).collect();
        assert!((levels[0] - 1.2).abs() < 1e-9 && (levels[1] - 1.2).abs() < 1e-9, "{levels:?}");
    }

    #[test]
    fn the_reference_version_has_a_test_of_its_own() {
        let check = |require: Requirement, lift: f64, expected: Outcome| {
            let against = Claim { reference: Some(tasks(lift)), ..claim(require, 0.0, 0.025) };
            let found = one(&against);
            assert_eq!(found.outcome, expected, "{require:?} {lift}: {found:?}");
            found.reference
        };
        let shown = check(Requirement::NonInferior, 0.0, Outcome::Pass).unwrap();
        assert_eq!((shown.outcome, shown.level, shown.lift), (Outcome::Pass, 0.05, Some(0.0)));
        check(Requirement::NonInferior, -0.1, Outcome::Undecided);
        check(Requirement::NonInferior, -0.4, Outcome::Fail);
        check(Requirement::NotHarmful, -0.4, Outcome::Fail);
        // The lift over the version at the target is what `helps` is about.
        let helps = Claim { reference: Some(tasks(-0.4)), ..helps(0.9, 0.025) };
        assert_eq!((one(&helps).outcome, one(&helps).reference), (Outcome::Pass, None));
        // A good reference does not make up for a loss against the target.
        let against = Claim { reference: Some(tasks(0.9)), ..claim(Requirement::NonInferior, -0.4, 0.025) };
        assert_eq!(one(&against).outcome, Outcome::Fail);
    }
}
