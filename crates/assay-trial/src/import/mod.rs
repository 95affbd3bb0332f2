//! Trials that were executed elsewhere, as records of the store and a run.
//!
//! [`harbor`] reads job folders of Harbor, and of BenchFlow, which writes the same tree with its
//! own results. [`table`] reads a table with a row for each trial. Nothing in them is trusted: links are
//! not followed, all files are read with a cap, and what cannot be used is counted by reason.

mod benchflow;
mod benchmark;
mod condition;
mod error;
mod exception;
mod exported;
mod facts;
mod harbor;
mod harbor_parts;
mod harbor_steps;
mod options;
pub mod results;
mod roles;
pub mod rubric_experiment;
mod table;
mod tasks_beside;
mod text;
mod times;
mod trial;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_fs::read_beneath;
use assay_store::{
    AgentLabel, Cell, Claim, ConditionRole, Exclusion, ImportedFrom, Lease, PlannedAgent, PlannedProvision,
    PlannedTask, Record, RunFolder, Store, StoreError, TrialId, pretty, write_atomically, write_json,
    write_new,
};
use serde::Serialize;
use serde_json::{Value, json};

pub use benchmark::{BenchmarkLayout, benchmark};
pub use error::ImportError;
pub use exported::{OUTCOME_RULE, PLAN_COLUMNS, STAGE_COLUMNS};
pub use facts::{FactCount, ImportFact};
pub use options::{
    ImportOptionError, name_of_file, name_of_folders, name_of_table, parse_filter, parse_pattern,
    parse_range, parse_role,
};
pub use roles::{AnalysisOptions, PrimaryOption};
pub use table::{ImportedTable, SkippedRow, TableColumns, TableOptions, table};
pub use text::count_lines;

use condition::{Inferred, NameContrast, Overrides, UNKNOWN};
use facts::TaskFacts;
use tasks_beside::{TaskBeside, TaskSearch};
use trial::{ForeignOutcome, ForeignTrial, Origin};
use walk::{TrialFolder, Walk};

/// The protocol version in the identity of an imported trial.
const PROTOCOL: &str = "assay.import/1";

/// Most bytes of a kept trajectory.
const TRAJECTORY_CAP: u64 = 64 << 20;

/// Most bytes of a kept verifier output.
const OUTPUT_CAP: u64 = 1 << 20;

/// The default equivalence margin, as in an experiment without one.
const MARGIN: f64 = 0.10;

/// The default seed, as in an experiment without one.
const SEED: u64 = 1;

/// Options of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The run's name.
    pub name: String,
    /// Patterns on `job/trial/agent` or on one of the three, and the condition of matching trials;
    /// the first match wins.
    pub conditions: Vec<(String, String)>,
    /// What the conditions are, which are compared, and by what.
    pub analysis: AnalysisOptions,
}

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Imported {
    /// `assay.import/1`.
    pub schema: &'static str,
    /// The run.
    pub run: String,
    /// Trials that are in the run.
    pub imported: usize,
    /// The same by condition.
    pub by_condition: BTreeMap<String, usize>,
    /// The same by outcome.
    pub by_outcome: BTreeMap<String, usize>,
    /// Unusable files and folders, by reason.
    pub unusable: BTreeMap<String, usize>,
    /// Of how many tasks each fact is known that reports divide tasks by.
    pub facts: BTreeMap<&'static str, FactCount>,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
}

/// A trial with its cell of the run.
struct PlacedTrial {
    folder: PathBuf,
    trial: ForeignTrial,
    condition: String,
    repetition: u32,
    id: TrialId,
    specification: Value,
    mark: ImportedFrom,
}

