//! How many trials a campaign takes, of what, and at which level it decides.

use assay_stats::spending::{Sides, nominal_levels};

/// With fewer tasks than this none are set apart for screening: the finalists are all candidates.
pub const FEWEST_SPLIT: usize = 40;

/// One in so many tasks is a development task.
const DEVELOPMENT_PART: usize = 3;

/// Candidates that go on to held-out tasks, where there is screening.
pub const FINALISTS: usize = 2;

/// Candidates that the first stage of screening leaves at most.
const MOST_KEPT: usize = 10;

/// Held-out tasks from which on there are three looks; and two.
const TASKS_FOR_LOOKS: [(usize, usize); 2] = [(60, 3), (30, 2)];

/// Trials of a campaign at most, unless more are allowed: twenty candidates on a hundred tasks take 758.
pub const MOST_TRIALS: usize = 760;

/// The margin by which a shorter candidate may be worse at most, unless another is given.
pub const MARGIN: f64 = 0.10;

/// The fewest held-out tasks: an interval needs as many.
const FEWEST_HELD_OUT: usize = 5;

/// The largest campaign that is planned.
const LARGEST: usize = 100_000;

/// What a campaign has to work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CampaignSize {
    /// Development tasks: [`development_tasks`] of all, or what clusters of tasks leave of it.
    pub development: usize,
    /// Held-out tasks.
    pub held_out: usize,
    /// Candidates.
    pub candidates: usize,
    /// Trials of a finalist on a held-out task at most.
    pub repetitions: usize,
    /// Trials at most.
    pub most_trials: usize,
}

impl CampaignSize {
    /// The size of a campaign on so many tasks, none of which share a cluster.
    pub fn of(tasks: usize, candidates: usize, repetitions: usize) -> Self {
        let development = development_tasks(tasks);
        Self { development, held_out: tasks - development, candidates, repetitions, most_trials: MOST_TRIALS }
    }
}

/// How many of so many tasks are development tasks: none under [`FEWEST_SPLIT`], and else a third.
///
/// It does not depend on the number of candidates: later campaigns of other candidates have the same held-out tasks.
pub fn development_tasks(tasks: usize) -> usize {
    if tasks < FEWEST_SPLIT { 0 } else { tasks / DEVELOPMENT_PART }
}

/// The one-sided level of the campaign with number `number`, from 1, on the same held-out tasks: budget/(j(j + 1)).
///
/// The levels of any number of campaigns sum to the budget, because Σ 1/(j(j + 1)) = Σ (1/j − 1/(j + 1)) = 1. The first has
/// half of it.
pub fn campaign_level(budget: f64, number: u32) -> f64 {
    let number = f64::from(number.max(1));
    budget / (number * (number + 1.0))
}

/// Why there is no design.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// No candidate.
    #[error("a campaign needs a candidate")]
    NoCandidate,
    /// No interval.
    #[error("a decision needs at least {FEWEST_HELD_OUT} held-out tasks, and there are {0}")]
    FewTasks(usize),
    /// The smallest campaign is too large.
    #[error(
        "{needed} trials are the least that {candidates} candidates on {tasks} tasks take, and {most} are allowed"
    )]
    ManyTrials {
        /// Trials with one repetition.
        needed: usize,
        /// Candidates.
        candidates: usize,
        /// Tasks, of both parts.
        tasks: usize,
        /// Trials that are allowed.
        most: usize,
    },
    /// Too large to be planned.
    #[error("a campaign of more than {LARGEST} trials is not planned")]
    TooLarge,
    /// A level or margin that is none.
    #[error("the {0} must be between 0 and 1")]
    Range(&'static str),
}

/// The stages of a campaign, fixed before its first trial.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignDesign {
    /// Candidates.
    pub candidates: usize,
    /// Development tasks on which all candidates are ranked, with one trial each; 0 without screening.
    pub first: usize,
    /// Further development tasks, for those that are kept; 0 without a second stage.
    pub second: usize,
    /// Candidates that the first stage keeps.
    pub kept: usize,
    /// Development tasks, whether or not screening uses them.
    pub development: usize,
    /// Candidates on held-out tasks at most.
    pub finalists: usize,
    /// Trials of a finalist on a held-out task.
    pub repetitions: usize,
    /// Trials of the incumbent on a held-out task.
    pub incumbent_repetitions: usize,
    /// The number of held-out tasks at each look, ascending; the last has all.
    pub looks: Vec<usize>,
    /// The one-sided level of the campaign.
    pub level: f64,
    /// The one-sided nominal level of each look at one finalist.
    pub levels: Vec<f64>,
    /// By how much a shorter candidate may be worse, in (0, 1); `None` if no candidate is accepted as non-inferior.
    pub margin: Option<f64>,
}

