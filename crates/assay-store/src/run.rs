//! A run's plan: everything that a report needs in addition to the records.

use std::collections::{BTreeMap, BTreeSet};

use assay_trace::{Disclosure, Placement};
use serde::{Deserialize, Serialize};

use crate::identity::TrialId;
use crate::metric::MetricSpec;
use crate::origin::ImportedFrom;
use crate::outcome_rule::OutcomeRule;
use crate::record::AgentLabel;
use crate::role::ConditionRole;
use crate::spec::judge::JudgeSpec;

/// `plan.json`: everything that a report needs in addition to the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFolder {
    /// `assay.plan/1`.
    pub schema: String,
    /// The run's name.
    pub run: String,
    /// The digest of everything that an analysis reads, by which a run is recognized: see `seal`.
    pub plan: String,
    /// An earlier run that this one extends with more repetitions: its report may have been seen. Only in plans of
    /// earlier versions; `question.json` has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// An earlier run with the same trials and the same analysis, whose tasks had other labels (cluster,
    /// difficulty, category or negative control), or that had another rule of the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relabels: Option<String>,
    /// The equivalence margin.
    pub margin: f64,
    /// The condition whose comparison is tested at the full level; unset, all comparisons are one
    /// family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// The seed of everything drawn at random.
    pub seed: u64,
    /// Trials of each cell.
    pub repetitions: u32,
    /// In order; the first is the baseline.
    pub conditions: Vec<String>,
    /// `offered`, `told` or `eager`.
    pub disclosure: String,
    /// In the experiment's order.
    pub agents: Vec<PlannedAgent>,
    /// In order of name.
    pub tasks: Vec<PlannedTask>,
    /// Every cell.
    pub cells: Vec<Cell>,
    /// Tasks and conditions that were excluded.
    pub excluded: Vec<Exclusion>,
    /// The library's skills, and those that tasks carry, by name, with their digests.
    #[serde(default)]
    pub skills: BTreeMap<String, String>,
    /// Pairs of conditions with equal provisions, with the number of tasks concerned.
    pub equal_conditions: Vec<(String, String, usize)>,
    /// The skills that each condition provides for each task, in order of task.
    #[serde(default)]
    pub provisions: Vec<PlannedProvision>,
    /// What the tasks request and this machine cannot provide, in sentences. Not part of `plan`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Conditions with settings of their own: `[condition.NAME]` of the experiment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, ConditionSettings>,
    /// The value of a trial that comparisons are made of; absent in plans from before there was a choice,
    /// which read the mean of all rewards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRule>,
    /// The models whose attempts without the skill selected the tasks: the lift is then one on tasks that they failed. Empty
    /// if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected_by: Vec<String>,
    /// The metrics that conditions are compared by, beside the score.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricSpec>,
    /// When comparisons are decided, if they are decided after each round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Stopping>,
    /// The judges of tasks with a rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeSpec>,
    /// Trials of `cells` that were executed under another identity, and why they count here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<ReusedTrials>,
    /// What executed imported trials: `harbor`, `benchflow`, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<String>,
    /// The archive that the run was imported from. Its trials have ids of their own here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// Trials of archives that the run uses in the place of its own, as `--reuse-imported` asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_imports: Option<usize>,
}

/// Trials that were executed under another identity than the plan would give them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedTrials {
    /// Why they count.
    pub why: Reuse,
    /// The server that they were executed with; unset if it is that of their agent, or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// In order of id.
    pub trials: Vec<TrialId>,
}

/// Why trials of another identity count in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reuse {
    /// They were recorded before servers were part of the identity, and labels of tasks were none.
    EarlierSchema,
    /// The user said that their server is the same: `--same-server`.
    SameServer,
}

/// Decisions after each complete round: one repetition of every task under every condition that is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// Rounds at most.
    pub rounds: u32,
    /// How many of the rounds are looked at, evenly spread and the last one among them; after every round if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<u32>,
    /// Tasks that take part in no round: a comparison that the rounds leave open is decided with them. Unset without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_tasks: Option<u32>,
    /// Tasks of the rounds, if there are `more_tasks`; both without negative controls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tasks: Option<u32>,
}

impl Stopping {
    /// So many rounds at most, with a look after each.
    pub fn new(rounds: u32) -> Self {
        Self { rounds, looks: None, more_tasks: None, first_tasks: None }
    }

    /// How many tasks take part in rounds, and how many come after them; `None` if all take part in rounds.
    pub fn stages(&self) -> Option<[usize; 2]> {
        Some([self.first_tasks? as usize, self.more_tasks? as usize])
    }
}

/// Settings in which a condition differs from the rest of its experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionSettings {
    /// The condition that it is, where its name is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// How skills are disclosed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclosure: Option<Disclosure>,
    /// Trials of each of its cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetitions: Option<u32>,
}

/// An agent of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedAgent {
    /// Who it is.
    #[serde(rename = "label")]
    pub label: AgentLabel,
    /// Its name in reports, if not its harness's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Where it finds skills, if there is a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Whether its results measure a model.
    pub measures_a_model: bool,
    /// The server of its model, as the experiment declares it: a name, or an address in its normal form; unset
    /// without a model, for scripts, and in plans of 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The day from which its price of a table holds, if the experiment has none. Not part of `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<String>,
}

impl PlannedAgent {
    /// One of which only the label is known.
    pub fn new(label: AgentLabel, measures_a_model: bool) -> Self {
        Self { label, arm: None, placement: None, measures_a_model, server: None, list_price: None }
    }

    /// Its name in reports.
    pub fn name(&self) -> &str {
        self.arm.as_deref().unwrap_or(&self.label.name)
    }
}