/// Reads job folders of Harbor into a store. The same folders give the same run, without duplicate
/// trials.
///
/// # Errors
/// Folders without any trial, invalid names, a store that cannot be written.
pub fn harbor(store: &Store, folders: &[PathBuf], options: &ImportOptions) -> Result<Imported, ImportError> {
    let overrides = Overrides::new(&options.conditions)?;
    if !assay_store::is_run_name(&options.name) {
        return Err(ImportError::Name { what: "run", name: options.name.clone() });
    }
    let mut walk = Walk::default();
    for folder in folders {
        if !folder.is_dir() {
            return Err(ImportError::NotAFolder(folder.clone()));
        }
        walk.folder(folder);
    }
    let mut notes = Vec::new();
    let mut read = read_all(&mut walk)?;
    find_tasks(&mut read);
    let unusable = walk.unusable;
    if read.is_empty() {
        return Err(ImportError::Nothing { folders: folders.to_vec(), unusable });
    }
    if read.iter().any(|(_, trial)| trial.started.is_some_and(|time| time.naive)) {
        notes.push(
            "Times without a zone are taken for UTC: they are the local time of the machine that wrote them."
                .to_owned(),
        );
    }
    let conditions = conditions(&read, &overrides, &mut notes);
    let (placed, excluded) = place_trials(read, conditions);
    let mut unusable = unusable;
    for exclusion in &excluded {
        *unusable.entry(exclusion.reason.clone()).or_default() += 1;
    }
    let mut run = run_folder(&placed, &excluded, options, &mut notes)?;
    let by_outcome = write_trials(store, &placed)?;
    let count = |key: fn(&PlacedTrial) -> &str| {
        placed.iter().fold(BTreeMap::<String, usize>::new(), |mut counts, placed| {
            *counts.entry(key(placed).to_owned()).or_default() += 1;
            counts
        })
    };
    let by_condition = count(|placed| &placed.condition);
    let mut imported = Imported {
        schema: "assay.import/1",
        run: String::new(),
        imported: placed.len(),
        by_condition,
        by_outcome,
        unusable,
        facts: facts::count_facts(&run.tasks, &run.provisions, &run.cells, run.conditions.first()),
        notes,
    };
    let origin = serde_json::to_value(&imported).unwrap_or_default();
    run.seal();
    let origin = pretty(&origin, Path::new("import.json"))?;
    let begun = store.begin_run(run, &options.name, ("import.json", &origin))?;
    imported.notes.extend(store.relabeling_note(&begun)?);
    imported.run = begun.run;
    Ok(imported)
}

/// Reads what the folders of tasks beside the jobs say of them, each once.
fn find_tasks(read: &mut [(TrialFolder, ForeignTrial)]) {
    let mut found_tasks: BTreeMap<(PathBuf, String, Option<String>), Arc<TaskBeside>> = BTreeMap::new();
    let mut found_skills: BTreeMap<(PathBuf, String), Option<usize>> = BTreeMap::new();
    for (found, trial) in read {
        let job = found.folder.parent().unwrap_or(&found.folder).to_owned();
        let search = TaskSearch {
            trial: &found.folder,
            root: &found.root,
            name: &trial.task,
            path: trial.task_path.as_deref(),
        };
        trial.beside = if let Some(copy) = search.find_copy() {
            Arc::new(copy)
        } else {
            let key = (job.clone(), trial.task.clone(), trial.task_path.clone());
            let first = || Arc::new(search.find_beside().unwrap_or_default());
            found_tasks.entry(key).or_insert_with(first).clone()
        };
        let mut tokens_of = |name: &String| {
            let source = trial.skill_sources.get(name)?;
            let first = || search.find_skill(source);
            *found_skills.entry((job.clone(), source.clone())).or_insert_with(first)
        };
        let of_sources: Option<usize> = trial.skills.keys().map(&mut tokens_of).sum();
        trial.skill_tokens = of_sources.or_else(|| trial.beside.tokens_of(trial.skills.keys()));
    }
}

