//! The trials of a run, audited: `none` against each other condition, task by task, agent by agent.

use std::collections::{BTreeMap, BTreeSet};

use assay_audit::calibrated::{CorpusAudit, Run, TaskRuns, audit};
use assay_audit::evidence::SkillText;
use assay_store::{AgentLabel, Outcome, PlannedSkill, Record, RunFolder, Store, TrialId};
use assay_trace::{Source, read};

use super::notices::Notices;
use crate::failure::Failure;

/// The condition without skills.
const WITHOUT: &str = "none";

/// Its skills are like the others' in all but what they teach, and no library to compare with.
const PLACEBO: &str = "placebo";

/// What belongs to a task by its author's word.
const CURATED: &str = "curated";

/// So many skills of one condition on one task are audited, each by itself.
const SKILLS: usize = 8;

/// The skills' documents, by digest.
type Texts = BTreeMap<String, SkillText>;

/// What people call a trace: its task, condition, repetition and trial, by the trace's path.
pub(super) type Labels = BTreeMap<String, String>;

/// Audits a run, and names its traces. What cannot be used is told.
pub(super) fn of_run(
    store: &Store,
    run: &RunFolder,
    checked: bool,
    notices: &mut Notices<'_>,
) -> Result<(CorpusAudit, Labels), Failure> {
    if !run.conditions.iter().any(|condition| condition == WITHOUT) {
        let message =
            format!("the run {} has no condition {WITHOUT}: there is nothing to compare with", run.run);
        return Err(Failure::bad_input(message));
    }
    let texts = texts(store, run, notices);
    let placebos: BTreeSet<&str> = digests(run, |condition| condition == PLACEBO).collect();
    let library: Vec<SkillText> = digests(run, |condition| condition != PLACEBO)
        .filter(|digest| !placebos.contains(digest))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter_map(|digest| texts.get(digest).cloned())
        .collect();
    let mut found = Vec::new();
    let mut labels = Labels::new();
    for (number, agent) in run.agents.iter().enumerate() {
        for task in &run.tasks {
            let trials = Trials { store, run, agent: number, task: &task.name };
            let controls = trials.of(WITHOUT, "", notices, &mut labels)?;
            if controls.is_empty() {
                continue;
            }
            let baseline = trials.score(WITHOUT)?;
            for (digest, arms) in arms(run, &task.name, &agent.label, notices) {
                let Some(skill) = texts.get(&digest) else { continue };
                let mut runs = Vec::new();
                for arm in &arms {
                    let with = trials.of(&arm.condition, &arm.skill, notices, &mut labels)?;
                    runs.extend(with.into_iter().map(named(arm, true)));
                    runs.extend(controls.iter().cloned().map(named(arm, false)));
                }
                let prompt = prompt(&controls);
                let skill_name = arms.first().map(|arm| arm.skill.clone()).unwrap_or_default();
                let task = TaskRuns { task: task.name.clone(), skill_name, prompt, skill, runs, baseline };
                found.push(audit(&task, &library, checked));
            }
        }
    }
    if found.is_empty() {
        let message = format!("the run {} has no finished trial with a skill to audit", run.run);
        return Err(Failure::bad_input(message));
    }
    Ok((CorpusAudit::new(found, checked), labels))
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

/// The digests of what is provided under some conditions.
fn digests<'a>(run: &'a RunFolder, wanted: impl Fn(&str) -> bool + 'a) -> impl Iterator<Item = &'a str> {
    let provisions = run.provisions.iter().filter(move |provision| wanted(&provision.condition));
    provisions.flat_map(|provision| provision.skills.iter().map(|skill| skill.digest.as_str()))
}

/// The documents of all skills that were provided, as the store kept them.
fn texts(store: &Store, run: &RunFolder, notices: &mut Notices<'_>) -> Texts {
    let mut texts = Texts::new();
    let mut missing = BTreeSet::new();
    for skill in run.provisions.iter().flat_map(|provision| &provision.skills) {
        if texts.contains_key(&skill.digest) || missing.contains(&skill.digest) {
            continue;
        }
        match store.skill(&skill.digest) {
            Ok(bytes) => {
                texts.insert(skill.digest.clone(), SkillText::parse(&bytes));
            }
            Err(error) => {
                let message = format!(
                    "the store has no SKILL.md of {} ({error}); excluded; `assay run` with the same experiment stores it",
                    skill.name
                );
                notices.report_file(&store.run_folder(&run.run).join("plan.json"), None, &message);
                missing.insert(skill.digest.clone());
            }
        }
    }
    texts
}

/// The skills that are audited on a task, by digest, each with its arms.
fn arms(
    run: &RunFolder,
    task: &str,
    agent: &AgentLabel,
    notices: &mut Notices<'_>,
) -> BTreeMap<String, Vec<Arm>> {
    let provided = |condition: &str| {
        let mut all = run.provisions.iter();
        all.find(|provision| provision.task == task && provision.condition == condition)
            .map_or(&[][..], |provision| provision.skills.as_slice())
    };
    let curated: BTreeSet<&str> = provided(CURATED).iter().map(|skill| skill.digest.as_str()).collect();
    let mut found: BTreeMap<String, Vec<Arm>> = BTreeMap::new();
    for condition in run.conditions.iter().filter(|condition| *condition != WITHOUT) {
        let all = provided(condition);
        // Beside the task's own skills, others are company.
        let own: Vec<&PlannedSkill> =
            all.iter().filter(|skill| curated.contains(skill.digest.as_str())).collect();
        let chosen = if own.is_empty() { all.iter().collect() } else { own };
        if chosen.len() > SKILLS {
            let message = format!(
                "{condition} gives {} skills on {task}; the first {SKILLS} are audited",
                chosen.len()
            );
            notices.report_file(std::path::Path::new(&run.run), None, &message);
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
    agent: usize,
    task: &'a str,
}

impl Trials<'_> {
    /// The results under a condition; infrastructure and what is not finished are none.
    fn records(&self, condition: &str) -> Result<Vec<Record>, Failure> {
        let cells = self.run.cells.iter();
        let cells = cells
            .filter(|cell| cell.agent == self.agent && cell.task == self.task && cell.condition == condition);
        let ids: BTreeSet<&TrialId> = cells.map(|cell| &cell.trial).collect();
        let mut records = Vec::new();
        for id in ids {
            records.extend(self.store.record(id)?.filter(|record| record.outcome != Outcome::Infrastructure));
        }
        Ok(records)
    }

    /// The mean score under a condition; `None` without a result.
    fn score(&self, condition: &str) -> Result<Option<f64>, Failure> {
        let scores: Vec<f64> = self.records(condition)?.iter().filter_map(Record::score).collect();
        Ok((!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64))
    }

    /// The runs under a condition, each with what its record says of the skill.
    fn of(
        &self,
        condition: &str,
        skill: &str,
        notices: &mut Notices<'_>,
        labels: &mut Labels,
    ) -> Result<Vec<Run>, Failure> {
        let mut runs = Vec::new();
        for record in self.records(condition)? {
            let folder = self.store.trial_folder(&record.trial);
            let path = folder.join("attempts").join(record.attempt.to_string()).join("trajectory.json");
            let transcript = match read::read(&path, None) {
                Ok(transcript) => transcript,
                Err(error) => {
                    notices.report_file(&path, None, &format!("{error}; excluded"));
                    continue;
                }
            };
            for diagnostic in &transcript.diagnostics {
                notices.report_file(&path, diagnostic.line, &diagnostic.message);
            }
            let trace = path.strip_prefix(self.store.root()).unwrap_or(&path).display().to_string();
            let label = format!(
                "task {}, condition {condition}, repetition {} (trial {})",
                record.task,
                record.repetition,
                record.trial.short()
            );
            labels.insert(trace.clone(), label);
            runs.push(Run {
                trace,
                arm: String::new(),
                with: false,
                tokens: transcript.tally.usage.total(),
                trajectory: transcript.trajectory,
                known: record.exposure.into_iter().find(|exposure| exposure.skill == skill),
            });
        }
        Ok(runs)
    }
}

/// What the task says: what the first run without skills was told.
fn prompt(controls: &[Run]) -> String {
    let mut steps = controls.iter().flat_map(|run| &run.trajectory.steps);
    steps.find(|step| step.source == Source::User).map(|step| step.message.clone()).unwrap_or_default()
}
