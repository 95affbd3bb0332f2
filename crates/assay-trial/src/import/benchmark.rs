//! Results of benchmarks in their own JSON, as rows of a table.

use std::collections::BTreeMap;
use std::path::Path;

use assay_store::{ConditionRole, Outcome, Store};
use assay_table::{Value, read_documents};
use serde_json::Value as Json;

use super::condition::named_condition;
use super::table::{ImportSource, ImportedTable, Read, import_read};
use super::trial::ForeignOutcome;
use super::{AnalysisOptions, ImportError, ImportFact, benchflow};

/// Most levels of lists of results in one another.
const LEVELS: usize = 4;

/// What the documents of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchmarkLayout {
    /// Evaluation reports of SWE-Skills-Bench, as its `eval.py` writes them at commit 4632ce9: one
    /// document for each skill with or without it.
    SweSkillsBench,
    /// Results of the SkillsBench leaderboard, at commit df6d1ac: a document for each submission, with
    /// its trials in `results`, or a document for each trial.
    SkillsBench,
    /// `result.json` of BenchFlow 0.6: a document for each rollout.
    BenchFlow,
}

impl BenchmarkLayout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::SweSkillsBench, Self::SkillsBench, Self::BenchFlow];

    /// The facts of tasks and skills that it can state. The others are unknown after an import.
    pub fn facts(self) -> &'static [ImportFact] {
        match self {
            Self::SweSkillsBench => &[ImportFact::Skills],
            // With skills it says which folder they were in, not how many.
            Self::BenchFlow => &[],
            Self::SkillsBench => &[ImportFact::Category, ImportFact::Difficulty],
        }
    }

    /// The command below `assay import` that reads it.
    pub fn command(self) -> &'static str {
        match self {
            Self::SweSkillsBench => "jsonl-swe-skills-bench",
            Self::SkillsBench => "jsonl-skillsbench",
            Self::BenchFlow => "jsonl-benchflow",
        }
    }

    /// The name of the program that executed the trials.
    fn origin(self) -> &'static str {
        match self {
            Self::SweSkillsBench => "SWE-Skills-Bench",
            Self::SkillsBench => "SkillsBench",
            Self::BenchFlow => "BenchFlow",
        }
    }

    /// The word in records.
    fn format(self) -> &'static str {
        match self {
            Self::SweSkillsBench => "swe-skills-bench",
            Self::SkillsBench => "skills-bench",
            Self::BenchFlow => "benchflow",
        }
    }
}

/// A row by columns of a table, or why there is none.
type Cells = Result<BTreeMap<&'static str, Value>, String>;

/// Imports the results of a benchmark: JSON documents in one file, one per line or not, plain or
/// compressed with Zstandard.
///
/// Conditions get the names `none`, `curated` and `self-generated`. The same file gives the same run.
///
/// # Errors
/// An unreadable file, no usable result, an invalid name, a baseline that no trial ran under, or a
/// store that cannot be written.
pub fn benchmark(
    store: &Store,
    path: &Path,
    layout: BenchmarkLayout,
    name: &str,
    analysis: &AnalysisOptions,
) -> Result<ImportedTable, ImportError> {
    if !assay_store::is_run_name(name) {
        return Err(ImportError::Name { what: "run", name: name.to_owned() });
    }
    let mut read = Read::default();
    for document in read_documents(path)? {
        let rows = match &document.value {
            Err(reason) => vec![Err(reason.clone())],
            Ok(value) => match layout {
                BenchmarkLayout::SweSkillsBench => vec![swe_skills_bench(value)],
                BenchmarkLayout::SkillsBench => skillsbench(value),
                BenchmarkLayout::BenchFlow => vec![rollout(value)],
            },
        };
        for row in rows {
            match row {
                Ok(cells) => read.add(document.line, cells)?,
                Err(reason) => read.skip(document.line, reason),
            }
        }
    }
    let source = ImportSource { path, format: layout.format(), origin: layout.origin() };
    import_read(store, &source, read, name, analysis)
}

