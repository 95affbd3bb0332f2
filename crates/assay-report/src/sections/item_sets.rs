//! The two sets of checks: instruction following (IF) and goal completion (GC).

use assay_analysis::item_sets::{
    CanaryKnowledge, ItemEvidence, ItemScore, ItemSets, ItemSide, SetFigures, SetMeasure, SetMeasureName,
};
use assay_analysis::{CheckClass, CheckSet, INTERIM, MetricWord, Reason, Report};

use crate::cells::or_none;
use crate::doc::{Block, Cell, Grid, Level, Section};
use crate::labels::Labels;
use crate::links::Target;
use crate::text::{clean, count, counted, percent, points, points_between, pp, usd};

/// The most items in a table; the JSON has all.
const ITEMS: usize = 400;

/// Tasks that a sentence names.
const NAMED: usize = 5;

/// Most characters of an item with its answer.
const ITEM: usize = 80;

/// Most characters of what a check said.
const SAID: usize = 120;

/// Verdicts on items, the figures without and with, and what each check said on both sides.
pub(super) fn build_section(report: &Report, labels: &Labels) -> Section {
    let mut blocks = Vec::new();
    if let Some(sets) = &report.item_sets {
        blocks.push(Block::Grid(score_grid(report, sets, labels)));
        blocks.push(Block::List(sentences(report, sets, labels)));
        blocks.push(Block::Grid(figure_grid(sets, labels)));
        blocks.extend(task_grid(sets, labels).map(Block::Grid));
        blocks.extend(item_blocks(sets, labels));
    }
    Section { title: "Instruction following and goal completion", level: Level::Summary, blocks }
}

/// What a row of scores is about.
fn group_name(set: CheckSet, class: Option<CheckClass>) -> &'static str {
    match (set, class) {
        (CheckSet::Gc, _) => "GC (guard)",
        (CheckSet::If, Some(CheckClass::Knowledge)) => "IF, knowledge",
        (CheckSet::If, Some(CheckClass::Convention)) => "IF, convention",
        (CheckSet::If, Some(CheckClass::Reminder)) => "IF, reminders (controls)",
        (CheckSet::If, None) => "IF, unclassified",
    }
}

fn score_grid(report: &Report, sets: &ItemSets, labels: &Labels) -> Grid {
    let mut grid = labels.grid(
        "Items, clustered by task (Δ and CIs in pp)",
        &["set", "verdict"],
        &["items", "tasks", "without", "with", "Δ", "adjusted CI", "95% CI"],
    );
    grid.detail_columns(&["95% CI"]);
    for row in &sets.scores {
        let mut cells = labels.cells(&row.pair.who, &row.pair.condition);
        cells.extend([
            group_name(row.set, row.class).into(),
            verdict_word(row, report.interim).into(),
            row.items.into(),
            row.tasks.into(),
            percent(row.without).into(),
            percent(row.with).into(),
            points(row.difference).into(),
            points_between(row.family.map(|family| [family.low, family.high])).into(),
            points_between(row.ci95).into(),
        ]);
        grid.rows.push(cells);
    }
    grid
}

/// The verdict on a set, with the state of the guard.
fn verdict_word(row: &ItemScore, is_interim: bool) -> String {
    let word = match (row.verdict, row.reason) {
        (None, _) => if is_interim { INTERIM } else { "–" }.to_owned(),
        (Some(verdict), Some(Reason::NotDelivered)) => format!("{} (not delivered)", verdict.word()),
        (Some(verdict), _) => verdict.word().to_owned(),
    };
    row.guard.map_or_else(|| word.clone(), |guard| format!("{word}, guard {}", guard.word()))
}

