//! The trials of a run as an audit reads them: the condition without skills against each other one, task by
//! task, agent by agent.

mod cache;
mod pace;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_audit::adherence::{DeclaredCheck, Left, TestCheck, files_shown};
use assay_audit::calibrated::{Run, RunName, TaskRuns};
use assay_audit::corpus::Notice;
use assay_audit::directive::{SkillFile, SkillPackage};
use assay_audit::evidence::SkillText;
use assay_diagnostic::chain;
use assay_fs::{FileKind, read_within, tree};
use assay_store::{
    AgentLabel, Check, CheckClass, CheckSet, ConditionRole, Outcome, PlannedSkill, Record, RunFolder,
    RunOutcomes, Store, StoreError, TrialId,
};
use assay_trace::{Source, read};

pub use cache::AuditCache;
pub use pace::AuditPace;
pub use summary::{AuditedRun, summarize_run, summarize_task};

/// So many skills of one condition on one task are audited, each by itself.
const SKILLS: usize = 8;

/// Longest artifact of a trial that is read, in bytes; longer ones are read up to here.
const LONGEST_ARTIFACT: u64 = 1 << 20;

/// Most artifacts of a trial that are read.
const MOST_ARTIFACTS: usize = 1_000;

/// The skills of a run with the documents that its trials were shown, by digest.
pub type SkillTexts = BTreeMap<String, SkillText>;

/// Receives what could not be read and is excluded.
pub trait Notices {
    /// A message about a file.
    fn file(&mut self, notice: Notice);

    /// A message that names its file.
    fn text(&mut self, message: &str);

    /// How far it is: so many of so many things, such as "tasks audited".
    fn progress(&mut self, _what: &str, _done: usize, _total: usize) {}
}

/// Ignores all of them.
impl Notices for () {
    fn file(&mut self, _: Notice) {}

    fn text(&mut self, _: &str) {}
}

/// Why a run cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// It has no condition to compare with.
    #[error("the run {0} has one condition only: there is nothing to compare with")]
    NoBaseline(String),
    /// A record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The digests of the skills that an audit of a run examines.
pub fn audited_skills(run: &RunFolder, notices: &mut dyn Notices) -> BTreeSet<String> {
    let Some(agent) = run.agents.first() else { return BTreeSet::new() };
    let tasks = run.tasks.iter();
    tasks.flat_map(|task| arms(run, &task.name, &agent.label, notices).into_keys()).collect()
}

/// Refuses a run without a condition to compare with, and returns that condition: the first without skills, whatever
/// its name, or else the run's baseline.
///
/// # Errors
/// A run with less than two conditions.
pub fn require_baseline(run: &RunFolder) -> Result<&str, AuditError> {
    let found = baseline(run).filter(|_| run.conditions.len() > 1);
    found.ok_or_else(|| AuditError::NoBaseline(run.run.clone()))
}

fn baseline(run: &RunFolder) -> Option<&str> {
    let bare = run.conditions.iter().find(|name| run.role_of(name) == ConditionRole::None);
    bare.or(run.conditions.first()).map(String::as_str)
}

