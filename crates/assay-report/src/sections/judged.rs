//! The section on rubrics.

use std::collections::BTreeMap;

use assay_analysis::judged::{CorrectedLift, ItemGain, JudgedReport, Pair, SetScoreRow};
use assay_analysis::{INTERIM, Reason, Report};

use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::links::Target;
use crate::text::{clean, counted, percent};

/// Items that a table shows.
const SHOWN: usize = 20;

/// Most characters of an item.
const ITEM_CHARS: usize = 80;

/// Scores by set, by domain and by item.
pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if let Some(judged) = &report.judged {
        blocks.push(Block::List(facts(judged)));
        blocks.extend(sets(judged, labels).map(Block::Grid));
        blocks.extend(corrected(judged, labels));
        blocks.extend(domains(judged, labels).map(Block::Grid));
        blocks.extend(items(judged, labels));
    }
    Section { title: "Rubrics", level: Level::Summary, blocks }
}

/// Who judged, and how well.
fn facts(judged: &JudgedReport) -> Vec<String> {
    let judges: Vec<String> = judged.judges.iter().map(|judge| clean(judge)).collect();
    let mut lines = vec![format!(
        "{} judged by {} ({}), {}{}",
        counted(judged.trials, "trial", "trials"),
        if judges.is_empty() { "nobody".to_owned() } else { judges.join(", ") },
        judged.modes.join(", "),
        counted(judged.requests, "request", "requests"),
        judged.cost_usd.filter(|cost| *cost > 0.0).map_or_else(String::new, |cost| format!(", ${cost:.2}")),
    )];
    if judged.planted > 0 {
        let verdict = if judged.blocked { ": blocked, no verdict counts" } else { "" };
        lines.push(format!(
            "planted items answered wrongly: {} of {}{verdict}",
            judged.missed, judged.planted
        ));
    }
    if let Some(agreement) = judged.agreement {
        lines.push(format!("answers that agree with the verdict on an item: {}", percent(agreement)));
    }
    if judged.undecided.values().any(|share| *share > 0.0) {
        let shares = judged.undecided.iter();
        let shares: Vec<String> =
            shares.map(|(condition, share)| format!("`{}` {}", clean(condition), percent(*share))).collect();
        lines.push(format!("items without a valid answer: {}", shares.join(", ")));
    }
    if judged.without_answer > 0 {
        lines.push(format!(
            "{} without an answer of the judge: the next `assay run` judges their work without running them again",
            counted(judged.without_answer, "trial", "trials")
        ));
    }
    lines
}

fn points(value: f64) -> String {
    let value = 100.0 * value;
    if value < 0.0 { format!("−{:.1}", -value) } else { format!("+{value:.1}") }
}

fn score(value: f64) -> String {
    format!("{:.1}", 100.0 * value)
}

fn between(ends: [f64; 2]) -> String {
    format!("{} to {}", points(ends[0]), points(ends[1]))
}

fn or_none(text: Option<String>) -> Cell {
    Cell::from(text.unwrap_or_else(|| "–".to_owned()))
}

fn pair_cells(pair: &Pair, labels: &Labels) -> Vec<Cell> {
    labels.cells(&pair.who, &pair.condition)
}

