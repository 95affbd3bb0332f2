//! The question that a run asks, and the earlier runs that asked it.
//!
//! A run asks one question for each condition and agent: does this condition change the outcome of this agent, with
//! this model, on these tasks? Two runs ask the same if role, agent, model and the rule of the outcome agree, and if at least half of
//! the skills and half of the tasks do (of the run that has fewer). A skill agrees by its name, so that its versions
//! are one lineage, or by its digest; a task likewise, also by the digest that plans of 0.1.0 have. Names, seeds, margins, primary conditions and stopping rules do
//! not matter.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::StoreError;
use crate::files::{read_json, write_json};
use crate::identity::{TrialId, canonical};
use crate::outcome_rule::OutcomeRule;
use crate::run::{Cell, RunFolder};
use crate::store::Store;

/// `question.json`: what a run asks, written when its plan is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunQuestion {
    /// `assay.question/1`.
    pub schema: String,
    /// The same in all runs that ask the same, as far as they were known when the plan was written.
    pub id: String,
    /// When the plan was written, RFC 3339, UTC; `null` if unknown.
    pub planned_at: Option<String>,
    /// One for each condition other than the baseline, and each agent.
    pub parts: Vec<QuestionPart>,
    /// The rule by which trials have an outcome; absent in runs of older versions, which count as `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRule>,
    /// The planned tasks by name, with their digests.
    pub tasks: BTreeMap<String, String>,
    /// The digests of these tasks with their labels, which plans of 0.1.0 have; absent if unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labeled: BTreeMap<String, String>,
}

/// A condition under an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionPart {
    /// The condition's name.
    pub condition: String,
    /// The condition that it is.
    pub role: String,
    /// The harness.
    pub agent: String,
    /// `provider:model`.
    pub model: Option<String>,
    /// The skills that the condition provides by name, with their digests.
    pub skills: BTreeMap<String, String>,
    /// Trials of the condition and of its baseline.
    pub trials: usize,
    /// Of them, those that the store had when the plan was written; `null` if unknown.
    pub recorded: Option<usize>,
}

/// An earlier run that asks the same question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierRun {
    /// Its name.
    pub run: String,
    /// How its trials are related.
    pub kind: EarlierKind,
    /// Its conditions that ask the same.
    pub conditions: Vec<String>,
}

/// How the trials of an earlier run are related to those of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EarlierKind {
    /// The later one has no trial that was not there before: it analyzes the same trials again.
    Reanalyzed,
    /// The later one contains its trials, and executed more.
    Extended,
    /// It has trials of its own.
    Separate,
}

/// A run that asks the same as another.
struct SameQuestion {
    run: String,
    question: RunQuestion,
    /// The positions of the parts that ask the same: of the other run, and of this one.
    pairs: Vec<(usize, usize)>,
}

impl RunQuestion {
    /// The format of `question.json`.
    pub const SCHEMA: &str = "assay.question/1";

    /// What a run asks; `recorded` tells whether the store has a trial, if that is to be counted. Without a condition
    /// beside the baseline there are no parts.
    fn of(run: &RunFolder, recorded: Option<&dyn Fn(&TrialId) -> bool>) -> Self {
        let mut known: HashMap<&TrialId, bool> = HashMap::new();
        let mut parts: Vec<QuestionPart> = Vec::new();
        for condition in run.conditions.iter().skip(1) {
            for agent in &run.agents {
                let (name, model) = (agent.label.name.as_str(), agent.label.model.as_deref());
                let is_known = parts.iter().any(|part| {
                    (part.condition.as_str(), part.agent.as_str(), part.model.as_deref())
                        == (condition.as_str(), name, model)
                });
                let trials = trials_of(run, condition, name, model);
                if is_known || trials.is_empty() {
                    continue;
                }
                let recorded = recorded.map(|recorded| {
                    trials.iter().filter(|id| *known.entry(id).or_insert_with(|| recorded(id))).count()
                });
                parts.push(QuestionPart {
                    condition: condition.clone(),
                    role: run.condition_of(condition).to_owned(),
                    agent: name.to_owned(),
                    model: model.map(str::to_owned),
                    skills: skills_of(run, condition),
                    trials: trials.len(),
                    recorded,
                });
            }
        }
        let planned: BTreeSet<&str> = run.cells.iter().map(|cell| cell.task.as_str()).collect();
        let tasks = run.tasks.iter().filter(|task| planned.contains(task.name.as_str()));
        let tasks = tasks.map(|task| (task.name.clone(), task.digest.clone())).collect();
        let chief = parts.iter().find(|part| run.primary.as_ref().is_none_or(|name| *name == part.condition));
        let id =
            chief.or(parts.first()).map_or_else(String::new, |part| part.id(run.outcome.unwrap_or_default()));
        Self {
            schema: Self::SCHEMA.to_owned(),
            id,
            planned_at: None,
            parts,
            outcome: run.outcome,
            tasks,
            labeled: BTreeMap::new(),
        }
    }

