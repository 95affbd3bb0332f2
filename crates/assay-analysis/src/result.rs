//! The parts of a record that a report needs: no paths, no evidence, and of its tests only whether
//! they passed.

use std::collections::BTreeMap;

use assay_store::{
    Cause, Estimated, Judgement, Metered, Outcome, OutcomeKind, OutcomeValues, Record, TrialId,
};
use assay_usage::Usage;

use crate::checks::{SetCheck, labeled, verdicts};
use crate::delivery::DeliveryFacts;

/// One trial's result.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct TrialResult {
    pub(crate) trial: TrialId,
    /// From 1.
    pub(crate) repetition: u32,
    pub(crate) outcome: Outcome,
    pub(crate) cause: Option<Cause>,
    /// Whether the trial counts or is finally lost.
    pub(crate) done: bool,
    /// The outcome value by the run's rule, in [0, 1]; `None` if the trial has no result.
    pub(crate) score: Option<f64>,
    /// The outcome values by every rule.
    pub(crate) values: OutcomeValues,
    /// The lowest and the highest reward outside [0, 1] that was clamped.
    pub(crate) outside: Option<[f64; 2]>,
    /// When it began and ended, in seconds since 1970.
    pub(crate) period: Option<[f64; 2]>,
    /// Replies of the model; `None` if unknown.
    pub(crate) turns: Option<usize>,
    /// Whether there was at least one, by the transcript or by the gateway.
    pub(crate) replied: bool,
    /// Tokens, if they were counted.
    pub(crate) usage: Option<Usage>,
    /// Whether it is unknown how much of them a cache answered.
    pub(crate) cache_unknown: bool,
    /// In USD, if there is a price.
    pub(crate) cost_usd: Option<f64>,
    /// How much of both is an estimate.
    pub(crate) estimated: Option<Estimated>,
    /// The models in the provider's replies, with the number of replies.
    pub(crate) replied_models: BTreeMap<String, u64>,
    /// The agent's own time, in seconds; `None` if unknown, as in some imported trials.
    pub(crate) seconds: Option<f64>,
    /// Which stages any skill reached: offered, advertised, mentioned, opened, executed; `None` if unknown.
    pub(crate) exposure: Option<[bool; 5]>,
    /// Whether the condition's treatment was there for the agent.
    pub(crate) delivery: DeliveryFacts,
    /// Whether a skill of the experiment was there that had not been provided.
    pub(crate) contaminated: bool,
    /// Whether some of its evidence was not kept.
    pub(crate) evidence_lost: bool,
    /// Whether the reward was read after the agent's deadline, with nothing having ended the agent.
    pub(crate) late: bool,
    /// The gateway's counts.
    pub(crate) metered: Option<Metered>,
    /// Numbers of the record and keys of the reward file, by name.
    pub(crate) numbers: BTreeMap<String, f64>,
    /// The verifier's tests by name, and whether each passed.
    pub(crate) tests: BTreeMap<String, bool>,
    /// The tests of which the verifier says to which set they belong.
    pub(crate) set_checks: Vec<SetCheck>,
    /// The judge's verdicts, without quotations and reasons.
    pub(crate) judgement: Option<Box<Judgement>>,
}

impl From<&Record> for TrialResult {
    fn from(record: &Record) -> Self {
        let values = record.outcome_values();
        let any = |fact: fn(&assay_trace::Exposure) -> bool| record.skills().iter().any(fact);
        Self {
            trial: record.trial.clone(),
            repetition: record.repetition,
            outcome: record.outcome,
            cause: record.cause,
            done: record.is_done(),
            score: values.of(OutcomeKind::Mean),
            values,
            outside: outside(record.outcome, record.reward, &record.rewards),
            period: period(record.started_at.as_deref(), record.finished_at.as_deref()),
            turns: record.turns,
            replied: has_reply(record.turns, record.metered.as_ref()),
            usage: record.usage,
            cache_unknown: record.cache_unknown,
            cost_usd: record.cost_usd,
            estimated: record.estimated,
            replied_models: record.replied_models.clone(),
            seconds: record.seconds.agent,
            exposure: record.exposure.is_some().then(|| {
                [
                    any(|skill| skill.offered),
                    any(|skill| skill.advertised.is_some()),
                    any(|skill| skill.mentioned.is_some()),
                    any(|skill| skill.opened.is_some()),
                    any(|skill| skill.executed.is_some()),
                ]
            }),
            delivery: DeliveryFacts::of(record, has_reply(record.turns, record.metered.as_ref())),
            contaminated: !record.contaminated.is_empty(),
            evidence_lost: record.evidence.as_ref().is_some_and(|evidence| evidence.count() > 0),
            late: record.late,
            metered: record.metered,
            // A key that is part of the score can be a metric too.
            numbers: record.rewards.clone().into_iter().chain(record.numbers.clone()).collect(),
            tests: verdicts(record),
            set_checks: labeled(record),
            judgement: record.judgement.as_ref().map(|own| Box::new(without_evidence(own))),
        }
    }
}

fn without_evidence(judgement: &Judgement) -> Judgement {
    let mut judgement = judgement.clone();
    for item in &mut judgement.items {
        (item.quote, item.reason) = (None, String::new());
    }
    judgement
}

/// The lowest and the highest reward of a trial, if one is outside [0, 1].
fn outside(outcome: Outcome, reward: Option<f64>, rewards: &BTreeMap<String, f64>) -> Option<[f64; 2]> {
    let scored = matches!(outcome, Outcome::Passed | Outcome::Failed);
    let all = || rewards.values().copied().chain(reward.filter(|_| rewards.is_empty()));
    let is_outside = |reward: f64| !(0.0..=1.0).contains(&reward);
    (scored && all().any(is_outside))
        .then(|| [all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)])
}

/// Two times in seconds since 1970; `None` if the first is unknown.
fn period(started: Option<&str>, finished: Option<&str>) -> Option<[f64; 2]> {
    let seconds = |time: &str| {
        let time: jiff::Timestamp = time.parse().ok()?;
        Some(time.as_duration().as_secs_f64())
    };
    let from = seconds(started?)?;
    Some([from, finished.and_then(seconds).unwrap_or(from).max(from)])
}

/// Whether a model replied. The gateway's count takes precedence: an unreadable transcript has no
/// turns.
fn has_reply(turns: Option<usize>, metered: Option<&Metered>) -> bool {
    let turns = turns.unwrap_or_default();
    metered.map_or(turns > 0, |metered| {
        metered.requests > 0 && (turns > 0 || metered.tokens > metered.estimated_tokens)
    })
}
