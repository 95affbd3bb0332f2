//! Comparisons that are decided after each complete round.
//!
//! Which round a comparison stopped at follows from the plan and the records: the looks are computed again, from
//! round 1 on, whenever a report is. A report never reads trials beyond the stop, even if other runs left some in
//! the store.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::VerdictKind;
use assay_store::{RunFolder, Selection, Store, StoreError};

use crate::comparisons::{self, Families, compared_tasks};
use crate::delivered::{delivered_share, is_undelivered};
use crate::gather::{Gathered, Slot, Table};
use crate::model::{Comparison, End, Rounds};
use crate::round_plans::Plans;

/// The comparisons of a run at their last complete rounds, and who takes part in the next.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundState {
    /// Every comparison of tasks where skills should help.
    pub comparisons: Vec<Comparison>,
    /// Agent (counted from 0), sandbox and condition.
    pub arms: BTreeSet<(usize, String, String)>,
}

/// The state of a run before its round `next`, from 1.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn round_state(store: &Store, run: &RunFolder, next: u32) -> Result<RoundState, StoreError> {
    let gathered = Gathered::read(store, run, &Selection::default())?;
    let mut arms = BTreeSet::new();
    // Negative controls take part in the rounds of their conditions.
    let is_alone = |controls: &&Table| gathered.tables.iter().all(|table| table.who != controls.who);
    for table in gathered.tables.iter().chain(gathered.controls.iter().filter(is_alone)) {
        let mut add = |condition: &str| {
            arms.insert((table.agent, table.who.sandbox.clone(), condition.to_owned()));
        };
        if table.looks.is_empty() {
            // Nothing to compare with here: the repetitions of a fixed design.
            table.planned_conditions.iter().filter(|_| next <= run.repetitions).for_each(|name| add(name));
            continue;
        }
        let open: Vec<&String> =
            table.looks.iter().filter(|(_, look)| look.ended.is_none()).map(|(name, _)| name).collect();
        if let (Some(baseline), false) = (run.conditions.first(), open.is_empty()) {
            add(baseline);
            for name in open {
                add(name);
            }
        }
    }
    let comparisons = comparisons::comparisons(run, &gathered.tables, run.primary.as_deref());
    Ok(RoundState { comparisons, arms })
}

/// An earlier run of which some comparison was decided after its rounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedRun {
    /// Its name.
    pub run: String,
    /// Its comparisons that have ended.
    pub ended: usize,
    /// All of its comparisons.
    pub comparisons: usize,
}

/// The earlier run that `run` adds trials to although its rounds have decided a comparison, if there is one.
///
/// Such trials cannot be judged: the rule that ended the comparison has spent the error rate.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn decided_before(store: &Store, run: &RunFolder) -> Result<Option<DecidedRun>, StoreError> {
    for name in store.run_names() {
        let Ok(earlier) = store.run(&name) else { continue };
        if earlier.stopping.is_none() || earlier.plan == run.plan || !run.is_extension_of(&earlier) {
            continue;
        }
        let comparisons = round_state(store, &earlier, 1)?.comparisons;
        let has_ended = |found: &&Comparison| found.sequential.is_some_and(|rounds| rounds.ended.is_some());
        let ended = comparisons.iter().filter(has_ended).count();
        if ended > 0 {
            return Ok(Some(DecidedRun { run: name, ended, comparisons: comparisons.len() }));
        }
    }
    Ok(None)
}

/// Looks at every complete round of every table, and removes the trials beyond the round at which a condition
/// stopped.
pub(crate) fn decide(run: &RunFolder, gathered: &mut Gathered) {
    let (Some(stopping), Some((baseline, others))) = (run.stopping, run.conditions.split_first()) else {
        return;
    };
    let families = Families::of(run, &gathered.tables);
    let clusters = comparisons::clusters(run);
    let mut plans = Plans::new(stopping, run.margin);
    for table in &mut gathered.tables {
        if !table.planned_conditions.contains(baseline) {
            continue;
        }
        let mut open: Vec<&String> =
            others.iter().filter(|other| table.planned_conditions.contains(*other)).collect();
        let first = Rounds { round: 0, rounds: stopping.rounds, ended: None };
        table.looks = open.iter().map(|name| ((*name).clone(), first)).collect();
        for round in 1..=stopping.rounds {
            let in_round = open.iter().map(|name| name.as_str()).chain([baseline.as_str()]);
            if open.is_empty() || !table.is_complete(in_round, round) {
                break;
            }
            if !plans.look_after(round) {
                continue;
            }
            let seen = table.at(round);
            for name in std::mem::take(&mut open) {
                let (counted, losses) = compared_tasks(&seen, baseline, name, &clusters);
                let look = plans.decide_round(families.size_of(name), round, &counted, &losses);
                let slots = seen.cells.get(name).into_iter().flat_map(BTreeMap::values);
                let undelivered = is_undelivered(delivered_share(run, name, slots.flat_map(Slot::valid)));
                let ended = match look {
                    // A treatment that was not there decides nothing.
                    Some(look) if look.verdict.kind != VerdictKind::Inconclusive && !undelivered => {
                        Some(End::Verdict)
                    }
                    Some(look) if look.futile => Some(End::Futility),
                    _ if round == stopping.rounds => Some(End::LastRound),
                    _ => None,
                };
                table.looks.insert(name.clone(), Rounds { round, rounds: stopping.rounds, ended });
                if ended.is_none() {
                    open.push(name);
                } else {
                    table.cut(name, round);
                }
            }
        }
        if open.is_empty() {
            let last = table.looks.values().map(|look| look.round).max().unwrap_or_default();
            table.cut(baseline, last);
        }
    }
    for controls in &mut gathered.controls {
        let same = gathered.tables.iter().find(|table| table.who == controls.who);
        let Some(same) = same.filter(|table| !table.looks.is_empty()) else { continue };
        let ended: Vec<(String, u32)> = same
            .looks
            .iter()
            .filter(|(_, look)| look.ended.is_some())
            .map(|(name, look)| (name.clone(), look.round))
            .collect();
        if ended.len() == same.looks.len() {
            controls.cut(baseline, ended.iter().map(|(_, round)| *round).max().unwrap_or_default());
        }
        for (name, round) in &ended {
            controls.cut(name, *round);
        }
    }
}

impl Table {
    /// Whether every trial of the first rounds of these conditions has a record.
    fn is_complete<'a>(&self, conditions: impl Iterator<Item = &'a str>, round: u32) -> bool {
        let mut slots = conditions.filter_map(|name| self.cells.get(name)).flat_map(BTreeMap::values);
        slots.all(|slot| slot.is_complete(round))
    }

    /// The table as it was after a round.
    pub(crate) fn at(&self, round: u32) -> Table {
        let mut table = self.clone();
        let conditions: Vec<String> = table.cells.keys().cloned().collect();
        for name in &conditions {
            table.cut(name, round);
        }
        table.void_unusable();
        table
    }

    /// Removes the trials of a condition beyond a round.
    fn cut(&mut self, condition: &str, round: u32) {
        let slots = self.cells.get_mut(condition).into_iter().flat_map(BTreeMap::values_mut);
        slots.for_each(|slot| slot.cut(round));
    }
}