    /// The pairs of parts that ask the same in both, by their positions.
    fn same_parts(&self, other: &Self) -> Vec<(usize, usize)> {
        let outcome = |question: &Self| question.outcome.unwrap_or_default();
        if outcome(self) != outcome(other) || !self.has_tasks_of(other) {
            return Vec::new();
        }
        let mut pairs = Vec::new();
        for (mine, part) in self.parts.iter().enumerate() {
            let same = |theirs: &QuestionPart| {
                (&part.role, &part.agent, &part.model) == (&theirs.role, &theirs.agent, &theirs.model)
                    && agree(&part.skills, &theirs.skills)
            };
            let found = other.parts.iter().enumerate().filter(|(_, theirs)| same(theirs));
            pairs.extend(found.map(|(theirs, _)| (mine, theirs)));
        }
        pairs
    }

    /// Whether at least half of the tasks agree, also by the digests that earlier versions gave them.
    fn has_tasks_of(&self, other: &Self) -> bool {
        let with_labels = |one: &Self| -> BTreeMap<String, String> {
            let digest = |name: &String, own: &String| one.labeled.get(name).unwrap_or(own).clone();
            one.tasks.iter().map(|(name, own)| (name.clone(), digest(name, own))).collect()
        };
        agree(&self.tasks, &other.tasks)
            || agree(&with_labels(self), &other.tasks)
            || agree(&self.tasks, &with_labels(other))
    }

    /// When the plan was written.
    fn time(&self) -> Option<jiff::Timestamp> {
        self.planned_at.as_deref()?.parse().ok()
    }
}

impl QuestionPart {
    /// A digest of what identifies the question apart from its tasks.
    fn id(&self, outcome: OutcomeRule) -> String {
        let Self { role, agent, model, .. } = self;
        let skills: Vec<&String> = self.skills.keys().collect();
        let what =
            json!({ "outcome": outcome, "role": role, "agent": agent, "model": model, "skills": skills });
        let digest = blake3::hash(canonical(&what).as_bytes()).to_hex();
        digest.chars().take(16).collect()
    }
}

/// Whether at least half of the smaller of two sets agree with the other, by name or by digest. Two empty sets do.
fn agree(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    let (small, large) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let digests: BTreeSet<&String> = large.values().collect();
    let same =
        small.iter().filter(|(name, digest)| large.contains_key(*name) || digests.contains(digest)).count();
    if small.is_empty() { large.is_empty() } else { 2 * same >= small.len() }
}

/// The trials of a condition and of the baseline, by agents with this name and model.
fn trials_of<'a>(
    run: &'a RunFolder,
    condition: &str,
    agent: &str,
    model: Option<&str>,
) -> BTreeSet<&'a TrialId> {
    let baseline = run.conditions.first();
    let is_of = |cell: &&Cell| {
        let label = run.agents.get(cell.agent).map(|agent| &agent.label);
        (cell.condition == condition || Some(&cell.condition) == baseline)
            && label.is_some_and(|label| label.name == agent && label.model.as_deref() == model)
    };
    if run.cells.iter().any(|cell| cell.condition == condition && is_of(&cell)) {
        run.cells.iter().filter(is_of).map(|cell| &cell.trial).collect()
    } else {
        BTreeSet::new()
    }
}

/// The skills of a condition. Older plans name only those of the library, and those of imports only all of them.
fn skills_of(run: &RunFolder, condition: &str) -> BTreeMap<String, String> {
    if run.provisions.iter().all(|provision| provision.known.is_some()) {
        return run.skills.clone();
    }
    let own = run.provisions.iter().filter(|provision| provision.condition == condition);
    let skills = own.flat_map(|provision| &provision.skills);
    skills.map(|skill| (skill.name.clone(), skill.digest.clone())).collect()
}

impl Store {
    /// Writes down what a run asks, when its plan is written.
    pub(crate) fn save_question(
        &self,
        run: &RunFolder,
        labeled: &BTreeMap<String, String>,
    ) -> Result<(), StoreError> {
        let mut question = RunQuestion::of(run, Some(&|id| self.has_record(id)));
        question.labeled = labeled.clone();
        question.planned_at = Some(jiff::Timestamp::now().to_string());
        if let Some(first) = self.same_question(&run.run, &question).into_iter().next() {
            question.id = first.question.id;
        }
        write_json(&self.run_folder(&run.run).join("question.json"), &question)
    }

