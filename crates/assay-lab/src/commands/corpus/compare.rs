//! `assay lab corpus compare`.

use std::collections::BTreeMap;

use assay_corpus::compare::{Comparison, compare};
use assay_report::clean;
use serde::Serialize;

use super::funnel::gold;
use crate::args::corpus::CompareArgs;
use crate::failure::compare_failure;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub(super) fn run(args: &CompareArgs, ui: &Ui) -> Result<Status, Failure> {
    let gold = args.gold.as_deref().map(gold).transpose()?.unwrap_or_default();
    let comparison = compare(&args.input, &args.ledger, &gold).map_err(compare_failure)?;
    if ui.json() {
        ui.document(&Document { schema: "assay.corpus-compare/1", comparison: &comparison })?;
        return Ok(Status::Done);
    }
    // A table as Markdown has it, so that it can stand in a document.
    let mut text = String::new();
    for (nth, found) in comparison.differences.iter().enumerate() {
        if nth == 0 {
            text.push_str("| record | from | ours | theirs | why | right |\n|---|---|---|---|---|---|\n");
        }
        let stage = |stage: &str, survivor: &Option<String>| match survivor {
            Some(survivor) => format!("{stage}, for `{}`", short(survivor)),
            None => stage.to_owned(),
        };
        let line = format!(
            "| `{}` | {}: {} | {} | {} | {} | {} |",
            short(&found.id),
            cell(&found.repo),
            cell(found.path.rsplit('/').nth(1).unwrap_or(&found.path)),
            cell(&stage(&found.ours, &found.our_survivor)),
            cell(&stage(&found.theirs, &found.their_survivor)),
            found.reason.words(),
            found.right.word()
        );
        text.push_str(&clean(&line));
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for found in &comparison.differences {
            *counts.entry((found.right.word(), found.reason.words())).or_default() += 1;
        }
        for ((right, why), count) in counts {
            text.push_str(&format!("{count:>6}  right: {right:<6}  {why}\n"));
        }
    }
    let share = 100.0 * comparison.same_stage as f64 / comparison.records.max(1) as f64;
    text.push_str(&format!(
        "{} of {} records in the same stage ({share:.2}%); of {} copies in both, {} with the same survivor\n",
        comparison.same_stage, comparison.records, comparison.both_copies, comparison.same_survivor
    ));
    ui.out(&text)?;
    Ok(Status::Done)
}

/// The beginning of an id, by which it can be found.
fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
