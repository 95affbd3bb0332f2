//! Judging the work of an earlier attempt, without another trial.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_agent::Ended;
use assay_ask::AskProgress;
use assay_fs::{FileKind, read_beneath, remove_tree};
use assay_gateway::Budget;
use assay_judge::Rubric;
use assay_model::ScriptContext;
use assay_store::{
    Cause, JudgedItem, Judgement, Lease, Outcome, Record, SET_SCORE, Store, StoreError, TrialId,
};
use serde_json::{Value, json};

use super::context::{JudgeContext, JudgeError};
use super::inputs::{FOLDER, INSTRUCTION, JUDGEMENT, RUBRIC};
use super::panel::Panel;
use super::work::judge_work;
use crate::experiment::RetriesLeft;

/// Most bytes of a kept rubric or instruction.
const TEXT_CAP: u64 = 16 << 20;

/// Most characters of an item in the list of checks.
const NAME_CHARS: usize = 100;

/// The folder of a work with what judges said of it.
const JUDGEMENTS: &str = "judgements";

/// The key of a record's numbers with the reward of the task's own tests.
pub(crate) const TESTS_NUMBER: &str = "rubric:tests";

/// Why an attempt is not judged again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegradeError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its files cannot be copied.
    #[error("cannot copy the files of attempt {attempt} of {trial}: {reason}")]
    Copy {
        /// The trial.
        trial: String,
        /// Which attempt.
        attempt: u32,
        /// Why.
        reason: String,
    },
    /// What was judged was not kept.
    #[error("attempt {attempt} of {trial} has no {what} to judge by")]
    NotKept {
        /// The trial.
        trial: String,
        /// Which attempt.
        attempt: u32,
        /// What is missing.
        what: &'static str,
    },
}

/// The folder of an attempt.
fn attempt_folder(store: &Store, id: &TrialId, number: u32) -> PathBuf {
    store.trial_folder(id).join("attempts").join(number.to_string())
}

/// Whether the work of a record's attempt can be judged again.
pub fn is_kept(store: &Store, record: &Record) -> bool {
    let folder = attempt_folder(store, &record.trial, record.attempt).join(FOLDER);
    folder.join(RUBRIC).is_file() && folder.join(INSTRUCTION).is_file()
}

/// Brings the files of an attempt to another one, without its judgement. They are linked where possible: nobody changes
/// them, and judged work may be large.
///
/// # Errors
/// A file cannot be copied.
fn copy_work(from: &Path, to: &Path) -> io::Result<()> {
    let walk = assay_fs::tree::walk(from);
    if let Some(problem) = walk.problems.first() {
        return Err(io::Error::other(format!("{}: {}", problem.path.display(), problem.source)));
    }
    for node in walk.nodes {
        let (source, target) = (from.join(&node.path), to.join(&node.path));
        let is_of_judgement =
            node.path == Path::new(JUDGEMENT) || node.path == Path::new(FOLDER).join(RUBRIC);
        match node.kind {
            FileKind::Directory => fs::create_dir_all(&target)?,
            FileKind::File if !is_of_judgement => {
                if let Some(folder) = target.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::hard_link(&source, &target).or_else(|_| fs::copy(&source, &target).map(drop))?;
            }
            // What judges read contains no links.
            _ => {}
        }
    }
    Ok(())
}

/// Who judges work, and on whose account.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// Where work and judgements are.
    pub store: &'a Store,
    /// The judges.
    pub panel: &'a Panel,
    /// The rubric in the place of the one that was kept.
    pub rubric: Option<&'a Rubric>,
    /// What judges are charged to.
    pub budget: &'a Budget,
    /// Set from outside to stop soon.
    pub cancel: &'a AtomicBool,
    /// What is left after an infrastructure error.
    pub retries: RetriesLeft,
    /// Hears how long judges are waited for.
    pub progress: &'a AskProgress,
}