/// Reads a run task by task, and gives each to `each` with all skills.
///
/// # Errors
/// A run with less than two conditions; records that cannot be read.
pub fn visit_run(
    store: &Store,
    run: &RunFolder,
    texts: &SkillTexts,
    notices: &mut dyn Notices,
    mut each: impl FnMut(&TaskRuns<'_>, &[SkillText]),
) -> Result<(), AuditError> {
    let without = require_baseline(run)?;
    let library: Vec<SkillText> =
        library_digests(run).into_iter().filter_map(|digest| texts.get(digest).cloned()).collect();
    let (mut done, total) = (0, run.agents.len() * run.tasks.len());
    let outcomes = RunOutcomes::read(store, run)?;
    for (number, agent) in run.agents.iter().enumerate() {
        for task in &run.tasks {
            notices.progress("tasks audited", done, total);
            done += 1;
            let trials = Trials { store, run, outcomes: &outcomes, agent: number, task: &task.name };
            let controls = trials.of(without, "", notices)?;
            if controls.is_empty() {
                continue;
            }
            let baseline = trials.score(without)?;
            let audited = arms(run, &task.name, &agent.label, notices);
            let tested = tested_skill(run, &audited).map(str::to_owned);
            for (digest, arms) in audited {
                let Some(skill) = texts.get(&digest) else { continue };
                let is_tested = tested.as_ref() == Some(&digest);
                let mut runs = Vec::new();
                for arm in &arms {
                    let with = trials.of(&arm.condition, &arm.skill, notices)?;
                    runs.extend(with.into_iter().map(named(arm, true)));
                    runs.extend(controls.iter().cloned().map(named(arm, false)));
                }
                if !is_tested {
                    for run in &mut runs {
                        run.declared.clear();
                    }
                }
                let prompt = prompt(&controls);
                let skill_name = arms.first().map(|arm| arm.skill.clone()).unwrap_or_default();
                let task = TaskRuns { task: task.name.clone(), skill_name, prompt, skill, runs, baseline };
                each(&task, &library);
            }
        }
    }
    Ok(())
}

/// The digest of the skill whose directives a task's verifier declares: the one under a curated condition, else the
/// only one. `None` if there are several: a verifier does not say which of them a line belongs to.
fn tested_skill<'a>(run: &RunFolder, audited: &'a BTreeMap<String, Vec<Arm>>) -> Option<&'a str> {
    let is_curated =
        |arms: &[Arm]| arms.iter().any(|arm| run.role_of(&arm.condition) == ConditionRole::Curated);
    let curated: Vec<&String> =
        audited.iter().filter(|(_, arms)| is_curated(arms)).map(|(digest, _)| digest).collect();
    let of_task = if curated.is_empty() { audited.keys().collect() } else { curated };
    match of_task.as_slice() {
        [only] => Some(only.as_str()),
        _ => None,
    }
}

/// One condition with one of its skills.
struct Arm {
    name: String,
    condition: String,
    skill: String,
}

fn named(arm: &Arm, with: bool) -> impl Fn(Run) -> Run + '_ {
    move |run| Run { arm: arm.name.clone(), with, ..run }
}

/// The digests of what is provided under conditions of some roles.
fn digests<'a>(
    run: &'a RunFolder,
    wanted: impl Fn(ConditionRole) -> bool + 'a,
) -> impl Iterator<Item = &'a str> {
    let provisions = run.provisions.iter().filter(move |provision| wanted(run.role_of(&provision.condition)));
    provisions.flat_map(|provision| provision.skills.iter().map(|skill| skill.digest.as_str()))
}

/// The digests of the skills that runs are compared with others by. A placebo is like the other skills in all but what it
/// teaches, and no library to compare with.
fn library_digests(run: &RunFolder) -> BTreeSet<&str> {
    let placebos: BTreeSet<&str> = digests(run, |role| role == ConditionRole::Placebo).collect();
    digests(run, |role| role != ConditionRole::Placebo).filter(|digest| !placebos.contains(digest)).collect()
}

/// The skills of a run whose text is no evidence in an audit of it, without the files that trials were shown. What an
/// audit of a single trial takes for evidence is so the same as in an audit of the run.
pub fn known_skills(store: &Store, run: &RunFolder) -> Vec<SkillText> {
    let documents = library_digests(run).into_iter().filter_map(|digest| store.skill(digest).ok());
    documents.map(|bytes| SkillText::parse(&bytes)).collect()
}

/// The documents of all skills that a run provided: the SKILL.md as the store kept it, and the files that
/// its trials were shown.
pub fn skill_texts(store: &Store, run: &RunFolder, notices: &mut dyn Notices) -> SkillTexts {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for skill in run.provisions.iter().flat_map(|provision| &provision.skills) {
        if !seen.insert(&skill.digest) {
            continue;
        }
        match store.skill(&skill.digest) {
            Ok(bytes) => found.push((skill, bytes)),
            Err(error) => {
                let message = format!(
                    "the store has no SKILL.md of {} ({error}); excluded; `assay run` with the same experiment stores it",
                    skill.name
                );
                report_file(notices, &store.run_folder(&run.run).join("plan.json"), None, &message);
            }
        }
    }
    read_packages(store, run, found, notices)
}

