//! What a campaign can show, before it spends anything.

use assay_stats::plan::{Impossible, POWER};
use assay_stats::simulate::Baseline;

use super::simulation::{CandidateTruth, simulate_campaigns};
use super::step::Campaign;

/// Simulated campaigns of a forecast: a power of 80% is known to ±2.5 pp.
const CAMPAIGNS: u64 = 1_000;

/// The seed: a power that is printed is the same in each run.
const SEED: u64 = 1;

/// What a campaign is expected to come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CampaignForecast {
    /// The true lift of one of the candidates; the others are equal to the incumbent.
    pub lift: f64,
    /// The probability that this candidate is accepted.
    pub power: f64,
    /// Trials on average.
    pub trials: f64,
    /// Trials at most.
    pub most_trials: usize,
}

/// Why a margin is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a shorter candidate that is equal would be accepted in {:.0}% of campaigns with a margin of {margin}, and {:.0}% are needed",
    100.0 * power, 100.0 * POWER
)]
pub struct MarginRefused {
    /// The margin.
    pub margin: f64,
    /// The probability that an equal candidate is accepted.
    pub power: f64,
}

impl Campaign {
    /// What the campaign comes to if one candidate is better by `lift` on average over the population of tasks.
    pub fn forecast(&self, baseline: Baseline, lift: f64) -> Result<CampaignForecast, Impossible> {
        let mut truths = vec![CandidateTruth::Equal; self.design.candidates];
        if let Some(first) = truths.first_mut() {
            *first = CandidateTruth::lift(baseline, lift)?;
        }
        // To be accepted for its length is not to be found.
        let campaign = Self { shorter: Vec::new(), ..self.clone() };
        let figures = simulate_campaigns(&campaign, baseline, &truths, CAMPAIGNS, SEED);
        Ok(CampaignForecast {
            lift,
            power: figures.accepted_share(|at| at == 0),
            trials: figures.trials.iter().sum::<usize>() as f64 / CAMPAIGNS as f64,
            most_trials: self.design.trials(),
        })
    }

    /// The probability that a candidate is accepted if all are shorter than the incumbent and equal to it on every task.
    pub fn equal_power(&self, baseline: Baseline) -> f64 {
        let campaign = Self { shorter: vec![true; self.design.candidates], ..self.clone() };
        let truths = vec![CandidateTruth::Equal; self.design.candidates];
        simulate_campaigns(&campaign, baseline, &truths, CAMPAIGNS, SEED).accepted_share(|_| true)
    }

    /// Checks that the margin of the design has enough power for an equal candidate: a margin that hardly ever shows anything invites
    /// to a wider one afterwards.
    pub fn check_margin(&self, baseline: Baseline) -> Result<(), MarginRefused> {
        let Some(margin) = self.design.margin else { return Ok(()) };
        let power = self.equal_power(baseline);
        if power < POWER { Err(MarginRefused { margin, power }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{CampaignDesign, CampaignSize, MARGIN};

    fn campaign(tasks: usize, margin: f64) -> Campaign {
        let design = CampaignDesign::new(CampaignSize::of(tasks, 1, 3), 0.025, Some(margin)).unwrap();
        Campaign { design, shorter: Vec::new(), clusters: Vec::new() }
    }

    /// The power of one acceptance at +20 pp is about 30%, 51% and 70% with 12, 20 and 30 tasks.
    #[test]
    fn power_is_known_before_trials_are() {
        for (tasks, least, most) in [(12, 0.2, 0.45), (20, 0.4, 0.65), (30, 0.58, 0.85)] {
            let found = campaign(tasks, MARGIN).forecast(Baseline::default(), 0.2).unwrap();
            assert!(found.power > least && found.power < most, "{tasks}: {found:?}");
            assert!(found.trials <= found.most_trials as f64 && found.most_trials == 6 * tasks);
        }
        assert!(campaign(12, MARGIN).forecast(Baseline::default(), 2.0).is_err());
    }

    #[test]
    fn margins_without_power_are_refused() {
        let refused = campaign(12, MARGIN).check_margin(Baseline::default()).unwrap_err();
        assert!(refused.power < 0.5, "{refused:?}");
        assert!(refused.to_string().contains("with a margin of 0.1, and 80% are needed"), "{refused}");
        assert_eq!(campaign(100, 0.2).check_margin(Baseline::default()), Ok(()));
    }
}
