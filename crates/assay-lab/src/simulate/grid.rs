//! The validation grid and its limits (docs/STATISTICS.md, "How often verdicts are right").

use assay_stats::plan::{Impossible, MOVING, Plan, SPREAD};
use assay_stats::simulate::Baseline;
use assay_stats::simulate::{Design, Effect, Loss};

use crate::simulate::Cell;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridCell {
    /// Name of the truth: null, uniform, sparse, bimodal, ceiling, floor, losses, drift, edge,
    /// sparse-edge, bimodal-edge, planned.
    pub truth: &'static str,
    /// The design of its suites.
    pub design: Design,
}

/// A figure of a cell outside its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Miss {
    /// The figure: coverage, false verdicts, power, negligible, wrong sign.
    pub what: &'static str,
    /// Its value.
    pub found: f64,
    /// The limit.
    pub limit: f64,
}

/// Tasks of a suite.
const TASKS: [usize; 4] = [10, 20, 30, 84];

/// Repetitions of every arm.
const REPETITIONS: [usize; 4] = [1, 3, 5, 10];

/// The equivalence margin.
const MARGIN: f64 = 0.1;

/// The lower limit of coverage.
const COVERAGE: f64 = 0.935;

/// The upper limit of coverage for baselines with a mean in [0.2, 0.8].
const MOST_COVERAGE: f64 = 0.975;

/// The upper limit of each kind of wrong verdict.
const WRONG: f64 = 0.05;

/// The limits of power in planned cells.
const POWER: [f64; 2] = [0.77, 0.83];

/// A cell without lift, losses or drift; it gets its size later.
fn null(baseline: Baseline) -> Design {
    Design {
        baseline,
        effect: Effect::None,
        tasks: 1,
        repetitions: 1,
        base_repetitions: 1,
        arms: 1,
        margin: MARGIN,
        drift: 0.0,
        arm_loss: Loss::default(),
        base_loss: Loss::default(),
    }
}

/// The grid without its planned cells: every truth by 10, 20, 30 and 84 tasks by 1, 3, 5 and 10
/// repetitions.
///
/// Baselines are Beta(0.6, 0.9) except for ceiling and floor; the margin is 0.1; there is one arm
/// except in the second null.
///
/// - *null*: no lift; with one arm, and with four that share one baseline.
/// - *uniform*: every task shifts by 0.2 with a standard deviation of 0.2. *sparse*: 15% of the
///   tasks shift by 0.8.
/// - *ceiling*, *floor*: no lift over Beta(9, .5), mean .95, and over Beta(.5, 9), mean .05.
/// - *losses*: *uniform* with 10% of the arm's trials and 2% of the baseline's lost at random.
/// - *drift*: *null* with rates that rise by .2 from the first repetition to the last.
/// - *edge*, *sparse-edge*: *uniform* and *sparse* with a true lift of the margin, so that
///   `negligible` is wrong.
/// - *bimodal*: 15% of the tasks shift by 0.8 over a baseline of which half never pass and half
///   pass in 0.2 of their trials, so that no shift is clamped. *bimodal-edge*: the same with a true
///   lift of the margin.
pub fn validity_grid() -> Vec<GridCell> {
    let of = |a: f64, b: f64| null(beta(a, b));
    let bimodal = null(beta(0.01, 0.01).up_to(0.2).unwrap_or_default());
    let most = Design { effect: Effect::Sparse { lift: 0.8, share: 1.0 }, ..bimodal }.true_lift();
    let usual = null(usual());
    let uniform = Design { effect: Effect::Uniform { lift: 0.2, spread: 0.2 }, ..usual };
    let at_random = |share: f64| Loss { passed: share, failed: share };
    let truths = [
        ("null", usual),
        ("null", Design { arms: 4, ..usual }),
        ("uniform", uniform),
        ("sparse", Design { effect: Effect::Sparse { lift: 0.8, share: 0.15 }, ..usual }),
        ("ceiling", of(9.0, 0.5)),
        ("floor", of(0.5, 9.0)),
        ("losses", Design { arm_loss: at_random(0.1), base_loss: at_random(0.02), ..uniform }),
        ("drift", Design { drift: 0.2, ..usual }),
        ("edge", Design { effect: uniform_of(MARGIN), ..usual }),
        ("sparse-edge", Design { effect: sparse_of(MARGIN), ..usual }),
        ("bimodal", Design { effect: Effect::Sparse { lift: 0.8, share: 0.15 }, ..bimodal }),
        ("bimodal-edge", Design { effect: Effect::Sparse { lift: 0.8, share: MARGIN / most }, ..bimodal }),
    ];
    let mut cells = Vec::with_capacity(truths.len() * TASKS.len() * REPETITIONS.len());
    for (truth, design) in truths {
        for tasks in TASKS {
            for repetitions in REPETITIONS {
                let design = Design { tasks, repetitions, base_repetitions: repetitions, ..design };
                cells.push(GridCell { truth, design });
            }
        }
    }
    cells
}

fn beta(a: f64, b: f64) -> Baseline {
    Baseline::beta(a, b).unwrap_or_default()
}

/// The grid's usual baseline, Beta(.6, .9): mean .4, and many tasks that nearly always or nearly
/// never pass.
fn usual() -> Baseline {
    beta(0.6, 0.9)
}

/// The effect with a spread of .2 whose true lift over the usual baseline is `lift`.
fn uniform_of(lift: f64) -> Effect {
    // Five tasks make a valid plan; nothing is simulated here.
    let plan = Plan { baseline: usual(), spread: 0.2, moving: 1.0, ..plan(5, 1) };
    plan.design_of_lift(lift).map_or(Effect::None, |design| design.effect)
}

