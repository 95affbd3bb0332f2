//! `assay lab corpus near`.

use assay_corpus::near::{Near, near};
use assay_skill::corpus::input::Input;
use serde::Serialize;

use super::output::write_to;
use crate::args::corpus::NearArgs;
use crate::commands::bad_lines::BadLines;
use assay_cli::failure::{Failure, Status};
use assay_cli::ui::Ui;

/// What `--format json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    near: &'a Near,
}

pub(super) fn run(args: &NearArgs, ui: &Ui) -> Result<Status, Failure> {
    if !(args.threshold > 0.0 && args.threshold <= 1.0) {
        return Err(Failure::bad_input("invalid threshold: it must be above 0 and at most 1"));
    }
    let mut input = Input::open(&args.input)?;
    let mut bad_lines = BadLines::new(ui, &args.input);
    let found = near(&mut input, args.threshold, args.sample, &mut |bad| bad_lines.note(bad))?;
    bad_lines.summarize();
    if let Some(path) = &args.out {
        write_to(path, |out| {
            for pair in &found.pairs {
                serde_json::to_writer(&mut *out, pair)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })?;
    }
    if ui.json() {
        ui.document(&Document { schema: "assay.corpus-near/1", near: &found })?;
        return Ok(Status::Done);
    }
    let share = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    ui.out(&format!(
        "{} records, {} distinct bodies, {} pairs compared\n\
         {} pairs with a similarity of {} or more; they join {} records into {} groups, the largest of {}\n\
         recall {}: {} of {} pairs of {} sampled records, by exact comparison; expected from the banding: {}\n",
        found.records,
        found.distinct,
        found.candidates,
        found.near_pairs,
        found.threshold,
        found.clustered,
        found.clusters,
        found.largest_cluster,
        share(found.recall.recall),
        found.recall.found_pairs,
        found.recall.exact,
        found.recall.sample,
        share(found.recall.expected),
    ))?;
    Ok(Status::Done)
}
