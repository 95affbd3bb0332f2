//! Comparisons that are decided after each complete round.
//!
//! Which round a comparison stopped at follows from the plan and the records: the looks are computed again, from
//! round 1 on, whenever a report is. A report never reads trials beyond the stop, even if other runs left some in
//! the store. A comparison that the rounds leave open goes on with the tasks that take part in no round, if the plan has
//! any; both stages together then decide.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::VerdictKind;
use assay_store::{RunFolder, Selection, Store, StoreError};

use crate::comparisons::{self, Families, compared_tasks};
use crate::delivered::{delivered_share, is_undelivered};
use crate::gather::{Gathered, Slot, Table};
use crate::model::{Comparison, End, MoreTasks, Rounds};
use crate::round_plans::Plans;

/// The comparisons of a run at their last complete rounds, and who takes part in the next.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundState {
    /// Every comparison of tasks where skills should help.
    pub comparisons: Vec<Comparison>,
    /// Agent (counted from 0), sandbox and condition.
    pub arms: BTreeSet<(usize, String, String)>,
    /// Who goes on with the tasks after the rounds.
    pub more: BTreeSet<(usize, String, String)>,
}

/// The state of a run before its round `next`, from 1.
///
/// # Errors
/// Records that cannot be read, or are of another version.
pub fn round_state(store: &Store, run: &RunFolder, next: u32) -> Result<RoundState, StoreError> {
    let gathered = Gathered::read(store, run, &Selection::default())?;
    let (mut arms, mut more) = (BTreeSet::new(), BTreeSet::new());
    // Negative controls take part in the rounds of their conditions.
    let is_alone = |controls: &&Table| gathered.tables.iter().all(|table| table.who != controls.who);
    for table in gathered.tables.iter().chain(gathered.controls.iter().filter(is_alone)) {
        let arm = |condition: &String| (table.agent, table.who.sandbox.clone(), condition.clone());
        if table.looks.is_empty() {
            // Nothing to compare with here: the repetitions of a fixed design.
            more.extend(table.planned_conditions.iter().map(arm));
            arms.extend(table.planned_conditions.iter().filter(|_| next <= run.repetitions).map(arm));
            continue;
        }
        let with_baseline = |names: Vec<&String>| -> Vec<_> {
            let baseline = run.conditions.first().filter(|_| !names.is_empty());
            baseline.into_iter().chain(names).map(arm).collect()
        };
        let of = |takes_part: fn(&Rounds) -> bool| -> Vec<&String> {
            table.looks.iter().filter(|(_, look)| takes_part(look)).map(|(name, _)| name).collect()
        };
        let open = of(|look| !look.rounds_ended());
        if open.is_empty() {
            more.extend(with_baseline(of(|look| look.ended.is_none())));
        }
        arms.extend(with_baseline(open));
    }
    let comparisons = comparisons::comparisons(run, &gathered.tables, run.primary.as_deref());
    Ok(RoundState { comparisons, arms, more })
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
        if earlier.stopping.is_none() || earlier.plan == run.plan || !adds_trials(run, &earlier) {
            continue;
        }
        let comparisons = round_state(store, &earlier, 1)?.comparisons;
        let has_ended = |found: &&Comparison| found.sequential.is_some_and(|rounds| rounds.rounds_ended());
        let ended = comparisons.iter().filter(has_ended).count();
        if ended > 0 {
            return Ok(Some(DecidedRun { run: name, ended, comparisons: comparisons.len() }));
        }
    }
    Ok(None)
}

