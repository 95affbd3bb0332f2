//! What the trials of a gate may cost, before the first of them is executed.

use assay_agent::LoopOptions;
use assay_analysis::{CostSource, forecast_cost};
use assay_diagnostic::group_digits;
use assay_report::counted;
use assay_store::{Cell, RunFolder, Selection, Store, StoreError, TrialId};
use assay_trial::Plan;
use serde::Serialize;

/// Trials, tokens and US dollars of a gate.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CostForecast {
    /// Planned trials, without those of the checks of tasks; with rounds, those of the first.
    pub(crate) trials: usize,
    /// Those without a result.
    pub(crate) missing: usize,
    /// Those without a result if every skill takes all of its rounds.
    pub(crate) missing_most: usize,
    /// The most rounds of a skill.
    pub(crate) rounds: usize,
    /// Trials of the checks of tasks without a result. They call no model.
    pub(crate) checks: usize,
    /// Missing trials whose results judges decide, in all rounds.
    pub(crate) judged: usize,
    /// Tokens of the missing ones by those that are recorded; `null` if there are none like them.
    pub(crate) tokens_expected: Option<u64>,
    /// Tokens at most, by the caps of the agents; `null` if nothing bounds them, as those of judges.
    pub(crate) tokens_most: Option<u64>,
    /// US dollars by recorded trials; `null` if there are none like them.
    pub(crate) usd_expected: Option<f64>,
    /// US dollars at most, by prices and caps; `null` if nothing bounds them, as those of judges that are billed.
    pub(crate) usd_most: Option<f64>,
    /// The cap of the gate.
    pub(crate) usd_cap: Option<f64>,
    /// Whether no model is billed.
    pub(crate) free: bool,
}

/// What the recorded trials of a plan took, and which are missing.
#[derive(Default)]
struct Recorded {
    /// Missing trials by agent.
    missing: Vec<u32>,
    /// Missing trials of tasks with a rubric.
    judged: usize,
    trials: u64,
    tokens: u64,
    judgements: u64,
    judge_tokens: u64,
    judge_usd: Option<f64>,
}

impl Recorded {
    fn of(plan: &Plan, folder: &RunFolder, store: &Store) -> Self {
        let mut found = Self { missing: vec![0; plan.agents.len()], judge_usd: Some(0.0), ..Self::default() };
        let is_judged = |cell: &Cell| plan.trials.get(&cell.trial).is_some_and(|trial| trial.judge.is_some());
        for cell in &folder.cells {
            let record = store.record(&cell.trial).ok().flatten().filter(|record| record.outcome.counts());
            let Some(record) = record else {
                if let Some(missing) = found.missing.get_mut(cell.agent) {
                    *missing += 1;
                }
                found.judged += usize::from(is_judged(cell));
                continue;
            };
            if let Some(usage) = record.usage {
                found.trials += 1;
                found.tokens = found.tokens.saturating_add(usage.total());
            }
            if let Some(judgement) = &record.judgement {
                found.judgements += 1;
                let tokens = judgement.usage.map_or(0, |usage| usage.total());
                found.judge_tokens = found.judge_tokens.saturating_add(tokens);
                found.judge_usd = found.judge_usd.zip(judgement.cost_usd).map(|(sum, usd)| sum + usd);
            }
        }
        found
    }

    /// Tokens and US dollars of so many answers of judges, by the recorded ones.
    fn judging(&self, trials: usize) -> (Option<u64>, Option<f64>) {
        if trials == 0 {
            return (Some(0), Some(0.0));
        }
        if self.judgements == 0 {
            return (None, None);
        }
        let count = u64::try_from(trials).unwrap_or(u64::MAX);
        let usd = self.judge_usd.map(|usd| usd * count as f64 / self.judgements as f64);
        (Some(self.judge_tokens.saturating_mul(count) / self.judgements), usd)
    }
}

impl CostForecast {
    /// The forecast of no trial.
    pub(crate) fn none(cap: Option<f64>) -> Self {
        let zero = Some(0.0);
        Self {
            tokens_expected: Some(0),
            tokens_most: Some(0),
            usd_expected: zero,
            usd_most: zero,
            usd_cap: cap,
            free: true,
            ..Self::default()
        }
    }

