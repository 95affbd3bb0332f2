//! `assay lab audit figures`: every table of docs/AUDIT.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_audit::calibrated::{Rate, TaskAudit, audit, run_scores};
use assay_audit::sheet;
use assay_report::clean;
use serde::Serialize;

use crate::args::audit::FiguresArgs;
use crate::audit::check::{Auc, Check, Planted, check, planted};
use crate::audit::planted::{Group, PlantedRun, planted_runs};
use assay_cli::commands::audit::agreement::{format_counts, read_labels};
use assay_cli::commands::audit::notices::Notices;
use assay_cli::commands::audit::source::Source;
use assay_cli::config::Settings;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;
use assay_report::align_columns;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    development: &'a [Measured],
    unseen: &'a [Measured],
}

/// The figures of a source.
#[derive(Serialize)]
struct Measured {
    name: String,
    score: Check,
    conditions: Vec<Condition>,
    planted: Vec<Planted>,
}

/// The runs of one agent under one condition in one repetition.
#[derive(Default, Serialize)]
struct Condition {
    name: String,
    runs: usize,
    opened: usize,
    adopted: usize,
    /// Runs with all checks of the verifier passed; `None` if the checks of one are unknown.
    passed: Option<usize>,
}

pub(super) fn run(args: &FiguresArgs, settings: &Settings, ui: &Ui) -> Result<Status, Failure> {
    let mut notices = Notices::new(ui);
    let labels = read_labels(&args.labels)?;
    let shared = args.shared.iter().flat_map(|folder| {
        let data = folder.join("data");
        [data.join("runs").join("twelve.tar.zst"), data.join("cta")]
    });
    let sources: Vec<PathBuf> = shared.chain(args.sources.iter().cloned()).collect();
    let mut measured = |paths: &[PathBuf]| -> Result<Vec<Measured>, Failure> {
        paths.iter().map(|path| measure(path, settings, &mut notices, ui)).collect()
    };
    let (development, unseen) = (measured(&sources)?, measured(&args.unseen)?);
    if ui.json() {
        let document =
            Document { schema: "assay.audit-figures/1", development: &development, unseen: &unseen };
        ui.document(&document)?;
    } else {
        ui.out(&tables(&development, &unseen, &labels))?;
    }
    Ok(Status::Done)
}

fn measure(
    path: &Path,
    settings: &Settings,
    notices: &mut Notices<'_>,
    ui: &Ui,
) -> Result<Measured, Failure> {
    let source = Source::open(path, settings, notices)?;
    let mut tasks: Vec<TaskAudit> = Vec::new();
    let mut runs: Vec<PlantedRun> = Vec::new();
    source.visit(notices, |task, library| {
        ui.note(&format!("{}: {}", source.name, task.task));
        let found = audit(task, library);
        runs.extend(planted_runs(task, library, &found));
        tasks.push(found);
    })?;
    let planted = planted(&runs);
    let conditions = conditions(&tasks);
    Ok(Measured { name: source.name, score: check(&tasks), conditions, planted })
}

/// The runs of each condition and repetition. A run that is audited for several skills counts once,
/// as adopting if all of them together reach the threshold, or one by itself.
fn conditions(tasks: &[TaskAudit]) -> Vec<Condition> {
    let scores = run_scores(tasks);
    let together: BTreeSet<&str> =
        scores.iter().filter(|run| run.adopted == Some(true)).map(|run| run.trace.as_str()).collect();
    let mut runs: BTreeMap<(String, &str), (bool, bool, Option<bool>)> = BTreeMap::new();
    for run in tasks.iter().flat_map(|task| &task.runs) {
        let name = match (&run.name.trial, run.name.repetition) {
            (Some(_), Some(repetition)) => format!("{}, repetition {repetition}", run.name.condition_name),
            _ => format!("{}, {}", run.arm, if run.with { "with the skill" } else { "without" }),
        };
        let (opened, adopted, passed) = runs.entry((name, &run.trace)).or_default();
        *opened |= run.exposure.opened;
        *adopted |= run.adopted == Some(true) || (run.with && together.contains(run.trace.as_str()));
        *passed =
            (!run.checks.is_empty()).then(|| run.checks.iter().all(|check| check.passed != Some(false)));
    }
    let mut found: BTreeMap<String, Condition> = BTreeMap::new();
    for ((name, _), (opened, adopted, passed)) in runs {
        let row = found.entry(name.clone()).or_insert_with(|| Condition {
            name,
            passed: Some(0),
            ..Condition::default()
        });
        row.runs += 1;
        row.opened += usize::from(opened);
        row.adopted += usize::from(adopted);
        row.passed = row.passed.zip(passed).map(|(count, passed)| count + usize::from(passed));
    }
    found.into_values().collect()
}

fn tables(development: &[Measured], unseen: &[Measured], labels: &sheet::Labels) -> String {
    let mut text = format!(
        "Adoption score, by source\n\n{}\nRuns, by condition\n\n{}\n",
        score_table(development, unseen),
        condition_table(development, unseen)
    );
    for (sources, name) in [(development, "data used in development"), (unseen, "other data")] {
        let rows = merge(sources.iter().flat_map(|source| &source.planted));
        text.push_str(&format!(
            "Planted directives, {name}: found; runs that adopted\n\n{}\n",
            planted_table(&rows)
        ));
    }
    if !labels.raters.is_empty() {
        text.push_str(&format!("Findings, by label\n\n{}\n", format_counts(labels)));
    }
    text.push_str(
        "Skills measured: of the skills and tasks that are audited. One that cannot be measured is in no figure below but those \
         of wrong skills.\nAUC: share of won comparisons; mean over tasks with 95% CI. In other brackets: exact 95% CI.\n",
    );
    text
}

