//! `assay corpus compare`.

use std::path::PathBuf;

use assay_corpus::compare::{CompareError, Comparison, compare};
use assay_report::clean;
use serde::Serialize;

use crate::failure::{Failure, Status};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// The corpus, whose records have `filter_stage` and `dup_of`
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The ledger that `assay corpus funnel` wrote of it
    ledger: PathBuf,
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

pub(super) fn run(args: &CompareArgs, ui: &Ui) -> Result<Status, Failure> {
    let comparison = compare(&args.input, &args.ledger)?;
    if ui.json() {
        ui.document(&Document { schema: "assay.corpus-compare/1", comparison: &comparison })?;
        return Ok(Status::Done);
    }
    let mut text = String::new();
    for found in &comparison.differences {
        let name = |stage: &str, survivor: &Option<String>| match survivor {
            Some(survivor) => format!("{stage} (for {survivor})"),
            None => stage.to_owned(),
        };
        let line = format!(
            "{}  {}/{}: ours {}, theirs {}. {}",
            found.id,
            found.repo,
            found.path,
            name(&found.ours, &found.our_survivor),
            name(&found.theirs, &found.their_survivor),
            found.judgement
        );
        text.push_str(&clean(&line));
        text.push('\n');
    }
    let share = 100.0 * comparison.same_stage as f64 / comparison.records.max(1) as f64;
    text.push_str(&format!(
        "{} of {} records in the same stage ({share:.2} %); of {} copies in both, {} with the same survivor\n",
        comparison.same_stage, comparison.records, comparison.both_copies, comparison.same_survivor
    ));
    ui.out(&text)?;
    Ok(Status::Done)
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Input(error) => error.into(),
            other => Self::bad_input(other.to_string()),
        }
    }
}
