//! Lists of trials: those of a cell, and all of a run with filters.

use std::collections::BTreeSet;

use askama::Template;
use assay_report::{clean, counted, percent, seconds, usd};
use assay_store::Outcome;

use super::layout::Layout;
use crate::data::{CellGroup, RunData, TrialRow};
use crate::error::PageError;
use crate::site::Site;
use crate::text::line;
use crate::urls;

/// Trials on a page.
const PAGE: usize = 200;

/// Failed checks named for each trial.
const CHECKS: usize = 3;

#[derive(Template)]
#[template(path = "trials.html")]
struct TrialsPage {
    page: Layout,
    kind: &'static str,
    heading: String,
    note: String,
    filter: Option<Filter>,
    count: String,
    /// Where two trials are compared by their ids.
    pairs: String,
    /// Whether the trials are of several cells.
    wide: bool,
    /// Whether trials have links to pairs.
    paired: bool,
    rows: Vec<Line>,
    pages: Vec<(String, Option<String>)>,
}

struct Filter {
    action: String,
    choices: Vec<Choice>,
    check: String,
}

struct Choice {
    name: &'static str,
    label: &'static str,
    values: Vec<String>,
    chosen: String,
}

struct Line {
    href: String,
    short: String,
    task: String,
    agent: String,
    condition: String,
    repetition: u32,
    outcome: &'static str,
    outcome_text: String,
    score: String,
    checks: Vec<(String, String)>,
    more_checks: String,
    opened: &'static str,
    tokens: String,
    cost: String,
    time: String,
    pairs: Vec<(String, String)>,
}

pub(super) fn of_cell(site: &Site, data: &RunData, number: usize) -> Result<String, PageError> {
    let missing = || PageError::NotFound(format!("the run has no cell {number}"));
    let cell = data.cells.get(number).ok_or_else(missing)?;
    let others: Vec<&CellGroup> = data
        .plan
        .conditions
        .iter()
        .filter(|condition| **condition != cell.condition)
        .filter_map(|condition| data.sibling(cell, condition))
        .collect();
    let rows: Vec<Line> = cell
        .rows
        .iter()
        .map(|at| {
            let row = &data.rows[*at];
            Line { pairs: pairs(data, row, &others), ..Line::new(data, row) }
        })
        .collect();
    let run = &data.plan.run;
    let task = clean(&cell.task);
    let page = Layout::in_run(site, run, &task);
    Ok(TrialsPage {
        page,
        kind: "trials of a task",
        heading: format!("{task}, {}", clean(&cell.condition)),
        note: agent(cell),
        filter: None,
        count: counted(rows.len(), "trial", "trials"),
        pairs: urls::pairs(run),
        wide: false,
        paired: true,
        rows,
        pages: Vec::new(),
    }
    .render()?)
}

/// The trials of a repetition under other conditions, beside a trial.
pub(super) fn pairs(data: &RunData, row: &TrialRow, others: &[&CellGroup]) -> Vec<(String, String)> {
    let run = &data.plan.run;
    others
        .iter()
        .filter_map(|other| {
            let same = |at: &&usize| data.rows[**at].repetition == row.repetition;
            let partner = &data.rows[*other.rows.iter().find(same)?];
            (partner.trial != row.trial).then_some(())?;
            let name = format!("{} {}", clean(&other.condition), partner.repetition);
            // The baseline is the second.
            let is_baseline = data.baseline() == Some(data.cell_of(row).condition.as_str());
            let (first, second) =
                if is_baseline { (&partner.trial, &row.trial) } else { (&row.trial, &partner.trial) };
            Some((name, urls::pair(run, first, second)))
        })
        .collect()
}

pub(super) fn agent(cell: &CellGroup) -> String {
    let model = cell.who.model.as_ref().map_or(String::new(), |model| format!(" with {}", clean(model)));
    format!("{}{model} in {}", clean(&cell.who.agent), clean(&cell.who.sandbox))
}

