//! Comparisons that are decided after each complete round.
//!
//! Which round a comparison stopped at follows from the plan and the records: the looks are computed again, from
//! round 1 on, whenever a report is. A report never reads trials beyond the stop, even if other runs left some in
//! the store. A comparison that the rounds leave open goes on with the tasks that take part in no round, if the plan has
//! any; both stages together then decide.

use std::collections::BTreeMap;

use assay_stats::VerdictKind;
use assay_store::RunFolder;

use crate::comparisons::{self, Families, compared_tasks};
use crate::delivered::{delivered_share, is_undelivered};
use crate::model::{End, MoreTasks, Rounds};
use crate::round_plans::Plans;
use crate::table::{Slot, Table};

/// Looks at every complete round of every table, and removes the trials beyond the round at which a condition
/// stopped.
pub(crate) fn decide(run: &RunFolder, tables: &mut [Table], controls: &mut [Table]) {
    let (Some(stopping), Some((baseline, others))) = (run.stopping, run.conditions.split_first()) else {
        return;
    };
    let families = Families::of(run, tables);
    let clusters = comparisons::clusters(run);
    let mut plans = Plans::new(stopping, run.margin);
    for table in tables.iter_mut() {
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
    for controls in controls {
        let same = tables.iter().find(|table| table.who == controls.who);
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