/// Reads every trial once, in a fixed order. The same result in another folder is passed over, and
/// another result of the same trial refused.
fn read_all(walk: &mut Walk) -> Result<Vec<(TrialFolder, ForeignTrial)>, ImportError> {
    let mut seen: BTreeMap<String, (PathBuf, String)> = BTreeMap::new();
    let mut read = Vec::new();
    let mut found = std::mem::take(&mut walk.trials);
    found.sort_by(|one, other| one.folder.cmp(&other.folder));
    for mut found in found {
        let trial =
            if benchflow::is_result(&found.result) { benchflow::read(&found) } else { harbor::read(&found) };
        match trial {
            Ok(trial) => match seen.get(&trial.source) {
                None => {
                    seen.insert(trial.source.clone(), (found.folder.clone(), found.digest.clone()));
                    // It has been read, and there may be thousands.
                    found.result = Value::Null;
                    read.push((found, trial));
                }
                Some((_, digest)) if *digest == found.digest => walk.count("duplicate trial"),
                Some((first, _)) => {
                    let folders = [first.clone(), found.folder];
                    return Err(ImportError::SameTrialFolders { trial: trial.source, folders });
                }
            },
            Err(reason) => walk.count(reason),
        }
    }
    Ok(read)
}

/// Each trial's condition.
fn conditions(
    read: &[(TrialFolder, ForeignTrial)],
    overrides: &Overrides,
    notes: &mut Vec<String>,
) -> Vec<String> {
    // No skills, where others of the same agent had some, is a condition.
    let given: BTreeSet<(&str, Option<&str>)> = read
        .iter()
        .filter(|(_, trial)| trial.evidence.skills == Some(true))
        .map(|(_, trial)| (trial.agent.name.as_str(), trial.agent.model.as_deref()))
        .collect();
    let beside = NameContrast::of(read.iter().map(|(_, trial)| &trial.evidence));
    let mut unknown: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    let mut by_pair = 0;
    let conditions = read
        .iter()
        .map(|(found, trial)| {
            let job = found.job.first().map_or("", String::as_str);
            if let Some(condition) = overrides.find(job, &found.name, &trial.agent.name) {
                return condition.to_owned();
            }
            let inferred = trial.evidence.infer();
            if matches!(inferred, Inferred::NoneGiven | Inferred::Silent)
                && beside.implies_skills(&trial.evidence)
            {
                by_pair += 1;
                return ConditionRole::Curated.name().to_owned();
            }
            let why = match inferred {
                Inferred::Known(condition) => return condition.name().to_owned(),
                Inferred::NoneGiven
                    if given.contains(&(trial.agent.name.as_str(), trial.agent.model.as_deref())) =>
                {
                    return ConditionRole::None.name().to_owned();
                }
                Inferred::NoneGiven => "no agent was given skills, and the image may contain some",
                Inferred::Silent => "neither names nor configuration identify it",
                Inferred::Unknown(why) => why,
            };
            let (count, jobs) = unknown.entry(why).or_default();
            *count += 1;
            jobs.insert(job);
            UNKNOWN.to_owned()
        })
        .collect();
    if by_pair > 0 {
        let trials = if by_pair == 1 { "trial has" } else { "trials have" };
        notes.push(format!(
            "{by_pair} {trials} the condition `{}`: a name says `skills` where that of trials beside it says the \
             same without skills. `--condition PATTERN=CONDITION` says otherwise.",
            ConditionRole::Curated
        ));
    }
    for (why, (count, jobs)) in unknown {
        let some: Vec<&str> = jobs.iter().copied().take(5).collect();
        let more = if jobs.len() > some.len() { ", …" } else { "" };
        let trials = if count == 1 { "trial has" } else { "trials have" };
        notes.push(format!(
            "{count} {trials} the condition `{UNKNOWN}`: {why} ({}{more}). `--condition PATTERN=CONDITION` sets it.",
            some.join(", ")
        ));
    }
    conditions
}