    /// What a run asks. Of a run of an older version it is read from its plan.
    ///
    /// # Errors
    /// Neither can be read.
    pub fn question(&self, run: &str) -> Result<RunQuestion, StoreError> {
        match self.saved_question(run) {
            Some(question) => Ok(question),
            None => Ok(self.planned_question(&self.run(run)?)),
        }
    }

    fn saved_question(&self, run: &str) -> Option<RunQuestion> {
        let path = self.run_folder(run).join("question.json");
        let question: RunQuestion = if path.exists() { read_json(&path).ok()? } else { return None };
        (question.schema == RunQuestion::SCHEMA).then_some(question)
    }

    fn planned_question(&self, run: &RunFolder) -> RunQuestion {
        let mut question = RunQuestion::of(run, None);
        question.planned_at = self.first_activity(&run.run).map(|time| time.to_string());
        question
    }

    /// When a run was planned, for a run of an older version: when its first trial ended, by its events, else when its
    /// plan was written, by the file system.
    fn first_activity(&self, run: &str) -> Option<jiff::Timestamp> {
        let events = fs::File::open(self.run_folder(run).join("events.jsonl")).ok();
        let first = events.and_then(|file| {
            use std::io::BufRead;
            std::io::BufReader::new(file).lines().map_while(Result::ok).find_map(|line| {
                let event: Value = serde_json::from_str(&line).ok()?;
                event.get("at")?.as_str()?.parse::<jiff::Timestamp>().ok()
            })
        });
        first.or_else(|| {
            let modified = fs::metadata(self.run_folder(run).join("plan.json")).ok()?.modified().ok()?;
            modified.try_into().ok()
        })
    }

    /// The other runs that were planned before and ask the same, oldest first, with the positions of the parts.
    fn same_question(&self, run: &str, mine: &RunQuestion) -> Vec<SameQuestion> {
        let place = |name: &str, question: &RunQuestion| (question.time(), name.to_owned());
        let own = place(run, mine);
        let mut found = Vec::new();
        for name in self.run_names().into_iter().filter(|name| name != run) {
            // A damaged plan hides no other run.
            let Ok(other) = self.question(&name) else { continue };
            if place(&name, &other) < own {
                let pairs = mine.same_parts(&other);
                if !pairs.is_empty() {
                    found.push(SameQuestion { run: name, question: other, pairs });
                }
            }
        }
        found.sort_by_cached_key(|found| place(&found.run, &found.question));
        found
    }

    /// The earlier runs of this store that ask the same as a run and had trials when it was planned, oldest first.
    ///
    /// Plans are read of runs that ask the same, and no records: a trial is there if its record is.
    pub fn earlier_runs(&self, run: &RunFolder) -> (RunQuestion, Vec<EarlierRun>) {
        let question = match self.saved_question(&run.run) {
            Some(question) => question,
            None => self.planned_question(run),
        };
        let mut earlier = Vec::new();
        for SameQuestion { run: name, question: other, pairs } in self.same_question(&run.run, &question) {
            let Ok(plan) = self.run(&name) else { continue };
            let mut kind = None;
            let mut conditions = Vec::new();
            for (mine, theirs) in pairs {
                let (mine, theirs) = (&question.parts[mine], &other.parts[theirs]);
                let of = |run, part: &QuestionPart| {
                    trials_of(run, &part.condition, &part.agent, part.model.as_deref())
                };
                let (own, their) = (of(run, mine), of(&plan, theirs));
                let Some(found) = self.relation(&own, &their, mine.recorded, (run, &plan)) else { continue };
                kind = kind.max(Some(found));
                if !conditions.contains(&theirs.condition) {
                    conditions.push(theirs.condition.clone());
                }
            }
            earlier.extend(kind.map(|kind| EarlierRun { run: name, kind, conditions }));
        }
        (question, earlier)
    }

    /// How the trials of an earlier part are related to those of a later one; `None` if the earlier one had none.
    fn relation(
        &self,
        own: &BTreeSet<&TrialId>,
        their: &BTreeSet<&TrialId>,
        recorded: Option<usize>,
        (later, earlier): (&RunFolder, &RunFolder),
    ) -> Option<EarlierKind> {
        if their.difference(own).any(|id| self.has_record(id)) {
            return Some(EarlierKind::Separate);
        }
        let has_shared = own.intersection(their).any(|id| self.has_record(id));
        if !has_shared || recorded == Some(0) {
            return None;
        }
        let has_more = match recorded {
            _ if !own.is_subset(their) => true,
            Some(recorded) => recorded < own.len(),
            // An older plan does not say what was there. A rule that is gone may have stopped early.
            None => earlier.stopping.is_some() && later.stopping.is_none(),
        };
        Some(if has_more { EarlierKind::Extended } else { EarlierKind::Reanalyzed })
    }

    fn has_record(&self, id: &TrialId) -> bool {
        self.trial_folder(id).join("record.json").exists()
    }
}