/// Judges the work of the attempt that `earlier` is the record of, as an attempt at the trial `id`, and records it.
/// What cannot be judged, because the agent did not get so far, is recorded as it is. `None` if it was interrupted.
///
/// The record is signed only if the origin of `earlier` is known: judges do not prove who did the work.
///
/// # Errors
/// The store cannot be used, or the work was not kept. A judge without an answer is an infrastructure error in the
/// record.
pub fn judge_again(
    judging: &Judging<'_>,
    earlier: &Record,
    id: &TrialId,
    specification: &Value,
    lease: &Lease,
) -> Result<Option<Record>, RegradeError> {
    let Judging { store, panel, rubric, budget, cancel, retries, progress } = *judging;
    let unsigned;
    let store = if store.proves_origin(earlier) {
        store
    } else {
        unsigned = store.clone().with_keys(store.keys().without_signing());
        &unsigned
    };
    let from = attempt_folder(store, &earlier.trial, earlier.attempt);
    let trial = || earlier.trial.short().to_owned();
    let missing = |what| RegradeError::NotKept { trial: trial(), attempt: earlier.attempt, what };
    let copied = |copied: io::Result<()>| {
        copied.map_err(|error| RegradeError::Copy {
            trial: trial(),
            attempt: earlier.attempt,
            reason: error.to_string(),
        })
    };
    let work = earlier.work.as_ref().unwrap_or(&earlier.trial).clone();
    let new = |attempt: u32| Record {
        trial: id.clone(),
        attempt,
        work: Some(work.clone()),
        signature: None,
        ..earlier.clone()
    };
    if !is_judgeable(store, earlier) {
        let (attempt, folder) = store.begin(id, specification, lease)?;
        copied(copy_work(&from, &folder))?;
        let record = new(attempt);
        store.finish(&record, lease)?;
        return Ok(Some(record));
    }
    let text = |name: &str, what: &'static str| {
        let read = read_beneath(&from.join(FOLDER), Path::new(name), TEXT_CAP).ok().flatten();
        read.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| missing(what))
    };
    let instruction = text(INSTRUCTION, "instruction")?;
    let kept = match rubric {
        Some(_) => None,
        None => Some(Rubric::parse(&text(RUBRIC, "rubric")?).map_err(|_| missing("valid rubric"))?),
    };
    let Some(own) = rubric.or(kept.as_ref()) else { return Err(missing("rubric")) };
    let (attempt, folder) = store.begin(id, specification, lease)?;
    copied(copy_work(&from, &folder).and_then(|()| super::inputs::keep_rubric(&folder, own)))?;
    let scratch = store.work()?.join(format!("judge-{}-{attempt}", id.short()));
    let script = ScriptContext {
        task: earlier.task.clone(),
        condition: earlier.condition.clone(),
        repetition: earlier.repetition,
        seed: work.seed(),
    };
    let judgements = store.trial_folder(&work).join(JUDGEMENTS);
    let context = JudgeContext {
        budget,
        cancel,
        scratch: &scratch,
        script: &script,
        trial: work.as_str(),
        judgements: &judgements,
        progress,
    };
    let tests = earlier.numbers.get(TESTS_NUMBER).copied();
    let result = judge_work(&folder, &instruction, own, tests, panel, &context);
    let _ = remove_tree(&scratch);
    let mut record = new(attempt);
    record.numbers.retain(|key, _| !key.starts_with(SET_SCORE) || key == TESTS_NUMBER);
    match result {
        Err(JudgeError::Cancelled) => {
            let _ = remove_tree(&folder);
            return Ok(None);
        }
        Err(error) => {
            record.outcome = Outcome::Infrastructure;
            record.cause = Some(error.cause());
            record.reason = Some(error.to_string());
            (record.reward, record.judgement, record.ctrf) = (None, None, None);
            record.rewards.clear();
        }
        Ok(graded) => {
            keep_judgement(&folder, &judgements, id).map_err(|source| StoreError::Io {
                action: "write",
                path: judgements.clone(),
                source,
            })?;
            apply(&mut record, graded.judgement);
        }
    }
    record.retries_left = retries.after(&record);
    store.finish(&record, lease)?;
    Ok(Some(record))
}

/// Whether judges can decide on a record's attempt: the agent ended, and its work was kept.
fn is_judgeable(store: &Store, record: &Record) -> bool {
    let has_ended = record.outcome.counts() || record.cause == Some(Cause::Judge);
    has_ended && record.outcome != Outcome::Tampered && is_kept(store, record)
}

/// Puts a judgement beside those of other judges on the same work.
fn keep_judgement(attempt: &Path, judgements: &Path, id: &TrialId) -> io::Result<()> {
    fs::create_dir_all(judgements)?;
    let target = judgements.join(format!("{id}.json"));
    let draft = judgements.join(format!("{id}.new"));
    fs::copy(attempt.join(JUDGEMENT), &draft)?;
    fs::rename(draft, target)
}

/// Makes a judgement the result of a record whose agent has ended.
fn apply(record: &mut Record, judgement: Judgement) {
    let is_late = record.ended == Some(Ended::Deadline);
    record.outcome = match () {
        () if is_late => Outcome::TimedOut,
        () if judgement.overall >= 1.0 => Outcome::Passed,
        () => Outcome::Failed,
    };
    (record.cause, record.reason) = (None, None);
    record.reward = Some(judgement.overall);
    record.rewards = [("reward".to_owned(), judgement.overall)].into();
    record.numbers.extend(numbers(&judgement));
    record.ctrf = Some(checks(record.ctrf.take(), &judgement));
    record.judgement = Some(judgement);
}

/// The scores of a judgement's sets, as numbers of a record.
fn numbers(judgement: &Judgement) -> impl Iterator<Item = (String, f64)> {
    let sets = judgement.sets.iter();
    sets.filter_map(|set| Some((format!("{SET_SCORE}{}", set.name), set.score?)))
}

/// The tests of a report together with the items of a judgement, in place of those of an earlier one.
fn checks(report: Option<Value>, judgement: &Judgement) -> Value {
    let mut report = report.unwrap_or_else(|| json!({ "tests": [] }));
    if let Some(tests) = report.get_mut("tests").and_then(Value::as_array_mut) {
        tests.retain(|test| test.get("rubric").is_none());
        tests.extend(judgement.items.iter().map(check));
    }
    report
}

fn check(item: &JudgedItem) -> Value {
    let status = match item.score {
        None => "other",
        Some(_) if item.verdict == "cannot-tell" => "other",
        Some(score) if score >= 1.0 => "passed",
        Some(_) => "failed",
    };
    let text: String = item.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let name: String = format!("{}: {text}", item.id).chars().take(NAME_CHARS).collect();
    let mut message = match &item.undecided {
        Some(why) => format!("{why}: {}", item.reason),
        None => item.reason.clone(),
    };
    if let Some(quote) = &item.quote {
        message.push_str(&format!(" (quotation: {quote})"));
    }
    let mut test =
        json!({ "name": name, "status": status, "duration": 0, "message": message, "rubric": item.set });
    // An item of one of the two sets counts beside those that tests decide.
    if matches!(item.set.as_str(), "gc" | "if") {
        test["extra"] = json!({ "set": item.set, "item": item.id, "class": item.class, "line": item.line });
    }
    test
}