/// Whether a run goes on with what an earlier one measured. With tasks that are held back, a longer plan may have fewer
/// repetitions of a task, so that it does not contain the earlier one.
fn adds_trials(run: &RunFolder, earlier: &RunFolder) -> bool {
    let has_stages = |run: &RunFolder| run.stopping.is_some_and(|stopping| stopping.more_tasks.is_some());
    run.is_extension_of(earlier) || ((has_stages(run) || has_stages(earlier)) && run.adds_to(earlier))
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
        let more = stopping.more_tasks.map(|planned| MoreTasks { planned, stage: 1, after: None });
        let first = Rounds { round: 0, rounds: stopping.rounds, ended: None, more_tasks: more };
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
                let look = table.looks.entry(name.clone()).or_insert(first);
                (look.round, look.ended) = (round, ended);
                if ended.is_none() {
                    open.push(name);
                    continue;
                }
                if !undelivered && ended != Some(End::Verdict) {
                    look.go_on();
                }
                table.cut(name, round);
            }
        }
        if open.is_empty() {
            let last = table.looks.values().map(|look| look.round).max().unwrap_or_default();
            table.cut(baseline, last);
        }
        decide_second_stage(table, baseline);
    }
    for controls in &mut gathered.controls {
        let same = gathered.tables.iter().find(|table| table.who == controls.who);
        let Some(same) = same.filter(|table| !table.looks.is_empty()) else { continue };
        let ended: Vec<(String, u32)> = same
            .looks
            .iter()
            .filter(|(_, look)| look.rounds_ended())
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

/// Ends the comparisons that the rounds left open once the tasks after the rounds are complete, and removes these tasks
/// where nobody goes on with them.
fn decide_second_stage(table: &mut Table, baseline: &str) {
    let is_over = !table.looks.is_empty() && table.looks.values().all(Rounds::rounds_ended);
    if table.second_stage.is_empty() || !is_over {
        return;
    }
    let names = |goes_on: bool| -> Vec<String> {
        let of = table.looks.iter().filter(|(_, look)| look.ended.is_none() == goes_on);
        of.map(|(name, _)| name.clone()).collect()
    };
    let (on, over) = (names(true), names(false));
    let over = over.iter().map(String::as_str).chain(on.is_empty().then_some(baseline));
    over.for_each(|name| table.remove_second_stage(name));
    let arms = on.iter().map(String::as_str).chain([baseline]);
    let cells = arms.filter_map(|name| table.cells.get(name)).flatten();
    let is_complete =
        cells.filter(|(task, _)| table.is_second_stage(task)).all(|(_, slot)| slot.pending() == 0);
    if is_complete {
        for look in table.looks.values_mut().filter(|look| look.ended.is_none()) {
            look.ended = Some(End::SecondStage);
        }
    }
}

impl Rounds {
    /// Whether the comparison takes part in no further round.
    pub(crate) fn rounds_ended(&self) -> bool {
        self.ended.is_some() || self.left_open().is_some()
    }

    /// Has a comparison that its rounds left open go on with more tasks, if the plan has any.
    fn go_on(&mut self) {
        if let Some(more) = &mut self.more_tasks {
            (more.stage, more.after) = (2, self.ended.take());
        }
    }
}

impl Table {
    /// Whether every trial of the first rounds of these conditions has a record.
    fn is_complete<'a>(&self, conditions: impl Iterator<Item = &'a str>, round: u32) -> bool {
        let mut cells = conditions.filter_map(|name| self.cells.get(name)).flatten();
        cells.all(|(task, slot)| self.is_second_stage(task) || slot.is_complete(round))
    }

    /// The table as it was after a round.
    fn at(&self, round: u32) -> Table {
        let mut table = self.cut_to(round);
        for name in self.cells.keys() {
            table.remove_second_stage(name);
        }
        table.void_unusable();
        table
    }

    /// The table as a comparison reads it that has come so far.
    pub(crate) fn as_read_by(&self, look: &Rounds) -> Table {
        if look.ended != Some(End::SecondStage) {
            return self.at(look.round);
        }
        let mut table = self.cut_to(look.round);
        table.void_unusable();
        table
    }

    /// The table with the trials of the first rounds, and all of the tasks after the rounds.
    fn cut_to(&self, round: u32) -> Table {
        let mut table = self.clone();
        for name in self.cells.keys() {
            table.cut(name, round);
        }
        table
    }

    /// Removes the trials of a condition beyond a round.
    fn cut(&mut self, condition: &str, round: u32) {
        for (task, slot) in self.cells.get_mut(condition).into_iter().flatten() {
            if !self.second_stage.contains(task) {
                slot.cut(round);
            }
        }
    }

    /// Removes the tasks after the rounds from a condition.
    fn remove_second_stage(&mut self, condition: &str) {
        if let Some(tasks) = self.cells.get_mut(condition) {
            tasks.retain(|task, _| !self.second_stage.contains(task));
        }
    }
}