    /// Adds the trials of a skill: those of its first round, and those of all of its rounds.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn add(
        &mut self,
        first: &Plan,
        all: &Plan,
        rounds: usize,
        store: &Store,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), StoreError> {
        let folder = first.run_folder();
        let caps = first.trial_caps();
        let cost = forecast_cost(&folder, &caps, store, &Selection::default(), None)?;
        let recorded = Recorded::of(first, &folder, store);
        let most = Recorded::of(all, &all.run_folder(), store);
        let judges_bill = most.judged > 0 && judges_bill(all, env);
        self.trials += folder.cells.len();
        self.missing += cost.trials;
        self.missing_most += most.missing.iter().map(|missing| *missing as usize).sum::<usize>();
        self.rounds = self.rounds.max(rounds);
        self.judged += most.judged;
        self.checks += missing_checks(first, store);
        self.free &= (cost.free || cost.trials == 0) && !judges_bill;
        let (mut most_tokens, mut most_usd) = (Some(0_u64), Some(0.0));
        for ((entry, cap), missing) in all.agents.iter().zip(&caps).zip(&most.missing) {
            if *missing == 0 {
                continue;
            }
            let is_loop = entry.spec.name == "loop";
            let each = entry.spec.max_tokens.or_else(|| is_loop.then(|| LoopOptions::default().max_tokens));
            most_tokens = most_tokens
                .zip(each)
                .map(|(sum, each)| sum.saturating_add(each.saturating_mul(u64::from(*missing))));
            most_usd = most_usd.zip(*cap).map(|(sum, cap): (f64, f64)| sum + cap * f64::from(*missing));
        }
        let missing = u64::try_from(cost.trials).unwrap_or(u64::MAX);
        let expected = (recorded.trials > 0 || missing == 0)
            .then(|| recorded.tokens.saturating_mul(missing) / recorded.trials.max(1));
        let from_records = !cost.from.contains(&CostSource::Caps);
        let usd = if cost.free || missing == 0 {
            Some(0.0)
        } else {
            cost.range.filter(|_| from_records).map(|[low, high]| f64::midpoint(low, high))
        };
        let most_usd = if cost.free { Some(0.0) } else { most_usd };
        let (judge_tokens, judge_usd) = recorded.judging(recorded.judged);
        let judge_usd = if judges_bill { judge_usd } else { Some(0.0) };
        let sum =
            |all: Option<u64>, more: Option<u64>| all.zip(more).map(|(all, more)| all.saturating_add(more));
        let sum_usd = |all: Option<f64>, more: Option<f64>| all.zip(more).map(|(all, more)| all + more);
        self.tokens_expected = sum(sum(self.tokens_expected, expected), judge_tokens);
        self.usd_expected = sum_usd(sum_usd(self.usd_expected, usd), judge_usd);
        // Nothing bounds what a judge reads.
        self.tokens_most = sum(self.tokens_most, most_tokens).filter(|_| most.judged == 0);
        self.usd_most = sum_usd(self.usd_most, most_usd).filter(|_| !judges_bill);
        Ok(())
    }

    /// One line.
    pub fn words(&self) -> String {
        let trials = counted(self.trials, "trial", "trials");
        let recorded = group_digits(self.trials - self.missing);
        let mut head =
            format!("Cost: {trials}, {recorded} recorded, {} to execute", group_digits(self.missing));
        if self.rounds > 1 {
            let rounds = counted(self.rounds, "round", "rounds");
            let most = group_digits(self.missing_most);
            head.push_str(&format!(" in the first of up to {rounds}, at most {most} in all"));
        }
        if self.checks > 0 {
            head.push_str(&format!(", and {}", counted(self.checks, "task check", "task checks")));
        }
        if self.judged > 0 {
            head.push_str(&format!("; judges decide at most {}", group_digits(self.judged)));
        }
        if self.missing_most == 0 {
            return format!("{head}.");
        }
        let tokens = match (self.tokens_expected, self.tokens_most) {
            (Some(expected), Some(most)) => {
                format!("about {} tokens, at most {}", group_digits(expected), group_digits(most))
            }
            (Some(expected), None) => format!("about {} tokens", group_digits(expected)),
            (None, Some(most)) => format!("at most {} tokens", group_digits(most)),
            (None, None) => "tokens unknown".to_owned(),
        };
        let usd = match (self.usd_expected, self.usd_most) {
            _ if self.free => "no model is billed".to_owned(),
            (Some(expected), Some(most)) => format!("about ${expected:.2}, at most ${most:.2}"),
            (Some(expected), None) => format!("about ${expected:.2}"),
            (None, Some(most)) => format!("at most ${most:.2}"),
            (None, None) => "USD unknown".to_owned(),
        };
        let cap =
            self.usd_cap.filter(|_| !self.free).map_or(String::new(), |cap| format!(", stops at ${cap:.2}"));
        format!("{head}; {tokens}; {usd}{cap}.")
    }
}

