//! Runs whose comparisons are decided after each complete round: how far they have come.

use std::collections::BTreeSet;

use assay_store::{RunFolder, Selection, Store, StoreError};

use crate::comparisons;
use crate::gather::Gathered;
use crate::model::{Comparison, Rounds};
use crate::table::Table;

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