impl CampaignDesign {
    /// The design of a campaign at a one-sided level.
    ///
    /// Finalists have as many repetitions as are asked for, or as many as the allowed trials leave; the incumbent has √f
    /// times as many for f finalists, which is the allocation with the least variance of the differences at a number of trials
    /// (Dunnett, Journal of the American Statistical Association 50, 1955, 1096–1121).
    pub fn new(size: CampaignSize, level: f64, margin: Option<f64>) -> Result<Self, DesignError> {
        check(size, level, margin)?;
        let screened = size.development > 0 && size.candidates > FINALISTS;
        let finalists = if screened { FINALISTS } else { size.candidates };
        let kept =
            if screened { size.candidates.div_ceil(2).clamp(FINALISTS, MOST_KEPT) } else { size.candidates };
        let first = match (screened, kept > finalists) {
            (false, _) => 0,
            // One stage is enough where the first leaves no more than the finalists.
            (true, false) => size.development,
            (true, true) => size.development / 2,
        };
        let second = if screened { size.development - first } else { 0 };
        let looks = looks(size.held_out);
        let times: Vec<f64> = looks.iter().map(|look| *look as f64 / size.held_out as f64).collect();
        let design = |repetitions: usize| Self {
            candidates: size.candidates,
            first,
            second,
            kept,
            development: size.development,
            finalists,
            repetitions,
            incumbent_repetitions: times_root(repetitions, finalists),
            looks: looks.clone(),
            level,
            levels: Vec::new(),
            margin,
        };
        let fits = |repetitions: &usize| design(*repetitions).trials() <= size.most_trials;
        let found = (1..=size.repetitions.max(1)).rev().find(fits).map(design);
        let levels = nominal_levels(level / finalists as f64, &times, Sides::One);
        found.map(|design| Self { levels, ..design }).ok_or_else(|| DesignError::ManyTrials {
            needed: design(1).trials(),
            candidates: size.candidates,
            tasks: size.development + size.held_out,
            most: size.most_trials,
        })
    }

    /// Trials at most.
    pub fn trials(&self) -> usize {
        let screening =
            self.candidates * self.first + if self.second > 0 { self.kept * self.second } else { 0 };
        screening + self.held_out() * (self.finalists * self.repetitions + self.incumbent_repetitions)
    }

    /// Held-out tasks.
    pub fn held_out(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }

    /// Whether candidates are ranked on development tasks.
    pub fn has_screening(&self) -> bool {
        self.first > 0
    }

    /// The same without acceptance of candidates that are only non-inferior, or with another margin for it.
    #[must_use]
    pub fn with_margin(self, margin: Option<f64>) -> Self {
        Self { margin, ..self }
    }
}

fn check(size: CampaignSize, level: f64, margin: Option<f64>) -> Result<(), DesignError> {
    let inside = |value: f64| value > 0.0 && value < 1.0;
    if size.candidates == 0 {
        return Err(DesignError::NoCandidate);
    }
    if size.held_out < FEWEST_HELD_OUT {
        return Err(DesignError::FewTasks(size.held_out));
    }
    if !inside(level) {
        return Err(DesignError::Range("level"));
    }
    if !margin.is_none_or(inside) {
        return Err(DesignError::Range("margin"));
    }
    let tasks = size.development.saturating_add(size.held_out);
    let largest = tasks.saturating_mul(size.candidates).saturating_mul(size.repetitions.max(1));
    if largest > LARGEST { Err(DesignError::TooLarge) } else { Ok(()) }
}

/// Looks at equal parts of the held-out tasks.
fn looks(held_out: usize) -> Vec<usize> {
    let count = TASKS_FOR_LOOKS.iter().find(|(tasks, _)| held_out >= *tasks).map_or(1, |(_, looks)| *looks);
    (1..=count).map(|part| (held_out * part).div_ceil(count)).collect()
}