pub(super) fn of_run(site: &Site, data: &RunData, query: &str, number: usize) -> Result<String, PageError> {
    let run = &data.plan.run;
    let chosen = |name: &str| urls::field(query, name).unwrap_or_default();
    let check = chosen("check");
    let wanted = |name: &str, value: &str| {
        let chosen = chosen(name);
        chosen.is_empty() || chosen == value
    };
    let rows: Vec<&TrialRow> = data
        .rows
        .iter()
        .filter(|row| {
            let cell = data.cell_of(row);
            let checks = row.result.iter().flat_map(|result| &result.failed_checks);
            wanted("task", &cell.task)
                && wanted("condition", &cell.condition)
                && wanted("agent", &agent(cell))
                && wanted("outcome", outcome(row))
                && (check.is_empty() || { checks }.any(|failed| failed.title().contains(&check)))
        })
        .collect();
    let filters = query.split('&').filter(|field| !field.is_empty() && !field.ends_with('='));
    let filters: Vec<&str> = filters.collect();
    let pages = rows.len().div_ceil(PAGE).max(1);
    if !(1..=pages).contains(&number) {
        return Err(PageError::NotFound(format!("the list has {}", counted(pages, "page", "pages"))));
    }
    let first = (number - 1) * PAGE;
    let shown = rows.iter().skip(first).take(PAGE);
    let lines: Vec<Line> = shown.map(|row| Line::new(data, row)).collect();
    let suffix = if filters.is_empty() { String::new() } else { format!("?{}", filters.join("&")) };
    let href = |page: usize| match page {
        1 => format!("{}{suffix}", urls::trials(run)),
        page => format!("{}page/{page}/{suffix}", urls::trials(run)),
    };
    let values = |of: &dyn Fn(&TrialRow) -> String| {
        data.rows.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let choice = |name: &'static str, label: &'static str, values: Vec<String>| Choice {
        name,
        label,
        values,
        chosen: chosen(name),
    };
    let filter = Filter {
        action: urls::trials(run),
        choices: vec![
            choice("task", "Task", values(&|row| data.cell_of(row).task.clone())),
            choice("condition", "Condition", values(&|row| data.cell_of(row).condition.clone())),
            choice("agent", "Agent", values(&|row| agent(data.cell_of(row)))),
            choice("outcome", "Outcome", values(&|row| outcome(row).to_owned())),
        ],
        check,
    };
    let count = match pages {
        1 => counted(rows.len(), "trial", "trials"),
        _ => format!(
            "{}, of which {} to {} are shown",
            counted(rows.len(), "trial", "trials"),
            first + 1,
            first + lines.len()
        ),
    };
    Ok(TrialsPage {
        page: Layout::in_run(site, run, "Trials"),
        kind: "trials of a run",
        heading: run.clone(),
        note: String::new(),
        filter: Some(filter),
        count,
        pairs: urls::pairs(run),
        wide: true,
        paired: false,
        rows: lines,
        pages: page_links(number, pages, href),
    }
    .render()?)
}

/// Links to the pages of a list; the page itself has none. Of many, the nearest and the last.
pub(super) fn page_links(
    number: usize,
    pages: usize,
    href: impl Fn(usize) -> String,
) -> Vec<(String, Option<String>)> {
    let shown = |page: &usize| *page == 1 || *page == pages || page.abs_diff(number) <= 3;
    (1..=pages).filter(shown).map(|page| (page.to_string(), (page != number).then(|| href(page)))).collect()
}

pub(super) fn outcome(row: &TrialRow) -> &'static str {
    row.result.as_ref().map_or("unfinished", |result| result.outcome.word())
}

/// An outcome with the cause of an infrastructure error.
pub(super) fn outcome_text(row: &TrialRow) -> String {
    let cause = row.result.as_ref().filter(|result| result.outcome == Outcome::Infrastructure);
    match cause.and_then(|result| result.cause) {
        Some(cause) => format!("infrastructure ({})", cause.word().replace('_', " ")),
        None => outcome(row).replace('_', " "),
    }
}

impl Line {
    fn new(data: &RunData, row: &TrialRow) -> Self {
        let cell = data.cell_of(row);
        let run = &data.plan.run;
        let href = urls::trial(run, &row.trial);
        let none = || "–".to_owned();
        let result = row.result.as_ref();
        let failed = result.map_or(&[][..], |result| result.failed_checks.as_slice());
        let checks = failed.iter().take(CHECKS);
        Self {
            short: row.trial.short().to_owned(),
            task: clean(&cell.task),
            agent: agent(cell),
            condition: clean(&cell.condition),
            repetition: row.repetition,
            outcome: outcome(row),
            outcome_text: outcome_text(row),
            score: result.and_then(|result| result.score).map_or_else(none, percent),
            checks: checks
                .map(|check| {
                    (line(&check.title(), 60), format!("{href}#{}", urls::check_anchor(&check.name)))
                })
                .collect(),
            more_checks: match failed.len().saturating_sub(CHECKS) {
                0 => String::new(),
                more => format!("and {more} more"),
            },
            opened: result.map_or("–", crate::data::RowResult::opened_word),
            tokens: result.and_then(|result| result.tokens).map_or_else(none, assay_diagnostic::group_digits),
            cost: result.and_then(|result| result.cost_usd).map_or_else(none, usd),
            time: result.and_then(|result| result.seconds).map_or_else(none, seconds),
            pairs: Vec::new(),
            href,
        }
    }
}