/// What the figures mean, and what is to be known before they are read.
fn sentences(report: &Report, sets: &ItemSets, labels: &Labels) -> Vec<String> {
    let mut lines: Vec<String> = sets.canaries.iter().map(|known| canaries(known, labels)).collect();
    let arm = |row: &ItemScore| format!("`{}`", clean(&labels.arm(&row.pair.who, &row.pair.condition)));
    for row in sets.scores.iter().filter(|row| row.set == CheckSet::Gc) {
        lines.extend(guard_sentence(row, &arm(row), report.margin));
    }
    for row in sets.scores.iter().filter(|row| row.class == Some(CheckClass::Reminder)) {
        lines.extend(control_sentence(row, &arm(row)));
    }
    if report.comparisons.iter().any(|comparison| comparison.sequential.is_some()) {
        lines.push(
            "Items have no verdict of their own: the comparisons of scores are decided after rounds, and these intervals are of \
             one look."
                .to_owned(),
        );
    }
    lines.push(
        "The verdict on the skill is that on the score. Knowledge is the headline of instruction following; convention shows \
         that the text reached the agent, and is never added to it; reminders are controls with an expected gain of 0."
            .to_owned(),
    );
    lines
}

/// How many canaries a baseline knows.
fn canaries(known: &CanaryKnowledge, labels: &Labels) -> String {
    let by = labels.group(&known.who).map_or_else(String::new, |by| format!(" by {}", clean(&by)));
    let arm = format!("`{}`{by}", clean(&known.baseline));
    format!("{}.", crate::notes::canary_sentence(&arm, known.known, known.total))
}

/// What became of goal completion, if a task lost some of it.
fn guard_sentence(row: &ItemScore, arm: &str, margin: f64) -> Option<String> {
    if row.lower_on.is_empty() {
        return None;
    }
    let shown = if row.verdict == Some(MetricWord::Worsens) { "a loss is shown" } else { "no loss is shown" };
    let margin = format!("{:.0} pp", 100.0 * margin);
    let guard = row.guard.map_or_else(String::new, |guard| {
        format!("; the guard against a loss of {margin} is {}", guard.word())
    });
    Some(format!(
        "Goal completion is lower under {arm} on {} of {} ({}): {}, {shown}{guard}.",
        row.lower_on.len(),
        counted(row.tasks, "task", "tasks"),
        names(&row.lower_on),
        pp(row.difference),
    ))
}

fn names(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED);
    let shown: Vec<String> = all.iter().take(NAMED).map(|name| format!("`{}`", clean(name))).collect();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// A control that moved.
fn control_sentence(row: &ItemScore, arm: &str) -> Option<String> {
    let family = row.family.filter(|family| family.low > 0.0 || family.high < 0.0)?;
    Some(format!(
        "The reminders, on which no gain is expected, changed under {arm}: {} ({}). Either their class is wrong, or the arms \
         differ in more than what the skill says.",
        pp(row.difference),
        points_between(Some([family.low, family.high]))
    ))
}

fn measure_name(measure: SetMeasureName) -> &'static str {
    match measure {
        SetMeasureName::IfKnowledge => "IF, knowledge",
        SetMeasureName::IfConvention => "IF, convention",
        SetMeasureName::IfReminder => "IF, reminders",
        SetMeasureName::IfUnclassified => "IF, unclassified",
        SetMeasureName::Gc => "GC",
        SetMeasureName::Overall => "overall",
        SetMeasureName::Minutes => "minutes",
        SetMeasureName::CostUsd => "cost",
        SetMeasureName::TokensIn => "tokens in",
        SetMeasureName::TokensOut => "tokens out",
    }
}

/// A figure, and a difference of two.
fn figure(measure: SetMeasureName, value: f64, is_difference: bool) -> String {
    let sign = match (is_difference, value < 0.0) {
        (false, _) => "",
        (true, true) => "−",
        (true, false) => "+",
    };
    let size = if is_difference { value.abs() } else { value };
    match measure {
        _ if measure.is_score() && is_difference => pp(value),
        _ if measure.is_score() => percent(value),
        SetMeasureName::Minutes => format!("{sign}{size:.2}"),
        SetMeasureName::CostUsd => format!("{sign}{}", usd(size)),
        _ => format!("{sign}{}", count(size)),
    }
}

fn figure_cells(row: &SetMeasure) -> [Cell; 4] {
    let shown = |value: Option<f64>, is_difference: bool| {
        value.map_or_else(|| "unknown".to_owned(), |value| figure(row.measure, value, is_difference))
    };
    [
        measure_name(row.measure).into(),
        shown(row.without, false).into(),
        shown(row.with, false).into(),
        shown(row.difference, true).into(),
    ]
}

