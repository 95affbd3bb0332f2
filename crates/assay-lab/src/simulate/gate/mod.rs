//! How often the rule of a gate is wrong, and how often it passes what it should: versions with known effects on simulated
//! suites, decided by [`outcomes`] as `assay gate` decides.

mod cells;
mod reuse;

use assay_gate::{
    BudgetScope, Claim, ENOUGH, MARGIN, Outcome, REFERENCE_BUDGET, Requirement, level, outcomes,
};
use assay_stats::simulate::Baseline;
use assay_stats::{PairedTask, SessionDrift};

use crate::simulate::Versions;

pub use self::cells::{broken_tasks, gate_grid, wide_margins};
pub use self::reuse::{MOST_FALSE, NOMINAL, ReuseCell, reuse_grid};

/// The error budget of the simulated policies.
pub const BUDGET: f64 = 0.05;

/// The lowest power with which a gate runs by default.
const MIN_POWER: f64 = 0.5;

/// Merges that are tried with versions that are each a little worse.
const MERGES: usize = 20;

/// The quantile of losses that is reported.
const LOSS_QUANTILE: f64 = 0.95;

/// What is true of the versions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Truth {
    /// Skills without any effect that have to show `helps`.
    Null,
    /// The same with effects on single tasks that add up to nothing.
    Mixed,
    /// Versions equal to the one at the target, under the margin that `assay init ci` writes.
    Equal,
    /// The same under the default margin.
    EqualAtDefault,
    /// Versions that are each worse than the one at the target by this much: half of the tasks lose the same share of their rate.
    Minus(f64),
    /// The same where all of the loss is on a few tasks, which never pass any more.
    Broken(f64),
}

impl Truth {
    /// Its name in tables and in JSON.
    pub fn name(self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Mixed => "null-mixed".to_owned(),
            Self::Equal => "equal".to_owned(),
            Self::EqualAtDefault => "equal-at-10".to_owned(),
            Self::Minus(loss) => format!("minus-{:.0}", 100.0 * loss),
            Self::Broken(loss) => format!("broken-{:.0}", 100.0 * loss),
        }
    }
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateCell {
    /// What is true.
    pub truth: Truth,
    /// The edits of a lineage; for versions that are worse, the merges that are tried.
    pub edits: usize,
    /// Skills of the pull request.
    pub skills: usize,
    /// Tasks of each.
    pub tasks: usize,
    /// Trials of each task under each arm.
    pub repetitions: usize,
    /// The margin of the policy; `None` if the suite supports no margin.
    pub margin: Option<f64>,
    /// The power for an equal version before the first trial.
    pub power: f64,
}

/// The figures of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GateFigures {
    /// The share of lineages (for several skills: of pull requests) with a version that passed and must not have: one without effect
    /// for `helps`, one that is worse than the reference by the margin or more for `non-inferior`.
    pub false_pass: Option<f64>,
    /// Of versions that are worse than the reference by the margin or more, the share that passes: the error rate of a merge. The
    /// lineages that get so far are those whose tasks show the least of their losses.
    pub false_merge: Option<f64>,
    /// The share of equal versions that pass.
    pub equal_pass: Option<f64>,
    /// The 95% quantile over lineages of what was lost after all merges.
    pub loss_p95: Option<f64>,
}

/// A figure outside of what is promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateMiss {
    /// The figure.
    pub what: &'static str,
    /// Its value.
    pub found: f64,
    /// The limit.
    pub limit: f64,
}

impl GateCell {
    /// The figures over so many lineages or pull requests.
    pub fn simulate(&self, suites: u64, seed: u64) -> GateFigures {
        let each = |of: &dyn Fn(&mut Versions) -> f64| -> f64 {
            let sum: f64 = (0..suites).map(|index| of(&mut self.versions(seed, index))).sum();
            sum / suites.max(1) as f64
        };
        match self.truth {
            Truth::Null | Truth::Mixed if self.skills == 1 => GateFigures {
                false_pass: Some(each(&|versions| f64::from(u8::from(self.null_lineage(versions))))),
                ..GateFigures::default()
            },
            Truth::Null | Truth::Mixed => GateFigures {
                false_pass: Some(each(&|versions| f64::from(u8::from(self.null_skills(versions))))),
                ..GateFigures::default()
            },
            Truth::Equal | Truth::EqualAtDefault => GateFigures {
                equal_pass: Some(each(&|versions| self.equal_versions(versions))),
                ..GateFigures::default()
            },
            Truth::Minus(loss) | Truth::Broken(loss) => self.worse_versions(loss, suites, seed),
        }
    }