/// Trials of the checks of tasks that have no result yet.
fn missing_checks(plan: &Plan, store: &Store) -> usize {
    let all = plan.checks.iter().flat_map(|check| check.oracle.iter().chain([&check.nop]));
    let is_missing = |id: &TrialId| {
        let record = store.record(id).ok().flatten();
        record.is_none_or(|record| !record.outcome.counts())
    };
    all.filter(|trial| is_missing(&trial.id)).count()
}

/// Whether a judge of the plan's rubrics is billed.
pub(crate) fn judges_bill(plan: &Plan, env: &dyn Fn(&str) -> Option<String>) -> bool {
    plan.is_judged()
        && plan
            .experiment
            .judge
            .iter()
            .flat_map(|judge| &judge.models)
            .any(|judge| assay_ask::is_paid(&judge.model, judge.base_url.as_deref(), judge.price, env))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_one_line_with_units() {
        let check = |forecast: CostForecast, expected: &str| assert_eq!(forecast.words(), expected);
        let all = CostForecast { trials: 72, ..CostForecast::none(None) };
        check(all.clone(), "Cost: 72 trials, 72 recorded, 0 to execute.");
        let some = CostForecast { missing: 36, missing_most: 36, tokens_most: Some(36_000_000), ..all };
        let free = CostForecast { tokens_expected: None, ..some.clone() };
        check(
            free,
            "Cost: 72 trials, 36 recorded, 36 to execute; at most 36,000,000 tokens; no model is billed.",
        );
        let paid = CostForecast {
            tokens_expected: Some(420_000),
            usd_expected: Some(1.25),
            usd_most: Some(108.0),
            usd_cap: Some(20.0),
            free: false,
            ..some.clone()
        };
        check(
            paid,
            "Cost: 72 trials, 36 recorded, 36 to execute; about 420,000 tokens, at most 36,000,000; about $1.25, at most $108.00, stops at $20.00.",
        );
        let unknown = CostForecast {
            tokens_expected: None,
            tokens_most: None,
            usd_expected: None,
            usd_most: None,
            free: false,
            ..some.clone()
        };
        check(unknown, "Cost: 72 trials, 36 recorded, 36 to execute; tokens unknown; USD unknown.");
        let rounds =
            CostForecast { rounds: 2, missing_most: 108, checks: 12, tokens_expected: None, ..some.clone() };
        check(
            rounds,
            "Cost: 72 trials, 36 recorded, 36 to execute in the first of up to 2 rounds, at most 108 in all, and 12 task checks; at most 36,000,000 tokens; no model is billed.",
        );
        let judged = CostForecast {
            judged: 36,
            tokens_expected: Some(500),
            tokens_most: None,
            usd_expected: Some(0.5),
            usd_most: None,
            usd_cap: Some(2.0),
            free: false,
            ..some
        };
        check(
            judged,
            "Cost: 72 trials, 36 recorded, 36 to execute; judges decide at most 36; about 500 tokens; about $0.50, stops at $2.00.",
        );
    }
}
