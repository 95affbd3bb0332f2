//! Coverage of the estimate over skills, with skills as units.

use assay_stats::random::{Purpose, normal, stream};
use assay_stats::simulate::Baseline;
use assay_stats::{UnitEffect, random_effects};

use super::effects::draw_task;

/// The mean of the skills' shifts.
const MEAN: f64 = 0.15;

/// The standard deviation of the shifts of one skill's tasks.
const TASKS_SD: f64 = 0.2;

/// Trials of a task in either arm.
const REPETITIONS: usize = 3;

/// One cell of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkillsCell {
    /// The standard deviation of the skills' shifts.
    pub spread: f64,
    /// Skills.
    pub skills: usize,
    /// Tasks of a skill.
    pub tasks: usize,
}

/// What suites of a cell gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SkillsFigures {
    /// The true mean lift of skills.
    pub lift: f64,
    /// The true τ, the standard deviation of their true lifts.
    pub tau: f64,
    /// Share of 95% intervals of the mean that contain it.
    pub coverage: f64,
    /// Their mean width.
    pub width: f64,
    /// Share of 95% intervals of τ that contain it, of the suites with one.
    pub tau_coverage: f64,
    /// Share of new skills whose true lift is in the prediction interval.
    pub predicted: f64,
}

/// The grid.
pub fn skills_grid() -> Vec<SkillsCell> {
    let mut cells = Vec::new();
    for spread in [0.0, 0.1, 0.2] {
        for skills in [3, 6, 12] {
            cells.extend([5, 10, 20].map(|tasks| SkillsCell { spread, skills, tasks }));
        }
    }
    cells
}

/// The true lift of a skill with a shift, over tasks of the population.
struct TrueLifts(Vec<[f64; 2]>);

impl TrueLifts {
    fn new(seed: u64) -> Self {
        let random = &mut stream(seed, Purpose::SkillUnits, 0);
        let baseline = Baseline::beta(0.6, 0.9).unwrap_or_default();
        Self((0..20_000).map(|_| [baseline.draw_rate(random), TASKS_SD * normal(random)]).collect())
    }

    fn of(&self, shift: f64) -> f64 {
        let lift = |[base, own]: &[f64; 2]| (base + shift + own).clamp(0.0, 1.0) - base;
        self.0.iter().map(lift).sum::<f64>() / self.0.len() as f64
    }
}

impl SkillsCell {
    /// Draws `suites` suites, each with its own random stream.
    pub fn simulate(&self, suites: u64, seed: u64) -> SkillsFigures {
        let lifts = TrueLifts::new(seed);
        let mut found = self.truth_of(&lifts, seed);
        let baseline = Baseline::beta(0.6, 0.9).unwrap_or_default();
        let (mut with_tau, mut covered) = (0.0_f64, 0.0);
        for suite in 0..suites {
            let random = &mut stream(seed, Purpose::SkillUnits, suite + 2);
            let mut units = Vec::new();
            for _ in 0..self.skills {
                let shift = MEAN + self.spread * normal(random);
                let tasks: Vec<_> = (0..self.tasks)
                    .map(|_| {
                        let base = baseline.draw_rate(random);
                        let arm = (base + shift + TASKS_SD * normal(random)).clamp(0.0, 1.0);
                        draw_task([base, arm], REPETITIONS, random)
                    })
                    .collect();
                units.extend(UnitEffect::of_sample(&tasks));
            }
            let new = lifts.of(MEAN + self.spread * normal(random));
            let Some(estimate) = random_effects(&units) else { continue };
            let inside = |interval: assay_stats::Interval, value: f64| {
                f64::from(u8::from(interval.low <= value && value <= interval.high))
            };
            found.coverage += inside(estimate.interval, found.lift) / suites as f64;
            found.width += estimate.interval.width() / suites as f64;
            found.predicted +=
                estimate.prediction.map_or(0.0, |prediction| inside(prediction, new)) / suites as f64;
            if let Some(interval) = estimate.tau_interval {
                with_tau += 1.0;
                covered += inside(interval, found.tau);
            }
        }
        found.tau_coverage = covered / with_tau.max(1.0);
        found
    }

    fn truth_of(&self, lifts: &TrueLifts, seed: u64) -> SkillsFigures {
        let random = &mut stream(seed, Purpose::SkillUnits, 1);
        let drawn: Vec<f64> = (0..2000).map(|_| lifts.of(MEAN + self.spread * normal(random))).collect();
        let n = drawn.len() as f64;
        let lift = drawn.iter().sum::<f64>() / n;
        let tau = (drawn.iter().map(|own| (own - lift).powi(2)).sum::<f64>() / n).sqrt();
        SkillsFigures { lift, tau, ..SkillsFigures::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_mean_covers() {
        let found = SkillsCell { spread: 0.1, skills: 6, tasks: 10 }.simulate(300, 1);
        // Standard errors of .015; a shift of .15 ± .2 over rates of which a third are above .6 loses a fifth.
        assert!(found.coverage > 0.91 && found.predicted > 0.88, "{found:?}");
        assert!(found.lift > 0.08 && found.lift < 0.15 && found.tau > 0.05 && found.tau < 0.1, "{found:?}");
    }
}
