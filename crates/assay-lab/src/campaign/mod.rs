//! A campaign: candidates for a skill against the skill that is used, the incumbent, under one error budget.
//!
//! Tasks are divided into development tasks and held-out ones by a seed. Candidates are ranked on development tasks, in
//! up to two stages; the best of them, the finalists, are then compared with the incumbent on held-out tasks, which neither their
//! authors nor the ranking have seen, at up to three looks. [`Campaign::next_step`] says which trials come next, given the results so
//! far, or what was decided: executors and the simulation of error rates call the same function, and a campaign that was
//! interrupted goes on from its results.
//!
//! The ranking cannot make a false acceptance more probable, because its tasks are not those of the decision: the level of
//! the campaign is divided by the finalists alone (Bonferroni), however many candidates there were. Looks share the level of a
//! finalist by [`assay_stats::spending`].

mod decision;
mod design;
mod forecast;
mod look;
mod results;
mod screening;
mod simulation;
mod split;
mod step;

pub use decision::{
    CampaignDecision, CampaignOutcome, CandidateDecision, CandidateOutcome, HeldOut, UndecidedReason,
};
pub use design::{
    CampaignDesign, CampaignSize, DesignError, FEWEST_SPLIT, FINALISTS, MARGIN, MOST_TRIALS, campaign_level,
    development_tasks,
};
pub use forecast::{CampaignForecast, MarginRefused};
pub use results::{Results, TrialArm, TrialKey};
pub use simulation::{CampaignFigures, CandidateTruth, World, run_simulated, simulate_campaigns};
pub use split::{Split, SplitTask, question_id};
pub use step::{Campaign, NextStep, StageKind, TrialStage};
