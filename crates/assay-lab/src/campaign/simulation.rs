//! Simulated campaigns with known effects.

use rand_chacha::ChaCha8Rng;

use assay_stats::plan::{Impossible, MOVING, Plan, SPREAD};
use assay_stats::random::{Purpose, index, normal, stream, uniform};
use assay_stats::simulate::{Baseline, Effect};

use super::decision::CampaignOutcome;
use super::results::{Results, TrialArm};
use super::step::{Campaign, NextStep};

/// Keeps the streams of campaigns apart from those of other simulations with the same seed.
const SALT: u64 = 0xca4b_a161;

/// The share of the tasks on which a candidate of [`CandidateTruth::Mixed`] has another pass rate.
const REDRAWN: f64 = 0.5;

/// Tasks from which true effects are computed.
const POPULATION: u32 = 100_000;

/// How a candidate's pass rates differ from the incumbent's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CandidateTruth {
    /// In nothing.
    Equal,
    /// On half of the tasks it has a rate of its own, drawn from the same distribution: 0 on average.
    Mixed,
    /// A share of the tasks shifts by a normal variate, as plans assume.
    Shifted {
        /// Mean of the shifts before rates are clamped to [0, 1].
        shift: f64,
        /// The share of shifted tasks.
        share: f64,
    },
}

impl CandidateTruth {
    /// A candidate that is better by `lift` on average over the population of tasks, and worse for a negative one.
    pub fn lift(baseline: Baseline, lift: f64) -> Result<Self, Impossible> {
        let plan = Plan {
            tasks: 30,
            repetitions: 1,
            base_repetitions: 1,
            family: 1,
            margin: 0.1,
            baseline,
            spread: SPREAD,
            moving: MOVING,
        };
        Ok(match plan.design_of_lift(lift)?.effect {
            Effect::Partial { lift: shift, share, .. } => Self::Shifted { shift, share },
            Effect::Uniform { lift: shift, .. } => Self::Shifted { shift, share: 1.0 },
            _ => Self::Equal,
        })
    }

    /// The mean and the standard deviation over tasks of a candidate's true effects, from simulated tasks.
    pub fn true_effects(self, baseline: Baseline, seed: u64) -> [f64; 2] {
        let mut random = stream(seed ^ SALT, Purpose::Versions, u64::MAX >> 8);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..POPULATION {
            let base = baseline.draw_rate(&mut random);
            let effect = self.rate(base, baseline, &mut random) - base;
            sum += effect;
            squares += effect * effect;
        }
        let n = f64::from(POPULATION);
        [sum / n, (squares / n - (sum / n).powi(2)).max(0.0).sqrt()]
    }

    fn rate(self, base: f64, baseline: Baseline, random: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::Equal => base,
            Self::Mixed => {
                if uniform(random) < REDRAWN {
                    baseline.draw_rate(random)
                } else {
                    base
                }
            }
            Self::Shifted { shift, share } => {
                if uniform(random) < share {
                    (base + shift + SPREAD * normal(random)).clamp(0.0, 1.0)
                } else {
                    base
                }
            }
        }
    }
}

/// The pass rates of a campaign's candidates on its tasks, and the random numbers of everything that happens there.
#[derive(Debug)]
pub struct World {
    random: ChaCha8Rng,
    incumbent: Vec<f64>,
    /// By candidate and task.
    candidates: Vec<Vec<f64>>,
    /// For each candidate, its place in the list of truths.
    truths: Vec<usize>,
}

impl World {
    /// The world with number `number` under a seed. The candidates are in a random order.
    pub fn new(baseline: Baseline, tasks: usize, truths: &[CandidateTruth], seed: u64, number: u64) -> Self {
        let mut random = stream(seed ^ SALT, Purpose::Versions, number);
        let incumbent: Vec<f64> = (0..tasks).map(|_| baseline.draw_rate(&mut random)).collect();
        let mut order: Vec<usize> = (0..truths.len()).collect();
        // Fisher & Yates.
        for last in (1..order.len()).rev() {
            order.swap(last, index(&mut random, last + 1));
        }
        let candidates = order
            .iter()
            .map(|at| incumbent.iter().map(|base| truths[*at].rate(*base, baseline, &mut random)).collect())
            .collect();
        Self { random, incumbent, candidates, truths: order }
    }

    /// The place of a candidate in the list of truths.
    pub fn truth_of(&self, candidate: usize) -> usize {
        self.truths.get(candidate).copied().unwrap_or(candidate)
    }

    /// Candidates.
    pub fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// Tasks.
    pub fn tasks(&self) -> usize {
        self.incumbent.len()
    }