fn text(value: Option<&Json>) -> Option<&str> {
    value.and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn of_text(value: Option<&str>) -> Value {
    value.map_or(Value::Null, |text| Value::Text(text.to_owned()))
}

fn of_number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, Value::Float)
}

/// A label that keeps results apart and is never taken for a number.
fn label(id: Option<&str>) -> Value {
    id.map_or(Value::Null, |id| Value::Text(format!("{id}/")))
}

/// A condition by its name in a benchmark.
fn condition(name: &str) -> Result<Value, String> {
    match named_condition(name) {
        Ok(Some(condition)) => Ok(Value::Text(condition.name().to_owned())),
        _ => Err(format!("unknown condition {name:?}")),
    }
}

/// A report of `eval.py`. The score is the share of the skill's unit tests that passed, as in the
/// benchmark's own comparison (`scripts/compare_pass_rate.py`).
fn swe_skills_bench(report: &Json) -> Cells {
    let container = text(report.get("container_name"))
        .ok_or("not a report of SWE-Skills-Bench: it has no `container_name`")?;
    // benchmark_SKILL_use-skill-true_use-agent-true_MODEL
    let after = |text: &str, flag: &str| -> Option<(bool, String)> {
        let (_, rest) = text.split_once(flag)?;
        let (value, rest) = rest.split_once('_').unwrap_or((rest, ""));
        Some((value.parse().ok()?, rest.to_owned()))
    };
    let unreadable = || format!("`container_name` says neither skill nor agent: {container:?}");
    let (with_skill, _) = after(container, "_use-skill-").ok_or_else(unreadable)?;
    let (with_agent, model) = after(container, "_use-agent-").ok_or_else(unreadable)?;
    if !with_agent {
        return Err("no agent worked on it".to_owned());
    }
    let task = text(report.get("skill_id")).ok_or("no `skill_id`")?;
    let details = report.pointer("/evaluation_scores/details").and_then(Json::as_array);
    let tests = details.into_iter().flatten().find(|detail| {
        text(detail.get("level")) == Some("L2") && text(detail.get("method")) == Some("unit_test")
    });
    let count = |key: &str| tests?.pointer(&format!("/details/{key}")).and_then(Json::as_f64);
    let (passed, total) = (count("passed"), count("total").filter(|total| *total > 0.0));
    let failed = report.get("success").and_then(Json::as_bool) == Some(false);
    if total.is_none() && !failed {
        return Err("no unit test ran".to_owned());
    }
    let score = passed.zip(total).filter(|_| !failed).map(|(passed, total)| passed / total);
    Ok(BTreeMap::from([
        ("task", of_text(Some(task))),
        (
            "condition",
            of_text(Some(if with_skill { ConditionRole::Curated } else { ConditionRole::None }.name())),
        ),
        // The benchmark gives the one skill that it is about.
        (ImportFact::Skills.name(), Value::Integer(i64::from(with_skill))),
        ("outcome", of_text(score.is_none().then_some(Outcome::Infrastructure.word()))),
        ("score", of_number(score)),
        ("agent", of_text(Some("claude-code"))),
        ("model", of_text(Some(model.as_str()).filter(|model| !model.is_empty()))),
        ("started", of_text(text(report.get("start_time")))),
        ("repetition", label(text(report.get("start_time")))),
        ("tests_passed", of_number(passed)),
        ("tests_total", of_number(total)),
    ]))
}

/// All trials of a submission.
fn skillsbench(document: &Json) -> Vec<Cells> {
    fn collect(value: &Json, agent: Option<&str>, levels: usize, rows: &mut Vec<Cells>) {
        if value.get("task_id").is_some() {
            rows.push(skillsbench_trial(value, agent));
            return;
        }
        // The participant of the submission, not the address of its server in an inner list.
        let agent = agent.or_else(|| text(value.pointer("/participants/agent")));
        match value.get("results").and_then(Json::as_array) {
            Some(results) if levels > 0 => {
                for result in results {
                    collect(result, agent, levels - 1, rows);
                }
            }
            _ => rows.push(Err("not a result of SkillsBench: neither `task_id` nor `results`".to_owned())),
        }
    }
    let mut rows = Vec::new();
    collect(document, None, LEVELS, &mut rows);
    rows
}