/// The least whole number of at least `repetitions`·√`finalists`.
fn times_root(repetitions: usize, finalists: usize) -> usize {
    let square = repetitions.saturating_mul(repetitions).saturating_mul(finalists);
    let root = square.isqrt();
    if root * root < square { root + 1 } else { root }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(tasks: usize, candidates: usize, repetitions: usize) -> CampaignDesign {
        CampaignDesign::new(CampaignSize::of(tasks, candidates, repetitions), 0.025, Some(MARGIN)).unwrap()
    }

    #[test]
    fn twenty_candidates_on_a_hundred_tasks() {
        let found = design(100, 20, 3);
        assert_eq!((found.first, found.kept, found.second), (16, 10, 17));
        assert_eq!((found.finalists, found.repetitions, found.incumbent_repetitions), (2, 1, 2));
        assert_eq!(found.looks, [23, 45, 67]);
        assert_eq!(found.trials(), 20 * 16 + 10 * 17 + 67 * 4);
        assert!(found.trials() <= MOST_TRIALS);
        // The looks share half of the level.
        assert!(found.levels.is_sorted() && found.levels.iter().sum::<f64>() > 0.0125, "{:?}", found.levels);
    }

    #[test]
    fn sizes() {
        // Tasks, candidates, repetitions: stages, finalists, repetitions of both, looks.
        type Sizes = ([usize; 3], usize, [usize; 2], Vec<usize>);
        let check = |tasks: usize, candidates: usize, expected: Sizes| {
            let found = design(tasks, candidates, 3);
            let stages = [found.first, found.kept, found.second];
            let repetitions = [found.repetitions, found.incumbent_repetitions];
            assert_eq!((stages, found.finalists, repetitions, found.looks), expected, "{tasks} {candidates}");
        };
        check(12, 1, ([0, 1, 0], 1, [3, 3], vec![12]));
        check(12, 3, ([0, 3, 0], 3, [3, 6], vec![12]));
        check(12, 20, ([0, 20, 0], 20, [2, 9], vec![12]));
        check(30, 1, ([0, 1, 0], 1, [3, 3], vec![15, 30]));
        check(39, 2, ([0, 2, 0], 2, [3, 5], vec![20, 39]));
        // A third of 40 is set apart, whether or not it is needed.
        check(40, 2, ([0, 2, 0], 2, [3, 5], vec![27]));
        check(40, 3, ([13, 2, 0], 2, [3, 5], vec![27]));
        check(100, 1, ([0, 1, 0], 1, [3, 3], vec![23, 45, 67]));
        check(100, 5, ([16, 3, 17], 2, [2, 3], vec![23, 45, 67]));
    }

    #[test]
    fn what_cannot_be_planned() {
        let check = |size: CampaignSize, expected: DesignError| {
            assert_eq!(CampaignDesign::new(size, 0.025, None), Err(expected), "{size:?}");
        };
        check(CampaignSize::of(30, 0, 3), DesignError::NoCandidate);
        check(CampaignSize::of(4, 1, 3), DesignError::FewTasks(4));
        let many = DesignError::ManyTrials { needed: 2038, candidates: 100, tasks: 100, most: MOST_TRIALS };
        check(CampaignSize::of(100, 100, 3), many);
        check(CampaignSize::of(1000, 100, 3), DesignError::TooLarge);
        let size = CampaignSize::of(30, 1, 3);
        assert_eq!(CampaignDesign::new(size, 0.0, None), Err(DesignError::Range("level")));
        assert_eq!(CampaignDesign::new(size, 0.025, Some(1.0)), Err(DesignError::Range("margin")));
    }

    #[test]
    fn campaigns_share_the_budget() {
        let sum: f64 = (1..=10_000).map(|number| campaign_level(0.05, number)).sum();
        assert!(sum < 0.05 && sum > 0.0499, "{sum}");
        assert!((campaign_level(0.05, 1) - 0.025).abs() < 1e-15);
        assert!((campaign_level(0.05, 2) - 0.05 / 6.0).abs() < 1e-15);
    }
}