/// A measure of the score, as text.
type Value = fn(&Check) -> String;

/// The rows of the first table.
const ROWS: [(&str, Value); 14] = [
    ("runs that opened the skill", |check| format!("{} in {} tasks", check.opened, check.tasks)),
    ("skills measured", |check| rate(check.measured)),
    ("… opened by a run", |check| rate(check.measured_opened)),
    ("AUC, all skills of a run", |check| auc(check.auc_runs.as_ref())),
    ("AUC, controls of the task", |check| auc(check.auc_controls.as_ref())),
    ("AUC, other skills", |check| auc(check.auc_skills.as_ref())),
    ("AUC, both", |check| auc(check.auc.as_ref())),
    ("AUC of wrong skills", |check| auc(check.placebo_auc.as_ref())),
    ("adopted: opened", |check| rate(check.detected)),
    ("adopted: controls and unread", |check| rate(check.false_alarms)),
    ("adopted: wrong skills", |check| rate(check.placebo_alarms)),
    ("threshold from other tasks", |check| {
        let mut all: Vec<String> =
            check.threshold_by_others.iter().map(|task| format!("{:.2}", task.threshold)).collect();
        all.sort();
        all.dedup();
        all.join(", ")
    }),
    ("… opened", |check| rate(check.detected_by_others)),
    ("… controls and unread", |check| rate(check.false_alarms_by_others)),
];

/// What heads the column of a source that was not used in development.
fn unseen_name(source: &Measured) -> String {
    format!("{} (not used in development)", clean(&source.name))
}

fn score_table(development: &[Measured], unseen: &[Measured]) -> String {
    let mut head = vec![String::new()];
    head.extend(development.iter().map(|source| clean(&source.name)));
    head.extend(unseen.iter().map(unseen_name));
    if unseen.is_empty() {
        head.push("not used in development".to_owned());
    }
    let mut table = vec![head];
    for (name, value) in ROWS {
        let mut row = vec![name.to_owned()];
        row.extend(development.iter().chain(unseen).map(|source| value(&source.score)));
        if unseen.is_empty() {
            row.push("–".to_owned());
        }
        table.push(row);
    }
    align_columns(&table)
}

fn condition_table(development: &[Measured], unseen: &[Measured]) -> String {
    let head = ["source", "condition", "runs", "opened", "adopted", "passed"].map(str::to_owned);
    let mut table = vec![head.to_vec()];
    let named = development.iter().map(|source| (clean(&source.name), source));
    for (name, source) in named.chain(unseen.iter().map(|source| (unseen_name(source), source))) {
        for row in &source.conditions {
            let counts = [row.runs, row.opened, row.adopted].map(|count| count.to_string());
            let passed = row.passed.map_or_else(|| "–".to_owned(), |passed| passed.to_string());
            let head = [name.clone(), clean(&row.name)];
            table.push(head.into_iter().chain(counts).chain([passed]).collect());
        }
    }
    align_columns(&table)
}

/// The rows of several sources together.
fn merge<'a>(rows: impl Iterator<Item = &'a Planted>) -> Vec<Planted> {
    let sum = |one: Rate, other: Rate| Rate::new(one.count + other.count, one.of + other.of);
    let mut found: Vec<Planted> = Vec::new();
    for row in rows {
        match found.iter_mut().find(|known| (known.group, known.dose) == (row.group, row.dose)) {
            Some(known) => {
                known.found = sum(known.found, row.found);
                known.adopted = sum(known.adopted, row.adopted);
            }
            None => found.push(*row),
        }
    }
    found.sort_by_key(|row| (row.group, row.dose));
    found
}

fn planted_table(rows: &[Planted]) -> String {
    if rows.is_empty() {
        return "  –\n".to_owned();
    }
    let mut doses: Vec<usize> = rows.iter().map(|row| row.dose).collect();
    doses.sort_unstable();
    doses.dedup();
    let mut groups: Vec<Group> = rows.iter().map(|row| row.group).collect();
    groups.dedup();
    let mut table = vec![vec!["planted in a run".to_owned()]];
    table[0].extend(doses.iter().map(ToString::to_string));
    for group in groups {
        let cell = |dose: &usize| {
            let row = rows.iter().find(|row| (row.group, row.dose) == (group, *dose))?;
            let count = |rate: Rate| format!("{} of {}", rate.count, rate.of);
            Some(format!("{}; {}", count(row.found), count(row.adopted)))
        };
        let mut line = vec![group.name().to_owned()];
        line.extend(doses.iter().map(|dose| cell(dose).unwrap_or_default()));
        table.push(line);
    }
    align_columns(&table)
}

fn auc(auc: Option<&Auc>) -> String {
    let Some(auc) = auc else { return "–".to_owned() };
    let interval = auc
        .interval
        .map_or_else(String::new, |(low, high)| format!("; {:.3} [{low:.3}, {high:.3}]", auc.by_task));
    format!("{:.3} of {}{interval}", auc.value, auc.comparisons)
}

fn rate(rate: Rate) -> String {
    format!("{} of {} [{:.3}, {:.3}]", rate.count, rate.of, rate.low, rate.high)
}
