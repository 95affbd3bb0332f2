//! Two runs against each other: the same arms, now and before.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{RunFolder, Selection, Store, StoreError, TrialId};
use serde::Serialize;

use crate::asked_question::question;
use crate::comparisons::{Pairing, adjust_p_values, clusters, compare_arms};
use crate::delivered;
use crate::gather::Gathered;
use crate::matching::{MatchedCondition, match_conditions};
use crate::model::{AgentKey, Comparison};
use crate::note::Note;
use crate::notes::different_times;
use crate::settings;
use crate::standing::{Standing, withhold};
use crate::table::Slot;

/// With fewer common tasks nothing is compared, because a verdict needs as many.
pub const LEAST_TASKS: usize = 5;

/// The comparison of two runs. In the JSON of `assay-report` the notes are sentences.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// `assay.compare/2`.
    pub schema: &'static str,
    /// The first run: the baseline.
    pub first: String,
    /// The second run.
    pub second: String,
    /// The equivalence margin of the second run.
    pub margin: f64,
    /// Whether either run is not complete. There are no verdicts then.
    pub interim: bool,
    /// Whether either run extends an earlier one, whose report may have prompted the extension.
    pub extended_after_look: bool,
    /// The second run's arms against the first's: lift is second minus first. All of them together
    /// are one family.
    pub comparisons: Vec<Comparison>,
    /// The conditions that were compared with each other: those with the same role, whatever their names.
    pub matched: Vec<MatchedCondition>,
    /// Arms that were not compared, and why.
    pub excluded: Vec<ExcludedArm>,
    /// Skills by name, with their digests in each run.
    pub skills: Vec<SkillChange>,
    /// Trials that both runs share; on them the difference is 0 by construction.
    pub shared_trials: usize,
    /// Notes for the reader.
    #[serde(skip)]
    pub notes: Vec<Note>,
}

/// An arm that was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExcludedArm {
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The condition.
    pub condition: String,
    /// Why.
    pub reason: String,
}

/// A skill in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillChange {
    /// Its name.
    pub name: String,
    /// Its digest in the first run.
    pub first: Option<String>,
    /// Its digest in the second.
    pub second: Option<String>,
    /// Whether the two differ.
    pub changed: bool,
}

/// An arm of a run: an agent under a condition.
type Key = (AgentKey, String);