    /// A trial: 1 if it passes.
    pub fn trial(&mut self, arm: TrialArm, task: usize) -> f64 {
        let rates = match arm {
            TrialArm::Incumbent => Some(&self.incumbent),
            TrialArm::Candidate(at) => self.candidates.get(at),
        };
        let rate = rates.and_then(|rates| rates.get(task)).copied().unwrap_or(0.0);
        f64::from(u8::from(uniform(&mut self.random) < rate))
    }

    /// A whole number below `n`.
    pub fn draw_index(&mut self, n: usize) -> usize {
        index(&mut self.random, n)
    }
}

/// Executes a campaign in a world; its end, and the number of its trials.
pub fn run_simulated(campaign: &Campaign, world: &mut World) -> (CampaignOutcome, usize) {
    let mut results = Results::default();
    loop {
        match campaign.next_step(&results) {
            NextStep::Measure(stage) => {
                for trial in stage.trials() {
                    let score = world.trial(trial.arm, trial.task);
                    results.record(trial, Some(score));
                }
            }
            NextStep::End(outcome) => return (outcome, results.len()),
        }
    }
}

/// What simulated campaigns come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CampaignFigures {
    /// Campaigns.
    pub campaigns: u64,
    /// For each truth, how many campaigns accepted its candidate.
    pub accepted: Vec<u64>,
    /// The numbers of trials, ascending.
    pub trials: Vec<usize>,
}

impl CampaignFigures {
    /// The share of campaigns that accepted a candidate of some truths.
    pub fn accepted_share(&self, of: impl Fn(usize) -> bool) -> f64 {
        let accepted: u64 =
            self.accepted.iter().enumerate().filter(|(at, _)| of(*at)).map(|(_, count)| count).sum();
        accepted as f64 / self.campaigns.max(1) as f64
    }
}

/// Executes simulated campaigns of candidates with these truths, each with random numbers of its own.
pub fn simulate_campaigns(
    campaign: &Campaign,
    baseline: Baseline,
    truths: &[CandidateTruth],
    campaigns: u64,
    seed: u64,
) -> CampaignFigures {
    let tasks = campaign.design.development + campaign.design.held_out();
    let mut figures =
        CampaignFigures { campaigns, accepted: vec![0; truths.len()], ..CampaignFigures::default() };
    for number in 0..campaigns {
        let mut world = World::new(baseline, tasks, truths, seed, number);
        let (outcome, trials) = run_simulated(campaign, &mut world);
        figures.trials.push(trials);
        if let Some(count) = outcome.accepted.and_then(|at| figures.accepted.get_mut(world.truth_of(at))) {
            *count += 1;
        }
    }
    figures.trials.sort_unstable();
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{CampaignDesign, CampaignSize, MARGIN};

    fn campaign(tasks: usize, candidates: usize) -> Campaign {
        let design =
            CampaignDesign::new(CampaignSize::of(tasks, candidates, 3), 0.025, Some(MARGIN)).unwrap();
        Campaign { design, shorter: Vec::new(), clusters: Vec::new() }
    }

    fn baseline() -> Baseline {
        Baseline::beta(0.15, 0.5).unwrap()
    }

    #[test]
    fn truths_have_their_mean() {
        let check = |truth: CandidateTruth, mean: f64, sd: [f64; 2]| {
            let found = truth.true_effects(baseline(), 1);
            assert!((found[0] - mean).abs() < 0.006, "{truth:?}: {found:?}");
            assert!(found[1] >= sd[0] && found[1] <= sd[1], "{truth:?}: {found:?}");
        };
        check(CandidateTruth::Equal, 0.0, [0.0, 0.0]);
        check(CandidateTruth::Mixed, 0.0, [0.31, 0.35]);
        check(CandidateTruth::lift(baseline(), 0.2).unwrap(), 0.2, [0.31, 0.35]);
        check(CandidateTruth::lift(baseline(), -0.1).unwrap(), -0.1, [0.2, 0.35]);
    }

    #[test]
    fn null_candidates_are_rarely_accepted_and_true_ones_are_found() {
        let check = |tasks: usize, truths: &[CandidateTruth], campaigns: u64| {
            simulate_campaigns(&campaign(tasks, truths.len()), baseline(), truths, campaigns, 7)
        };
        let null = check(100, &[CandidateTruth::Mixed; 20], 400);
        // 2.5% and four standard errors.
        assert!(null.accepted_share(|_| true) <= 0.025 + 0.031, "{}", null.accepted_share(|_| true));
        assert!(null.trials.iter().all(|trials| *trials <= 760));
        let better = CandidateTruth::lift(baseline(), 0.2).unwrap();
        let mut truths = [CandidateTruth::Equal; 20];
        truths[0] = better;
        let found = check(100, &truths, 200);
        assert!(found.accepted_share(|at| at == 0) > 0.65, "{}", found.accepted_share(|at| at == 0));
        assert!(found.accepted_share(|at| at > 0) < 0.03);
        assert_eq!(found, check(100, &truths, 200));
    }
}
