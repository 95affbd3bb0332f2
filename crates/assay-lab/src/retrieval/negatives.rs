//! When no skill fits: false triggers against recall, risk against coverage, over all thresholds.

use serde::Serialize;

use super::Run;
use super::pool::Pool;

/// How far down a triggered skill is searched for.
const TRIGGER_DEPTH: usize = 5;

/// The results of a retriever for requests that must not lead to certain skills.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct NegativeFindings {
    /// In which pool.
    pub(crate) pool: &'static str,
    /// The retriever.
    pub(crate) retriever: String,
    /// Negative requests whose skills are in the pool.
    pub(crate) requests: usize,
    /// The highest threshold that keeps at least four fifths of the achievable Recall@5.
    pub(crate) default: Option<Threshold>,
    /// From 0 upward.
    pub(crate) curve: Vec<Threshold>,
}

/// What becomes of requests where only skills count whose share of the ceiling is at least
/// `threshold`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "fields are the keys of the document")]
pub(crate) struct Threshold {
    /// Share of the highest score that a document could have for the request.
    pub(crate) threshold: f64,
    /// Share of negative requests with a forbidden skill among the first five.
    pub(crate) false_triggers: f64,
    /// Recall@5 of the queries, as a share of that without a threshold.
    pub(crate) recall_kept: f64,
    /// Share of queries with any skill left.
    pub(crate) coverage: f64,
    /// Of those, the share whose first skill is wrong.
    pub(crate) risk: f64,
}

/// Steps of the threshold curve.
const STEPS: u32 = 50;

/// The effect of each threshold on the requests of a pool, and on those that must not lead to
/// certain skills.
pub(super) fn negative(pool: &Pool<'_>, run: &Run) -> NegativeFindings {
    let share = |score: f32, ceiling: f32| if ceiling > 0.0 { f64::from(score / ceiling) } else { 0.0 };
    // For each negative request, how sure the retriever is of a skill that must not be found.
    let wrong: Vec<f64> = pool
        .negatives
        .iter()
        .zip(&run.negatives)
        .map(|(negative, (ranking, ceiling))| {
            let found = ranking.iter().take(TRIGGER_DEPTH).filter(|(id, _)| negative.not.contains(id));
            found.map(|(_, score)| share(*score, *ceiling)).fold(-1.0, f64::max)
        })
        .collect();
    let at = |threshold: f64| {
        let (mut recall, mut covered, mut wrong_first) = (0.0, 0_usize, 0_usize);
        for ((query, ranking), ceiling) in pool.queries.iter().zip(&run.rankings).zip(&run.ceilings) {
            let left = |(_, score): &&(String, f32)| share(*score, *ceiling) >= threshold;
            let kept: Vec<&(String, f32)> = ranking.iter().take(TRIGGER_DEPTH).filter(left).collect();
            let found = kept.iter().filter(|(id, _)| query.gold.contains(id)).count();
            recall += found as f64 / query.gold.len().max(1) as f64;
            if let Some((id, _)) = kept.first() {
                covered += 1;
                wrong_first += usize::from(!query.gold.contains(id));
            }
        }
        let triggered = wrong.iter().filter(|share| **share >= threshold).count();
        let queries = pool.queries.len().max(1) as f64;
        let risk = if covered > 0 { wrong_first as f64 / covered as f64 } else { 0.0 };
        let false_triggers = triggered as f64 / wrong.len().max(1) as f64;
        (
            recall / queries,
            Threshold {
                threshold,
                false_triggers,
                recall_kept: 0.0,
                coverage: covered as f64 / queries,
                risk,
            },
        )
    };
    let (achievable, _) = at(0.0);
    let curve: Vec<Threshold> = (0..=STEPS)
        .map(|step| {
            let (recall, point) = at(f64::from(step) / f64::from(STEPS));
            let recall_kept = if achievable > 0.0 { recall / achievable } else { 0.0 };
            Threshold { recall_kept, ..point }
        })
        .collect();
    let default = curve.iter().rev().find(|point| point.recall_kept >= 0.8).copied();
    let (retriever, requests) = (run.retriever.clone(), pool.negatives.len());
    NegativeFindings {
        pool: pool.name,
        retriever,
        requests,
        default: default.filter(|_| requests > 0),
        curve,
    }
}
