//! Text search in the trials of a run.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use askama::Template;
use assay_report::{clean, counted};

use super::layout::Layout;
use super::trials::outcome_text;
use crate::attempt::Attempt;
use crate::data::RunData;
use crate::error::PageError;
use crate::site::Site;
use crate::urls;

/// Most hits on the page.
const HITS: usize = 200;

/// Hits of one trial.
const OF_TRIAL: usize = 5;

/// Longest search.
const DEADLINE: Duration = Duration::from_secs(5);

/// Characters around a hit.
const AROUND: usize = 80;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    page: Layout,
    run: &'a str,
    summary: String,
    hits: Vec<Hit>,
}

struct Hit {
    href: String,
    title: String,
    before: String,
    found: String,
    after: String,
}

pub(super) fn page(site: &Site, data: &RunData, query: &str) -> Result<String, PageError> {
    let run = &data.plan.run;
    let wanted = query.to_lowercase();
    let until = Instant::now() + DEADLINE;
    let mut hits = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut searched, mut complete) = (0_usize, true);
    for row in &data.rows {
        if wanted.trim().is_empty() || row.result.is_none() || !seen.insert(&row.trial) {
            continue;
        }
        if hits.len() >= HITS || Instant::now() > until {
            complete = false;
            break;
        }
        searched += 1;
        let cell = data.cell_of(row);
        let title = format!(
            "{}, {}, repetition {}, {}",
            clean(&cell.task),
            clean(&cell.condition),
            row.repetition,
            outcome_text(row)
        );
        let address = urls::trial(run, &row.trial);
        let from = hits.len();
        for (anchor, text) in texts(site, row) {
            if hits.len() - from >= OF_TRIAL {
                break;
            }
            if let Some([before, found, after]) = excerpt(&text, &wanted) {
                let href = format!("{address}{anchor}");
                hits.push(Hit { href, title: title.clone(), before, found, after });
            }
        }
    }
    let summary = if wanted.trim().is_empty() {
        "Enter a text to search for in prompts, replies, tool calls, results, changes and the verifier's output.".to_owned()
    } else {
        format!(
            "{} in {}{}",
            counted(hits.len(), "place", "places"),
            counted(searched, "searched trial", "searched trials"),
            if complete { "" } else { "; the search ended early: narrow it" }
        )
    };
    let page = Layout { query: clean(query), ..Layout::in_run(site, run, "Search") };
    Ok(SearchPage { page, run, summary, hits }.render()?)
}

/// The texts of a trial with the addresses of where its page shows them.
fn texts(site: &Site, row: &crate::data::TrialRow) -> Vec<(String, String)> {
    let number = Attempt::numbers(&site.store, &row.trial).pop().unwrap_or(1);
    let attempt = Attempt::new(&site.store, &row.trial, number);
    let mut texts = Vec::new();
    if let Ok(Some(trajectory)) = attempt.trajectory() {
        for (at, step) in trajectory.steps.iter().enumerate() {
            let mut text = step.message.clone();
            for call in &step.tool_calls {
                text.push('\n');
                text.push_str(&call.function_name);
                text.push(' ');
                text.push_str(&call.arguments.to_string());
            }
            for result in step.observation.iter().flat_map(|observation| &observation.results) {
                text.push('\n');
                text.push_str(result.content.as_deref().unwrap_or_default());
            }
            texts.push((super::trial::step_address(at, step.step_id), text));
        }
    }
    for (file, anchor) in [("workspace.diff", "#changes"), ("verifier/test-stdout.txt", "#verifier")] {
        texts.extend(attempt.text(file).map(|(text, _)| (anchor.to_owned(), text)));
    }
    texts
}

/// A hit with what is around it in its line.
fn excerpt(text: &str, wanted: &str) -> Option<[String; 3]> {
    // Lower case may be longer or shorter: lines are compared, and positions found in the line as it is.
    let line = text.lines().find(|line| line.to_lowercase().contains(wanted))?;
    let starts = line.char_indices().map(|(at, _)| at);
    let from = { starts }.find(|at| line[*at..].to_lowercase().starts_with(wanted))?;
    let ends = line[from..].char_indices().map(|(at, c)| from + at + c.len_utf8());
    let to = { ends }.find(|end| line[from..*end].to_lowercase().len() >= wanted.len()).unwrap_or(line.len());
    let before: Vec<char> = line[..from].chars().rev().take(AROUND).collect();
    let after: String = line[to..].chars().take(AROUND).collect();
    Some([clean(&before.into_iter().rev().collect::<String>()), clean(&line[from..to]), clean(&after)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_have_the_hit_as_it_is() {
        let check = |text: &str, wanted: &str, expected: Option<[&str; 3]>| {
            assert_eq!(excerpt(text, wanted), expected.map(|parts| parts.map(str::to_owned)), "{text}");
        };
        check("one\ntwo Three four", "three", Some(["two ", "Three", " four"]));
        check("ÄÖ x", "äö", Some(["", "ÄÖ", " x"]));
        check("nothing", "three", None);
        check("a\u{1b}b", "b", Some(["a\u{fffd}", "b", ""]));
    }
}
