//! What the missing trials of a plan may cost: a range, before anything is spent.

use std::collections::BTreeMap;

use assay_stats::predicted_sum;
use assay_store::{Cell, PlannedAgent, Record, RunFolder, Selection, Store, StoreError, TrialId};
use serde::Serialize;

/// Most records of other runs that are read in search of similar trials.
const MOST_READ: usize = 2_000;

/// Fewest trials that show a spread.
const FEWEST: usize = 2;

/// What a range of cost rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostSource {
    /// The agent calls no model that anybody bills for.
    Free,
    /// Recorded trials of the arm, else of its agent in this plan.
    Records,
    /// Trials of the same agent and model elsewhere in the store.
    SimilarTrials,
    /// The price of the model and the caps of a trial: the range begins at 0.
    Caps,
}

/// A range of cost in USD.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostRange {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// What it rests on.
    pub from: CostSource,
}

/// The cost of the missing trials of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostForecast {
    /// Missing trials.
    pub trials: usize,
    /// Whether no agent with missing trials calls a model that is billed.
    pub free: bool,
    /// The sum of the arms' ranges in USD; `None` if one is unknown.
    pub range: Option<[f64; 2]>,
    /// The sum of the known ranges in USD, if some are known and others unknown.
    pub known: Option<[f64; 2]>,
    /// The agents, with their models, whose cost is unknown.
    pub unknown: Vec<String>,
    /// What the ranges rest on, each once.
    pub from: Vec<CostSource>,
}

/// Most USD of one trial of each agent, by its price and its caps; `None` where nothing bounds it.
pub type TrialCaps<'a> = &'a [Option<f64>];

/// The cost of the missing trials among the selected cells. At most `most` of them are executed.
///
/// # Errors
/// Records that cannot be read.
pub fn forecast_cost(
    plan: &RunFolder,
    caps: TrialCaps<'_>,
    store: &Store,
    only: &Selection,
    most: Option<usize>,
) -> Result<CostForecast, StoreError> {
    let mut records: BTreeMap<&TrialId, Record> = BTreeMap::new();
    for id in plan.trials() {
        if let Some(record) = counted_record(store, id)? {
            records.insert(id, record);
        }
    }
    let pool = Pool::of(plan, &records, store);
    let mut ranges = Vec::new();
    let mut missing = 0;
    for agent in 0..plan.agents.len() {
        for condition in &plan.conditions {
            let cells = plan.cells.iter().filter(|cell| {
                cell.agent == agent
                    && cell.condition == *condition
                    && only.matches(cell, &plan.agents[agent].label.name)
                    && !records.contains_key(&cell.trial)
            });
            let count = cells.count();
            if count > 0 {
                missing += count;
                ranges.push((agent, pool.range(agent, condition, count, caps)));
            }
        }
    }
    let mut found = sum(plan, &ranges);
    found.trials = missing;
    if let Some(most) = most.filter(|most| *most < missing) {
        let share = most as f64 / missing as f64;
        let part = |range: [f64; 2]| range.map(|end| share * end);
        found = CostForecast {
            trials: most,
            range: found.range.map(part),
            known: found.known.map(part),
            ..found
        };
    }
    Ok(found)
}