/// Numbers repetitions by time, and separates cancelled and incomparable trials.
fn place_trials(
    read: Vec<(TrialFolder, ForeignTrial)>,
    conditions: Vec<String>,
) -> (Vec<PlacedTrial>, Vec<Exclusion>) {
    let mut all: Vec<(TrialFolder, ForeignTrial, String)> = read
        .into_iter()
        .zip(conditions)
        .map(|((found, trial), condition)| (found, trial, condition))
        .collect();
    all.sort_by(|(_, one, _), (_, other, _)| {
        let key = |trial: &ForeignTrial| trial.started.map(|time| time.at);
        (key(one), &one.source).cmp(&(key(other), &other.source))
    });
    let known: BTreeSet<AgentLabel> = all
        .iter()
        .filter(|(_, _, condition)| condition != UNKNOWN)
        .map(|(_, trial, _)| trial.agent.clone())
        .collect();
    let mut next: BTreeMap<(String, AgentLabel, String), u32> = BTreeMap::new();
    let (mut placed, mut excluded) = (Vec::new(), Vec::new());
    for (found, trial, condition) in all {
        if let ForeignOutcome::Cancelled(class) = &trial.outcome {
            let reason = format!("cancelled ({class})");
            excluded.push(Exclusion { task: trial.task.clone(), condition: Some(condition), reason });
            continue;
        }
        // An unknown arm beside known ones would take from them every task that it does not have.
        if condition == UNKNOWN && known.contains(&trial.agent) {
            let reason =
                "its condition is unknown, and its agent has trials with known conditions".to_owned();
            excluded.push(Exclusion { task: trial.task.clone(), condition: Some(condition), reason });
            continue;
        }
        let repetition =
            next.entry((trial.task.clone(), trial.agent.clone(), condition.clone())).or_default();
        *repetition += 1;
        let specification = json!({
            "protocol": PROTOCOL, "source": trial.by.word(), "trial": trial.source, "task": trial.task,
            "agent": trial.agent, "condition": condition, "repetition": *repetition,
        });
        let id = TrialId::of(&specification);
        let repetition = *repetition;
        let mark = ImportedFrom {
            format: trial.by.word().to_owned(),
            file: file_name(&found.folder),
            digest: format!("blake3:{}", found.digest),
            trial: None,
        };
        placed.push(PlacedTrial {
            folder: found.folder,
            trial,
            condition,
            repetition,
            id,
            specification,
            mark,
        });
    }
    excluded.sort();
    (placed, excluded)
}

/// The plan that these trials would have had.
fn run_folder(
    placed: &[PlacedTrial],
    excluded: &[Exclusion],
    options: &ImportOptions,
    notes: &mut Vec<String>,
) -> Result<RunFolder, ImportError> {
    let used: BTreeSet<&str> = placed.iter().map(|placed| placed.condition.as_str()).collect();
    // Conditions known to assay in its own order, then the others, and the unknown one last.
    let rank = |condition: &str| {
        let own = crate::condition::names().position(|name| name == condition);
        (condition == UNKNOWN, own.unwrap_or(usize::MAX))
    };
    let mut conditions: Vec<String> = used.iter().map(|&condition| condition.to_owned()).collect();
    conditions.sort_by(|one, other| (rank(one), one).cmp(&(rank(other), other)));
    let roles = &options.analysis;
    if !roles.place_baseline(&mut conditions)? && conditions.len() > 1 {
        notes.push(format!(
            "No trial ran under `{}`: `{}` is the baseline. `--baseline CONDITION` chooses another.",
            ConditionRole::None,
            conditions[0]
        ));
    }
    let (primary, settings) = (roles.primary(&conditions)?, roles.settings(&conditions)?);
    notes.extend(roles.primary_hint(&conditions, primary.as_deref()));
    let labels: BTreeSet<&AgentLabel> = placed.iter().map(|placed| &placed.trial.agent).collect();
    let labels: Vec<&AgentLabel> = labels.into_iter().collect();
    let mut tasks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for placed in placed {
        tasks.entry(&placed.trial.task).or_default().insert(&placed.trial.task_digest);
    }
    let changed = tasks.values().filter(|digests| digests.len() > 1).count();
    if changed > 0 {
        notes.push(format!(
            "{changed} of the tasks have several digests; they are paired by name. Where skills are part of the image that \
             is so, else the tasks have changed."
        ));
    }
    let mut cells: Vec<Cell> = placed
        .iter()
        .map(|placed| Cell {
            task: placed.trial.task.clone(),
            agent: labels.iter().position(|label| **label == placed.trial.agent).unwrap_or_default(),
            sandbox: placed.trial.sandbox.clone(),
            condition: placed.condition.clone(),
            repetition: placed.repetition,
            trial: placed.id.clone(),
        })
        .collect();
    cells.sort_by(|one, other| {
        (&one.task, one.agent, &one.condition, one.repetition, &one.trial).cmp(&(
            &other.task,
            other.agent,
            &other.condition,
            other.repetition,
            &other.trial,
        ))
    });
    let (planned_tasks, provisions) = plan_tasks(placed, &tasks, roles, notes);
    let counts = facts::count_facts(&planned_tasks, &provisions, &cells, conditions.first());
    notes.extend(facts::unknown_notes(&counts));
    let origins: BTreeSet<Origin> = placed.iter().map(|placed| placed.trial.by).collect();
    Ok(RunFolder {
        schema: RunFolder::SCHEMA.to_owned(),
        run: String::new(),
        plan: String::new(),
        extends: None,
        relabels: None,
        margin: MARGIN,
        primary,
        seed: SEED,
        repetitions: cells.iter().map(|cell| cell.repetition).max().unwrap_or_default(),
        conditions,
        disclosure: "unknown".to_owned(),
        agents: labels
            .iter()
            .map(|label| PlannedAgent::new(AgentLabel::clone(label), measures(label)))
            .collect(),
        tasks: planned_tasks,
        cells,
        excluded: excluded.to_vec(),
        skills: placed.iter().flat_map(|placed| placed.trial.skills.clone()).collect(),
        equal_conditions: Vec::new(),
        provisions,
        warnings: Vec::new(),
        outcome: Some(roles.outcome.unwrap_or_default()),
        metrics: Vec::new(),
        settings,
        stopping: None,
        judge: None,
        imported_from: None,
        reused_imports: None,
        selected_by: Vec::new(),
        reused: Vec::new(),
        imported: Some(origins.iter().map(|by| by.word()).collect::<Vec<_>>().join(" and ")),
    })
}

