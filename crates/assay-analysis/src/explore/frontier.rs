//! Cost against score: a cheap model with a skill against a large one without.

use serde::Serialize;

use crate::model::{AgentKey, Arm};

/// The cost and the score of each arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Frontier {
    /// Arms of known cost, from the cheapest.
    pub points: Vec<FrontierPoint>,
    /// Arms that cannot be placed, for a trial of theirs has no known cost.
    pub unknown_cost: Vec<UnknownCost>,
}

/// An arm of known cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrontierPoint {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// Mean cost of a trial in USD.
    pub cost_usd: f64,
    /// Mean over tasks of the share of trials passed.
    pub pass_rate: f64,
    /// Its 95 % interval; `null` below 2 tasks.
    pub ci95: Option<[f64; 2]>,
    /// Mean over tasks of the mean score of their trials.
    pub score: f64,
    /// Its 95 % interval; `null` below 2 tasks.
    pub score_ci95: Option<[f64; 2]>,
    /// Whether no other arm costs no more and scores no less, one of the two strictly.
    pub on_frontier: bool,
}

/// An arm of unknown cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnknownCost {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// Mean over tasks of the share of trials passed; `null` without a task.
    pub pass_rate: Option<f64>,
    /// Mean over tasks of the mean score of their trials; `null` without a task.
    pub score: Option<f64>,
}

pub(super) fn frontier(arms: &[Arm]) -> Frontier {
    let known: Vec<(&Arm, f64, f64)> =
        arms.iter().filter_map(|arm| Some((arm, arm.cost_usd?, arm.score?))).collect();
    let mut points: Vec<FrontierPoint> = known
        .iter()
        .map(|&(arm, cost_usd, score)| FrontierPoint {
            who: arm.who.clone(),
            condition: arm.condition.clone(),
            cost_usd,
            pass_rate: arm.pass_rate.unwrap_or(score),
            ci95: arm.ci95,
            score,
            score_ci95: arm.score_ci95,
            on_frontier: !known.iter().any(|&(_, cost, other)| {
                cost <= cost_usd && other >= score && (cost < cost_usd || other > score)
            }),
        })
        .collect();
    points.sort_by(|one, other| {
        one.cost_usd.total_cmp(&other.cost_usd).then(one.score.total_cmp(&other.score))
    });
    let unknown = arms.iter().filter(|arm| arm.cost_usd.is_none() || arm.score.is_none());
    Frontier {
        points,
        unknown_cost: unknown
            .map(|arm| UnknownCost {
                who: arm.who.clone(),
                condition: arm.condition.clone(),
                pass_rate: arm.pass_rate,
                score: arm.score,
            })
            .collect(),
    }
}