/// The share of tasks that shift by 0.8, so that the true lift over the usual baseline is `lift`.
fn sparse_of(lift: f64) -> Effect {
    let all = Effect::Sparse { lift: 0.8, share: 1.0 };
    let most = Design { effect: all, ..null(usual()) }.true_lift();
    Effect::Sparse { lift: 0.8, share: lift / most }
}

fn plan(tasks: usize, repetitions: usize) -> Plan {
    Plan {
        tasks,
        repetitions,
        base_repetitions: repetitions,
        family: 1,
        margin: MARGIN,
        baseline: Baseline::default(),
        spread: SPREAD,
        moving: MOVING,
    }
}

/// The planned cells: for every size of the grid the MDE of [`Plan::forecast`] under `seed`.
///
/// Simulate them under another seed. Sizes without an MDE have no cell.
pub fn planned_grid(seed: u64) -> Result<Vec<GridCell>, Impossible> {
    let mut cells = Vec::new();
    for tasks in TASKS {
        for repetitions in REPETITIONS {
            let plan = plan(tasks, repetitions);
            if let Some(lift) = plan.forecast(seed)?.mde {
                cells.push(GridCell { truth: "planned", design: plan.design_of_lift(lift)? });
            }
        }
    }
    Ok(cells)
}

impl GridCell {
    /// The limits of the grid that `got` misses. Shares are taken as they are, without their
    /// simulation error.
    pub fn misses(&self, got: &Cell) -> Vec<Miss> {
        let lift = self.design.true_lift().abs();
        let middle = (0.2..=0.8).contains(&self.design.baseline.mean());
        let mut misses = Vec::new();
        let mut below = |what: &'static str, found: Option<f64>, limit: f64, asked: bool| {
            misses.extend(found.filter(|found| asked && *found < limit).map(|found| Miss {
                what,
                found,
                limit,
            }));
        };
        below("coverage", got.coverage, COVERAGE, true);
        below("power", got.power, POWER[0], self.truth == "planned");
        let mut above = |what: &'static str, found: Option<f64>, limit: f64, asked: bool| {
            misses.extend(found.filter(|found| asked && *found > limit).map(|found| Miss {
                what,
                found,
                limit,
            }));
        };
        above("coverage", got.coverage, MOST_COVERAGE, middle);
        above("power", got.power, POWER[1], self.truth == "planned");
        above("false verdicts", got.false_verdicts, WRONG, true);
        above("wrong sign", got.wrong_sign, WRONG, true);
        // A lift of the margin is found by bisection, to some 10⁻⁷.
        above("negligible", got.negligible, WRONG, lift >= self.design.margin - 1e-6);
        misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::simulate_suites;

    #[test]
    fn every_truth_has_every_size() {
        let cells = validity_grid();
        assert_eq!(cells.len(), 12 * 16);
        assert_eq!(cells.iter().filter(|c| c.truth == "null").count(), 32);
        for cell in cells.iter().filter(|c| c.truth.ends_with("edge")) {
            assert!((cell.design.true_lift() - 0.1).abs() < 1e-6, "{cell:?}");
        }
    }

    /// A fast part of the grid on a fixed seed, with room for three standard errors of 400 suites.
    #[test]
    fn limits_are_met_at_ten_tasks_by_three() {
        for cell in validity_grid() {
            if (cell.design.tasks, cell.design.repetitions) != (10, 3) {
                continue;
            }
            let got = simulate_suites(&cell.design, 0..400, 2).cell(cell.design.true_lift());
            for miss in cell.misses(&got) {
                let room = 3.0 * (miss.limit * (1.0 - miss.limit) / 400.0).sqrt();
                assert!((miss.found - miss.limit).abs() < room, "{}: {miss:?}", cell.truth);
            }
        }
    }

    #[test]
    fn misses_match_the_rule() {
        let cells = validity_grid();
        let cell = |truth: &str| cells.iter().find(|c| c.truth == truth).unwrap();
        let good = Cell {
            coverage: Some(0.95),
            width: Some(0.2),
            false_verdicts: Some(0.01),
            power: Some(0.3),
            negligible: Some(0.04),
            wrong_sign: Some(0.0),
        };
        let check = |truth: &str, got: Cell, expected: &[(&str, f64)]| {
            let misses: Vec<(&str, f64)> =
                cell(truth).misses(&got).iter().map(|m| (m.what, m.limit)).collect();
            assert_eq!(misses, expected, "{truth}: {got:?}");
        };
        check("null", good, &[]);
        check("null", Cell { coverage: Some(0.934), ..good }, &[("coverage", 0.935)]);
        check("null", Cell { coverage: Some(0.976), ..good }, &[("coverage", 0.975)]);
        check("ceiling", Cell { coverage: Some(0.976), ..good }, &[]);
        check("null", Cell { false_verdicts: Some(0.051), ..good }, &[("false verdicts", 0.05)]);
        check("uniform", Cell { wrong_sign: Some(0.051), ..good }, &[("wrong sign", 0.05)]);
        // `negligible` is right if there is no effect, or if the lift is below the margin.
        let often = Cell { negligible: Some(0.9), ..good };
        for (truth, missed) in [("null", false), ("sparse", false), ("uniform", true), ("edge", true)] {
            check(truth, often, if missed { &[("negligible", 0.05)] } else { &[] });
        }
        let planned = GridCell { truth: "planned", ..*cell("sparse") };
        for (power, limit) in [(0.76, 0.77), (0.84, 0.83)] {
            let missed = planned.misses(&Cell { power: Some(power), ..good });
            assert_eq!(missed, [Miss { what: "power", found: power, limit }]);
        }
        assert!(planned.misses(&Cell { power: Some(0.8), ..good }).is_empty());
    }
}