fn figure_grid(sets: &ItemSets, labels: &Labels) -> Grid {
    let caption = "Without and with, over all tasks (time, cost and tokens: means of a trial)";
    let mut grid = labels.grid(caption, &["measure"], &["without", "with", "Δ"]);
    grid.grouped = true;
    for total in sets.figures.iter().filter(|figures| figures.task.is_none()) {
        for row in &total.measures {
            let mut cells = labels.cells(&total.pair.who, &total.pair.condition);
            cells.extend(figure_cells(row));
            grid.rows.push(cells);
        }
    }
    grid
}

/// The same task by task.
fn task_grid(sets: &ItemSets, labels: &Labels) -> Option<Grid> {
    let caption = "Without and with, by task";
    let mut grid = labels.grid(caption, &["task", "measure"], &["without", "with", "Δ"]);
    grid.grouped = true;
    for (task, figures) in sets.figures.iter().filter_map(|one| Some((one.task.as_deref()?, one))) {
        for row in &figures.measures {
            let mut cells = labels.cells(&figures.pair.who, &figures.pair.condition);
            cells.push(task_cell(task, figures));
            cells.extend(figure_cells(row));
            grid.rows.push(cells);
        }
    }
    (!grid.rows.is_empty()).then(|| grid.into_detail().into_folded())
}

fn task_cell(task: &str, figures: &SetFigures) -> Cell {
    Cell::Name(clean(task)).link(crate::cells::in_cell(task, &figures.pair.who, &figures.pair.condition))
}

/// Each item of IF, and the checks of GC that differ, with what they said on both sides.
fn item_blocks(sets: &ItemSets, labels: &Labels) -> Vec<Block> {
    let is_shown =
        |item: &&ItemEvidence| item.set == CheckSet::If || item.without.failed > 0 || item.with.failed > 0;
    let shown: Vec<&ItemEvidence> = sets.items.iter().filter(is_shown).collect();
    let mut grid = labels.grid(
        "Items with what their checks said, and in which trials (`assay show` has them in full)",
        &["task", "item", "class", "line", "said without", "said with", "trials"],
        &["without", "with"],
    );
    for item in shown.iter().take(ITEMS) {
        let mut cells = labels.cells(&item.pair.who, &item.pair.condition);
        let trial = |side: &ItemSide, cell: Cell| match &side.trial {
            Some(trial) => cell.link(Target::Trial { trial: trial.clone(), check: Some(item.check.clone()) }),
            None => cell,
        };
        let said = |side: &ItemSide| {
            let text = assay_diagnostic::clean_start(&side.said, SAID);
            let cell = if text.is_empty() { Cell::from("–") } else { Cell::Name(text) };
            trial(side, cell)
        };
        let met =
            |side: &ItemSide| trial(side, format!("{}/{}", side.passed, side.passed + side.failed).into());
        cells.extend([
            Cell::Name(clean(&item.task)),
            item_cell(item),
            class_cell(item),
            or_none(item.place.as_deref(), clean),
            said(&item.without),
            said(&item.with),
            trial_ids([&item.without, &item.with]),
            met(&item.without),
            met(&item.with),
        ]);
        grid.rows.push(cells);
    }
    let more = shown.len().saturating_sub(ITEMS);
    let rest = (more > 0)
        .then(|| Block::Text(format!("{more} more items are in the report as JSON (`--format json`).")));
    let grid = (!grid.rows.is_empty()).then(|| Block::Grid(grid.into_detail()));
    grid.into_iter().chain(rest).collect()
}

/// The check, and what it looks for.
fn item_cell(item: &ItemEvidence) -> Cell {
    let text =
        item.answer.as_ref().map_or_else(|| item.check.clone(), |answer| format!("{}: {answer}", item.check));
    Cell::Name(assay_diagnostic::clean_start(&text, ITEM))
}

/// The trials of both sides, for readers without links.
fn trial_ids(sides: [&ItemSide; 2]) -> Cell {
    let ids = sides.map(|side| side.trial.as_ref().map_or("–", |trial| trial.short()));
    Cell::Name(ids.join(" "))
}

fn class_cell(item: &ItemEvidence) -> Cell {
    let class = item.class.map_or(item.set.word(), CheckClass::word);
    if item.canary { format!("{class}, canary").into() } else { class.into() }
}