/// A task of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The folder's name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Tasks that share something, so that they are not independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// `[metadata] difficulty`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<String>,
    /// `[metadata] category`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// `[metadata.assay] negative_control`: no skill should help here, and the task counts apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negative_control: bool,
    /// One of the `more_tasks` of `stopping`: it takes part in no round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub second_stage: bool,
    /// The digests of the skills that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curated: Vec<String>,
}

/// The skills that a condition provides for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedProvision {
    /// The task's name.
    pub task: String,
    /// The condition.
    pub condition: String,
    /// In order.
    pub skills: Vec<PlannedSkill>,
    /// What an import knows of the skills where it does not have the skills themselves; unset in plans of trials that
    /// assay executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownSkills>,
}

/// What is known of skills that are not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSkills {
    /// How many there were; `None` if unknown.
    pub number: Option<usize>,
    /// Tokens of their bodies together, as their source counts them; `None` if unknown.
    pub body_tokens: Option<usize>,
}

impl PlannedProvision {
    /// How many skills are provided; `None` if unknown.
    pub fn number(&self) -> Option<usize> {
        self.known.map_or(Some(self.skills.len()), |known| known.number)
    }

    /// Tokens of the bodies of the provided skills together; `None` if unknown.
    pub fn body_tokens(&self) -> Option<usize> {
        let sum = || self.skills.iter().map(|skill| skill.body_tokens).sum();
        self.known.map_or_else(|| Some(sum()), |known| known.body_tokens)
    }
}

/// A provided skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSkill {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Tokens of its body, cl100k.
    pub body_tokens: usize,
}

/// One cell of a plan: a place in the tables, and the trial that fills it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The task's name.
    pub task: String,
    /// Which agent, counted from 0 in the experiment's order.
    pub agent: usize,
    /// Which sandbox.
    pub sandbox: String,
    /// Which condition.
    pub condition: String,
    /// From 1.
    pub repetition: u32,
    /// The trial's id.
    pub trial: TrialId,
}

/// An excluded task, or a condition of one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Exclusion {
    /// The task's name.
    pub task: String,
    /// The condition, if only that one is concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Why.
    pub reason: String,
}

/// What the reason of an exclusion says if the task's solution needs a network that the task forbids.
pub const NEEDS_NETWORK: &str = "the solution needs the network, which the task forbids";

impl RunFolder {
    /// The format of `plan.json`.
    pub const SCHEMA: &str = "assay.plan/1";

    /// The condition that a name stands for: itself, unless `[condition.NAME]` says otherwise.
    pub fn condition_of<'a>(&'a self, name: &'a str) -> &'a str {
        self.settings.get(name).and_then(|settings| settings.is.as_deref()).unwrap_or(name)
    }

    /// The role of a condition in comparisons.
    pub fn role_of(&self, name: &str) -> ConditionRole {
        ConditionRole::of(self.condition_of(name))
    }

    /// How skills are disclosed under a condition.
    pub fn disclosure_of(&self, name: &str) -> &str {
        self.settings
            .get(name)
            .and_then(|settings| settings.disclosure)
            .map_or(self.disclosure.as_str(), |own| own.word())
    }

    /// Planned trials of each cell under a condition.
    pub fn repetitions_of(&self, name: &str) -> u32 {
        self.settings.get(name).and_then(|settings| settings.repetitions).unwrap_or(self.repetitions)
    }

    /// Independent units of a stage (the tasks of the rounds, or those after them): tasks, or effective clusters N²/Σn²,
    /// rounded down. Negative controls are not counted.
    pub fn units(&self, second_stage: bool) -> usize {
        let names: BTreeSet<&str> = self.cells.iter().map(|cell| cell.task.as_str()).collect();
        let mut sizes: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        let is_of = |task: &&PlannedTask| !task.negative_control && task.second_stage == second_stage;
        for task in self.tasks.iter().filter(is_of).filter(|task| names.contains(task.name.as_str())) {
            let key = task.cluster.as_deref().map_or((false, task.name.as_str()), |cluster| (true, cluster));
            *sizes.entry(key).or_default() += 1;
        }
        let tasks: usize = sizes.values().sum();
        (tasks * tasks).checked_div(sizes.values().map(|size| size * size).sum()).unwrap_or(0)
    }

    /// Sets how many rounds are looked at, given the number for so many independent units.
    pub fn set_looks(&mut self, looks_of: impl FnOnce(usize) -> Option<u32>) {
        let units = self.units(false);
        if let Some(stopping) = &mut self.stopping {
            stopping.looks = looks_of(units);
        }
    }

    /// The tasks that take part in no round.
    pub fn second_stage(&self) -> BTreeSet<&str> {
        self.tasks.iter().filter(|task| task.second_stage).map(|task| task.name.as_str()).collect()
    }

    /// The distinct trials, in order of id.
    pub fn trials(&self) -> BTreeSet<&TrialId> {
        self.cells.iter().map(|cell| &cell.trial).collect()
    }

    /// Whether this run has trials of another run under a condition other than the baseline, and trials that the other has
    /// not.
    pub fn adds_to(&self, other: &Self) -> bool {
        let is_compared = |run: &Self, cell: &Cell| run.conditions.first() != Some(&cell.condition);
        let compared = |run: &'_ Self| -> BTreeSet<TrialId> {
            run.cells.iter().filter(|cell| is_compared(run, cell)).map(|cell| cell.trial.clone()).collect()
        };
        !compared(self).is_disjoint(&compared(other)) && !self.trials().is_subset(&other.trials())
    }

    /// Whether this run contains every trial of another run, and more.
    pub fn is_extension_of(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.trials(), other.trials());
        mine.len() > theirs.len() && !theirs.is_empty() && theirs.is_subset(&mine)
    }
}

/// Whether a name can be a folder name on every system.
pub fn is_run_name(name: &str) -> bool {
    name.len() <= 80
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}