/// An arm of two runs: the agent, and the condition's names in the first and in the second.
type SharedArm<'a> = (&'a AgentKey, [&'a str; 2]);

/// Compares two runs of one store.
pub fn compare(store: &Store, first: &RunFolder, second: &RunFolder) -> Result<RunComparison, StoreError> {
    let gather = |run: &RunFolder| -> Result<Gathered, StoreError> {
        Ok(Gathered::read(store, run, &Selection::default())?.asking(question(store, run)?))
    };
    let mut comparison = compare_gathered(first, &gather(first)?, second, &gather(second)?);
    comparison.notes.extend(settings::executed(store, first, second)?);
    Ok(comparison)
}

/// Compares two runs by their records alone.
pub fn compare_gathered(
    first: &RunFolder,
    before: &Gathered,
    second: &RunFolder,
    after: &Gathered,
) -> RunComparison {
    let (olds, news) = (arms(first, before), arms(second, after));
    let matched = match_conditions(first, second);
    let clusters = clusters(second);
    let mut pairings = Vec::new();
    let mut excluded = Vec::new();
    for (who, [old_name, new_name]) in shared_arms(&olds, &news, &matched) {
        let old = old_name.and_then(|name| olds.get(&(who.clone(), name.to_owned())));
        let new = new_name.and_then(|name| news.get(&(who.clone(), name.to_owned())));
        let condition = new_name.or(old_name).unwrap_or_default();
        let (Some(old), Some(new), Some(old_name)) = (old, new, old_name) else {
            let run = if old.is_some() { &first.run } else { &second.run };
            excluded.push(exclude_arm(who, condition, format!("only in {run}")));
            continue;
        };
        let key: SharedArm<'_> = (who, [old_name, condition]);
        let slots: Vec<(&str, &Slot, &Slot)> =
            new.iter().filter_map(|(task, arm)| Some((*task, *arm, *old.get(task)?))).collect();
        let shared: BTreeSet<&str> = slots
            .iter()
            .filter(|(_, arm, base)| arm.valid().next().is_some() && base.valid().next().is_some())
            .map(|(task, _, _)| *task)
            .collect();
        if shared.len() < LEAST_TASKS {
            excluded.push(exclude_arm(who, condition, too_few(shared.len())));
            continue;
        }
        let trials =
            |slot: &'_ Slot| slot.results.iter().map(|result| result.trial.clone()).collect::<Vec<_>>();
        let mine: BTreeSet<TrialId> = slots.iter().flat_map(|(_, arm, _)| trials(arm)).collect();
        let theirs: BTreeSet<TrialId> = slots.iter().flat_map(|(_, _, base)| trials(base)).collect();
        if mine.is_subset(&theirs) || theirs.is_subset(&mine) {
            excluded.push(exclude_arm(who, condition, "its trials are the same in both runs".to_owned()));
            continue;
        }
        pairings.push((key, slots, shared));
    }
    let family = pairings.len();
    let sides = [(first, before), (second, after)];
    let open = sides
        .iter()
        .find(|(run, gathered)| gathered.is_interim(run))
        .map(|(_, gathered)| gathered.progress());
    // Of a run that was closed, a part of the error rate is left.
    let shares = sides.iter().filter_map(|(run, gathered)| match gathered.standing(run) {
        Standing::Closed { share } => Some(share),
        Standing::Complete | Standing::Interim => None,
    });
    let closing = shares.min_by(f64::total_cmp);
    let names: Vec<[&str; 2]> = pairings.iter().map(|((_, names), ..)| *names).collect();
    let mut comparisons: Vec<Comparison> = pairings
        .into_iter()
        .map(|((who, [_, condition]), slots, shared)| {
            compare_arms(
                &Pairing {
                    who,
                    baseline: &first.run,
                    condition,
                    role: second.role_of(condition),
                    slots,
                    shared,
                    second_stage: &BTreeSet::new(),
                    clusters: &clusters,
                    family,
                    margin: second.margin,
                    seed: second.seed,
                    closing,
                },
                None,
            )
        })
        .collect();
    adjust_p_values(&mut comparisons);
    require_delivery(&mut comparisons, &names, [(first, &olds), (second, &news)]);
    let imported = first.imported.is_some() || second.imported.is_some();
    for comparison in &mut comparisons {
        comparison.imported = imported;
    }
    if let Some(progress) = open {
        withhold(Standing::Interim, progress, &mut comparisons);
    }
    let (mine, theirs) = (second.trials(), first.trials());
    let mut notes: Vec<Note> = renamed(first, second, &matched).into_iter().collect();
    notes.extend(settings::planned_differences(first, second, &matched));
    notes.extend(different_times(second, comparisons.iter()));
    RunComparison {
        schema: "assay.compare/2",
        first: first.run.clone(),
        second: second.run.clone(),
        margin: second.margin,
        interim: open.is_some(),
        extended_after_look: sides.iter().any(|(run, gathered)| gathered.is_extension(run)),
        comparisons,
        matched,
        excluded,
        skills: skills(first, second),
        shared_trials: mine.intersection(&theirs).count(),
        notes,
    }
}

/// Why so few tasks are not compared.
fn too_few(tasks: usize) -> String {
    let few = match tasks {
        0 => "no task has".to_owned(),
        1 => "only 1 task has".to_owned(),
        few => format!("only {few} tasks have"),
    };
    format!("{few} results in both runs; a comparison needs at least {LEAST_TASKS}")
}

/// The tasks of each arm of a run.
type Arms<'a> = BTreeMap<Key, BTreeMap<&'a str, &'a Slot>>;

/// Takes back the verdicts on treatments that one of the runs did not deliver.
fn require_delivery(comparisons: &mut [Comparison], names: &[[&str; 2]], runs: [(&RunFolder, &Arms<'_>); 2]) {
    for (comparison, names) in comparisons.iter_mut().zip(names) {
        let share = |((run, arms), name): ((&RunFolder, &Arms<'_>), &&str)| {
            let key = (comparison.who.clone(), (*name).to_owned());
            let slots = arms.get(&key).into_iter().flat_map(BTreeMap::values).copied();
            delivered::delivered_share(run, name, slots.flat_map(Slot::valid))
        };
        comparison.delivered = runs.into_iter().zip(names).filter_map(share).reduce(f64::min);
        delivered::block(comparison);
    }
}

fn exclude_arm(who: &AgentKey, condition: &str, reason: String) -> ExcludedArm {
    ExcludedArm {
        agent: who.agent.clone(),
        model: who.model.clone(),
        condition: condition.to_owned(),
        reason,
    }
}

/// The arms of both runs by agent and by the name of their condition in the second run, those of one run only among
/// them.
fn shared_arms<'a>(
    olds: &'a Arms<'_>,
    news: &'a Arms<'_>,
    matched: &'a [MatchedCondition],
) -> Vec<(&'a AgentKey, [Option<&'a str>; 2])> {
    let mut arms = BTreeSet::new();
    for (who, name) in olds.keys() {
        let pair = matched.iter().find(|pair| pair.first == *name);
        let new = pair.map(|pair| pair.second.as_str());
        // An agent that is in one run only has no arm to compare with.
        let is_shared = new.is_some_and(|new| news.contains_key(&(who.clone(), new.to_owned())));
        arms.insert((who, new.unwrap_or(name), Some(name.as_str()), new.filter(|_| is_shared)));
    }
    for (who, name) in news.keys() {
        let pair = matched.iter().find(|pair| pair.second == *name);
        let old = pair.map(|pair| pair.first.as_str());
        let is_shared = old.is_some_and(|old| olds.contains_key(&(who.clone(), old.to_owned())));
        if !is_shared {
            arms.insert((who, name, None, Some(name.as_str())));
        }
    }
    arms.into_iter().map(|(who, _, old, new)| (who, [old, new])).collect()
}

/// The conditions that have different names in the two runs.
fn renamed(first: &RunFolder, second: &RunFolder, matched: &[MatchedCondition]) -> Option<Note> {
    let pairs: Vec<MatchedCondition> =
        matched.iter().filter(|pair| pair.first != pair.second).cloned().collect();
    let (first, second) = (first.run.clone(), second.run.clone());
    (!pairs.is_empty()).then_some(Note::ConditionsMatched { first, second, pairs })
}

/// The tasks of each arm. The sandbox is not part of the key, because it may be what changed
/// between the runs.
fn arms<'a>(run: &RunFolder, gathered: &'a Gathered) -> BTreeMap<Key, BTreeMap<&'a str, &'a Slot>> {
    let mut arms: BTreeMap<Key, BTreeMap<&str, &Slot>> = BTreeMap::new();
    for table in &gathered.tables {
        let who = AgentKey::new(&run.agents[table.agent], "");
        for (condition, tasks) in &table.cells {
            let key = (who.clone(), condition.clone());
            arms.entry(key).or_default().extend(tasks.iter().map(|(task, slot)| (task.as_str(), slot)));
        }
    }
    arms
}

fn skills(first: &RunFolder, second: &RunFolder) -> Vec<SkillChange> {
    let names: BTreeSet<&String> = first.skills.keys().chain(second.skills.keys()).collect();
    names
        .into_iter()
        .map(|name| {
            let (old, new) = (first.skills.get(name).cloned(), second.skills.get(name).cloned());
            SkillChange { name: name.clone(), changed: old != new, first: old, second: new }
        })
        .collect()
}