/// The document of a skill that a run provided, with the files of its package that the run's trials were shown: all that its
/// directives are read from.
///
/// # Errors
/// The store does not have it.
pub fn skill_text(store: &Store, run: &RunFolder, skill: &PlannedSkill) -> Result<SkillText, StoreError> {
    let found = vec![(skill, store.skill(&skill.digest)?)];
    let text = read_packages(store, run, found, &mut ()).remove(&skill.digest);
    text.ok_or_else(|| StoreError::NotFound(skill.name.clone()))
}

/// Skills with the documents of their packages that their trials were shown: the store keeps their SKILL.md only. Each
/// trial is read once. Those that cannot be read are reported when they are audited.
fn read_packages(
    store: &Store,
    run: &RunFolder,
    skills: Vec<(&PlannedSkill, Vec<u8>)>,
    notices: &mut dyn Notices,
) -> SkillTexts {
    let mut packages: Vec<SkillPackage> =
        skills.iter().map(|(_, bytes)| SkillPackage::from_document(bytes)).collect();
    let documents: Vec<String> = packages
        .iter()
        .map(|package| package.files.first().map(|file| file.text.clone()).unwrap_or_default())
        .collect();
    let mut files: Vec<BTreeMap<String, SkillFile>> = vec![BTreeMap::new(); skills.len()];
    let provided = trials_with(run, &skills);
    for (done, (trial, own)) in provided.iter().enumerate() {
        notices.progress("trials read for the files of their skills", done, provided.len());
        let Ok(Some(record)) = store.record(trial) else { continue };
        let Ok(transcript) = read::read(&trajectory_path(store, &record), None) else { continue };
        for &at in own {
            for file in files_shown(&skills[at].0.name, &documents[at], &transcript.trajectory) {
                match files[at].get(&file.path) {
                    Some(known) if known.text.len() >= file.text.len() => {}
                    _ => drop(files[at].insert(file.path.clone(), file)),
                }
            }
        }
    }
    for (package, files) in packages.iter_mut().zip(files) {
        package.files.extend(files.into_values());
    }
    let texts = skills.into_iter().zip(packages);
    texts
        .map(|((skill, bytes), package)| (skill.digest.clone(), SkillText::with_package(&bytes, package)))
        .collect()
}

/// The trials that were given some of these skills, with the places of theirs.
fn trials_with<'a>(
    run: &'a RunFolder,
    skills: &[(&PlannedSkill, Vec<u8>)],
) -> BTreeMap<&'a TrialId, BTreeSet<usize>> {
    let mut provided: BTreeMap<(&str, &str), BTreeSet<usize>> = BTreeMap::new();
    for provision in &run.provisions {
        let own = provided.entry((&provision.task, &provision.condition)).or_default();
        for skill in &provision.skills {
            own.extend(skills.iter().position(|(other, _)| other.digest == skill.digest));
        }
    }
    let mut trials: BTreeMap<&TrialId, BTreeSet<usize>> = BTreeMap::new();
    for cell in &run.cells {
        let own = provided.get(&(cell.task.as_str(), cell.condition.as_str()));
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            trials.entry(&cell.trial).or_default().extend(own);
        }
    }
    trials
}

fn trajectory_path(store: &Store, record: &Record) -> PathBuf {
    let attempts = store.trial_folder(&record.trial).join("attempts");
    attempts.join(record.attempt.to_string()).join("trajectory.json")
}