/// The tasks, and what is known of their skills.
fn plan_tasks(
    placed: &[PlacedTrial],
    tasks: &BTreeMap<&str, BTreeSet<&str>>,
    roles: &AnalysisOptions,
    notes: &mut Vec<String>,
) -> (Vec<PlannedTask>, Vec<PlannedProvision>) {
    let task_facts = TaskFacts::of_tasks(
        placed.iter().map(|placed| (placed.trial.task.as_str(), &placed.trial.beside.facts)),
        notes,
    );
    let role_of = |condition: &str| roles.role_of(condition);
    let provisions = facts::known_provisions(
        placed.iter().map(|placed| {
            let known = placed.trial.known_skills(role_of(&placed.condition));
            (placed.trial.task.as_str(), placed.condition.as_str(), known)
        }),
        notes,
    );
    let planned_tasks: Vec<PlannedTask> = tasks
        .iter()
        .map(|(name, digests)| {
            let own = task_facts.get(name).cloned().unwrap_or_default();
            PlannedTask {
                name: (*name).to_owned(),
                digest: digests.first().map_or_else(String::new, |digest| (*digest).to_owned()),
                cluster: own.cluster,
                difficulty: own.difficulty,
                category: own.category,
                negative_control: false,
                second_stage: false,
                curated: Vec::new(),
            }
        })
        .collect();
    (planned_tasks, provisions)
}

/// Whether a model did the work. Harbor's oracle and nop may carry a model's name, and never ask
/// it; any other agent may leave its model unnamed.
fn measures(label: &AgentLabel) -> bool {
    !matches!(label.name.as_str(), "oracle" | "nop")
}

