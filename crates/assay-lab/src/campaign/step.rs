//! Which trials come next.

use std::ops::Range;

use super::decision::{CampaignOutcome, CandidateDecision, CandidateOutcome, UndecidedReason};
use super::design::CampaignDesign;
use super::results::{Results, TrialArm, TrialKey};
use super::screening;

/// A campaign: its design, its candidates and its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Campaign {
    /// The design.
    pub design: CampaignDesign,
    /// Whether each candidate is shorter than the incumbent. Missing ones are not.
    pub shorter: Vec<bool>,
    /// The cluster of each task, development tasks first. Missing ones are on their own.
    pub clusters: Vec<Option<u64>>,
}

/// A part of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// The ranking of candidates on development tasks, 1 or 2.
    Screening(usize),
    /// The tasks until a look at the finalists, from 1.
    HeldOut(usize),
}

/// Trials that are executed together: each task under each arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialStage {
    /// Which part of the campaign it is.
    pub kind: StageKind,
    /// The tasks, by their numbers.
    pub tasks: Range<usize>,
    /// What is measured, and how often on each task.
    pub arms: Vec<(TrialArm, usize)>,
}

impl TrialStage {
    /// The trials, task by task, so that the arms of a task are measured at about the same time.
    pub fn trials(&self) -> impl Iterator<Item = TrialKey> + '_ {
        self.tasks.clone().flat_map(move |task| {
            self.arms.iter().flat_map(move |(arm, repetitions)| {
                (0..*repetitions).map(move |repetition| TrialKey { arm: *arm, task, repetition })
            })
        })
    }

    /// Whether all of its trials were executed.
    fn is_complete(&self, results: &Results) -> bool {
        self.trials().all(|trial| results.has(trial))
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// Trials. Some of them may have results.
    Measure(TrialStage),
    /// Nothing: the campaign has ended.
    End(CampaignOutcome),
}

impl Campaign {
    /// What comes next after these results. Results of other trials than those of the stages so far are not read.
    pub fn next_step(&self, results: &Results) -> NextStep {
        let finalists = match self.screen(results) {
            Ok(finalists) => finalists,
            Err(stage) => return NextStep::Measure(stage),
        };
        let mut candidates = vec![CandidateOutcome::unmeasured(); self.design.candidates];
        let mut open = finalists;
        let mut start = self.design.development;
        for (at, look) in self.design.looks.iter().enumerate() {
            let end = self.design.development + look;
            let stage = self.held_out(at, start..end, &open);
            if !stage.is_complete(results) {
                return NextStep::Measure(stage);
            }
            start = end;
            open.retain(|candidate| {
                let found = self.read_look(results, *candidate, at);
                let reason = match (found.is_futile, found.is_lossy) {
                    (true, _) => Some(UndecidedReason::Futile),
                    (false, true) => Some(UndecidedReason::Losses),
                    (false, false) => None,
                };
                candidates[*candidate] = CandidateOutcome {
                    decision: found.decision,
                    reason,
                    looks: at + 1,
                    held_out: Some(found.held_out),
                };
                found.decision == CandidateDecision::Undecided && !found.is_futile
            });
            if open.is_empty() || candidates.iter().any(|found| found.decision.is_accepted()) {
                break;
            }
        }
        NextStep::End(CampaignOutcome::of(candidates))
    }

    /// The finalists, or the stage of screening whose results are missing.
    fn screen(&self, results: &Results) -> Result<Vec<usize>, TrialStage> {
        let design = &self.design;
        let all: Vec<usize> = (0..design.candidates).collect();
        if !design.has_screening() {
            return Ok(all);
        }
        let measure = |number: usize, tasks: Range<usize>, candidates: &[usize]| {
            let arms = candidates.iter().map(|candidate| (TrialArm::Candidate(*candidate), 1)).collect();
            let stage = TrialStage { kind: StageKind::Screening(number), tasks, arms };
            if stage.is_complete(results) { Ok(()) } else { Err(stage) }
        };
        measure(1, 0..design.first, &all)?;
        let kept = screening::best(results, &all, 0..design.first, design.kept);
        if design.second == 0 {
            return Ok(kept);
        }
        let end = design.first + design.second;
        measure(2, design.first..end, &kept)?;
        Ok(screening::best(results, &kept, 0..end, design.finalists))
    }