pub(crate) fn counted_record(store: &Store, id: &TrialId) -> Result<Option<Record>, StoreError> {
    match store.record(id) {
        Ok(record) => Ok(record.filter(|record| record.outcome.counts())),
        Err(StoreError::Format { .. } | StoreError::Version { .. } | StoreError::Changed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds up the ranges of arms, each with its agent.
pub(crate) fn sum(plan: &RunFolder, ranges: &[(usize, Option<CostRange>)]) -> CostForecast {
    let known: Vec<CostRange> = ranges.iter().filter_map(|(_, range)| *range).collect();
    let total = [known.iter().map(|range| range.low).sum(), known.iter().map(|range| range.high).sum()];
    let mut unknown: Vec<String> = Vec::new();
    for (agent, range) in ranges {
        let name = display_name(&plan.agents[*agent]);
        if range.is_none() && !unknown.contains(&name) {
            unknown.push(name);
        }
    }
    let mut from: Vec<CostSource> = Vec::new();
    for range in &known {
        if !from.contains(&range.from) {
            from.push(range.from);
        }
    }
    let paid = known.iter().any(|range| range.from != CostSource::Free);
    CostForecast {
        trials: 0,
        free: unknown.is_empty() && !paid,
        range: unknown.is_empty().then_some(total),
        known: (!unknown.is_empty() && paid).then_some(total),
        unknown,
        from,
    }
}

fn display_name(agent: &PlannedAgent) -> String {
    let model = agent.label.model.as_ref();
    model.map_or_else(|| agent.name().to_owned(), |model| format!("{} with {model}", agent.name()))
}

/// The known costs of trials like those of a plan, agent by agent.
pub(crate) struct Pool<'a> {
    plan: &'a RunFolder,
    /// By agent and condition.
    own: BTreeMap<(usize, &'a str), Vec<f64>>,
    /// By agent, of other runs; only where the plan has too few of its own.
    similar: BTreeMap<usize, Vec<f64>>,
}

impl<'a> Pool<'a> {
    pub(crate) fn of(plan: &'a RunFolder, records: &BTreeMap<&TrialId, Record>, store: &Store) -> Self {
        let mut own: BTreeMap<(usize, &str), Vec<f64>> = BTreeMap::new();
        for Cell { agent, condition, trial, .. } in &plan.cells {
            if let Some(usd) = records.get(trial).and_then(|record| record.cost_usd) {
                own.entry((*agent, condition)).or_default().push(usd);
            }
        }
        let known = |agent: usize| -> usize {
            own.iter().filter(|((of, _), _)| *of == agent).map(|(_, costs)| costs.len()).sum()
        };
        let wanted: Vec<usize> = (0..plan.agents.len())
            .filter(|agent| plan.agents[*agent].measures_a_model && known(*agent) < FEWEST)
            .collect();
        let mut similar: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        if !wanted.is_empty() {
            for (id, _) in store.trials().into_iter().take(MOST_READ) {
                let Ok(Some(record)) = counted_record(store, &id) else { continue };
                let Some(usd) = record.cost_usd else { continue };
                for agent in &wanted {
                    let label = &plan.agents[*agent].label;
                    if (&record.agent.name, &record.agent.model) == (&label.name, &label.model) {
                        similar.entry(*agent).or_default().push(usd);
                    }
                }
            }
        }
        Self { plan, own, similar }
    }

    /// The range of `count` further trials of an arm; `None` if nothing bounds it.
    pub(crate) fn range(
        &self,
        agent: usize,
        condition: &str,
        count: usize,
        caps: TrialCaps<'_>,
    ) -> Option<CostRange> {
        if !self.plan.agents[agent].measures_a_model {
            return Some(CostRange { low: 0.0, high: 0.0, from: CostSource::Free });
        }
        let cap = caps.get(agent).copied().flatten().map(|cap| cap * count as f64);
        let of_arm = self.own.get(&(agent, condition)).filter(|costs| costs.len() >= FEWEST).cloned();
        let of_agent = || {
            let own = self.own.iter().filter(|((of, _), _)| *of == agent);
            own.flat_map(|(_, costs)| costs.iter().copied()).collect::<Vec<_>>()
        };
        let own =
            predicted_sum(&of_arm.unwrap_or_else(of_agent), count).map(|sum| (sum, CostSource::Records));
        let similar = || {
            let sum = predicted_sum(self.similar.get(&agent)?, count)?;
            Some((sum, CostSource::SimilarTrials))
        };
        match (own.or_else(similar), cap) {
            (Some((sum, from)), cap) => {
                let high = cap.map_or(sum.high, |cap| sum.high.min(cap));
                Some(CostRange { low: sum.low.min(high), high, from })
            }
            (None, Some(high)) => Some(CostRange { low: 0.0, high, from: CostSource::Caps }),
            (None, None) => None,
        }
    }
}