/// Writes records that are new or changed, and counts all by outcome.
fn write_trials(store: &Store, placed: &[PlacedTrial]) -> Result<BTreeMap<String, usize>, StoreError> {
    let mut by_outcome: BTreeMap<String, usize> = BTreeMap::new();
    for placed in placed {
        let bytes =
            read_beneath(&placed.folder, Path::new("agent/trajectory.json"), TRAJECTORY_CAP).ok().flatten();
        let trajectory = bytes.as_deref().and_then(assay_trace::read::atif::parse);
        let Some(mut record) = to_record(placed, trajectory.as_ref().map(assay_trace::Trajectory::turns))
        else {
            continue;
        };
        *by_outcome.entry(record.outcome.word().to_owned()).or_default() += 1;
        // An unreadable record is replaced.
        if is_known(store.record(&placed.id).unwrap_or_default(), &record) {
            continue;
        }
        let Some(lease) = claimed(store, &placed.id)? else { continue };
        let (attempt, folder) = store.begin(&placed.id, &placed.specification, &lease)?;
        record.attempt = attempt;
        if let Some(trajectory) = &trajectory {
            write_json(&folder.join("trajectory.json"), trajectory)?;
        }
        let output = Path::new("verifier/test-stdout.txt");
        if let Ok(Some(bytes)) = read_beneath(&placed.folder, output, OUTPUT_CAP) {
            let path = folder.join("verifier");
            std::fs::create_dir_all(&path).map_err(|source| StoreError::Io {
                action: "create",
                path: path.clone(),
                source,
            })?;
            write_atomically(&path.join("test-stdout.txt"), &bytes)?;
        }
        write_new(&folder.join("origin.txt"), format!("{}\n", placed.folder.display()).as_bytes())?;
        store.finish(&record, &lease)?;
    }
    store.clear_scratch();
    Ok(by_outcome)
}

/// Whether the store has a result, perhaps from another version of the same file or folder.
fn is_known(known: Option<Record>, new: &Record) -> bool {
    known.is_some_and(|known| {
        let is_marked = match (&known.imported_from, &new.imported_from) {
            (Some(known), Some(new)) => known.is_same_place(new),
            (known, new) => known == new,
        };
        let imported_from = new.imported_from.clone();
        is_marked && Record { attempt: new.attempt, imported_from, ..known } == *new
    })
}

/// The name of a file or folder without those above it, for records: a path would describe the machine.
fn file_name(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The digest of a file.
fn file_digest(path: &Path) -> Result<String, ImportError> {
    let failed = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(assay_fs::open_file(path).map_err(failed)?).map_err(failed)?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// The right to write a trial; `None` if a running process is importing the same one.
fn claimed(store: &Store, id: &TrialId) -> Result<Option<Lease>, StoreError> {
    match store.claim(id)? {
        Claim::Mine(lease) => Ok(Some(lease)),
        Claim::Held(holder) if holder.owner.is_alive() => Ok(None),
        Claim::Held(_) => {
            let reason = "a process on another machine or in another container holds it; remove it if that process is gone";
            Err(StoreError::Io {
                action: "claim",
                path: store.trial_folder(id).join("lease"),
                source: std::io::Error::other(reason),
            })
        }
    }
}

fn to_record(placed: &PlacedTrial, turns: Option<usize>) -> Option<Record> {
    let trial = &placed.trial;
    let ForeignOutcome::Of(outcome, cause, reason) = &trial.outcome else { return None };
    let time = |time: Option<times::Time>| time.map(|time| time.at.to_string());
    let reward = trial.reward.clone();
    let new = Record::new(placed.id.clone(), trial.task.clone(), trial.agent.clone(), *outcome);
    Some(Record {
        sandbox: trial.sandbox.clone(),
        condition: placed.condition.clone(),
        repetition: placed.repetition,
        cause: *cause,
        reason: reason.clone(),
        late: trial.late,
        reward: reward.as_ref().map(|reward| reward.value),
        // Keys beside `reward`, as of a trial that assay executed.
        numbers: reward.as_ref().map(|reward| reward.numbers.clone()).unwrap_or_default(),
        rewards: reward.map(|reward| reward.keys).unwrap_or_default(),
        ctrf: trial.ctrf.clone(),
        ended: trial.ended.clone(),
        turns,
        usage: trial.usage,
        cache_unknown: trial.cache_unknown,
        cost_usd: trial.cost_usd,
        seconds: trial.seconds,
        tampered: trial.tampered.clone(),
        steps: trial.steps.clone(),
        measures_a_model: measures(&trial.agent),
        imported_from: Some(placed.mark.clone()),
        started_at: time(trial.started),
        finished_at: time(trial.finished.or(trial.started)),
        ..new
    })
}

#[cfg(test)]
mod fact_tests;
#[cfg(test)]
mod tests;