fn skillsbench_trial(trial: &Json, agent: Option<&str>) -> Cells {
    let number = |key: &str| trial.get(key).and_then(Json::as_f64);
    let most = number("max_score").filter(|most| *most > 0.0).unwrap_or(1.0);
    let by_verdict = || trial.get("passed").and_then(Json::as_bool).map(|passed| f64::from(u8::from(passed)));
    let score = number("reward").map(|reward| reward / most).or_else(by_verdict);
    // Their leaderboard counts such trials apart as well.
    let lost = trial.get("score_eligible").and_then(Json::as_bool) == Some(false)
        || text(trial.get("infra_failure_type")).is_some();
    let stated = |fact: ImportFact| (fact.name(), of_text(text(trial.get(fact.name()))));
    Ok(BTreeMap::from([
        stated(ImportFact::Category),
        stated(ImportFact::Difficulty),
        ("task", of_text(text(trial.get("task_id")))),
        ("condition", condition(text(trial.get("condition")).ok_or("no `condition`")?)?),
        ("outcome", of_text(lost.then_some(Outcome::Infrastructure.word()))),
        ("score", of_number(score.filter(|_| !lost))),
        ("agent", of_text(agent)),
        ("repetition", label(text(trial.get("trial_id")))),
        ("seconds", of_number(number("time_used"))),
    ]))
}

/// One result of BenchFlow, with the outcome that `import harbor` gives it.
fn rollout(result: &Json) -> Cells {
    if !benchflow::is_result(result) {
        return Err(
            "not a result of BenchFlow: neither `rollout_name` nor `skill_mode` and `agent`".to_owned()
        );
    }
    let trial = benchflow::read_result(result)?;
    let (outcome, score) = match &trial.outcome {
        ForeignOutcome::Cancelled(class) => return Err(format!("cancelled ({class})")),
        ForeignOutcome::Of(outcome, ..) => {
            let reward = trial.reward.as_ref().map_or(0.0, |reward| reward.value.clamp(0.0, 1.0));
            let score = match outcome {
                Outcome::Passed => Some(1.0),
                Outcome::Failed => Some(reward),
                Outcome::TimedOut | Outcome::Tampered => Some(0.0),
                Outcome::Infrastructure => None,
            };
            (*outcome, score)
        }
    };
    let mode = match text(result.get("skill_mode")) {
        Some(mode) => condition(mode)?,
        None if text(result.get("effective_skills_dir")).is_some() => {
            of_text(Some(ConditionRole::Curated.name()))
        }
        None => return Err("no `skill_mode`".to_owned()),
    };
    let is_bare = mode == of_text(Some(ConditionRole::None.name()));
    let count = |tokens: u64| i64::try_from(tokens).map_or(Value::Null, Value::Integer);
    Ok(BTreeMap::from([
        ("task", of_text(Some(&trial.task))),
        (ImportFact::Skills.name(), if is_bare { Value::Integer(0) } else { Value::Null }),
        ("condition", mode),
        ("outcome", of_text(Some(outcome.word()))),
        ("score", of_number(score)),
        ("agent", of_text(Some(&trial.agent.name))),
        ("model", of_text(trial.agent.model.as_deref())),
        ("repetition", label(Some(trial.source.as_str()).filter(|name| !name.is_empty()))),
        ("started", of_text(trial.started.map(|time| time.at.to_string()).as_deref())),
        ("input_tokens", trial.usage.map_or(Value::Null, |usage| count(usage.prompt()))),
        ("output_tokens", trial.usage.map_or(Value::Null, |usage| count(usage.output))),
        ("cost_usd", of_number(trial.cost_usd)),
        ("seconds", of_number(trial.seconds.agent)),
    ]))
}
