//! The pairs of trials that a verdict rests on.

use askama::Template;
use assay_report::{clean, counted, verdict_line};

use super::layout::Layout;
use super::trials::{agent, outcome_text};
use crate::data::RunData;
use crate::error::PageError;
use crate::site::Site;
use crate::urls;

/// Most pairs on the page.
const MOST: usize = 5_000;

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    page: Layout,
    condition: String,
    baseline: String,
    sentence: String,
    unmatched: String,
    rows: Vec<Pair>,
}

struct Pair {
    task: String,
    href: String,
    repetition: u32,
    with: String,
    with_href: String,
    without: String,
    without_href: String,
    difference: &'static str,
    opened: &'static str,
}

pub(super) fn page(site: &Site, data: &RunData, number: usize) -> Result<String, PageError> {
    let missing = || PageError::NotFound(format!("the run has no comparison {number}"));
    let comparison = data.report.comparisons.get(number).ok_or_else(missing)?;
    let run = &data.plan.run;
    let mut rows = Vec::new();
    let (mut unmatched, mut more) = (0_usize, 0_usize);
    let mut who = String::new();
    let of_arm =
        |cell: &&crate::data::CellGroup| cell.who == comparison.who && cell.condition == comparison.condition;
    for cell in data.cells.iter().filter(of_arm) {
        who = agent(cell);
        let baseline = data.sibling(cell, &comparison.baseline);
        for at in &cell.rows {
            let row = &data.rows[*at];
            let same = |at: &&usize| data.rows[**at].repetition == row.repetition;
            let partner = baseline.and_then(|baseline| baseline.rows.iter().find(same));
            let Some(partner) = partner.map(|at| &data.rows[*at]).filter(|other| other.trial != row.trial)
            else {
                unmatched += 1;
                continue;
            };
            if rows.len() >= MOST {
                more += 1;
                continue;
            }
            let score = |row: &crate::data::TrialRow| row.result.as_ref().and_then(|result| result.score);
            rows.push(Pair {
                task: clean(&cell.task),
                href: urls::pair(run, &row.trial, &partner.trial),
                repetition: row.repetition,
                with: outcome_text(row),
                with_href: urls::trial(run, &row.trial),
                without: outcome_text(partner),
                without_href: urls::trial(run, &partner.trial),
                difference: match (score(row), score(partner)) {
                    (Some(with), Some(without)) if with > without => "better",
                    (Some(with), Some(without)) if with < without => "worse",
                    (Some(_), Some(_)) => "equal",
                    _ => "no result",
                },
                opened: row.result.as_ref().map_or("–", crate::data::RowResult::opened_word),
            });
        }
    }
    // The pairs that explain the verdict come first.
    let rank = |pair: &Pair| match (pair.difference, pair.opened) {
        ("better" | "worse", "yes") => 0,
        ("better" | "worse", _) => 1,
        ("equal", _) => 2,
        _ => 3,
    };
    rows.sort_by_key(rank);
    let mut notes = Vec::new();
    if unmatched > 0 {
        notes.push(format!(
            "{} have no trial of the same repetition under the baseline.",
            counted(unmatched, "trial", "trials")
        ));
    }
    if more > 0 {
        notes.push(format!("{} more are not shown.", counted(more, "pair", "pairs")));
    }
    let sentence = verdict_line(comparison, data.report.margin).replace('`', "");
    let condition = clean(&comparison.condition);
    Ok(ComparisonPage {
        page: Layout::in_run(site, run, &format!("{condition} ({who})")),
        condition,
        baseline: clean(&comparison.baseline),
        sentence,
        unmatched: notes.join(" "),
        rows,
    }
    .render()?)
}
