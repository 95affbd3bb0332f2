//! Two runs against each other: the same arms, now and before.

use std::collections::{BTreeMap, BTreeSet};

use assay_store::{RunFolder, Selection, Store, StoreError, TrialId};
use serde::Serialize;

use crate::asked_question::question;
use crate::comparisons::{Pairing, adjust_p_values, clusters, compare_arms};
use crate::delivered;
use crate::gather::{Gathered, Slot};
use crate::model::{AgentKey, Comparison};
use crate::note::Note;
use crate::notes::different_times;
use crate::settings;
use crate::standing::{Standing, withhold};

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

/// An arm by what makes it the same in two runs.
type Key = (AgentKey, String);

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
    let clusters = clusters(second);
    let mut pairings = Vec::new();
    let mut excluded = Vec::new();
    let keys: BTreeSet<&Key> = olds.keys().chain(news.keys()).collect();
    for key in keys {
        let (Some(old), Some(new)) = (olds.get(key), news.get(key)) else {
            let run = if olds.contains_key(key) { &first.run } else { &second.run };
            excluded.push(exclude_arm(key, format!("only in {run}")));
            continue;
        };
        let slots: Vec<(&str, &Slot, &Slot)> =
            new.iter().filter_map(|(task, arm)| Some((*task, *arm, *old.get(task)?))).collect();
        let shared: BTreeSet<&str> = slots
            .iter()
            .filter(|(_, arm, base)| arm.valid().next().is_some() && base.valid().next().is_some())
            .map(|(task, _, _)| *task)
            .collect();
        if shared.len() < LEAST_TASKS {
            let few = match shared.len() {
                0 => "no task has".to_owned(),
                1 => "only 1 task has".to_owned(),
                few => format!("only {few} tasks have"),
            };
            let least = format!("a comparison needs at least {LEAST_TASKS}");
            excluded.push(exclude_arm(key, format!("{few} results in both runs; {least}")));
            continue;
        }
        let trials =
            |slot: &'_ Slot| slot.results.iter().map(|result| result.trial.clone()).collect::<Vec<_>>();
        let mine: BTreeSet<TrialId> = slots.iter().flat_map(|(_, arm, _)| trials(arm)).collect();
        let theirs: BTreeSet<TrialId> = slots.iter().flat_map(|(_, _, base)| trials(base)).collect();
        if mine.is_subset(&theirs) || theirs.is_subset(&mine) {
            excluded.push(exclude_arm(key, "its trials are the same in both runs".to_owned()));
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
    let mut comparisons: Vec<Comparison> = pairings
        .into_iter()
        .map(|((who, condition), slots, shared)| {
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
    require_delivery(&mut comparisons, [(first, &olds), (second, &news)]);
    let imported = first.imported.is_some() || second.imported.is_some();
    for comparison in &mut comparisons {
        comparison.imported = imported;
    }
    if let Some(progress) = open {
        withhold(Standing::Interim, progress, &mut comparisons);
    }
    let (mine, theirs) = (second.trials(), first.trials());
    let mut notes = settings::planned(first, second);
    notes.extend(different_times(second, comparisons.iter()));
    RunComparison {
        schema: "assay.compare/2",
        first: first.run.clone(),
        second: second.run.clone(),
        margin: second.margin,
        interim: open.is_some(),
        extended_after_look: sides.iter().any(|(run, gathered)| gathered.is_extension(run)),
        comparisons,
        excluded,
        skills: skills(first, second),
        shared_trials: mine.intersection(&theirs).count(),
        notes,
    }
}

/// The tasks of each arm of a run.
type Arms<'a> = BTreeMap<Key, BTreeMap<&'a str, &'a Slot>>;

/// Takes back the verdicts on treatments that one of the runs did not deliver.
fn require_delivery(comparisons: &mut [Comparison], runs: [(&RunFolder, &Arms<'_>); 2]) {
    for comparison in comparisons {
        let key = (comparison.who.clone(), comparison.condition.clone());
        let share = |(run, arms): (&RunFolder, &Arms<'_>)| {
            let slots = arms.get(&key).into_iter().flat_map(BTreeMap::values).copied();
            delivered::delivered_share(run, &key.1, slots.flat_map(Slot::valid))
        };
        comparison.delivered = runs.into_iter().filter_map(share).reduce(f64::min);
        delivered::block(comparison);
    }
}

fn exclude_arm((who, condition): &Key, reason: String) -> ExcludedArm {
    ExcludedArm { agent: who.agent.clone(), model: who.model.clone(), condition: condition.clone(), reason }
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