fn sets(judged: &JudgedReport, labels: &Labels) -> Option<Grid> {
    let mut grid = labels.grid(
        "Scores by set of items (0 to 100, mean over tasks)",
        &["set", "verdict"],
        &["tasks", "without", "with", "Δ", "adjusted CI", "95% CI"],
    );
    grid.detail_columns(&["95% CI"]);
    for row in &judged.sets {
        let mut cells = pair_cells(&row.pair, labels);
        cells.extend([
            Cell::Name(clean(&row.set)),
            set_verdict(row),
            row.tasks.into(),
            score(row.without).into(),
            score(row.with).into(),
            points(row.difference).into(),
            or_none(row.family.map(|family| between([family.low, family.high]))),
            or_none(row.ci95.map(between)),
        ]);
        grid.rows.push(cells);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The verdict on a set, with the reason that no number in the row shows.
fn set_verdict(row: &SetScoreRow) -> Cell {
    match (row.verdict.as_deref(), row.reason) {
        (Some(word), Some(Reason::NotDelivered)) => Cell::from(format!("{word} (not delivered)")),
        (word, _) => Cell::from(word.unwrap_or(INTERIM)),
    }
}

fn domains(judged: &JudgedReport, labels: &Labels) -> Option<Grid> {
    let mut grid = labels.grid(
        "Overall scores by domain (0 to 100, exploratory)",
        &["domain"],
        &["tasks", "without", "with", "Δ"],
    );
    for row in &judged.domains {
        let mut cells = pair_cells(&row.pair, labels);
        cells.extend([
            Cell::Name(clean(&row.domain)),
            row.tasks.into(),
            score(row.without).into(),
            score(row.with).into(),
            points(row.with - row.without).into(),
        ]);
        grid.rows.push(cells);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

fn corrected(judged: &JudgedReport, labels: &Labels) -> Vec<Block> {
    let Some(first) = judged.corrected.first() else { return Vec::new() };
    let mut grid = labels.grid(
        "Lift corrected for the errors of the judge (percentage points, on the items that it decides)",
        &[],
        &["tasks", "as judged", "its 95% CI", "corrected", "95% CI", "share of score"],
    );
    for row in &judged.corrected {
        let mut cells = pair_cells(&row.pair, labels);
        cells.extend([
            row.tasks.into(),
            points(row.raw).into(),
            or_none(row.raw_ci95.map(between)),
            or_none(row.corrected.map(points)),
            or_none(row.ci95.map(between)),
            percent(row.share).into(),
        ]);
        grid.rows.push(cells);
    }
    let mut blocks = vec![Block::Grid(grid)];
    blocks.extend(judged.corrected.iter().filter_map(|row| basis(row).map(Block::Text)));
    if let Some((sensitivity, specificity)) = first.sensitivity.zip(first.specificity) {
        let who = match first.labels_by.as_str() {
            "people" => "labels of people",
            "model" => "labels of a language model, which show agreement of models and no calibration",
            _ => "labels of unknown origin, which do not calibrate a judge",
        };
        blocks.push(Block::Text(format!(
            "The judge calls {} of met items met and {} of the others not met, by {who}. The corrected lift is exploratory: the              verdict rests on the scores as judged.",
            percent(sensitivity),
            percent(specificity)
        )));
    }
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in &judged.corrected {
        if let Some(reason) = &row.refused {
            refused.entry(reason).or_default().push(&row.pair.condition);
        }
    }
    blocks.extend(refused.into_iter().map(|(reason, conditions)| {
        Block::Text(format!("Not corrected (`{}`): {}.", clean(&conditions.join(", ")), clean(reason)))
    }));
    blocks
}

/// What a corrected lift rests on.
fn basis(row: &CorrectedLift) -> Option<String> {
    row.corrected?;
    let condition = clean(&row.pair.condition);
    if let Some(lambda) = row.judge.lambda {
        return Some(format!(
            "`{condition}`: corrected by {} of the run's own items, whatever errors the judge makes under each condition \
             (prediction-powered, lambda {lambda:.2}).",
            counted(row.judge.labels, "label", "labels")
        ));
    }
    let bias = row.judge.bias_if_unequal?;
    Some(format!(
        "`{condition}`: corrected by {} from elsewhere, as if the judge erred equally under each condition. A specificity lower \
         by {} under `{condition}` moves the lift by {:.0} points, a sensitivity higher by as much moves it by {:.0}.",
        counted(row.judge.labels, "label", "labels"),
        format!("{:.2}", bias.by).trim_start_matches('0'),
        100.0 * bias.specificity,
        100.0 * bias.sensitivity,
    ))
}

fn items(judged: &JudgedReport, labels: &Labels) -> Vec<Block> {
    if judged.items.is_empty() {
        return Vec::new();
    }
    let mut grid = labels.grid(
        "Items by gain (share of trials in which an item is met, mean over tasks, exploratory)",
        &["tasks", "item"],
        &["without", "with", "gain", "opened", "with, opened", "with, not opened", "line"],
    );
    let rows: Vec<&ItemGain> = if judged.items.len() > SHOWN {
        let (most, least) = (&judged.items[..SHOWN / 2], &judged.items[judged.items.len() - SHOWN / 2..]);
        most.iter().chain(least).collect()
    } else {
        judged.items.iter().collect()
    };
    let has_lines = rows.iter().any(|row| row.line.is_some());
    for row in &rows {
        let share = |share: Option<f64>| or_none(share.map(percent));
        let mut cells = pair_cells(&row.pair, labels);
        let text = assay_diagnostic::clean_start(&row.text, ITEM_CHARS);
        cells.extend([
            match &row.tasks[..] {
                [task] => Cell::Name(clean(task)).link(Target::Cell {
                    who: row.pair.who.clone(),
                    task: task.clone(),
                    condition: row.pair.condition.clone(),
                }),
                tasks => counted(tasks.len(), "task", "tasks").into(),
            },
            Cell::Name(text),
            share(row.without),
            share(row.with),
            or_none(row.gain.map(|gain| format!("{} pp", points(gain)))),
            row.opened.map_or_else(|| "unknown".to_owned(), percent).into(),
            share(row.with_if_opened),
            share(row.with_if_not_opened),
            or_none(row.line.map(|line| line.to_string())),
        ]);
        grid.rows.push(cells);
    }
    if !has_lines {
        grid.remove_column("line");
    }
    let mut blocks = vec![Block::Grid(grid)];
    if rows.len() < judged.items.len() {
        blocks.push(Block::Text(format!(
            "{} of {}: those with the largest and the smallest gains. The report as JSON (`--format json`) lists all.",
            rows.len(),
            counted(judged.items.len(), "item", "items")
        )));
    }
    blocks
}
