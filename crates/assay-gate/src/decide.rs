//! From paired results to a decision: Holm's procedure over the claims of a gate, at the level of a look.

use assay_stats::{PairedTask, p_above};
use serde::Serialize;

use crate::policy::Requirement;

/// The share of the error budget that looks after the first have together.
const LATER: f64 = 0.2;

/// A claim that a policy requires to be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The skill.
    pub skill: String,
    /// What is claimed.
    pub require: Requirement,
    /// The margin of `not-harmful` and `non-inferior`.
    pub margin: f64,
    /// The results.
    pub tasks: Vec<PairedTask>,
    /// Which look at this version of the skill it is, from 1.
    pub look: u32,
    /// The standard deviation of the drift between the arms; 0 for interleaved arms.
    pub drift: f64,
}

/// The decision on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decision {
    /// The p-value of the claim, two-sided as the verdict's; `null` under 5 tasks or effective clusters.
    pub p: Option<f64>,
    /// What p is compared with: the level of the look over the number of claims that are not shown yet.
    pub level: f64,
    /// Whether the claim is shown.
    pub shown: bool,
}

impl Claim {
    /// The bound that the lift must be above.
    pub fn bound(&self) -> f64 {
        match self.require {
            Requirement::Helps => 0.0,
            Requirement::NotHarmful | Requirement::NonInferior => -self.margin,
        }
    }
}

/// The error rate of look `look` of a budget: the first has 80%, each later one 20% of what is left, so that any
/// number of reruns has the budget together. Without a ledger nothing is counted, and the look has it all.
pub fn level_of_look(budget: f64, look: u32, counted: bool) -> f64 {
    if !counted {
        return budget;
    }
    let before = i32::try_from(look.saturating_sub(1)).unwrap_or(i32::MAX);
    budget * (1.0 - LATER) * LATER.powi(before)
}

/// Holm's step-down procedure over all claims (Holm, Scandinavian Journal of Statistics 6, 1979, 65–70). Claims at different
/// looks have different levels: they are ordered by the ratio of p to level, the weighted form of the procedure with
/// the levels as weights.
pub fn decide(claims: &[Claim], budget: f64, counted: bool) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = claims
        .iter()
        .map(|claim| Decision {
            p: p_above(&claim.tasks, claim.bound(), claim.drift),
            level: level_of_look(budget, claim.look, counted),
            shown: false,
        })
        .collect();
    let mut order: Vec<usize> = (0..claims.len()).collect();
    let ratio = |decision: &Decision| decision.p.unwrap_or(1.0) / decision.level;
    order.sort_by(|one, other| ratio(&decisions[*one]).total_cmp(&ratio(&decisions[*other])));
    let mut left = claims.len();
    let mut goes_on = true;
    for at in order {
        let decision = &mut decisions[at];
        decision.level /= left as f64;
        goes_on &= decision.p.is_some_and(|p| p <= decision.level);
        decision.shown = goes_on;
        if goes_on {
            left -= 1;
        }
    }
    decisions
}

/// The results with the smallest p that `tasks` tasks of `repetitions` trials can give, if the baseline passes this
/// share of its trials.
pub fn best_case(require: Requirement, tasks: usize, repetitions: usize, baseline: f64) -> Vec<PairedTask> {
    let arm = match require {
        Requirement::Helps => 1.0,
        // The smallest variance is without any difference.
        Requirement::NotHarmful | Requirement::NonInferior => f64::max(baseline, 1.0),
    };
    let base = match require {
        Requirement::Helps => baseline,
        Requirement::NotHarmful | Requirement::NonInferior => arm,
    };
    let task = PairedTask { arm: vec![arm; repetitions], base: vec![base; repetitions], cluster: None };
    vec![task; tasks]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(lift: f64, look: u32) -> Claim {
        let task = |at: usize| PairedTask {
            arm: vec![if (at as f64) < 20.0 * lift { 1.0 } else { 0.0 }; 3],
            base: vec![0.0; 3],
            cluster: None,
        };
        let tasks = (0..20).map(task).collect();
        Claim { skill: "s".to_owned(), require: Requirement::Helps, margin: 0.1, tasks, look, drift: 0.0 }
    }

    #[test]
    fn all_looks_share_the_budget() {
        let sum: f64 = (1..50).map(|look| level_of_look(0.05, look, true)).sum();
        assert!((sum - 0.05).abs() < 1e-12);
        assert!((level_of_look(0.05, 1, true) - 0.04).abs() < 1e-12);
        assert!((level_of_look(0.05, 2, true) - 0.008).abs() < 1e-12);
        assert!((level_of_look(0.05, 7, false) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn claims_share_the_budget_by_holm() {
        // p of 8 of 20 tasks: between .05/4 and .05.
        let [strong, weak, none] = [0.9, 0.3, 0.0].map(|lift| claim(lift, 1));
        let p = |claim: &Claim| decide(std::slice::from_ref(claim), 0.05, false)[0].p.unwrap();
        assert!(p(&strong) < 0.001 && p(&weak) < 0.05 && p(&none) > 0.5, "{} {}", p(&weak), p(&none));
        let budget = 1.5 * p(&weak);
        let shown = |claims: &[&Claim], budget: f64| -> Vec<bool> {
            let claims: Vec<Claim> = claims.iter().map(|claim| (*claim).clone()).collect();
            decide(&claims, budget, false).iter().map(|decision| decision.shown).collect()
        };
        // Alone it has all of the budget, beside another undecided claim half of it, and beside a shown one all again.
        assert_eq!(shown(&[&weak], budget), [true]);
        assert_eq!(shown(&[&weak, &none], budget), [false, false]);
        assert_eq!(shown(&[&weak, &strong], budget), [true, true]);
        assert_eq!(shown(&[&none, &strong, &weak], 1e-13), [false, false, false]);
    }

    #[test]
    fn a_rerun_is_judged_at_a_stricter_level() {
        let decided = |look: u32| decide(&[claim(0.3, look)], 0.05, true)[0];
        let p = decided(1).p.unwrap();
        assert!(p < 0.04 && p > 0.0003, "{p}");
        assert!(decided(1).shown && !decided(4).shown);
    }

    #[test]
    fn the_best_case_over_a_high_baseline_is_weak() {
        let p = |tasks: usize, baseline: f64| {
            p_above(&best_case(Requirement::Helps, tasks, 1, baseline), 0.0, 0.0).unwrap()
        };
        assert!(p(18, 0.0) < 1e-6 && p(18, 15.0 / 18.0) > p(18, 0.5));
    }
}