/// The skills that are audited on a task, by digest, each with its arms.
fn arms(
    run: &RunFolder,
    task: &str,
    agent: &AgentLabel,
    notices: &mut dyn Notices,
) -> BTreeMap<String, Vec<Arm>> {
    let provided = |condition: &str| {
        let mut all = run.provisions.iter();
        all.find(|provision| provision.task == task && provision.condition == condition)
            .map_or(&[][..], |provision| provision.skills.as_slice())
    };
    let of_role = run.conditions.iter().filter(|name| run.role_of(name) == ConditionRole::Curated);
    let curated: BTreeSet<&str> =
        of_role.flat_map(|name| provided(name)).map(|skill| skill.digest.as_str()).collect();
    let Some(without) = baseline(run) else { return BTreeMap::new() };
    let known: BTreeSet<&str> = provided(without).iter().map(|skill| skill.digest.as_str()).collect();
    let mut found: BTreeMap<String, Vec<Arm>> = BTreeMap::new();
    for condition in run.conditions.iter().filter(|condition| *condition != without) {
        // What both conditions provide cannot be the difference.
        let all: Vec<&PlannedSkill> =
            provided(condition).iter().filter(|skill| !known.contains(skill.digest.as_str())).collect();
        // Beside the task's own skills, others are company.
        let own: Vec<&PlannedSkill> =
            all.iter().copied().filter(|skill| curated.contains(skill.digest.as_str())).collect();
        let chosen = if own.is_empty() { all } else { own };
        if chosen.len() > SKILLS {
            let message = format!(
                "{condition} gives {} skills on {task}; the first {SKILLS} are audited",
                chosen.len()
            );
            report_file(notices, Path::new(&run.run), None, &message);
        }
        let several = chosen.len() > 1;
        for (at, skill) in chosen.into_iter().take(SKILLS).enumerate() {
            let part = if several { format!(", skill {}", at + 1) } else { String::new() };
            let model = agent.model.as_deref().map_or(String::new(), |model| format!(" {model}"));
            let name = format!("{}{model}, {condition}{part}", agent.name);
            let arm = Arm { name, condition: condition.clone(), skill: skill.name.clone() };
            found.entry(skill.digest.clone()).or_default().push(arm);
        }
    }
    found
}

/// The trials of an agent on a task.
struct Trials<'a> {
    store: &'a Store,
    run: &'a RunFolder,
    outcomes: &'a RunOutcomes,
    agent: usize,
    task: &'a str,
}

impl Trials<'_> {
    /// The results under a condition; infrastructure and what is not finished are none.
    fn records(&self, condition: &str) -> Result<Vec<Record>, StoreError> {
        let cells = self.run.cells.iter();
        let cells = cells
            .filter(|cell| cell.agent == self.agent && cell.task == self.task && cell.condition == condition);
        let ids: BTreeSet<&TrialId> = cells.map(|cell| &cell.trial).collect();
        let mut records = Vec::new();
        for id in ids {
            records.extend(self.store.record(id)?.filter(|record| record.outcome != Outcome::Infrastructure));
        }
        records.sort_by_key(|record| record.repetition);
        Ok(records)
    }

    /// The mean outcome value under a condition; `None` without a result.
    fn score(&self, condition: &str) -> Result<Option<f64>, StoreError> {
        let records = self.records(condition)?;
        let scores: Vec<f64> = records.iter().filter_map(|record| self.outcomes.value(record)).collect();
        Ok((!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64))
    }

    /// The runs under a condition, each with what its record says of the skill.
    fn of(&self, condition: &str, skill: &str, notices: &mut dyn Notices) -> Result<Vec<Run>, StoreError> {
        let mut runs = Vec::new();
        for record in self.records(condition)? {
            runs.extend(read_trial(self.store, record, condition, skill, notices));
        }
        Ok(runs)
    }
}