    /// The figures that are not as promised, beyond two standard errors.
    pub fn misses(&self, found: &GateFigures, suites: u64) -> Vec<GateMiss> {
        if matches!(self.truth, Truth::Broken(_)) {
            return Vec::new();
        }
        let error = |limit: f64| 2.0 * (limit * (1.0 - limit) / suites.max(1) as f64).sqrt();
        let above = |what, found: Option<f64>, limit: f64| {
            let found = found.filter(|found| *found > limit + error(limit))?;
            Some(GateMiss { what, found, limit })
        };
        let least = if self.truth == Truth::Equal { ENOUGH } else { MIN_POWER };
        let below = found.equal_pass.filter(|found| *found < least - error(least));
        let margin = self.margin.unwrap_or(MARGIN);
        [
            above("false passes", found.false_pass, BUDGET),
            above("false merges", found.false_merge, BUDGET),
            below.map(|found| GateMiss { what: "equal versions that pass", found, limit: least }),
            // Losses are sums of decimal fractions.
            found.loss_p95.filter(|loss| *loss > margin + 1e-9).map(|found| GateMiss {
                what: "loss",
                found,
                limit: margin,
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn versions(&self, seed: u64, index: u64) -> Versions {
        Versions::new(Baseline::default(), self.tasks, seed, index)
    }

    /// Trials of two versions as paired tasks.
    fn pair(&self, versions: &mut Versions, arm: &[f64], base: &[Vec<f64>]) -> Vec<PairedTask> {
        let arm = versions.trials(arm, self.repetitions);
        arm.into_iter()
            .zip(base)
            .map(|(arm, base)| PairedTask { arm, base: base.clone(), cluster: None })
            .collect()
    }

    fn claim(&self, require: Requirement, tasks: Vec<PairedTask>, version: usize) -> Claim {
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        Claim {
            skill: String::new(),
            require,
            margin: self.margin.unwrap_or(MARGIN),
            tasks,
            reference: None,
            reference_level: level(REFERENCE_BUDGET, version, 1),
            level: level(BUDGET, version, 1),
            drift: SessionDrift::NONE,
        }
    }

    /// One claim of `helps` about a skill without effect.
    fn null_claim(&self, versions: &mut Versions, version: usize) -> Claim {
        let rates = versions.rates();
        let with = if self.truth == Truth::Mixed { versions.mixed(&rates) } else { rates.clone() };
        let base = versions.trials(&rates, self.repetitions);
        let tasks = self.pair(versions, &with, &base);
        self.claim(Requirement::Helps, tasks, version)
    }

    /// Whether any of the edits of a skill without effect passes.
    fn null_lineage(&self, versions: &mut Versions) -> bool {
        (1..=self.edits).any(|version| {
            let claim = self.null_claim(versions, version);
            outcomes(&[claim], BudgetScope::Skill).iter().any(|found| found.0 == Outcome::Pass)
        })
    }

    /// Whether any of the skills of a pull request passes that have no effect.
    fn null_skills(&self, versions: &mut Versions) -> bool {
        let claims: Vec<Claim> = (0..self.skills).map(|_| self.null_claim(versions, 1)).collect();
        outcomes(&claims, BudgetScope::PullRequest).iter().any(|found| found.0 == Outcome::Pass)
    }

    /// The share of equal versions in a pull request that pass.
    fn equal_versions(&self, versions: &mut Versions) -> f64 {
        let rates = versions.rates();
        let claims: Vec<Claim> = (0..self.skills)
            .map(|_| {
                let base = versions.trials(&rates, self.repetitions);
                let tasks = self.pair(versions, &rates, &base);
                self.claim(Requirement::NonInferior, tasks, 1)
            })
            .collect();
        let found = outcomes(&claims, BudgetScope::PullRequest);
        let passed = found.iter().filter(|found| found.0 == Outcome::Pass).count();
        passed as f64 / self.skills.max(1) as f64
    }

    fn worse_versions(&self, loss: f64, suites: u64, seed: u64) -> GateFigures {
        let lineages: Vec<Lineage> =
            (0..suites).map(|index| self.worse_lineage(loss, &mut self.versions(seed, index))).collect();
        let mut losses: Vec<f64> = lineages.iter().map(|lineage| lineage.lost).collect();
        losses.sort_by(f64::total_cmp);
        let share = |some: usize, all: usize| some as f64 / all.max(1) as f64;
        let total = |count: fn(&Lineage) -> usize| lineages.iter().map(count).sum::<usize>();
        let beyond = total(|lineage| lineage.beyond);
        GateFigures {
            false_pass: Some(share(total(|lineage| usize::from(lineage.beyond_passed > 0)), lineages.len())),
            false_merge: (beyond > 0).then(|| share(total(|lineage| lineage.beyond_passed), beyond)),
            equal_pass: None,
            loss_p95: (self.edits == MERGES)
                .then(|| assay_stats::sample_quantile(&losses, LOSS_QUANTILE))
                .flatten(),
        }
    }

    /// A skill whose versions are each worse than the one at the target; those that pass are merged. The reference is the
    /// first version throughout.
    fn worse_lineage(&self, loss: f64, versions: &mut Versions) -> Lineage {
        let margin = self.margin.unwrap_or(MARGIN);
        let first = versions.rates();
        let mut target = first.clone();
        let (mut mean, mut version) = (Baseline::default().mean(), 1);
        let mut found = Lineage::default();
        for _ in 0..self.edits {
            let rates = match self.truth {
                Truth::Broken(_) => versions.broken(&target, mean, loss),
                _ => versions.worsened(&target, mean, loss),
            };
            let lost = found.lost + loss.min(mean);
            let base = versions.trials(&target, self.repetitions);
            let arm = versions.trials(&rates, self.repetitions);
            let pair = |base: Vec<Vec<f64>>| -> Vec<PairedTask> {
                let tasks = arm.iter().cloned().zip(base);
                tasks.map(|(arm, base)| PairedTask { arm, base, cluster: None }).collect()
            };
            let mut claim = self.claim(Requirement::NonInferior, pair(base), version);
            if found.merges > 0 {
                claim.reference = Some(pair(versions.trials(&first, self.repetitions)));
            }
            let decided = outcomes(&[claim], BudgetScope::Skill);
            let passes = decided.iter().any(|found| found.0 == Outcome::Pass);
            if lost >= margin - 1e-9 {
                found.beyond += 1;
                found.beyond_passed += usize::from(passes);
            }
            if passes {
                (target, mean, version) = (rates, mean - loss.min(mean), 1);
                found.merges += 1;
                found.lost = lost;
            } else {
                version += 1;
            }
        }
        found
    }
}

/// What became of a skill.
#[derive(Debug, Clone, Copy, Default)]
struct Lineage {
    merges: usize,
    lost: f64,
    /// Versions tried that were worse than the reference by the margin or more.
    beyond: usize,
    beyond_passed: usize,
}

#[cfg(test)]
mod tests {
    use super::cells::SizedGate;
    use super::*;

    const SUITES: u64 = 300;

    fn figures(cell: &GateCell) -> GateFigures {
        let suites = if cell.skills > 1 { SUITES / 10 } else { SUITES };
        let found = cell.simulate(suites, 1);
        assert_eq!(cell.misses(&found, suites), [], "{cell:?} {found:?}");
        found
    }

    #[test]
    fn a_part_of_the_grid_keeps_its_promises() {
        for size in [SizedGate::new(12, 3), SizedGate::new(40, 3)] {
            for cell in size.cells().iter().chain(&size.wide_cells()) {
                figures(cell);
            }
        }
    }

    /// Figures that can only become better: those found when they were written, with two standard errors of the simulation.
    #[test]
    fn losses_do_not_add_up() {
        let size = SizedGate::new(40, 5);
        let cell = |loss: f64| size.cell(Truth::Minus(loss), MERGES, 1, size.default_margin());
        let most = |share: f64| share + 2.0 * (share * (1.0 - share) / SUITES as f64).sqrt();
        let lost = figures(&cell(MARGIN));
        assert!(lost.false_pass.unwrap() <= most(0.04), "{lost:?}");
        let lost = figures(&cell(0.03));
        assert!(lost.loss_p95.unwrap() < 0.06 + 1e-9, "{lost:?}");
        assert!(lost.false_merge.unwrap() <= most(0.005), "{lost:?}");
    }
}
