//! What a campaign decides.

use assay_stats::Interval;

/// The decision on a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CandidateDecision {
    /// Its pass rate on the population of tasks is higher than the incumbent's.
    Better,
    /// It is shorter, and its pass rate is not lower by the margin or more.
    NonInferiorAndShorter,
    /// Nothing was shown.
    Undecided,
    /// Its pass rate is lower than the incumbent's.
    Worse,
}

impl CandidateDecision {
    /// The word in reports and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NonInferiorAndShorter => "non-inferior-and-shorter",
            Self::Undecided => "undecided",
            Self::Worse => "worse",
        }
    }

    /// Whether the candidate may take the incumbent's place.
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::Better | Self::NonInferiorAndShorter)
    }
}

/// The decision of a campaign: that on the accepted candidate; without one `worse` if all candidates are, and else `undecided`.
pub type CampaignDecision = CandidateDecision;

/// Why a candidate is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndecidedReason {
    /// Screening sent others to held-out tasks.
    NotSelected,
    /// Another candidate was accepted before.
    AnotherAccepted,
    /// The remaining tasks were unlikely to show anything.
    Futile,
    /// Lost trials could change the decision.
    Losses,
    /// The interval of the last look shows nothing.
    Noise,
}

impl UndecidedReason {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotSelected => "not-selected",
            Self::AnotherAccepted => "another-accepted",
            Self::Futile => "futile",
            Self::Losses => "losses",
            Self::Noise => "noise",
        }
    }

    /// The reason as a sentence.
    pub fn as_sentence(self) -> &'static str {
        match self {
            Self::NotSelected => {
                "Screening on development tasks sent other candidates to the held-out tasks."
            }
            Self::AnotherAccepted => "The campaign ended with the acceptance of another candidate.",
            Self::Futile => "Stopped: the remaining held-out tasks were unlikely to decide it.",
            Self::Losses => "Trials without a result could change the decision.",
            Self::Noise => "The held-out tasks do not decide it.",
        }
    }
}

/// The estimate on held-out tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// The mean over tasks of the candidate's mean less the incumbent's.
    pub effect: f64,
    /// Its interval at the last look. The intervals of all looks together contain the true effect with the probability
    /// [`HeldOut::confidence`]. `None` under five tasks or effective clusters.
    pub interval: Option<Interval>,
    /// The confidence of the interval: 1 − 2·level/finalists.
    pub confidence: f64,
    /// Held-out tasks with a result of both.
    pub tasks: usize,
}

/// What became known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateOutcome {
    /// The decision.
    pub decision: CandidateDecision,
    /// Why it is undecided; `None` for the other decisions.
    pub reason: Option<UndecidedReason>,
    /// Looks at its results on held-out tasks.
    pub looks: usize,
    /// The estimate at the last of them; `None` for a candidate that was not measured on held-out tasks.
    pub held_out: Option<HeldOut>,
}

impl CandidateOutcome {
    /// A candidate of which held-out tasks say nothing.
    pub(super) fn unmeasured() -> Self {
        Self {
            decision: CandidateDecision::Undecided,
            reason: Some(UndecidedReason::NotSelected),
            looks: 0,
            held_out: None,
        }
    }
}

/// The end of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct CampaignOutcome {
    /// The decision.
    pub decision: CampaignDecision,
    /// The number of the accepted candidate.
    pub accepted: Option<usize>,
    /// What became known of each candidate.
    pub candidates: Vec<CandidateOutcome>,
}

impl CampaignOutcome {
    /// The end of a campaign with these candidates. If several are accepted at the same look, it is the one with the better
    /// decision, and with the larger effect.
    pub(super) fn of(mut candidates: Vec<CandidateOutcome>) -> Self {
        let effect =
            |found: &CandidateOutcome| found.held_out.map_or(f64::NEG_INFINITY, |found| found.effect);
        let accepted =
            (0..candidates.len()).filter(|at| candidates[*at].decision.is_accepted()).min_by(|one, other| {
                let (one, other) = (&candidates[*one], &candidates[*other]);
                one.decision.cmp(&other.decision).then(effect(other).total_cmp(&effect(one)))
            });
        let all_worse = candidates.iter().all(|found| found.decision == CandidateDecision::Worse);
        let decision = match accepted {
            Some(at) => candidates[at].decision,
            None if all_worse => CandidateDecision::Worse,
            None => CandidateDecision::Undecided,
        };
        for found in &mut candidates {
            let open = found.decision == CandidateDecision::Undecided && found.reason.is_none();
            if open {
                found.reason = Some(if accepted.is_some() {
                    UndecidedReason::AnotherAccepted
                } else {
                    UndecidedReason::Noise
                });
            }
        }
        Self { decision, accepted, candidates }
    }
}