/// A finished trial as a run without the skill, with what its record says of `skill`; `None` where
/// its trajectory cannot be read, which is reported.
pub fn read_trial(
    store: &Store,
    record: Record,
    condition: &str,
    skill: &str,
    notices: &mut dyn Notices,
) -> Option<Run> {
    let path = trajectory_path(store, &record);
    let transcript = match read::read(&path, None) {
        Ok(transcript) => transcript,
        Err(error) => {
            // The error names the file.
            notices.text(&format!("{}; excluded", chain(&error)));
            return None;
        }
    };
    for diagnostic in &transcript.diagnostics {
        report_file(notices, &path, diagnostic.line, &diagnostic.message);
    }
    let trace = path.strip_prefix(store.root()).unwrap_or(&path).display().to_string();
    let tokens = transcript.tally.usage.total();
    let left = left(&path.with_file_name("workspace.diff"), notices);
    let artifacts = artifacts(&path.with_file_name("artifacts"));
    let name = RunName {
        condition_name: condition.to_owned(),
        repetition: usize::try_from(record.repetition).ok(),
        trial: Some(record.trial.to_string()),
    };
    Some(Run {
        name,
        left: Left { files: left.files.into_iter().chain(artifacts).collect() },
        declared: record.checks().iter().filter_map(declared_check).collect(),
        checks: record.checks().into_iter().map(test_check).collect(),
        outcome: Some(record.outcome.word().to_owned()),
        known: record.exposure.into_iter().flatten().find(|exposure| exposure.skill == skill),
        ..Run::new(&trace, "", false, transcript.trajectory, tokens)
    })
}

/// A check of a record as the audit compares it.
fn test_check(check: Check) -> TestCheck {
    let passed = check.passed();
    let message = if check.message.is_empty() { &check.trace } else { &check.message };
    TestCheck::new(check.name, passed, message)
}

/// What a check declares of a directive of the task's skill; `None` if it declares none, or one that an agent
/// follows without the skill.
fn declared_check(check: &Check) -> Option<DeclaredCheck> {
    let label = check.label.as_ref().filter(|label| label.set == CheckSet::If)?;
    let needs_skill =
        label.canary || matches!(label.class, Some(CheckClass::Knowledge | CheckClass::Convention));
    needs_skill.then(|| DeclaredCheck {
        name: check.name.clone(),
        passed: check.passed(),
        file: label.file.clone().unwrap_or_else(|| "SKILL.md".to_owned()),
        line: label.line.and_then(|line| usize::try_from(line).ok()).unwrap_or_default(),
        answer: label.answer.clone().unwrap_or_default(),
        canary: label.canary,
    })
}

fn report_file(notices: &mut dyn Notices, path: &Path, line: Option<usize>, message: &str) {
    notices.file(Notice { path: path.to_owned(), line, message: message.to_owned() });
}

/// What an attempt changed; nothing where it has no diff.
fn left(path: &Path, notices: &mut dyn Notices) -> Left {
    match fs::read_to_string(path) {
        Ok(diff) => Left::of_diff(&diff),
        Err(error) => {
            match error.kind() {
                io::ErrorKind::NotFound => {}
                io::ErrorKind::InvalidData => report_file(notices, path, None, "not UTF-8; excluded"),
                _ => report_file(notices, path, None, &format!("cannot read: {error}; excluded")),
            }
            Left::default()
        }
    }
}

/// The text files below a folder, by path relative to it; none where there is no such folder.
fn artifacts(folder: &Path) -> Vec<(String, String)> {
    let files = tree::walk(folder).nodes.into_iter().filter(|node| node.kind == FileKind::File);
    let read = |node: tree::Node| {
        let content = read_within(folder, &node.path, LONGEST_ARTIFACT).ok()?;
        let text = String::from_utf8(content.bytes).ok().filter(|text| !text.contains('\0'))?;
        Some((node.path.to_string_lossy().into_owned(), text))
    };
    files.take(MOST_ARTIFACTS).filter_map(read).collect()
}

/// The task's text: the first prompt of the runs without skills.
fn prompt(controls: &[Run]) -> String {
    let mut steps = controls.iter().flat_map(|run| &run.trajectory.steps);
    steps.find(|step| step.source == Source::User).map(|step| step.message.clone()).unwrap_or_default()
}