    fn held_out(&self, at: usize, tasks: Range<usize>, open: &[usize]) -> TrialStage {
        let finalists =
            open.iter().map(|candidate| (TrialArm::Candidate(*candidate), self.design.repetitions));
        let incumbent = (TrialArm::Incumbent, self.design.incumbent_repetitions);
        TrialStage {
            kind: StageKind::HeldOut(at + 1),
            tasks,
            arms: std::iter::once(incumbent).chain(finalists).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::{CampaignSize, FINALISTS, MARGIN};

    fn campaign(tasks: usize, candidates: usize, repetitions: usize) -> Campaign {
        let size = CampaignSize::of(tasks, candidates, repetitions);
        let design = CampaignDesign::new(size, 0.025, Some(MARGIN)).unwrap();
        Campaign { design, shorter: Vec::new(), clusters: Vec::new() }
    }

    /// Executes a campaign with given scores; its stages and its end.
    fn execute(
        campaign: &Campaign,
        score: impl Fn(TrialKey) -> Option<f64>,
    ) -> (Vec<TrialStage>, CampaignOutcome, Results) {
        let (mut results, mut stages) = (Results::default(), Vec::new());
        loop {
            match campaign.next_step(&results) {
                NextStep::Measure(stage) => {
                    for trial in stage.trials() {
                        results.record(trial, score(trial));
                    }
                    stages.push(stage);
                }
                NextStep::End(outcome) => return (stages, outcome, results),
            }
        }
    }

    fn passes(trial: TrialKey, candidate: usize) -> f64 {
        f64::from(u8::from(trial.arm == TrialArm::Candidate(candidate) || trial.task.is_multiple_of(4)))
    }

    #[test]
    fn a_much_better_candidate_goes_through_all_stages_and_ends_the_campaign_early() {
        let campaign = campaign(100, 20, 3);
        let (stages, outcome, results) = execute(&campaign, |trial| Some(passes(trial, 13)));
        let kinds: Vec<StageKind> = stages.iter().map(|stage| stage.kind).collect();
        assert_eq!(kinds, [StageKind::Screening(1), StageKind::Screening(2), StageKind::HeldOut(1)]);
        assert_eq!((outcome.decision, outcome.accepted), (CandidateDecision::Better, Some(13)));
        assert_eq!(stages[0].arms.len(), 20);
        assert!(stages[1].arms.contains(&(TrialArm::Candidate(13), 1)) && stages[1].arms.len() == 10);
        assert_eq!(stages[2].arms[0], (TrialArm::Incumbent, 2));
        assert_eq!(stages[2].arms.len(), 1 + FINALISTS);
        let found = outcome.candidates[13];
        assert_eq!((found.looks, found.reason), (1, None));
        let held_out = found.held_out.unwrap();
        // 18 of the tasks 33 to 55 are not multiples of four.
        assert_eq!((held_out.tasks, results.len()), (23, 20 * 16 + 10 * 17 + 23 * 4));
        assert!((held_out.effect - 18.0 / 23.0).abs() < 1e-12 && held_out.interval.unwrap().low > 0.0);
        // The others were not measured on held-out tasks, or not long enough.
        let reasons: Vec<Option<UndecidedReason>> =
            outcome.candidates.iter().map(|found| found.reason).collect();
        assert_eq!(
            reasons.iter().filter(|reason| **reason == Some(UndecidedReason::NotSelected)).count(),
            18
        );
        assert!(
            outcome
                .candidates
                .iter()
                .enumerate()
                .all(|(at, found)| at == 13 || !found.decision.is_accepted())
        );
    }

    #[test]
    fn an_interrupted_campaign_goes_on_with_the_missing_trials() {
        let campaign = campaign(100, 5, 1);
        let (_, expected, all) = execute(&campaign, |trial| Some(passes(trial, 2)));
        let mut results = Results::default();
        let mut executed = 0;
        // One trial a time, as if the process were killed after each.
        let outcome = loop {
            match campaign.next_step(&results) {
                NextStep::Measure(stage) => {
                    let next = stage.trials().find(|trial| !results.has(*trial)).unwrap();
                    results.record(next, Some(passes(next, 2)));
                    executed += 1;
                }
                NextStep::End(outcome) => break outcome,
            }
        };
        assert_eq!((outcome, results, executed), (expected, all.clone(), all.len()));
    }

    #[test]
    fn results_of_later_stages_are_not_read() {
        let campaign = campaign(100, 5, 1);
        let mut results = Results::default();
        results.record(TrialKey { arm: TrialArm::Candidate(4), task: 90, repetition: 0 }, Some(1.0));
        let NextStep::Measure(stage) = campaign.next_step(&results) else { panic!() };
        assert_eq!((stage.kind, stage.tasks), (StageKind::Screening(1), 0..16));
    }

    #[test]
    fn one_candidate_on_few_tasks_has_one_look() {
        let campaign = campaign(20, 1, 3);
        let (stages, outcome, results) =
            execute(&campaign, |trial| Some(f64::from(u8::from(trial.task < 10))));
        assert_eq!((stages.len(), results.len()), (1, 120));
        assert_eq!((outcome.decision, outcome.accepted), (CandidateDecision::Undecided, None));
        assert_eq!(outcome.candidates[0].reason, Some(UndecidedReason::Noise));
    }

    #[test]
    fn shorter_and_worse_candidates() {
        let check = |shorter: bool, passes: fn(TrialKey) -> bool, expected: CandidateDecision| {
            let campaign = Campaign { shorter: vec![shorter], ..campaign(100, 1, 3) };
            let (_, outcome, _) = execute(&campaign, |trial| Some(f64::from(u8::from(passes(trial)))));
            assert_eq!(outcome.decision, expected, "{shorter}");
        };
        let equal: fn(TrialKey) -> bool = |trial| trial.task % 2 == 0;
        check(true, equal, CandidateDecision::NonInferiorAndShorter);
        check(false, equal, CandidateDecision::Undecided);
        check(
            true,
            |trial| trial.arm == TrialArm::Incumbent || trial.task % 2 == 0,
            CandidateDecision::Worse,
        );
    }

    #[test]
    fn a_candidate_without_prospect_is_dropped() {
        let campaign = campaign(100, 1, 3);
        // Better on a tenth of the tasks, worse on a fifth.
        let score = |trial: TrialKey| match (trial.arm, trial.task % 10) {
            (TrialArm::Candidate(_), 0) | (TrialArm::Incumbent, 1 | 2) => Some(1.0),
            _ => Some(0.0),
        };
        let (stages, outcome, _) = execute(&campaign, score);
        assert!(stages.len() < 3, "{stages:?}");
        assert_eq!(outcome.candidates[0].reason, Some(UndecidedReason::Futile));
    }

    #[test]
    fn lost_trials_leave_a_candidate_undecided() {
        let campaign = campaign(20, 1, 3);
        let score = |trial: TrialKey| match trial.arm {
            TrialArm::Incumbent => Some(0.0),
            // Every third trial of the candidate is lost.
            TrialArm::Candidate(_) if trial.repetition == 0 => None,
            TrialArm::Candidate(_) => Some(1.0),
        };
        let (_, outcome, _) = execute(&campaign, score);
        assert_eq!(outcome.candidates[0].reason, Some(UndecidedReason::Losses));
    }
}
